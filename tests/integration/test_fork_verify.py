"""`--fork-verify` of a real anvil's past: states, blocks, logs and fees are proven, and what a proxy changes is caught."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.anvil import Anvil
from tests.support.fork.proxy import FaultyProxy, faulty_proxy
from tests.support.fork.remote_anvil import STRANGER, RemoteAnvil, remote_anvil
from tests.support.inprocess_node import inprocess_anvil
from tests.support.rpc_client import RpcError

SLOT = f"0x{0:064x}"
READ = 3
"""A block of the past that truth is read of; lies are told of later ones."""


@pytest.fixture(scope="module")
def remote() -> Iterator[RemoteAnvil]:
    with remote_anvil() as found:
        yield found


@pytest.fixture(scope="module")
def proxy(remote: RemoteAnvil) -> Iterator[FaultyProxy]:
    with faulty_proxy(remote.url) as found:
        yield found


@pytest.fixture(scope="module")
def fork(remote: RemoteAnvil, proxy: FaultyProxy) -> Iterator[Anvil]:
    flags = (
        *("-f", proxy.url, "--fork-block-hash", remote.block(remote.number)["hash"]),
        *("--fork-verify", "--no-storage-caching"),
    )
    with inprocess_anvil("anvil", *flags) as node:
        yield node


@pytest.fixture(autouse=True)
def truthful(proxy: FaultyProxy) -> Iterator[None]:
    yield
    proxy.lies.clear()


def test_a_past_state_is_read_by_proofs_alone(
    remote: RemoteAnvil, fork: Anvil, proxy: FaultyProxy
) -> None:
    proxy.forget()
    for method, params in (
        ("eth_getBalance", [STRANGER]),
        ("eth_getBalance", [remote.accounts[0]]),
        ("eth_getTransactionCount", [remote.accounts[0]]),
        ("eth_getCode", [remote.counter]),
        ("eth_getStorageAt", [remote.counter, SLOT]),
        ("eth_call", [{"to": remote.counter}]),
        ("eth_getProof", [remote.counter, [SLOT]]),
    ):
        found = fork(method, *params, hex(READ))
        assert found == remote.node(method, *params, hex(READ)), method
    assert proxy.methods["eth_getProof"] > 0
    for unproven in ("eth_getBalance", "eth_getTransactionCount", "eth_getStorageAt", "eth_call"):
        assert proxy.methods[unproven] == 0


def test_what_is_executed_on_the_anchor_is_proven(
    remote: RemoteAnvil, fork: Anvil, proxy: FaultyProxy
) -> None:
    proxy.forget()
    sent = fork("eth_sendTransaction", {"from": remote.accounts[1], "to": remote.counter})
    assert fork("eth_getTransactionReceipt", sent)["status"] == "0x1"
    assert fork("eth_call", {"to": remote.counter}, "latest") == f"0x{5:064x}"
    assert proxy.methods["eth_getStorageAt"] == 0


def test_blocks_receipts_logs_and_fees_are_those_of_the_remote(
    remote: RemoteAnvil, fork: Anvil
) -> None:
    for number in range(READ + 1):
        found, own = (
            node("eth_getBlockByNumber", hex(number), True) for node in (fork, remote.node)
        )
        assert (
            found.items()
            >= {name: own[name] for name in own.keys() - {"size", "totalDifficulty"}}.items()
        )
    for sent in remote.calls[:2]:
        receipt = fork("eth_getTransactionReceipt", sent)
        assert receipt.items() <= remote.node("eth_getTransactionReceipt", sent).items()
        assert fork("eth_getTransactionByHash", sent) == remote.node(
            "eth_getTransactionByHash", sent
        )
    wanted = {"fromBlock": "0x0", "toBlock": hex(READ), "address": remote.counter}
    assert fork("eth_getLogs", wanted) == remote.node("eth_getLogs", wanted) != []
    fees = fork("eth_feeHistory", "0x2", hex(READ), [50])
    own = remote.node("eth_feeHistory", "0x2", hex(READ), [50])
    for name in ("oldestBlock", "gasUsedRatio", "reward"):
        assert fees[name] == own[name]


LIES: dict[str, tuple[int, str, Callable[[Any], Any], str, list[Any]]] = {
    "balance": (
        4, "eth_getProof", lambda it: it | {"balance": "0x77"}, "eth_getBalance", [STRANGER],
    ),
    "slot": (
        4, "eth_getProof",
        lambda it: it
        | {"storageProof": [one | {"value": "0x77"} for one in it["storageProof"]]},
        "eth_call", [{"to": "counter"}],
    ),
    "code": (5, "eth_getCode", lambda _: "0x6001", "eth_getCode", ["counter"]),
    "state root": (
        4, "eth_getBlockByHash", lambda it: it and it | {"stateRoot": "0x" + "42" * 32}, "eth_getBlockByNumber", [],
    ),
    "transaction": (
        5, "eth_getBlockByHash",
        lambda it: it | {"transactions": [one | {"value": "0x77"} for one in it["transactions"]]},
        "eth_getBlockByNumber", [],
    ),
    "receipt": (
        5, "eth_getBlockReceipts",
        lambda it: [one | {"gasUsed": "0x77"} for one in it],
        "eth_getBlockReceipts", [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LIES)
def test_a_lie_about_the_past_is_caught(
    remote: RemoteAnvil, fork: Anvil, proxy: FaultyProxy, name: str
) -> None:
    number, lied, lie, method, params = LIES[name]
    proxy.lies[lied] = lambda _, it: lie(it)
    given = [_named(param, remote) for param in params]
    more = [True] if method == "eth_getBlockByNumber" else []
    with pytest.raises(RpcError, match=f"responded to {lied} with a false result"):
        fork(method, *given, hex(number), *more)
    proxy.lies.clear()
    assert fork(method, *given, hex(number), *more) is not None


def _named(param: Any, remote: RemoteAnvil) -> Any:
    if isinstance(param, dict):
        return {name: _named(it, remote) for name, it in param.items()}
    return remote.counter if param == "counter" else param


def test_what_nothing_proves_is_rejected_by_name(remote: RemoteAnvil, fork: Anvil) -> None:
    for method, params in (
        ("ots_getBlockTransactions", [READ, 0, 10]),
        ("eth_getTransactionByHash", [remote.calls[-1]]),
        ("eth_getTransactionReceipt", ["0x" + "12" * 32]),
    ):
        with pytest.raises(RpcError, match=r"--fork-verify: .* cannot be proven"):
            fork(method, *params)
