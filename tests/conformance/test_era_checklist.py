"""What the tests of zksync-era check of transactions and of constants, and no other test here does.

The number of a test is that of its item in the list of behaviours. L1, batches and proofs are in
`test_settlement_checklist.py`; an item that the interface has as well (2, 3, 5, 13, 14, 60, 64) is a test of
`test_interface.py`; the rest is shown in the unit tests of each method. Where this node decides otherwise, the test has
the word `here` in its name and says why. Transactions are encoded and signed by eth-account and, type 0x71, by zksync2,
so that no code of the node judges itself.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import closing
from typing import Any, NamedTuple

import pytest
import rlp
from eth_account import Account
from eth_account.signers.local import LocalAccount
from eth_keys import keys  # type: ignore[attr-defined]
from web3 import Web3
from zksync2.module.request_types import EIP712Meta
from zksync2.signer.eth_signer import PrivateKeyEthSigner
from zksync2.transaction.transaction712 import Transaction712

from tests.support.clients.accounts import ALICE, BOB, CHAIN_ID, GWEI
from tests.support.inprocess_node import inprocess_node
from tests.support.rpc_client import CheckedRpcClient, HttpRpcClient, RpcError

pytestmark = pytest.mark.clients

SENDER = ALICE.address.lower()
UNKNOWN = "0x" + "ab" * 32
WORD = bytes(range(32))
BASE_FEE = GWEI // 10


FEES = {"maxFeePerGas": GWEI, "maxPriorityFeePerGas": 0}
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "legacy before EIP-155": ("0x0", {"gasPrice": GWEI, "chainId": None}),
    "legacy": ("0x0", {"gasPrice": GWEI}),
    "access list": ("0x1", {"gasPrice": GWEI, "type": 1, "accessList": []}),
    "dynamic fees": ("0x2", FEES),
    "EIP-712": ("0x71", FEES),
}
"""Each kind of transaction: its type, and the fields that make it."""

every_kind = pytest.mark.parametrize("kind", KINDS)
with_two_fees = pytest.mark.parametrize("kind", ["dynamic fees", "EIP-712"])


class Signed(NamedTuple):
    """A transaction as a client sends it, and its signature."""

    raw: str
    r: int
    s: int
    parity: int


@pytest.fixture(scope="module")
def client() -> Iterator[HttpRpcClient]:
    # Two responses about a block are equal only as long as no batch with it is sealed in between.
    with inprocess_node("--no-settle") as node, closing(CheckedRpcClient(node.url)) as client:
        yield client


@pytest.fixture
def manual(client: HttpRpcClient) -> Iterator[None]:
    """Leave transactions pending during a test."""
    client("evm_setAutomine", False)
    yield
    client("evm_setAutomine", True)


def next_nonce(client: HttpRpcClient, address: str = SENDER) -> int:
    return int(client("eth_getTransactionCount", address, "pending"), 16)


def sign(client: HttpRpcClient, kind: str, *, key: LocalAccount = ALICE, **fields: Any) -> Signed:
    """Sign a transfer of a wei to Bob, unless the fields make it something else."""
    whole: dict[str, Any] = {
        "chainId": CHAIN_ID,
        "nonce": next_nonce(client, key.address),
        "gas": 200_000,
        "to": BOB.address,
        "value": 1,
        **KINDS[kind][1],
        **fields,
    }
    if kind == "EIP-712":
        unsigned = unsigned_712(whole, key.address)
        signer = PrivateKeyEthSigner(key, unsigned.chain_id)
        signature = signer.sign_typed_data(unsigned.to_eip712_struct())
        raw = Web3.to_hex(unsigned.encode(signature))
        return Signed(raw, signature.r, signature.s, signature.v - 27)
    given = {name: value for name, value in whole.items() if value is not None}
    signed = key.sign_transaction(given)
    v = signed.v if signed.v < 2 else (signed.v - 35) % 2 if signed.v > 28 else signed.v - 27
    return Signed(Web3.to_hex(signed.raw_transaction), signed.r, signed.s, v)


def unsigned_712(fields: dict[str, Any], sender: str) -> Transaction712:
    return Transaction712(
        chain_id=fields["chainId"],
        nonce=fields["nonce"],
        gas_limit=fields["gas"],
        to=fields["to"],
        value=fields["value"],
        data=fields.get("data", b""),
        maxPriorityFeePerGas=fields["maxPriorityFeePerGas"],
        maxFeePerGas=fields["maxFeePerGas"],
        from_=sender,
        meta=EIP712Meta(gas_per_pub_data=50_000, **fields.get("meta", {})),
    )


def send(client: HttpRpcClient, kind: str, **fields: Any) -> Any:
    """Send a transaction, and return its receipt."""
    sent = client("eth_sendRawTransaction", sign(client, kind, **fields).raw)
    return client("eth_getTransactionReceipt", sent)


def rejected(client: HttpRpcClient, method: str, *params: Any) -> RpcError:
    with pytest.raises(RpcError) as raised:
        client(method, *params)
    return raised.value


@every_kind
def test_26_a_transfer_is_accepted(client: HttpRpcClient, kind: str) -> None:
    receipt = send(client, kind)
    assert (receipt["status"], receipt["type"]) == ("0x1", KINDS[kind][0])
    assert receipt["from"] == SENDER


def test_28_the_price_and_the_signature_of_a_legacy_transaction_come_back(
    client: HttpRpcClient,
) -> None:
    signed = sign(client, "legacy", gasPrice=3 * GWEI)
    found = client("eth_getTransactionByHash", client("eth_sendRawTransaction", signed.raw))
    assert int(found["gasPrice"], 16) == 3 * GWEI
    v, r, s = (int(found[name], 16) for name in "vrs")
    signature = keys.Signature(vrs=(v - 35 - 2 * CHAIN_ID, r, s))
    unsigned = [
        int(found["nonce"], 16), 3 * GWEI, int(found["gas"], 16),
        bytes.fromhex(BOB.address[2:]), 1, b"", CHAIN_ID, 0, 0,
    ]  # fmt: skip
    digest = Web3.keccak(rlp.encode(unsigned))
    assert signature.recover_public_key_from_msg_hash(digest).to_address() == SENDER


@with_two_fees
def test_28_and_29_signature_fees_and_the_price_that_was_paid_come_back(
    client: HttpRpcClient, kind: str
) -> None:
    fees: dict[str, Any] = {
        "maxFeePerGas": 3 * BASE_FEE,
        "maxPriorityFeePerGas": 2 * BASE_FEE,
    }
    signed = sign(client, kind, **fees)
    sent = client("eth_sendRawTransaction", signed.raw)
    receipt, found = client.receipt(sent), client("eth_getTransactionByHash", sent)
    assert (int(found["r"], 16), int(found["s"], 16)) == (signed.r, signed.s)
    assert found["v"] == found["yParity"] == hex(signed.parity)
    assert {name: int(found[name], 16) for name in fees} == fees
    paid = BASE_FEE if kind == "EIP-712" else 3 * BASE_FEE
    assert found["gasPrice"] == receipt["effectiveGasPrice"] == hex(paid)


@pytest.mark.usefixtures("manual")
@pytest.mark.parametrize("kind", ["legacy", "dynamic fees", "EIP-712"])
def test_33_a_replaced_transaction_disappears(client: HttpRpcClient, kind: str) -> None:
    nonce = next_nonce(client)
    doubled: Any = {name: 2 * price or GWEI for name, price in KINDS[kind][1].items()}
    old = client("eth_sendRawTransaction", sign(client, kind, nonce=nonce).raw)
    assert client("eth_getTransactionByHash", old)["blockHash"] is None
    new = client("eth_sendRawTransaction", sign(client, kind, nonce=nonce, **doubled).raw)
    assert client("eth_getTransactionByHash", old) is None
    client("evm_mine")
    assert client("eth_getTransactionReceipt", new)["status"] == "0x1"


def test_39_the_hash_covers_the_digest_and_the_signature(client: HttpRpcClient) -> None:
    fields = {
        "chainId": CHAIN_ID,
        "nonce": next_nonce(client),
        "gas": 200_000,
        "to": BOB.address,
        "value": 1,
        "data": b"call",
        "meta": {"factory_deps": [WORD, WORD]},
        **FEES,
    }
    unsigned = unsigned_712(fields, ALICE.address)
    signature = PrivateKeyEthSigner(ALICE, CHAIN_ID).sign_typed_data(unsigned.to_eip712_struct())
    domain = PrivateKeyEthSigner.get_default_domain(CHAIN_ID)
    digest = Web3.keccak(unsigned.to_eip712_struct().signable_bytes(domain))
    expected = Web3.to_hex(Web3.keccak(digest + Web3.keccak(signature.signature)))
    raw = Web3.to_hex(unsigned.encode(signature))
    assert client("eth_sendRawTransaction", raw) == expected


@every_kind
def test_32_34_36_and_37_are_rejected_here_in_geths_words(client: HttpRpcClient, kind: str) -> None:
    """zksync-era has words and codes of its own, by which viem takes a rejection for a revert."""
    send(client, kind)
    price = "gasPrice" if "gasPrice" in KINDS[kind][1] else "maxFeePerGas"
    poor: LocalAccount = Account.from_key(secrets.token_bytes(32))
    lack = "insufficient funds for gas * price + value: "
    if kind == "EIP-712":
        # Only clients of the ZK Stack send it.
        lack = "insufficient funds for gas + value. balance: "
    cases: list[tuple[dict[str, Any], str]] = [
        ({"nonce": 0}, "nonce too low: next nonce "),
        ({"key": poor}, lack),
        ({"gas": 2**51}, "exceeds block gas limit"),
        ({price: 2**65}, "insufficient funds"),
    ]
    for fields, words in cases:
        raw = sign(client, kind, **fields).raw
        error = rejected(client, "eth_sendRawTransaction", raw)
        assert (error.code, error.message[: len(words)]) == (-32000, words)


@pytest.mark.parametrize(
    ("method", "params", "response"),
    [
        ("net_peerCount", [], "0x0"),
        ("net_listening", [], False),
        ("net_version", [], "270"),
        ("eth_coinbase", [], "0x" + "00" * 20),
        ("eth_hashrate", [], "0x0"),
        ("eth_mining", [], False),
        ("eth_syncing", [], False),
        ("eth_getUncleCountByBlockNumber", ["latest"], "0x0"),
        ("eth_getUncleCountByBlockHash", [UNKNOWN], None),
        ("eth_maxPriorityFeePerGas", [], "0x0"),
    ],
)
def test_69_some_results_never_change(
    client: HttpRpcClient, method: str, params: list[Any], response: Any
) -> None:
    assert client(method, *params) == response
