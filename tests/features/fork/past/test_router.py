"""The answers of a fork for blocks, transactions and states of the past: what the remote returns, up to the anchor."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from entresol.features.fork.feature import RemotePast
from entresol.features.fork.past import router
from entresol.features.fork.past.remote import block_of
from entresol.rpc.jsonrpc.method import Past
from tests.support.chain.dev_chain import ALICE, LOGGER
from tests.support.fork.past import ANCHOR, ForkClient, PastBlocks, forked
from tests.support.rpc_client import RpcError


@pytest.fixture
def fork(past: PastBlocks) -> Iterator[ForkClient]:
    """Return a fork of it."""
    with forked(past.client, ANCHOR) as client:
        yield client


def block_hash(past: PastBlocks, number: int) -> str:
    found: str = past.client("eth_getBlockByNumber", hex(number), False)["hash"]
    return found


NUMBERS = [0, 3, ANCHOR]
BY_NUMBER = [
    ("eth_getBlockByNumber", [False]),
    ("eth_getBlockByNumber", [True]),
    ("eth_getBlockTransactionCountByNumber", []),
    ("eth_getBlockReceipts", []),
    ("eth_getUncleCountByBlockNumber", []),
    ("eth_getUncleByBlockNumberAndIndex", ["0x0"]),
    ("eth_getTransactionByBlockNumberAndIndex", ["0x0"]),
    ("eth_getRawTransactionByBlockNumberAndIndex", ["0x0"]),
    ("debug_getRawHeader", []),
    ("debug_getRawBlock", []),
    ("debug_getRawReceipts", []),
    ("ots_getBlockDetails", []),
    ("ots_getBlockTransactions", [0, 10]),
]
BY_BLOCK_HASH = [
    ("eth_getBlockByHash", [False]),
    ("eth_getBlockByHash", [True]),
    ("eth_getHeaderByHash", []),
    ("eth_getBlockTransactionCountByHash", []),
    ("eth_getBlockReceipts", []),
    ("eth_getUncleCountByBlockHash", []),
    ("eth_getUncleByBlockHashAndIndex", ["0x0"]),
    ("eth_getTransactionByBlockHashAndIndex", ["0x0"]),
    ("eth_getRawTransactionByBlockHashAndIndex", ["0x0"]),
    ("ots_getBlockDetailsByHash", []),
]
BY_TRANSACTION = [
    "eth_getTransactionByHash",
    "eth_getTransactionReceipt",
    "eth_getRawTransactionByHash",
    "debug_getRawTransaction",
]


@pytest.mark.parametrize(("name", "more"), BY_NUMBER)
def test_a_past_block_is_what_the_remote_says(
    past: PastBlocks, fork: ForkClient, name: str, more: list[Any]
) -> None:
    for number in NUMBERS:
        assert fork(name, hex(number), *more) == past.client(name, hex(number), *more)
    assert sum(fork.remote.asked.values()) == len(NUMBERS)


@pytest.mark.parametrize("name", ["eth_getHeaderByNumber", "erigon_getHeaderByNumber"])
def test_headers_are_read_from_blocks_which_every_node_serves(
    past: PastBlocks, fork: ForkClient, name: str
) -> None:
    expected, found = past.client(name, "0x3"), fork(name, "0x3")
    assert found == {key: expected[key] for key in found}
    assert "transactions" not in found
    assert set(fork.remote.asked) == {"eth_getBlockByNumber"}


@pytest.mark.parametrize(("name", "more"), BY_BLOCK_HASH)
def test_a_past_block_by_hash_is_what_the_remote_says_and_one_above_is_hidden(
    past: PastBlocks, fork: ForkClient, name: str, more: list[Any]
) -> None:
    for number in (3, ANCHOR):
        named = block_hash(past, number)
        expected = past.client(name, named, *more)
        assert fork(name, named, *more) == expected
    assert fork(name, block_hash(past, ANCHOR + 1), *more) is None
    assert fork(name, "0x" + "12" * 32, *more) is None


@pytest.mark.parametrize("name", BY_TRANSACTION)
def test_that_a_transaction_is_only_above_the_anchor_has_no_proof(
    past: PastBlocks, fork: ForkClient, name: str
) -> None:
    fork.remote.verifies = True
    with pytest.raises(RpcError, match=r"nothing shows that transaction .* is only above"):
        fork(name, past.above)


@pytest.mark.parametrize("name", BY_TRANSACTION)
def test_a_past_transaction_is_what_the_remote_says_and_one_above_is_hidden(
    past: PastBlocks, fork: ForkClient, name: str
) -> None:
    for known in (past.logged[2], past.nested, past.failed):
        assert fork(name, known) == past.client(name, known)
    for hidden in (past.creating, past.above, "0x" + "12" * 32):
        assert fork(name, hidden) is None


def test_a_block_of_the_fork_itself_is_not_asked_of_the_remote(fork: ForkClient) -> None:
    fork("anvil_mine", 2)
    assert fork("eth_getBlockByNumber", hex(ANCHOR + 1), False)["number"] == hex(ANCHOR + 1)
    own = fork("eth_getBlockByNumber", "latest", False)["hash"]
    assert fork("eth_getBlockByHash", own, False)["hash"] == own
    assert fork("eth_getBlockByNumber", hex(ANCHOR + 5), False) is None
    assert fork("eth_getBalance", str(ALICE), hex(ANCHOR + 1)) == hex(100 * 10**18)
    assert not fork.remote.asked


def test_earliest_is_the_first_block_of_the_remote(past: PastBlocks, fork: ForkClient) -> None:
    assert fork("eth_getBlockByNumber", "earliest", False) == past.client(
        "eth_getBlockByNumber", "0x0", False
    )
    assert fork("eth_getBalance", str(ALICE), "earliest") == hex(100 * 10**18)


def test_the_latest_block_of_a_fork_without_blocks_is_the_remotes(
    past: PastBlocks, fork: ForkClient
) -> None:
    """It has its transactions, whatever it is named by."""
    expected = past.client("eth_getBlockByNumber", hex(ANCHOR), True)
    assert expected["transactions"]
    for tag in ("latest", "safe", "finalized"):
        assert fork("eth_getBlockByNumber", tag, True) == expected
    receipts = past.client("eth_getBlockReceipts", hex(ANCHOR))
    assert fork("eth_getBlockReceipts", "latest") == receipts
    assert fork("eth_getBlockByNumber", "pending", False)["number"] == hex(ANCHOR + 1)
    fork("anvil_mine")
    assert fork("eth_getBlockByNumber", "latest", True)["number"] == hex(ANCHOR + 1)
    assert fork("eth_getBlockByNumber", "finalized", True) == expected


NUMBER_CODE = "0x435f5260205ff3"
"""Init code that returns the number of its block."""


def test_safe_and_finalized_are_epochs_behind_the_head_also_below_the_anchor(
    past: PastBlocks,
) -> None:
    with forked(past.client, ANCHOR, epoch_slots=3) as fork:
        fork("anvil_mine")
        names = {"safe": hex(ANCHOR - 2), "finalized": hex(ANCHOR - 5)}
        for tag, number in names.items():
            block = past.client("eth_getBlockByNumber", number, True)
            assert fork("eth_getBlockByNumber", tag, True) == block
            nonce = past.client("eth_getTransactionCount", str(ALICE), number)
            assert fork("eth_getTransactionCount", str(ALICE), tag) == nonce
            assert int(fork("eth_call", {"data": NUMBER_CODE}, tag), 16) == int(number, 16)
            fees = fork("eth_feeHistory", "0x2", tag, [])
            assert int(fees["oldestBlock"], 16) == int(number, 16) - 1
        criteria = {"fromBlock": "finalized", "toBlock": "safe"}
        logs = fork("eth_getLogs", criteria)
        assert logs
        assert logs == past.client(
            "eth_getLogs", {"fromBlock": names["finalized"], "toBlock": names["safe"]}
        )


def test_a_block_that_may_be_replaced_is_asked_for_by_its_hash(
    past: PastBlocks, fork: ForkClient
) -> None:
    fork.remote.pinned = 5
    for number in (3, 7):
        expected = past.client("eth_getBlockByNumber", hex(number), True)
        assert fork("eth_getBlockByNumber", hex(number), True) == expected
    assert fork.remote.asked == {"eth_getBlockByNumber": 1, "eth_getBlockByHash": 1}


REPLACED = [
    ("eth_getBlockByNumber", [hex(7), False]),
    ("eth_getBlockReceipts", [hex(7)]),
    ("eth_getBlockTransactionCountByNumber", [hex(7)]),
    ("eth_getTransactionByBlockNumberAndIndex", [hex(7), "0x0"]),
    ("eth_feeHistory", ["0x2", hex(7), []]),
    ("debug_getRawBlock", [hex(7)]),
    ("eth_getLogs", [{"fromBlock": "0x2", "toBlock": "0x7"}]),
]


@pytest.mark.parametrize(("name", "params"), REPLACED)
def test_a_block_that_was_replaced_is_an_error_and_not_one_that_does_not_exist(
    fork: ForkClient, name: str, params: list[Any]
) -> None:
    """Nor is what the remote says of the block that has its number now the response."""
    fork.remote.pinned, fork.remote.replaced = 5, {7}
    for method in (name, name.replace("Number", "Hash")):
        # A remote knows nothing of blocks that it has replaced, and finds no logs in them.
        fork.remote.results[method] = lambda _, response: [] if name == "eth_getLogs" else None  # noqa: ARG005
    with pytest.raises(RpcError, match="was orphaned"):
        fork(name, *params)
    assert not fork.remote.kept


@pytest.mark.parametrize(
    "name", ["eth_getTransactionByHash", "eth_getTransactionReceipt", "debug_traceTransaction"]
)
def test_a_transaction_that_went_with_its_block_is_an_error(
    past: PastBlocks, fork: ForkClient, name: str
) -> None:
    fork.remote.pinned, fork.remote.replaced = 5, {ANCHOR}
    for method in ("eth_getTransactionByHash", "eth_getTransactionReceipt"):
        fork.remote.results[method] = lambda _, response: None  # noqa: ARG005
    with pytest.raises(RpcError, match="was orphaned"):
        fork(name, past.nested)
    for method in ("eth_getTransactionByHash", "eth_getTransactionReceipt"):
        # It is in another block now.
        fork.remote.results[method] = lambda _, response: response | {"blockHash": "0x" + "42" * 32}
    with pytest.raises(RpcError, match="was orphaned"):
        fork(name, past.nested)
    fork.remote.results.clear()
    assert fork(name, past.nested) == past.client(name, past.nested)


def test_a_block_that_replaced_one_below_the_fork_is_hidden(
    past: PastBlocks, fork: ForkClient
) -> None:
    fork.remote.pinned = 5
    other = "0x" + "42" * 32
    found = past.client("eth_getBlockByNumber", "0x7", False) | {"hash": other}
    fork.remote.results["eth_getBlockByHash"] = lambda _, response: found  # noqa: ARG005
    assert fork("eth_getBlockByHash", other, False) is None
    assert not fork.remote.kept


@pytest.mark.parametrize("name", ["eth_getBlockByNumber", "eth_getBlockReceipts"])
def test_a_remote_without_a_block_below_the_fork_is_named(fork: ForkClient, name: str) -> None:
    """As a node that lags behind others of the same URL."""
    fork.remote.results[name] = lambda _, response: None  # noqa: ARG005
    with pytest.raises(RpcError, match="there is no block 3"):
        fork(name, "0x3", *([False] if name == "eth_getBlockByNumber" else []))


STATE = [
    ("eth_getBalance", [str(ALICE)]),
    ("eth_getTransactionCount", [str(ALICE)]),
    ("eth_getCode", [str(LOGGER)]),
    ("eth_getStorageAt", [str(LOGGER), "0x0"]),
    ("eth_getProof", [str(LOGGER), ["0x0", "0x1"]]),
    ("eth_getAccount", [str(LOGGER)]),
]


@pytest.mark.parametrize(("name", "first"), STATE)
def test_a_past_state_is_what_the_remote_says(
    past: PastBlocks, fork: ForkClient, name: str, first: list[Any]
) -> None:
    for named in (hex(4), hex(ANCHOR - 1), {"blockHash": block_hash(past, 4)}):
        assert fork(name, *first, named) == past.client(name, *first, named)


def test_the_state_of_the_anchor_is_the_forks(past: PastBlocks, fork: ForkClient) -> None:
    """It has what the fork laid over it: development accounts have their balances."""
    assert fork("eth_getBalance", str(ALICE), hex(ANCHOR)) == hex(100 * 10**18)
    assert past.client("eth_getBalance", str(ALICE), hex(ANCHOR)) != hex(100 * 10**18)
    with pytest.raises(RpcError):
        fork("eth_getBalance", str(ALICE), {"blockHash": block_hash(past, ANCHOR + 1)})
    assert fork.remote.asked == {}


@pytest.mark.parametrize(
    "message",
    [
        "missing trie node 0123 (path ) state 0x0 is not available",
        "state histories haven't been fully indexed: historical state unavailable",
        "required historical state unavailable (reexec=128)",
        "old data not available due to pruning",
        "This request requires an archive node",
        "distance to target block exceeds maximum proof window",
    ],
)
def test_a_remote_without_old_states_is_explained(fork: ForkClient, message: str) -> None:
    fork.remote.errors["eth_getBalance"] = (-32000, message)
    with pytest.raises(
        RpcError, match="no state of block 4: it is not an archive node; pin a newer"
    ):
        fork("eth_getBalance", str(ALICE), "0x4")


def test_any_other_error_of_the_remote_is_named(fork: ForkClient) -> None:
    fork.remote.errors["eth_getBalance"] = (-32601, "method not found")
    with pytest.raises(RpcError, match=r"remote:8545 rejected eth_getBalance: method not found"):
        fork("eth_getBalance", str(ALICE), "0x4")


@pytest.mark.parametrize("wrong", [None, 5, {}, "0xzz", "0x" + "1" * 65, "1234"])
def test_a_balance_that_is_none_is_rejected(fork: ForkClient, wrong: Any) -> None:
    fork.remote.results["eth_getBalance"] = lambda _params, _result: wrong
    with pytest.raises(RpcError, match="wrong result"):
        fork("eth_getBalance", str(ALICE), "0x4")


def test_numbers_of_sloppy_remotes_are_written_as_ours(fork: ForkClient) -> None:
    fork.remote.results["eth_getBalance"] = lambda _params, _result: "0x007B"
    fork.remote.results["eth_getStorageAt"] = lambda _params, _result: "0x1"
    assert fork("eth_getBalance", str(ALICE), "0x4") == "0x7b"
    assert fork("eth_getStorageAt", str(ALICE), "0x0", "0x4") == f"0x{1:064x}"


def strange_transactions() -> list[dict[str, Any]]:
    """Return transactions as other chains have them: unknown types, missing and further members."""
    types = ["0x71", "0xff", "0xfe", "0x7f", "0x7e", "0x7d", "0x7c", "0x6a", "0x64", "0x78"]
    return [
        {"hash": "0x" + "ab" * 32, "type": kind, "blockNumber": "0x4", "l1": [1]} for kind in types
    ]


def handled(fork: ForkClient, method: str, *params: object) -> Any:
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    response = json.loads(asyncio.run(fork.handle(json.dumps(request).encode())))
    return response["result"]


@pytest.mark.parametrize("strange", strange_transactions())
def test_what_ethereum_does_not_have_passes_as_it_came(
    fork: ForkClient, strange: dict[str, Any]
) -> None:
    block = {"number": "0x4", "hash": "0x" + "cd" * 32, "transactions": [strange], "x": {"y": None}}
    fork.remote.results = {
        "eth_getTransactionByHash": lambda _params, _result: strange,
        "eth_getTransactionReceipt": lambda _params, _result: strange,
        "eth_getBlockByNumber": lambda _params, _result: block,
        "eth_getBlockReceipts": lambda _params, _result: [strange],
    }
    assert handled(fork, "eth_getTransactionByHash", strange["hash"]) == strange
    assert handled(fork, "eth_getTransactionReceipt", strange["hash"]) == strange
    assert handled(fork, "eth_getBlockByNumber", "0x4", True) == block
    assert handled(fork, "eth_getBlockReceipts", "0x4") == [strange]


def test_a_transaction_that_is_pending_at_the_remote_is_hidden(fork: ForkClient) -> None:
    pending = {"hash": "0x" + "ab" * 32, "blockNumber": None}
    fork.remote.results["eth_getTransactionByHash"] = lambda _params, _result: pending
    assert fork("eth_getTransactionByHash", pending["hash"]) is None
    assert not fork.remote.kept


def test_what_never_changes_is_kept_and_null_is_not(past: PastBlocks, fork: ForkClient) -> None:
    fork("eth_getBlockByNumber", "0x4", False)
    fork("eth_getTransactionReceipt", past.logged[0])
    fork("eth_getBalance", str(ALICE), "0x4")
    assert {name for name, _ in fork.remote.kept} == {
        "eth_getBlockByNumber",
        "eth_getTransactionReceipt",
        "eth_getBalance",
    }
    kept = len(fork.remote.kept)
    fork("eth_getTransactionReceipt", "0x" + "12" * 32)
    fork("eth_getTransactionReceipt", past.above)
    assert len(fork.remote.kept) == kept


def test_parameters_are_asked_in_one_form(fork: ForkClient) -> None:
    for named in ("0x4", 4, "4", {"blockNumber": "0x04"}):
        fork("eth_getBalance", str(ALICE).upper().replace("0X", "0x"), named)
    assert len({json.dumps(param) for param in fork.remote.params}) == 1


def test_calls_beyond_the_limit_of_waiting_ones_are_rejected(
    fork: ForkClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(router, "MAX_WAITING", 2)
    calls = [("eth_getBalance", [str(ALICE), "0x4"])] * 5
    results = fork.batch(calls)
    rejected = [result for result in results if isinstance(result, RpcError)]
    assert len(results) - len(rejected) >= 2
    assert all("too many requests wait" in rejection.message for rejection in rejected)
    (past,) = (feature for feature in fork.api.features if isinstance(feature, RemotePast))
    assert past.router.waiting == 0


def test_local_methods_never_ask(past: PastBlocks, fork: ForkClient) -> None:
    local = {name for name, method in fork.methods.items() if method.past is Past.LOCAL}
    assert {"trace_filter", "eth_newFilter", "ots_searchTransactionsBefore"} <= local
    fork("ots_searchTransactionsBefore", str(ALICE), 0, 10)
    fork("eth_newFilter", {"fromBlock": "0x0"})
    fork("trace_filter", {"fromBlock": hex(ANCHOR), "toBlock": "latest"})
    fork("eth_getTransactionBySenderAndNonce", str(ALICE), "0x0")
    assert not fork.remote.asked
    assert past.logged


@pytest.mark.parametrize(
    ("result", "number"),
    [(b'{"number":"0x5"}', 5), (b'{"blockNumber":"0x6"}', 6), (b"null", None), (b"[]", None)],
)
def test_an_object_says_its_block(result: bytes, number: int | None) -> None:
    assert block_of(Raw(result)) == number
    assert block_of(Raw(msgspec.json.encode({"number": 5}))) is None


@pytest.mark.parametrize(("name", "first"), STATE[:4])
def test_a_past_state_that_is_verified_is_not_asked_for_by_its_own_method(
    past: PastBlocks, fork: ForkClient, name: str, first: list[Any]
) -> None:
    """Nothing would prove what that returns."""
    fork.remote.verifies = True
    fork.remote.results[name] = lambda _, response: "0x7777"  # noqa: ARG005
    for named in (hex(4), {"blockHash": block_hash(past, 4)}):
        assert fork(name, *first, named) == past.client(name, *first, named)
    assert name not in fork.remote.asked
