"""Accounts, the pool and the developer's methods, beside those of a real anvil."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.support.anvil import Anvil, running_anvil
from tests.support.clients.accounts import MAIL
from tests.support.inprocess_node import inprocess_node
from tests.support.rpc_client import HttpRpcClient, RpcError

pytestmark = pytest.mark.peer

ALICE = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
BOB = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
STRANGER = "0x" + "ab" * 20
SLOT = "0x" + "00" * 31 + "01"
WHOLE = {
    "from": ALICE, "to": BOB, "value": "0x5", "gas": "0x7530", "nonce": "0x0", "data": "0x1234",
    "chainId": "0x10e",
}  # fmt: skip


class Both(NamedTuple):
    """The node and anvil, with the same accounts on chains with the same id."""

    node: HttpRpcClient
    anvil: Anvil

    def __call__(self, method: str, *params: object) -> tuple[Any, Any]:
        """Call both; a rejection counts as a result."""
        return _result(self.node, method, params), _result(self.anvil, method, params)

    def agree(self, method: str, *params: object) -> Any:
        """Call both, and return the result on which they agree."""
        ours, theirs = self(method, *params)
        assert ours == theirs, method
        return ours


def _result(peer: HttpRpcClient, method: str, params: tuple[object, ...]) -> Any:
    try:
        return peer(method, *params)
    except RpcError:
        return "rejected"


@pytest.fixture(scope="module")
def running() -> Iterator[Both]:
    with (
        inprocess_node() as node,
        running_anvil("--chain-id", "270", "--hardfork", "osaka") as anvil,
    ):
        ours = HttpRpcClient(node.url)
        yield Both(ours, anvil)
        ours.close()


@pytest.fixture
def both(running: Both) -> Iterator[Both]:
    """Return both, and revert them to where they were after the test."""
    snapshots = running("evm_snapshot")
    yield running
    for peer, snapshot in zip(running, snapshots, strict=True):
        peer("evm_setAutomine", True)
        assert peer("evm_revert", snapshot)


def test_the_accounts_are_the_same(both: Both) -> None:
    ours, theirs = both("eth_accounts")
    assert ours[:10] == theirs


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("eth_sign", [ALICE, "0x1234"]),
        ("eth_sign", [BOB, "0x"]),
        ("personal_sign", ["0x1234", ALICE]),
        ("eth_signTypedData_v4", [ALICE, MAIL]),
        ("eth_sign", [STRANGER, "0x"]),
    ],
)
def test_signatures_are_the_same(both: Both, method: str, params: list[object]) -> None:
    both.agree(method, *params)


@pytest.mark.parametrize(
    "price",
    [
        {"gasPrice": "0x77359400"},
        {"gasPrice": "0x77359400", "accessList": [{"address": BOB, "storageKeys": [SLOT]}]},
        {"maxFeePerGas": "0x77359400", "maxPriorityFeePerGas": "0x1"},
        {"type": "0x0", "gasPrice": "0x77359400"},
    ],
)
def test_signed_transactions_are_the_same(both: Both, price: dict[str, object]) -> None:
    ours, theirs = both("eth_signTransaction", {**WHOLE, **price})
    assert ours["raw"] == theirs


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("evm_setAutomine", [False]),
        ("eth_getWork", []),
        ("eth_getUncleCountByBlockNumber", ["0x0"]),
        ("eth_getUncleByBlockNumberAndIndex", ["0x0", "0x0"]),
        ("eth_hashrate", []),
        ("eth_coinbase", []),
        ("eth_getAccountInfo", [STRANGER, "latest"]),
        ("eth_getStorageValues", [{STRANGER: [SLOT]}, "latest"]),
        ("txpool_status", []),
        ("txpool_content", []),
        ("txpool_inspect", []),
    ],
)
def test_results_are_the_same(both: Both, method: str, params: list[object]) -> None:
    both.agree(method, *params)


def test_a_pool_looks_the_same(both: Both) -> None:
    both("evm_setAutomine", False)
    for nonce in ("0x0", "0x1", "0x5"):
        both("eth_sendTransaction", {**WHOLE, "nonce": nonce, "gasPrice": "0x77359400"})
    assert both.agree("txpool_status") == {"pending": "0x2", "queued": "0x1"}
    ours, theirs = both("txpool_inspect")
    assert str(ours).lower() == str(theirs).lower()
    ours, theirs = both("txpool_content")
    shared = theirs["queued"][ALICE]["5"]
    (found,) = ours["queued"].values()
    assert {key: found["5"][key] for key in shared} == shared


def test_an_impersonated_account_looks_the_same(both: Both) -> None:
    both("anvil_setBalance", STRANGER, hex(10**18))
    both("anvil_impersonateAccount", STRANGER)
    assert [accounts[-1] for accounts in both("eth_accounts")] == [STRANGER, STRANGER]
    sent = both("eth_sendTransaction", {"from": STRANGER, "to": BOB, "value": "0x1"})
    ours, theirs = (peer.receipt(it) for peer, it in zip(both, sent, strict=True))
    for key in ("from", "to", "status", "gasUsed", "type", "contractAddress"):
        assert ours[key] == theirs[key]
    both.agree("eth_getTransactionCount", STRANGER, "latest")
    both("anvil_stopImpersonatingAccount", STRANGER)
    assert both.agree("eth_sendTransaction", {"from": STRANGER, "to": BOB}) == "rejected"


def test_the_configuration_of_the_fork_is_the_same_but_for_system_contracts(both: Both) -> None:
    ours, theirs = both("eth_config")
    # Blocks here call none.
    assert ours["current"].pop("systemContracts") == {}
    assert theirs["current"].pop("systemContracts")
    assert ours == theirs


def test_a_filled_transaction_is_the_same(both: Both) -> None:
    price = {"maxFeePerGas": "0x77359400", "maxPriorityFeePerGas": "0x1"}
    ours, theirs = both("eth_fillTransaction", {**WHOLE, **price})
    assert ours["raw"] == theirs["raw"]
    assert {key: ours["tx"].get(key) for key in theirs["tx"]} == theirs["tx"]


def test_raw_transactions_and_codes_are_the_same(both: Both) -> None:
    price = {"maxFeePerGas": "0x77359400", "maxPriorityFeePerGas": "0x1"}
    # Of an account that has nothing in the pool: anvil seals that a moment after automine is on again.
    sent = both("eth_sendTransactionSync", {**WHOLE, **price, "from": BOB, "to": ALICE})
    raws = [
        peer("debug_getRawTransaction", it["transactionHash"])
        for peer, it in zip(both, sent, strict=True)
    ]
    assert raws[0] == raws[1]
    # Its code is a zero byte.
    both("eth_sendTransactionSync", {"from": BOB, "data": "0x60016000f3"})
    hashed = "bc36789e7a1e281436464229828f817d6612f7b477d66591ff96a9e064bcc98a"
    assert both.agree("debug_codeByHash", f"0x{hashed}") == "0x00"
    assert both.agree("debug_codeByHash", "0x" + "12" * 32) == "0x"


def test_any_account_that_can_pay_sends_without_a_signature(both: Both) -> None:
    call = {"from": STRANGER, "to": BOB, "gas": "0x7530"}
    assert both.agree("eth_sendUnsignedTransaction", call) == "rejected"
    both("anvil_setBalance", STRANGER, hex(10**18))
    sent = both("eth_sendUnsignedTransaction", call)
    for peer, it in zip(both, sent, strict=True):
        assert peer("eth_getTransactionByHash", it)["from"] == STRANGER
