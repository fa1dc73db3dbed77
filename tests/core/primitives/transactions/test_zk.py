"""Type 0x71, against the vectors of its client libraries and eth_account's typed data."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from eth_account import Account
from eth_account.messages import _hash_eip191_message, encode_typed_data

from entresol._native import rlp_encode
from entresol._native import sign as sign_digest
from entresol.errors import InvalidSignature, MalformedTransaction, TransactionRuleBroken
from entresol.primitives.bytecode import eravm_hash
from entresol.primitives.transactions import Paymaster, ZkTransaction, decode, load, sign
from entresol.primitives.values import Address

if TYPE_CHECKING:
    from entresol._native import RlpItem

SECRET = bytes([0x46]) * 32
SENDER = Address.parse(Account.from_key(SECRET).address)
ALICE = Address.parse("0x36615Cf349d7F6344891B1e7CA7C72883F5dc049")
BOB = Address.parse("0xa61464658AfeAf65CccaaFD3a512b69A83B77618")

RAW = bytes.fromhex(
    "71f87f8080808094a61464658afeaf65cccaafd3a512b69a83b77618830f42408001"
    "a073a20167b8d23b610b058c05368174495adf7da3a4ed4a57eb6dbdeb1fafc24a"
    "a02f87530d663a0d061f69bb564d2c6fb46ae5ae776bbd4bd2a2a4478b9cd1b42a"
    "82010e9436615cf349d7f6344891b1e7ca7c72883f5dc04982c350c080c0"
)
PLAIN = ZkTransaction(
    chain_id=270,
    nonce=7,
    max_fee_per_gas=250_000_000,
    max_priority_fee_per_gas=3,
    gas_limit=1_000_000,
    to=BOB,
    value=5,
    data=b"call",
    sender=SENDER,
    gas_per_pubdata_limit=50_000,
    factory_deps=(bytes(32), b"\x01" * 96),
    paymaster=Paymaster(ALICE, b"please"),
)


def test_the_raw_transaction_of_the_client_library() -> None:
    payload = ZkTransaction.decode(RAW)
    assert (payload.sender, payload.to, payload.value, payload.v) == (ALICE, BOB, 10**6, 1)
    assert payload.encode() == RAW
    digest = "8dab5bf770e684d64358f554ad181cf6c4c5b92d54f45b2b70127efd7061042a"
    assert payload.signing_hash().hex() == digest
    expected = "8efdc7ce5f5a75ab945976c3e2b0c2a45e9f8e15ff940d05625ac5545cd9f870"
    assert payload.hash().hex() == expected
    assert load(RAW, ALICE).hash.hex() == expected


def test_the_custom_signature_of_the_client_library() -> None:
    signature = (
        "0x772b9ab4758d5cf08f7d7201adc2e54893ae27bcfeb21b9c7d6fd4097f4dde0c"
        "01f7f053228f4f6d88e6bf3434649141567ac906620fae82c2933990b55ca3661b"
    )
    paymaster_input = (
        "949431dc000000000000000000000000841c43fa5d8fffdb9efe3358906f7578d8700dd4"
        "0000000000000000000000000000000000000000000000000000000000000001"
        "0000000000000000000000000000000000000000000000000000000000000060"
        "0000000000000000000000000000000000000000000000000000000000000000"
    )
    payload = ZkTransaction(
        chain_id=270,
        nonce=0,
        max_fee_per_gas=0,
        max_priority_fee_per_gas=0,
        gas_limit=0,
        to=BOB,
        value=10**6,
        sender=ALICE,
        gas_per_pubdata_limit=50_000,
        custom_signature=signature.encode(),
        paymaster=Paymaster(
            Address.parse("0xa222f0c183AFA73a8Bc1AFb48D34C88c9Bf7A174"),
            bytes.fromhex(paymaster_input),
        ),
    )
    expected = "c0ba55587423e1ef281b06a9d684b481365897f37a6ad611d7619b1b7e0bc908"
    # A signature that is text is not one: only what reads records back takes it.
    assert load(payload.encode(), ALICE).hash.hex() == expected


@pytest.mark.parametrize("chain_id", [270, 300, 324])
def test_the_digest_is_the_typed_data_of_eth_account(chain_id: int) -> None:
    words = "txType from to gasLimit gasPerPubdataByteLimit maxFeePerGas maxPriorityFeePerGas"
    names = [*words.split(), "paymaster", "nonce", "value"]
    assert PLAIN.paymaster is not None
    values: list[int] = [
        0x71,
        int.from_bytes(SENDER),
        int.from_bytes(BOB),
        PLAIN.gas_limit,
        PLAIN.gas_per_pubdata_limit,
        PLAIN.max_fee_per_gas,
        PLAIN.max_priority_fee_per_gas,
        int.from_bytes(PLAIN.paymaster.address),
        PLAIN.nonce,
        PLAIN.value,
    ]
    fields = [{"name": name, "type": "uint256"} for name in names] + [
        {"name": "data", "type": "bytes"},
        {"name": "factoryDeps", "type": "bytes32[]"},
        {"name": "paymasterInput", "type": "bytes"},
    ]
    message: dict[str, Any] = dict(zip(names, values, strict=True)) | {
        "data": PLAIN.data,
        "factoryDeps": [bytes(eravm_hash(code)) for code in PLAIN.factory_deps],
        "paymasterInput": PLAIN.paymaster.input,
    }
    domain = {"name": "zkSync", "version": "2", "chainId": chain_id}
    typed = encode_typed_data(domain, {"Transaction": fields}, message)
    payload = msgspec.structs.replace(PLAIN, chain_id=chain_id)
    assert payload.signing_hash().hex() == _hash_eip191_message(typed).hex()


def test_a_plain_signature_in_either_form_of_v_has_one_hash() -> None:
    transaction = sign(PLAIN, SECRET)
    payload = transaction.payload
    assert isinstance(payload, ZkTransaction)
    assert payload.v in (0, 1)
    older = msgspec.structs.replace(payload, v=payload.v + 27)
    assert decode(older.encode()).hash == transaction.hash
    assert older.encode() != transaction.raw


def test_a_custom_signature_may_be_an_ordinary_one() -> None:
    signature = sign_digest(PLAIN.signing_hash(), SECRET)
    ordinary = signature[:64] + bytes([signature[64] + 27])
    payload = msgspec.structs.replace(PLAIN, custom_signature=ordinary)
    assert decode(payload.encode()).sender == SENDER
    assert decode(payload.encode()).hash == sign(PLAIN, SECRET).hash


def signature_problem(raw: bytes) -> str:
    error = decode(raw).signature_error
    assert error is not None
    return str(error)


def test_a_custom_signature_wins_over_the_plain_one() -> None:
    plain = sign(PLAIN, SECRET).payload
    payload = msgspec.structs.replace(plain, custom_signature=bytes(65))
    assert signature_problem(payload.encode())


def test_a_custom_signature_that_only_an_account_can_judge_is_none_of_a_key() -> None:
    payload = msgspec.structs.replace(PLAIN, custom_signature=b"whatever")
    assert re.search("a signature is 65 bytes, got 8", signature_problem(payload.encode()))


def test_a_custom_signature_of_another_key_is_rejected() -> None:
    signature = sign_digest(PLAIN.signing_hash(), b"\x07" * 32)
    stolen = signature[:64] + bytes([27 + signature[64]])
    payload = msgspec.structs.replace(PLAIN, custom_signature=stolen)
    assert re.search(f"sent from {SENDER}", signature_problem(payload.encode()))


def test_the_unsigned_form_has_the_chain_id_for_v() -> None:
    payload = ZkTransaction.decode(PLAIN.encode())
    assert payload == PLAIN
    assert payload.signature == b""
    assert re.search("the transaction is not signed", signature_problem(PLAIN.encode()))


def test_a_signature_of_another_sender_is_rejected() -> None:
    stranger = sign(msgspec.structs.replace(PLAIN, sender=SENDER), SECRET).payload
    assert isinstance(stranger, ZkTransaction)
    forged = msgspec.structs.replace(stranger, sender=ALICE)
    assert re.search(f"sent from {ALICE}", signature_problem(forged.encode()))


def raw_with(index: int, item: RlpItem) -> bytes:
    items: list[RlpItem] = [
        *(b"\x01", b"\x02", b"\x03", b"\x04", BOB, b"", b""),
        *(b"\x01", b"\x01", b"\x01", b"\x82\x0e", SENDER, b"\xc3\x50"),
        *([], b"custom", []),
    ]
    items[index] = item
    return b"\x71" + rlp_encode(items)


@pytest.mark.parametrize(
    ("index", "item", "field", "problem"),
    [
        (0, b"\0", "nonce", "integer has a leading zero byte"),
        (1, b"\1" * 17, "maxPriorityFeePerGas", "integer is at most 16 bytes, got 17"),
        (4, b"", "to", "toAddressIsNull: a transaction of type 0x71 cannot go without one"),
        (4, b"\1", "to", "an address is 20 bytes, got 1"),
        (12, b"\1" * 9, "gasPerPubdata", "integer is at most 8 bytes, got 9"),
        (13, [[]], "factoryDeps[0]", "a byte string is expected, got a list"),
        (15, b"", "paymasterParams", "a list is expected, got a byte string"),
        (15, [b""], "paymasterParams", "2 items expected, got 1"),
        (15, [b"", b""], "paymasterParams.paymaster", "an address is 20 bytes, got 0"),
    ],
)
def test_a_malformed_transaction_is_rejected_by_field(
    index: int, item: RlpItem, field: str, problem: str
) -> None:
    with pytest.raises(MalformedTransaction) as caught:
        decode(raw_with(index, item))
    assert caught.value.field == field
    assert problem in caught.value.problem


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"\x71\x80", "a transaction of type 0x71 is an rlp list"),
        (
            b"\x71" + rlp_encode([b""] * 17),
            "decodeRlpError RlpIncorrectListLen: a transaction of type 0x71 has 16 items, got 17",
        ),
        (RAW + b"\0", "rlp has trailing bytes"),
        (
            raw_with(13, [bytes(32), bytes(64)]),
            "factory dependency #1 is invalid: Bytecode has even number of 32-byte words",
        ),
    ],
)
def test_other_bytes_are_no_transaction(raw: bytes, problem: str) -> None:
    with pytest.raises(MalformedTransaction) as caught:
        decode(raw)
    assert str(caught.value).startswith(problem)


def test_a_nonce_has_32_bits() -> None:
    with pytest.raises(TransactionRuleBroken, match="nonce has max value"):
        decode(raw_with(0, b"\1\0\0\0\0"))


def test_a_transaction_publishes_at_most_64_dependencies() -> None:
    most = msgspec.structs.replace(PLAIN, factory_deps=(bytes(32),) * 64)
    assert sign(most, SECRET).payload.type == 0x71
    expected = (
        "too many factory dependencies in the transaction. 65 provided, while only 64 allowed"
    )
    with pytest.raises(TransactionRuleBroken, match=expected):
        sign(msgspec.structs.replace(PLAIN, factory_deps=(bytes(32),) * 65), SECRET)


@pytest.mark.parametrize(
    ("paymaster", "payer"),
    [
        (None, None),
        (Paymaster(Address.zero(), b"ignored"), None),
        (Paymaster(ALICE), Paymaster(ALICE)),
        (Paymaster(SENDER, b"itself"), Paymaster(SENDER, b"itself")),
    ],
)
def test_the_sender_pays_unless_a_paymaster_is_named(
    paymaster: Paymaster | None, payer: Paymaster | None
) -> None:
    assert msgspec.structs.replace(PLAIN, paymaster=paymaster).sponsor == payer


@pytest.mark.parametrize("v", [b"\x02", b"\x82\x0e\x01"])
def test_any_other_v_is_rejected(v: bytes) -> None:
    with pytest.raises(InvalidSignature, match="v is 0, 1, 27 or 28"):
        decode(raw_with(7, v))
