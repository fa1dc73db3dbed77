"""`--fork-verify` of a real anvil's past: states, blocks, logs and fees are proven, and what a proxy changes is caught."""

from __future__ import annotations

from collections.abc import Iterator

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


def test_a_lie_about_the_past_is_caught(
    remote: RemoteAnvil, fork: Anvil, proxy: FaultyProxy
) -> None:
    proxy.lies["eth_getProof"] = lambda _, it: it | {"balance": "0x77"}
    with pytest.raises(RpcError, match="responded to eth_getProof with a false result"):
        fork("eth_getBalance", STRANGER, hex(READ + 1))
    proxy.lies.clear()
    assert fork("eth_getBalance", STRANGER, hex(READ + 1)) == remote.node(
        "eth_getBalance", STRANGER, hex(READ + 1)
    )


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
