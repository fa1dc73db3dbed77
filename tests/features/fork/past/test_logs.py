"""Logs of a fork: those of the remote up to the anchor, and its own above it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from entresol.features.fork.past import logs
from entresol.features.fork.past.logs import narrower
from entresol.node.config.api import LimitsConfig
from tests.support.chain.api_client import ApiClient
from tests.support.chain.dev_chain import ALICE, LOGGER, transaction
from tests.support.fork.past import ForkClient, PastBlocks, forked
from tests.support.hex_data import hexed
from tests.support.rpc_client import RpcError

ANCHOR = 6
"""It has a log itself."""


@pytest.fixture
def fork(past: PastBlocks) -> Iterator[ForkClient]:
    """Return a fork with two logs of its own."""
    with forked(past.client, ANCHOR) as client:
        log(client, 0)
        log(client, 1)
        yield client


def log(client: ForkClient | ApiClient, nonce: int) -> None:
    sent = transaction(nonce, to=LOGGER, wei=0, data=b"own" + bytes([nonce]))
    client("eth_sendRawTransaction", hexed(sent.raw))


def numbers(found: list[dict[str, Any]]) -> list[int]:
    return [int(log["blockNumber"], 16) for log in found]


def get(client: ForkClient, first: Any, last: Any, **more: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client(
        "eth_getLogs", {"fromBlock": first, "toBlock": last, **more}
    )
    return found


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        ("0x0", "latest", [2, 3, 4, 5, 6, 7, 8]),
        ("earliest", "latest", [2, 3, 4, 5, 6, 7, 8]),
        ("0x4", "0x7", [4, 5, 6, 7]),
        ("0x3", "0x4", [3, 4]),
        ("0x6", "0x6", [6]),
        ("0x6", "0x7", [6, 7]),
        ("0x7", "latest", [7, 8]),
        ("earliest", "earliest", []),
        ("earliest", "0x3", [2, 3]),
    ],
)
def test_logs_of_both_sides_are_joined_in_order(
    fork: ForkClient, first: str, last: str, expected: list[int]
) -> None:
    assert numbers(get(fork, first, last)) == expected


def test_logs_of_the_past_are_the_remotes_own(past: PastBlocks, fork: ForkClient) -> None:
    """Above the anchor the remote has other ones, which are hidden."""
    found = get(fork, "0x0", "latest")
    expected = past.client("eth_getLogs", {"fromBlock": "0x0", "toBlock": hex(ANCHOR)})
    assert found[: len(expected)] == expected
    assert [log["data"] for log in found[len(expected) :]] == ["0x6f776e00", "0x6f776e01"]


def test_a_range_above_the_anchor_does_not_ask_the_remote(fork: ForkClient) -> None:
    get(fork, hex(ANCHOR + 1), "latest")
    get(fork, "latest", "latest")
    assert not fork.remote.asked


def test_criteria_go_to_the_remote(fork: ForkClient) -> None:
    topic = f"0x{bytes(ALICE).rjust(32, bytes(1)).hex()}"
    assert get(fork, "0x0", "latest", address="0x" + "11" * 20) == []
    assert len(get(fork, "0x0", "latest", address=[str(LOGGER)], topics=[[topic], None])) in (0, 7)
    assert len(get(fork, "0x0", "latest", topics=[topic])) == 7


def test_logs_by_the_hash_of_a_block(past: PastBlocks, fork: ForkClient) -> None:
    def of(number: int) -> str:
        found: str = past.client("eth_getBlockByNumber", hex(number), False)["hash"]
        return found

    for number in (3, ANCHOR):
        found = fork("eth_getLogs", {"blockHash": of(number)})
        assert found == past.client("eth_getLogs", {"blockHash": of(number)})
        assert numbers(found) == [number]
    own = fork("eth_getBlockByNumber", "latest", False)["hash"]
    assert numbers(fork("eth_getLogs", {"blockHash": own})) == [8]
    for unknown in (of(ANCHOR + 1), "0x" + "12" * 32):
        with pytest.raises(RpcError, match="doesn't exist"):
            fork("eth_getLogs", {"blockHash": unknown})


def test_an_installed_filter_has_the_logs_of_both_sides(fork: ForkClient) -> None:
    installed = fork("eth_newFilter", {"fromBlock": "0x4", "toBlock": "latest"})
    assert numbers(fork("eth_getFilterLogs", installed)) == [4, 5, 6, 7, 8]
    log(fork, 2)
    assert numbers(fork("eth_getFilterChanges", installed)) == [9]
    assert numbers(fork("eth_getFilterLogs", installed)) == [4, 5, 6, 7, 8, 9]
    local = fork("eth_newFilter", {})
    assert numbers(fork("eth_getFilterLogs", local)) == [9]
    with pytest.raises(RpcError, match="filter not found"):
        fork("eth_getFilterLogs", "0x1234")


@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_a_range_is_cut_as_the_remote_wants_it(fork: ForkClient, width: int) -> None:
    remote, plain = fork.remote, fork.remote.read

    async def read(method: str, params: Sequence[Any], **options: Any) -> Any:
        first, last = (int(params[0][bound], 16) for bound in ("fromBlock", "toBlock"))
        remote.errors.pop(method, None)
        if last - first + 1 > width:
            remote.errors[method] = (-32005, f"query exceeds the limit of {width} blocks")
        return await plain(method, params, **options)

    remote.read = read  # type: ignore[method-assign]
    assert numbers(get(fork, "0x0", "latest")) == [2, 3, 4, 5, 6, 7, 8]


def test_a_remote_that_takes_hardly_any_blocks_is_not_asked_without_end(
    fork: ForkClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "MAX_REQUESTS", 3)
    fork.remote.errors["eth_getLogs"] = (-32005, "block range is too large")
    with pytest.raises(RpcError, match=r"rejected eth_getLogs|covers more than"):
        get(fork, "0x0", "latest")
    assert fork.remote.asked["eth_getLogs"] <= 3


def test_another_error_is_not_taken_for_a_limit(fork: ForkClient) -> None:
    fork.remote.errors["eth_getLogs"] = (-32000, "unauthorized")
    with pytest.raises(RpcError, match="rejected eth_getLogs: unauthorized"):
        get(fork, "0x0", "latest")
    assert fork.remote.asked["eth_getLogs"] == 1


def test_limits_are_those_of_local_logs(past: PastBlocks) -> None:
    with forked(past.client, ANCHOR, LimitsConfig(log_limit=3)) as fork:
        log(fork, 0)
        with pytest.raises(RpcError, match=r"more than 3 results.*\[0x0, 0x4\]"):
            get(fork, "0x0", "latest")
        assert numbers(get(fork, "0x0", "0x4")) == [2, 3, 4]
        assert numbers(get(fork, "0x5", "latest")) == [5, 6, 7]
    with forked(past.client, ANCHOR, LimitsConfig(log_block_limit=4)) as fork:
        with pytest.raises(RpcError, match="more than 4 blocks"):
            get(fork, "0x0", "latest")
        assert not fork.remote.asked


def test_logs_of_a_block_that_replaced_one_below_the_fork_are_rejected(fork: ForkClient) -> None:
    fork.remote.pinned = 4
    fork.remote.results["eth_getLogs"] = lambda _params, found: [
        log | {"blockHash": "0x" + "99" * 32} for log in found
    ]
    with pytest.raises(RpcError, match="orphaned"):
        get(fork, "0x0", "latest")


def test_what_is_no_list_of_logs_is_rejected(fork: ForkClient) -> None:
    fork.remote.results["eth_getLogs"] = lambda _params, _found: {"logs": []}
    with pytest.raises(RpcError, match="wrong result"):
        get(fork, "0x0", "latest")


def test_the_range_of_the_client_is_checked_first(fork: ForkClient) -> None:
    with pytest.raises(RpcError):
        get(fork, "0x5", "0x3")
    with pytest.raises(RpcError):
        get(fork, hex(ANCHOR + 100), "latest")
    assert not fork.remote.asked


@pytest.mark.parametrize(
    ("message", "width"),
    [
        ("Try with this block range [0x0, 0x31].", 50),
        ("eth_getLogs is limited to a 10,000 block range", 500),
        ("exceed maximum block range: 250 blocks", 250),
        ("block range is too wide", 500),
        ("limited to 0 - 10 blocks range", 10),
    ],
)
def test_an_error_says_how_many_blocks_fit(message: str, width: int) -> None:
    assert narrower(message, 0, 999) == width
