"""What the tests of zksync-era check of transactions, item by item, for every type that a user can sign.

The number of a test is that of its item in the list of behaviours, as in `test_era_checklist.py`. Transactions are
encoded and signed by eth-account and, type 0x71, by zksync2, so that no code of the node judges itself. Where
this node decides otherwise, the test has the word `here` in its name and says why.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
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
from tests.support.clients.contracts import CONTRACTS
from tests.support.inprocess_node import inprocess_node
from tests.support.rpc_client import CheckedRpcClient, HttpRpcClient, RpcError

pytestmark = pytest.mark.clients

SENDER = ALICE.address.lower()
TARGET = Web3.to_checksum_address("0x" + "7a" * 20)
WORD = bytes(range(32))
BASE_FEE = GWEI // 10
UNKNOWN = "0x" + "ab" * 32
MATH = CONTRACTS["math"]
REVERT_WITHOUT_DATA = "0x5f5ffd"

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
    # Two receipts of a transaction are equal only as long as no batch with it is sealed in between.
    with inprocess_node("--no-settle") as node:
        client = CheckedRpcClient(node.url)
        yield client
        client.close()


@pytest.fixture
def manual(client: HttpRpcClient) -> Iterator[None]:
    """Leave transactions pending during a test."""
    client("evm_setAutomine", False)
    yield
    client("evm_setAutomine", True)


def next_nonce(client: HttpRpcClient, address: str = SENDER, tag: str = "pending") -> int:
    return int(client("eth_getTransactionCount", address, tag), 16)


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
        return sign_712(unsigned_712(whole, key.address), key)
    given = {name: value for name, value in whole.items() if value is not None}
    signed = key.sign_transaction(given)
    v = signed.v if signed.v < 2 else (signed.v - 35) % 2 if signed.v > 28 else signed.v - 27
    return Signed(Web3.to_hex(signed.raw_transaction), signed.r, signed.s, v)


def unsigned_712(fields: dict[str, Any], sender: str) -> Transaction712:
    meta = {"gas_per_pub_data": 50_000, **fields.get("meta", {})}
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
        meta=EIP712Meta(**meta),
    )


def sign_712(unsigned: Transaction712, key: LocalAccount) -> Signed:
    signer = PrivateKeyEthSigner(key, unsigned.chain_id)
    signed = signer.sign_typed_data(unsigned.to_eip712_struct())
    return Signed(Web3.to_hex(unsigned.encode(signed)), signed.r, signed.s, signed.v - 27)


def send(client: HttpRpcClient, kind: str, **fields: Any) -> Any:
    """Send a transaction, and return its receipt."""
    sent = client("eth_sendRawTransaction", sign(client, kind, **fields).raw)
    return client("eth_getTransactionReceipt", sent)


def rejected(client: HttpRpcClient, kind: str, **fields: Any) -> RpcError:
    return rejected_raw(client, sign(client, kind, **fields).raw)


def rejected_raw(client: HttpRpcClient, raw: str) -> RpcError:
    with pytest.raises(RpcError) as raised:
        client("eth_sendRawTransaction", raw)
    return raised.value


def with_item(raw: str, index: int, item: Any) -> str:
    """Return a transaction of type 0x71 with another item."""
    items = rlp.decode(bytes.fromhex(raw[4:]))
    items[index] = item
    return Web3.to_hex(b"\x71" + rlp.encode(items))


# Transactions that are accepted.


@every_kind
def test_26_a_transfer_is_accepted(client: HttpRpcClient, kind: str) -> None:
    receipt = send(client, kind)
    assert (receipt["status"], receipt["type"]) == ("0x1", KINDS[kind][0])
    assert receipt["from"] == SENDER


@pytest.mark.parametrize("kind", ["access list", "dynamic fees"])
def test_27_access_lists_are_accepted_here(client: HttpRpcClient, kind: str) -> None:
    """zksync-era rejects them, because its virtual machine has no use for them; an EVM has."""
    touched = [{"address": BOB.address, "storageKeys": [UNKNOWN]}]
    receipt = send(client, kind, accessList=touched)
    assert (receipt["type"], receipt["status"]) == (KINDS[kind][0], "0x1")


def test_27_type_712_has_no_access_list(client: HttpRpcClient) -> None:
    accesses = [{"address": BOB.address, "storageKeys": []}]
    with pytest.raises(RpcError, match="accessList"):
        client("eth_sendTransaction", {"to": BOB.address, "type": "0x71", "accessList": accesses})


def test_28_the_price_and_the_signature_of_a_legacy_transaction_come_back(
    client: HttpRpcClient,
) -> None:
    signed = sign(client, "legacy", gasPrice=3 * GWEI)
    found = client("eth_getTransactionByHash", client("eth_sendRawTransaction", signed.raw))
    assert int(found["gasPrice"], 16) == 3 * GWEI
    v, r, s = (int(found[name], 16) for name in "vrs")
    assert v - 35 - 2 * CHAIN_ID in {0, 1}
    signature = keys.Signature(vrs=(v - 35 - 2 * CHAIN_ID, r, s))
    unsigned = [
        int(found["nonce"], 16), 3 * GWEI, int(found["gas"], 16),
        bytes.fromhex(BOB.address[2:]), 1, b"", CHAIN_ID, 0, 0,
    ]  # fmt: skip
    digest = Web3.keccak(rlp.encode(unsigned))
    recovered = signature.recover_public_key_from_msg_hash(digest)
    assert recovered.to_address() == SENDER


@with_two_fees
def test_28_the_signature_comes_back_with_a_parity(client: HttpRpcClient, kind: str) -> None:
    signed = sign(client, kind)
    found = client("eth_getTransactionByHash", client("eth_sendRawTransaction", signed.raw))
    assert (int(found["r"], 16), int(found["s"], 16)) == (signed.r, signed.s)
    assert found["v"] == found["yParity"] == hex(signed.parity)


@with_two_fees
def test_29_both_fees_come_back_and_the_price_is_what_was_paid(
    client: HttpRpcClient, kind: str
) -> None:
    fees = {"maxFeePerGas": 3 * BASE_FEE, "maxPriorityFeePerGas": 2 * BASE_FEE}
    receipt = send(client, kind, **fees)
    found = client("eth_getTransactionByHash", receipt["transactionHash"])
    assert {name: int(found[name], 16) for name in fees} == fees
    paid = BASE_FEE if kind == "EIP-712" else 3 * BASE_FEE
    assert found["gasPrice"] == receipt["effectiveGasPrice"] == hex(paid)


def test_31_a_missing_target_creates_a_contract(client: HttpRpcClient) -> None:
    call = {"from": SENDER, "data": MATH["bytecode"]}
    assert client("eth_call", call) == MATH["runtime"]
    assert int(client("eth_estimateGas", call), 16) > 53_000
    fields = {"to": None, "data": MATH["bytecode"], "value": 0, "gas": 2_000_000}
    assert send(client, "dynamic fees", **fields)["to"] is None


@with_two_fees
def test_32_a_nonce_that_is_too_high_is_pending_here(client: HttpRpcClient, kind: str) -> None:
    """zksync-era rejects it beyond a range; a pool of Ethereum queues it until the gap is filled."""
    nonce = next_nonce(client, tag="latest")
    late = client("eth_sendRawTransaction", sign(client, kind, nonce=nonce + 1).raw)
    assert client("eth_getTransactionReceipt", late) is None
    send(client, kind, nonce=nonce)
    assert client("eth_getTransactionReceipt", late)["status"] == "0x1"


@pytest.mark.usefixtures("manual")
@pytest.mark.parametrize("kind", ["legacy", "dynamic fees", "EIP-712"])
def test_33_a_replaced_transaction_disappears(client: HttpRpcClient, kind: str) -> None:
    nonce = next_nonce(client, tag="latest")
    doubled: Any = {name: 2 * price or GWEI for name, price in KINDS[kind][1].items()}
    old = client("eth_sendRawTransaction", sign(client, kind, nonce=nonce).raw)
    assert client("eth_getTransactionByHash", old)["blockHash"] is None
    new = client("eth_sendRawTransaction", sign(client, kind, nonce=nonce, **doubled).raw)
    assert client("eth_getTransactionByHash", old) is None
    client("evm_mine")
    assert client("eth_getTransactionReceipt", new)["status"] == "0x1"


def test_38_duplicate_dependencies_are_accepted(client: HttpRpcClient) -> None:
    assert send(client, "EIP-712", meta={"factory_deps": [WORD, WORD]})["status"] == "0x1"


def test_39_the_hash_covers_the_digest_and_the_signature(client: HttpRpcClient) -> None:
    fields = {
        "chainId": CHAIN_ID,
        "nonce": next_nonce(client),
        "gas": 200_000,
        "to": BOB.address,
        "value": 1,
        "data": b"call",
        "meta": {"factory_deps": [WORD]},
        **FEES,
    }
    unsigned = unsigned_712(fields, ALICE.address)
    signature = PrivateKeyEthSigner(ALICE, CHAIN_ID).sign_typed_data(unsigned.to_eip712_struct())
    domain = PrivateKeyEthSigner.get_default_domain(CHAIN_ID)
    digest = Web3.keccak(unsigned.to_eip712_struct().signable_bytes(domain))
    expected = Web3.to_hex(Web3.keccak(digest + Web3.keccak(signature.signature)))
    raw = Web3.to_hex(unsigned.encode(signature))
    assert client("eth_sendRawTransaction", raw) == expected


@with_two_fees
def test_40_a_transaction_that_reverts_is_accepted(client: HttpRpcClient, kind: str) -> None:
    client("anvil_setCode", TARGET, REVERT_WITHOUT_DATA)
    assert send(client, kind, to=TARGET, value=0)["status"] == "0x0"


# Transactions that are rejected.


def test_30_nothing_for_published_bytes_is_rejected(client: HttpRpcClient) -> None:
    error = rejected(client, "EIP-712", meta={"gas_per_pub_data": 0})
    assert error.message == "gas per pub data limit is zero"


def test_31_a_missing_target_is_rejected_here_with_the_code_of_other_rejections(
    client: HttpRpcClient,
) -> None:
    """zksync-era has code 3 for what is sent as well; clients know a rejection by -32000."""
    error = rejected_raw(client, with_item(sign(client, "EIP-712").raw, 4, b""))
    assert (error.code, error.data) == (-32000, None)
    assert "toAddressIsNull" in error.message


@every_kind
def test_32_a_used_nonce_is_rejected_here_in_geths_words(client: HttpRpcClient, kind: str) -> None:
    """zksync-era has words and a code of its own, by which viem takes the rejection for a revert."""
    send(client, kind)
    error = rejected(client, kind, nonce=0)
    assert error.code == -32000
    assert error.message.startswith("nonce too low: next nonce ")


@every_kind
def test_34_a_lack_of_funds_is_rejected_here_in_geths_words_unless_only_zk_stack_clients_send_it(
    client: HttpRpcClient, kind: str
) -> None:
    """For the reason of 32."""
    poor: LocalAccount = Account.from_key(secrets.token_bytes(32))
    error = rejected(client, kind, key=poor)
    assert error.code == -32000
    if kind == "EIP-712":
        pattern = r"insufficient funds for gas \+ value\. balance: 0, fee: \d+, value: \d+"
        assert re.fullmatch(pattern, error.message)
    else:
        assert error.message.startswith("insufficient funds for gas * price + value: ")


WRONG_CODES = [
    (WORD + b"\0", "Bytecode length is not divisible by 32"),
    (WORD * 2, "Bytecode has even number of 32-byte words"),
    (bytes(65_537 * 32), "Bytecode too long: 2097184 bytes, while max 2097120 allowed"),
]


@pytest.mark.parametrize(("code", "problem"), WRONG_CODES, ids=["odd bytes", "even words", "long"])
def test_35_a_wrong_bytecode_is_rejected(client: HttpRpcClient, code: bytes, problem: str) -> None:
    error = rejected_raw(client, with_item(sign(client, "EIP-712").raw, 13, [WORD, code]))
    assert error.message == f"factory dependency #1 is invalid: {problem}"


@every_kind
def test_36_a_gas_limit_of_2_to_the_51_is_rejected(client: HttpRpcClient, kind: str) -> None:
    assert rejected(client, kind, gas=2**51).message.startswith("exceeds block gas limit")


@every_kind
def test_37_a_price_over_64_bits_is_here_more_than_any_account_has(
    client: HttpRpcClient, kind: str
) -> None:
    """zksync-era has a message of its own; there is no such limit on an EVM."""
    field = "gasPrice" if "gasPrice" in KINDS[kind][1] else "maxFeePerGas"
    error = rejected(client, kind, **{field: 2**65})
    assert (error.code, error.message[:18]) == (-32000, "insufficient funds")


def test_37_a_nonce_over_32_bits_is_rejected(client: HttpRpcClient) -> None:
    assert rejected(client, "EIP-712", nonce=2**32).message == "nonce has max value"


def test_40_a_transaction_with_an_impossible_signature_is_rejected(client: HttpRpcClient) -> None:
    raw = bytearray.fromhex(sign(client, "dynamic fees").raw[2:])
    raw[-32:] = bytes(32)
    assert rejected_raw(client, "0x" + raw.hex()).code == -32000


@pytest.mark.parametrize(
    ("signature", "problem"),
    [
        (b"\x01" * 65, "invalid signature"),
        (b"\x01" * 64, "invalid signature: a signature is 65 bytes, got 64"),
        (b"", "invalid signature: the transaction is not signed"),
    ],
)
def test_40_a_wrong_signature_is_rejected_here_at_once(
    client: HttpRpcClient, signature: bytes, problem: str
) -> None:
    """zksync-era lets the account judge; all accounts here are ordinary ones."""
    error = rejected_raw(client, with_item(sign(client, "EIP-712").raw, 14, signature))
    assert error.code == -32000
    assert error.message.startswith(problem)


def test_40_a_signature_of_another_account_is_rejected(client: HttpRpcClient) -> None:
    fields = {"chainId": CHAIN_ID, "nonce": next_nonce(client), "gas": 200_000, "to": BOB.address}
    unsigned = unsigned_712({**fields, "value": 1, **FEES}, ALICE.address)
    stranger: LocalAccount = Account.from_key(b"\x77" * 32)
    error = rejected_raw(client, sign_712(unsigned, stranger).raw)
    assert re.match("invalid signature: signed by 0x.*, sent from 0x", error.message)


# Sending and waiting for the receipt.


def test_41_sending_may_wait_for_the_receipt(client: HttpRpcClient) -> None:
    receipt = client("eth_sendRawTransactionSync", sign(client, "dynamic fees").raw)
    assert receipt == client("eth_getTransactionReceipt", receipt["transactionHash"])


@pytest.mark.usefixtures("manual")
def test_41_waiting_for_the_receipt_ends_with_code_4(client: HttpRpcClient) -> None:
    with pytest.raises(RpcError) as raised:
        client("eth_sendRawTransactionSync", sign(client, "dynamic fees").raw, "0x32")
    assert raised.value.code == 4


def test_41_waiting_longer_than_allowed_is_here_cut_short(client: HttpRpcClient) -> None:
    """zksync-era rejects; geth waits as long as it may, and the receipt is here at once."""
    raw = sign(client, "dynamic fees").raw
    assert client("eth_sendRawTransactionSync", raw, "0xffffffff")["status"] == "0x1"
