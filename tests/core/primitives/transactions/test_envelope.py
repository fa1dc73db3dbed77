"""Transactions from bytes and back, whatever their type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from eth_account import Account
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol._native import keccak256, zk_dependencies, zk_parties
from entresol.errors import (
    InvalidTransaction,
    MalformedTransaction,
    MalformedZkTransaction,
    TransactionRuleBroken,
)
from entresol.primitives.transactions import (
    Access,
    AccessListTransaction,
    Authorization,
    EthereumTransaction,
    FeeMarketTransaction,
    LegacyTransaction,
    Paymaster,
    PriorityTransaction,
    SetCodeTransaction,
    SignedPayload,
    SystemTransaction,
    Transaction,
    ZkTransaction,
    decode,
    decode_many,
    impersonate,
    load,
    sign,
    without_sidecar,
)
from entresol.primitives.values import Address, Hash32
from tests.support.blobs import blob_transaction, sample_sidecar
from tests.support.run.examples import examples

SECRET = bytes([0x46]) * 32
SENDER = Address.parse(Account.from_key(SECRET).address)
TO = Address(b"\x11" * 20)

u64 = st.integers(0, 2**64 - 1)
wei = st.integers(0, 2**128 - 1)
words = st.integers(0, 2**256 - 1)
addresses = st.binary(min_size=20, max_size=20).map(Address)
hashes = st.binary(min_size=32, max_size=32).map(Hash32)
accesses = st.builds(Access, addresses, st.lists(hashes, max_size=2).map(tuple))
signed_bits = st.integers(0, 255)
authorizations = st.builds(Authorization, words, addresses, u64, signed_bits, words, words)

common: dict[str, Any] = {
    "nonce": u64,
    "gas_limit": u64,
    "to": st.none() | addresses,
    "value": words,
    "data": st.binary(max_size=60),
}
fees: dict[str, Any] = {"max_fee_per_gas": wei, "max_priority_fee_per_gas": wei}
listed: dict[str, Any] = {"access_list": st.lists(accesses, max_size=2).map(tuple)}

legacy = st.builds(LegacyTransaction, **common, gas_price=wei, chain_id=st.none() | u64)
access_list = st.builds(AccessListTransaction, **common, **listed, chain_id=u64, gas_price=wei)
fee_market = st.builds(FeeMarketTransaction, **common, **fees, **listed, chain_id=u64)
set_code = st.builds(
    SetCodeTransaction,
    **common | {"to": addresses},
    **fees,
    **listed,
    chain_id=u64,
    authorizations=st.lists(authorizations, max_size=2).map(tuple),
)
zk = st.builds(
    ZkTransaction,
    **common | {"to": addresses, "nonce": st.integers(0, 2**32 - 1)},
    **fees,
    chain_id=u64,
    sender=st.just(SENDER),
    gas_per_pubdata_limit=u64,
    factory_deps=st.lists(st.sampled_from([bytes(32), b"\x01" * 96]), max_size=2).map(tuple),
    custom_signature=st.binary(max_size=70),
    paymaster=st.none() | st.builds(Paymaster, addresses, st.binary(max_size=40)),
)
payloads = st.one_of(legacy, access_list, fee_market, set_code, zk)

TRANSFER = FeeMarketTransaction(
    chain_id=270, nonce=3, gas_limit=21_000, to=TO, max_fee_per_gas=9, max_priority_fee_per_gas=1
)


def again(raw: bytes) -> bytes:
    return decode(raw).payload.encode()


@given(payloads)
@settings(deadline=None)
def test_signed_transactions_survive_a_round_trip(payload: SignedPayload) -> None:
    transaction = sign(payload, SECRET)
    assert transaction.sender == SENDER
    assert transaction.payload.encode() == transaction.raw
    assert transaction.payload == payload.with_signature(_signature_of(transaction))
    assert decode(transaction.raw) == transaction
    assert load(transaction.raw, SENDER) == transaction
    assert decode_many([transaction.raw]) == [transaction]


@given(payloads, st.data())
@settings(deadline=None, max_examples=examples(200))
def test_damaged_transactions_are_rejected_or_are_other_transactions(
    check_mutation: Callable[..., None], payload: SignedPayload, data: st.DataObject
) -> None:
    check_mutation(sign(payload, SECRET).raw, again, data)


@given(zk)
def test_the_crate_reads_dependencies_and_parties_of_a_raw_transaction(
    payload: ZkTransaction,
) -> None:
    raw, paymaster = payload.encode(), payload.sponsor
    dependencies = zip(payload.factory_dep_hashes(), payload.factory_deps, strict=True)
    assert zk_dependencies(raw) == list(dependencies)
    named = None if paymaster is None else (paymaster.address, paymaster.input)
    assert zk_parties(raw) == (payload.sender, named)


@pytest.mark.parametrize("kind", [0x7E, 0x7F, 0xFE, 0xFF])
def test_only_l1_sends_l1_types(kind: int) -> None:
    payload = PriorityTransaction(
        type=kind,
        sender=TO,
        to=TO,
        gas_limit=1,
        gas_per_pubdata_limit=1,
        max_fee_per_gas=0,
        nonce=0,
    )
    transaction = Transaction.from_l1(payload)
    with pytest.raises(TransactionRuleBroken, match="transaction type not supported"):
        decode(transaction.raw)
    assert isinstance(decode_many([transaction.raw])[0], TransactionRuleBroken)
    assert load(transaction.raw, TO) == transaction


def test_a_rejection_among_many_is_at_its_position() -> None:
    good = sign(TRANSFER, SECRET)
    results = decode_many([good.raw, b"", b"\x71\xc0", b"\x05", good.raw])
    kinds = [type(outcome) for outcome in results]
    assert kinds == [
        Transaction,
        MalformedTransaction,
        MalformedZkTransaction,
        TransactionRuleBroken,
        Transaction,
    ]


def _signature_of(transaction: Transaction) -> bytes:
    payload = transaction.payload
    assert not isinstance(payload, PriorityTransaction | SystemTransaction)
    parity = payload.v if isinstance(payload, ZkTransaction) else payload.y_parity
    assert parity is not None
    return payload.r.to_bytes(32) + payload.s.to_bytes(32) + bytes([parity])


# Transactions that an impersonated account did not sign.

IMPERSONATED = Address(b"\xab" * 20)
PAYLOADS: list[EthereumTransaction] = [
    LegacyTransaction(nonce=0, gas_limit=21_000, to=TO, gas_price=1, chain_id=270),
    LegacyTransaction(nonce=0, gas_limit=21_000, to=TO, gas_price=1),
    AccessListTransaction(nonce=0, gas_limit=21_000, to=None, gas_price=1, chain_id=270),
    FeeMarketTransaction(
        nonce=0, gas_limit=1, to=TO, chain_id=1, max_fee_per_gas=1, max_priority_fee_per_gas=0
    ),
    SetCodeTransaction(
        nonce=0,
        gas_limit=1,
        to=TO,
        chain_id=1,
        max_fee_per_gas=1,
        max_priority_fee_per_gas=0,
        authorizations=(Authorization(1, TO, 0, 0, 1, 1),),
    ),
]
ZK = ZkTransaction(
    nonce=0,
    gas_limit=1,
    to=TO,
    chain_id=1,
    max_fee_per_gas=1,
    max_priority_fee_per_gas=0,
    sender=IMPERSONATED,
    gas_per_pubdata_limit=1,
)
every_type = pytest.mark.parametrize("payload", PAYLOADS, ids=lambda it: f"{it.type}")


@every_type
def test_an_impersonated_transaction_is_loaded_from_its_raw_bytes(
    payload: EthereumTransaction,
) -> None:
    unsigned = impersonate(payload, IMPERSONATED)
    assert load(unsigned.raw, IMPERSONATED) == unsigned
    assert unsigned.is_impersonated
    assert unsigned.hash == keccak256(unsigned.raw)


@every_type
@pytest.mark.parametrize("sender", [IMPERSONATED, Address.zero(), Address(b"\xff" * 20)])
@pytest.mark.parametrize("parity", [0, 1])
def test_its_bytes_cannot_be_sent(
    payload: EthereumTransaction, sender: Address, parity: int
) -> None:
    unsigned = impersonate(payload, sender)
    with pytest.raises(InvalidTransaction, match="signature"):
        decode(msgspec.structs.replace(unsigned.payload, y_parity=parity).encode())


def test_what_could_not_be_read_back_is_rejected() -> None:
    with pytest.raises(MalformedTransaction, match="gasPrice"):
        impersonate(
            LegacyTransaction(nonce=0, gas_limit=21_000, to=TO, gas_price=2**200, chain_id=270),
            IMPERSONATED,
        )


def test_type_0x71_round_trips_and_cannot_be_sent() -> None:
    unsigned = impersonate(ZK, IMPERSONATED)
    assert load(unsigned.raw, IMPERSONATED) == unsigned
    assert unsigned.is_impersonated
    with pytest.raises(InvalidTransaction, match="signature"):
        decode(unsigned.raw)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (
            "02ec827a6980843b9aca0084773594008252089411111111111111111111111111111111111111110180c0808080",
            "26b82dab7da5db662214db9b97c6b95c651d84445982fee7fd396f5d8cf5e3ff",
        ),
        (
            "e50184b2d05e00825208941111111111111111111111111111111111111111018082f4f58080",
            "c620d6213ea3f1f725a92cbed9fd692cb61f8401f50ea781bbcbb389a63ac009",
        ),
    ],
    ids=["fee market", "legacy"],
)
def test_one_without_a_signature_has_the_hash_that_anvil_gives_it(raw: str, expected: str) -> None:
    unsigned = bytes.fromhex(raw)
    loaded = load(unsigned, Address(b"\x77" * 20))
    assert loaded.hash.hex() == expected
    assert loaded.is_impersonated
    assert load(unsigned, Address(b"\x78" * 20)).hash != loaded.hash
    with pytest.raises(InvalidTransaction, match="r is zero"):
        decode(unsigned)


@pytest.mark.parametrize(
    "raw", [b"\x03", b"\x03\xf9\x01", b"\x03\xc0", b"\x03\x80", b"\x03\xc1\x80"]
)
def test_what_has_no_sidecar_stays_as_it_is(raw: bytes) -> None:
    assert without_sidecar(raw) == raw


def test_a_blob_transaction_without_its_sidecar_has_the_same_hash_and_sender() -> None:
    raw = blob_transaction(bytes([1]) * 32, sample_sidecar(1, 2))
    whole, bare = decode(raw), decode(without_sidecar(raw))
    assert (bare.hash, bare.sender, bare.sidecar) == (whole.hash, whole.sender, None)
    assert without_sidecar(bare.raw) == bare.raw
