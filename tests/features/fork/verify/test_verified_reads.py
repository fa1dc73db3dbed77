"""A fork that checks what it reads."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from entresol._native import keccak256, rlp_encode
from entresol.errors import RemoteFailed, RemoteLied, RemoteMalformed, Unprovable
from entresol.features.fork import past_blocks
from entresol.features.fork.verify import proven_chain
from entresol.features.fork.verify.verified_reads import UNPROVABLE, VerifiedReads
from entresol.node.build_node import build_node
from entresol.node.config.schema import NodeConfig
from entresol.primitives.anchor import header_of_block
from entresol.primitives.values import Hash32
from entresol.rpc.jsonrpc.method import Past
from tests.support.chain.api_client import running_api, send
from tests.support.chain.dev_chain import LOGGER
from tests.support.fork.remote_node import (
    ACCOUNT,
    BLOCKS,
    CONTRACT,
    HOLDER,
    NOBODY,
    OTHER_HASH,
    RemoteNode,
    block_hash,
    problem,
    read,
    remote_node,
    slots_of,
    value,
    wanted,
)


def test_everything_that_is_read_is_proven(node: RemoteNode) -> None:
    with node.fork(verify=True) as remote:
        keys = [
            ACCOUNT,
            ("account", bytes(CONTRACT)),
            ("account", bytes(NOBODY)),
            *slots_of([0, 4]),
        ]
        assert wanted(remote.table, [*keys, ("hash", 3)]) is None
        assert node.proxy.methods["eth_getStorageAt"] == node.proxy.methods["eth_getBalance"] == 0
        assert value(remote, 4) == 8
        assert wanted(remote.table_at(5), [ACCOUNT]) is None


@pytest.fixture
def spending() -> Iterator[RemoteNode]:
    """Return a chain whose first block has two transactions, one with a log."""
    with running_api() as api:
        api("evm_setAutomine", False)
        send(api, 0, to=LOGGER, data=b"hello")
        send(api, 0, by=1)
        api("evm_mine")
        with remote_node(api) as served:
            yield served


def test_a_remote_without_proofs_fails_the_start_and_says_why(node: RemoteNode) -> None:
    node.proxy.not_served("eth_getProof")
    with pytest.raises(RemoteFailed, match="does not serve eth_getProof"):
        node.fork(verify=True).__enter__()


def _hash_of(block: dict[str, Any]) -> str:
    return str(Hash32(keccak256(rlp_encode(header_of_block(block).to_rlp()))))


def test_a_forged_header_with_a_hash_of_its_own_is_a_lie(node: RemoteNode) -> None:
    forged = node.api("eth_getBlockByNumber", "0x5", True) | {"stateRoot": OTHER_HASH}
    forged["hash"] = _hash_of(forged)
    with node.fork(verify=True) as remote:
        node.proxy.lies["eth_getBlockByNumber"] = lambda params, it: (
            forged if params[0] == "0x5" else it
        )
        for reading in (
            lambda: read(remote, "eth_getBlockByNumber", "0x5", False),
            lambda: asyncio.run(remote.past_block(5)),
        ):
            with pytest.raises(RemoteFailed, match=r"ancestor|its child names"):
                reading()
        assert isinstance(wanted(remote.table_at(5), [ACCOUNT]), RemoteLied | RemoteMalformed)


def test_what_is_not_there_has_no_proof(node: RemoteNode) -> None:
    with node.fork(verify=True) as remote:
        for method in ("eth_getTransactionByHash", "eth_getTransactionReceipt"):
            with pytest.raises(Unprovable, match=f"{method} cannot be proven: nothing shows"):
                read(remote, method, OTHER_HASH)
        with pytest.raises(Unprovable, match="no block has the hash"):
            read(remote, "eth_getBlockByHash", OTHER_HASH, False)
        with pytest.raises(Unprovable, match="no block has the hash"):
            asyncio.run(remote.past_block(Hash32.parse(OTHER_HASH)))


def test_a_block_above_the_anchor_is_hidden_by_its_own_number(node: RemoteNode) -> None:
    with node.fork(verify=True, block_number=BLOCKS - 5) as remote:
        above = str(block_hash(node, BLOCKS))
        assert read(remote, "eth_getBlockByHash", above, False) is None


def test_the_block_after_the_anchor_is_shown_if_it_names_the_anchor(node: RemoteNode) -> None:
    with node.fork(verify=True, block_number=BLOCKS - 5) as remote:
        number = hex(BLOCKS - 4)
        assert read(remote, "eth_getBlockByNumber", number, True)["number"] == number
        with pytest.raises(RemoteLied, match="not an ancestor"):
            read(remote, "eth_getBlockByNumber", hex(BLOCKS - 3), True)


def test_a_method_without_a_proof_is_rejected_by_name_and_not_asked(node: RemoteNode) -> None:
    with node.fork(verify=True) as remote:
        for method in (*UNPROVABLE, "debug_traceBlockByNumber", "x_anything"):
            with pytest.raises(Unprovable, match=f"{method} cannot be proven"):
                read(remote, method, "0x5")
        assert node.proxy.posts == 0


def test_without_eip_2935_headers_are_linked_to_the_anchor_and_hashed(node: RemoteNode) -> None:
    node.proxy.lies["eth_getCode"] = lambda _, __: "0x"
    with node.fork(verify=True) as remote:
        assert wanted(remote.table_at(5), [ACCOUNT]) is None
        headers = node.proxy.methods["eth_getBlockByNumber"]
        assert headers > 10
        # What was linked is known: the next block costs its own header alone.
        assert wanted(remote.table_at(7), [ACCOUNT]) is None
        assert node.proxy.methods["eth_getBlockByNumber"] <= headers + 1


def test_without_eip_2935_a_false_header_between_is_a_lie(node: RemoteNode) -> None:
    node.proxy.lies["eth_getCode"] = lambda _, __: "0x"
    with node.fork(verify=True) as remote:
        # Its link is right, and what it says is not.
        node.proxy.lies["eth_getBlockByNumber"] = lambda params, it: (
            it | {"gasLimit": "0x1"} if params[0] == hex(10) else it
        )
        assert "does not have the hash" in problem(remote.table_at(5), [ACCOUNT], RemoteLied)


def test_a_block_that_is_too_far_from_the_anchor_to_be_linked_is_named(
    node: RemoteNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past_blocks, "MAX_WALKED", 70)
    node.proxy.lies["eth_getCode"] = lambda _, __: "0x"
    with node.fork(verify=True) as remote:
        failure = wanted(remote.table_at(5), [ACCOUNT])
        assert isinstance(failure, Unprovable)
        assert "block 5 cannot be proven: it is more than 70 blocks before the anchor" in str(
            failure
        )
        assert wanted(remote.table_at(10), [ACCOUNT]) is None


def test_logs_of_more_blocks_than_are_in_memory_at_the_same_time_are_all_there() -> None:
    with running_api() as api:
        for nonce in range(2 * proven_chain.AT_ONCE + 2):
            send(api, nonce, to=LOGGER, data=bytes([nonce]))
        logged = api("eth_getLogs", {"fromBlock": "0x0", "toBlock": "latest"})
        assert len(logged) == 2 * proven_chain.AT_ONCE + 2
        with remote_node(api) as served, served.fork(verify=True) as remote:
            last = hex(remote.anchor.number)
            found = read(remote, "eth_getLogs", {"fromBlock": "0x0", "toBlock": last})
    assert [it["blockNumber"] for it in found] == [it["blockNumber"] for it in logged]


@pytest.mark.parametrize("what", ["Transaction", "Uncle"])
@pytest.mark.parametrize("block", ["Number", "Hash"])
def test_what_comes_after_the_last_of_a_block_is_not_there(
    spending: RemoteNode, what: str, block: str
) -> None:
    has_some = what == "Transaction"
    name = "0x1" if block == "Number" else str(block_hash(spending, 1))
    verb = f"eth_get{what}ByBlock{block}AndIndex"
    with spending.fork(verify=True) as remote:
        found = [read(remote, verb, name, hex(it)) for it in range(4)]
    assert [it is not None for it in found] == [has_some, has_some, False, False]


def test_a_range_with_too_many_blocks_to_prove_is_named(
    node: RemoteNode, spending: RemoteNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proven_chain, "MAX_HEADERS", 20)
    monkeypatch.setattr(proven_chain, "MAX_BODIES", 0)
    with node.fork(verify=True) as remote:
        for method, params in (
            ("eth_getLogs", [{"fromBlock": "0x0", "toBlock": hex(20)}]),
            ("eth_feeHistory", ["0x20", "0x30", []]),
        ):
            with pytest.raises(Unprovable, match="it takes more than 20 headers"):
                read(remote, method, *params)
        assert node.proxy.posts == 0
        assert read(remote, "eth_getLogs", {"fromBlock": "0x0", "toBlock": hex(19)}) == []
    criteria = {"fromBlock": "0x0", "toBlock": "0x1"}
    with spending.fork(verify=True) as remote, pytest.raises(Unprovable, match="1 block may have"):
        read(remote, "eth_getLogs", criteria)
    monkeypatch.setattr(proven_chain, "MAX_BODIES", 1)
    with spending.fork(verify=True) as remote:
        assert read(remote, "eth_getLogs", criteria)


def test_a_log_has_as_many_topics_as_a_filter_has_places(spending: RemoteNode) -> None:
    (log,) = spending.api("eth_getLogs", {"fromBlock": "0x0", "toBlock": "0x1"})
    places = len(log["topics"])
    with spending.fork(verify=True) as remote:
        for count in (places, places + 1):
            criteria = {"fromBlock": "0x0", "toBlock": "0x1", "topics": [None] * count}
            found = read(remote, "eth_getLogs", criteria)
            assert len(found) == len(spending.api("eth_getLogs", criteria)) == (count == places)


def test_a_bloom_filter_has_a_value_if_it_has_all_three_bits(spending: RemoteNode) -> None:
    bloom = bytes.fromhex(spending.api("eth_getBlockByNumber", "0x1", False)["logsBloom"][2:])
    criteria = proven_chain.LogCriteria.of({"address": str(LOGGER)})
    assert criteria.may_be_in(bloom)
    number = int.from_bytes(bloom)
    fewer = [number & ~(1 << bit) for bit in range(2_048) if number >> bit & 1]
    # Three bits are those of the log's topic.
    assert [criteria.may_be_in(it.to_bytes(256)) for it in fewer].count(False) == 3


def test_a_block_of_logs_that_is_another_one_is_a_lie(spending: RemoteNode) -> None:
    other = spending.api("eth_getBlockByNumber", "0x0", True)
    with spending.fork(verify=True) as remote:
        spending.proxy.lies["eth_getBlockByHash"] = lambda *_: other
        with pytest.raises(RemoteLied, match="it is another block than"):
            read(remote, "eth_getLogs", {"fromBlock": "0x0", "toBlock": "0x1"})


def test_a_remote_without_receipts_of_blocks_is_asked_for_each(spending: RemoteNode) -> None:
    spending.proxy.not_served("eth_getBlockReceipts")
    with spending.fork(verify=True) as remote:
        assert len(read(remote, "eth_getBlockReceipts", "0x1")) == 2
        assert spending.proxy.methods["eth_getTransactionReceipt"] == 2


def test_raw_bytes_of_a_block_are_those_that_were_hashed(spending: RemoteNode) -> None:
    with spending.fork(verify=True) as remote:
        for method in ("debug_getRawHeader", "debug_getRawBlock", "debug_getRawReceipts"):
            assert read(remote, method, "0x1") == spending.api(method, "0x1")
            assert spending.proxy.methods[method] == 0


def test_an_account_of_the_past_is_proven(node: RemoteNode) -> None:
    with node.fork(verify=True) as remote:
        found = read(remote, "eth_getAccount", str(HOLDER), "0x5")
        assert found == node.api("eth_getAccount", str(HOLDER), "0x5")
        node.proxy.lies["eth_getProof"] = lambda _, it: it | {"balance": "0x1"}
        with pytest.raises(RemoteLied, match="eth_getProof"):
            read(remote, "eth_getAccount", str(HOLDER), "0x5")


STATES = {"eth_getBalance", "eth_getTransactionCount", "eth_getCode", "eth_getStorageAt"}
"""Read as executions read them."""
HEADERS = {"eth_getHeaderByNumber", "eth_getHeaderByHash", "erigon_getHeaderByNumber"}
"""Cut from the block."""


@cache
def past_methods() -> dict[str, Past]:
    """Return what a fork does with the past, by the name of each method that asks for it."""
    node = build_node(NodeConfig())
    try:
        methods = [
            method for one in node.services for method in one.api.dispatcher.methods.values()
        ]
    finally:
        asyncio.run(node.stop())
    return {method.name: method.past for method in methods if method.past not in (None, Past.LOCAL)}


def table(heading: str) -> dict[str, str]:
    """Return the rows of a table of the page about forks, by method."""
    page = (Path(__file__).parents[4] / "docs" / "forks.md").read_text(encoding="utf-8")
    found: dict[str, str] = {}
    after = page.split(f"| method below the anchor | {heading} |\n", 1)[1].splitlines()
    for row in after[1 : after.index("")]:
        _, names, text, _ = map(str.strip, row.split("|"))
        found |= dict.fromkeys(re.findall(r"`(\w+)`", names), text)
    return found


def test_the_page_says_of_every_method_that_asks_for_the_past_what_proves_it() -> None:
    proven, unprovable = table("proven by"), table("not proven, and rejected, because")
    assert len(past_methods()) > 60
    assert past_methods().keys() == proven.keys() | unprovable.keys()
    assert not proven.keys() & unprovable.keys()
    assert unprovable == UNPROVABLE
    for name, past in past_methods().items():
        if past in {Past.EXECUTE, Past.REPLAY}:
            assert proven[name].startswith("executed here")
    any_client: Any = None
    answered = VerifiedReads(any_client, any_client, any_client).methods
    passed = {
        name for name, past in past_methods().items() if past not in {Past.EXECUTE, Past.REPLAY}
    }
    assert (passed & proven.keys()) - STATES - HEADERS - {"eth_getFilterLogs"} == answered
