"""A remote without batches that has another branch for the time of one request, and then the one below the fork again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from entresol.errors import AnchorLost, RemoteMalformed
from entresol.fork.remote_chain import RemoteChain
from tests.support.chain.api_client import ApiClient, running_api, send
from tests.support.chain.dev_chain import LOGGER
from tests.support.fork.remote_node import OTHER_HASH, RemoteNode, remote_node

LAST = 4
FEES = ("eth_feeHistory", ["0x3", hex(LAST), [50.0]])
LOGS = ("eth_getLogs", [{"fromBlock": "0x1", "toBlock": hex(LAST), "address": [str(LOGGER)]}])


@pytest.fixture(scope="module")
def logging_api() -> Iterator[ApiClient]:
    """Return a chain with a log in each of four blocks, and one block without any."""
    with running_api() as api:
        for nonce in range(LAST):
            send(api, nonce, to=LOGGER, wei=0, data=bytes([nonce]))
        api("anvil_mine")
        yield api


@pytest.fixture
def remote(logging_api: ApiClient) -> Iterator[tuple[RemoteNode, RemoteChain]]:
    """Return a remote without batches, and a fork of it."""
    with remote_node(logging_api) as served, served.fork(batch_size=1) as forked:
        yield served, forked


def read_at(remote: RemoteChain, method: str, params: list[Any], at: int = LAST) -> Any:
    return msgspec.json.decode(asyncio.run(remote.read(method, params, at=at)))


def once(lie: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """Have the other branch for one request."""
    lies = [lie]
    return lambda _, result: lies.pop()(result) if lies else result


def other_fee(fees: Any) -> Any:
    return fees | {"baseFeePerGas": [*fees["baseFeePerGas"][:-2], "0x7", "0x8"]}


def other_ratio(fees: Any) -> Any:
    return fees | {"gasUsedRatio": [0.5, *fees["gasUsedRatio"][1:]]}


@pytest.mark.parametrize("lie", [other_fee, other_ratio])
def test_fees_of_another_branch_are_read_again(
    remote: tuple[RemoteNode, RemoteChain], lie: Callable[[Any], Any]
) -> None:
    node, fork = remote
    node.proxy.lies["eth_feeHistory"] = once(lie)
    assert read_at(fork, *FEES) == node.api(FEES[0], *FEES[1])
    assert node.proxy.methods["eth_feeHistory"] == 2


def test_a_remote_that_takes_no_batches_any_more_is_not_believed_either(
    logging_api: ApiClient,
) -> None:
    with remote_node(logging_api) as node, node.fork() as fork:
        node.proxy.max_batch = 1
        node.proxy.lies["eth_feeHistory"] = once(other_fee)
        assert read_at(fork, *FEES) == node.api(FEES[0], *FEES[1])


def test_fees_that_stay_of_another_branch_are_an_error(
    remote: tuple[RemoteNode, RemoteChain],
) -> None:
    node, fork = remote
    node.proxy.lies["eth_feeHistory"] = lambda _, it: other_fee(it)
    with pytest.raises(RemoteMalformed, match=r"eth_feeHistory .* another branch"):
        read_at(fork, *FEES)


def test_a_notion_of_its_own_of_what_is_used_is_the_remotes(
    remote: tuple[RemoteNode, RemoteChain],
) -> None:
    node, fork = remote
    node.proxy.lies["eth_feeHistory"] = lambda _, it: other_ratio(it)
    assert read_at(fork, *FEES)["gasUsedRatio"][0] == 0.5


def test_a_log_that_another_branch_does_not_have_is_not_left_out(
    remote: tuple[RemoteNode, RemoteChain],
) -> None:
    node, fork = remote
    node.proxy.lies["eth_getLogs"] = once(lambda it: it[:-1])
    assert read_at(fork, *LOGS) == node.api(LOGS[0], *LOGS[1])


def test_a_log_of_another_branch_is_not_taken(remote: tuple[RemoteNode, RemoteChain]) -> None:
    node, fork = remote
    node.proxy.lies["eth_getLogs"] = once(lambda it: [*it[:-1], it[-1] | {"blockHash": OTHER_HASH}])
    assert read_at(fork, *LOGS) == node.api(LOGS[0], *LOGS[1])


@pytest.mark.parametrize("method", ["debug_getRawHeader", "debug_getRawBlock"])
def test_raw_bytes_of_another_branch_are_read_again(
    remote: tuple[RemoteNode, RemoteChain], method: str
) -> None:
    node, fork = remote
    other = node.api(method, hex(LAST - 1))
    node.proxy.lies[method] = once(lambda _: other)
    assert read_at(fork, method, [hex(LAST)]) == node.api(method, hex(LAST))


def test_what_shows_no_branch_is_asked_for_between_two_looks_at_its_block(
    remote: tuple[RemoteNode, RemoteChain],
) -> None:
    node, fork = remote
    params = [str(LOGGER), hex(LAST)]
    assert read_at(fork, "eth_getBalance", params) == "0x0"
    block = "eth_getBlockByNumber"
    assert [body["method"] for body in node.proxy.bodies] == [block, "eth_getBalance", block]
    # The branch was the other one before, and is ours again after.
    node.proxy.lies[block] = once(lambda it: it | {"hash": OTHER_HASH})
    with pytest.raises(AnchorLost):
        read_at(fork, "eth_getBalance", params)


def test_with_batches_nothing_more_is_asked(logging_api: ApiClient) -> None:
    with remote_node(logging_api) as node, node.fork() as fork:
        for method, params in (FEES, LOGS, ("eth_getBalance", [str(LOGGER), hex(LAST)])):
            read_at(fork, method, params)
        assert (node.proxy.posts, node.proxy.batches) == (3, [2, 2, 2])
