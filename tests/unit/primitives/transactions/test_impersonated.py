"""Transactions that nobody signed."""

from __future__ import annotations

import msgspec
import pytest

from entresol._native import keccak256
from entresol.errors import InvalidTransaction, MalformedTransaction
from entresol.primitives.transactions import (
    AccessListTransaction,
    Authorization,
    EthereumTransaction,
    FeeMarketTransaction,
    LegacyTransaction,
    SetCodeTransaction,
    ZkTransaction,
    decode,
    impersonate,
    load,
    sign,
)
from entresol.primitives.values import Address

SENDER = Address(b"\xab" * 20)
TO = Address(b"\x11" * 20)
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
    sender=SENDER,
    gas_per_pubdata_limit=1,
)

every_type = pytest.mark.parametrize("payload", PAYLOADS, ids=lambda it: f"{it.type}")


@every_type
def test_what_a_record_keeps_of_it_reads_back(payload: EthereumTransaction) -> None:
    unsigned = impersonate(payload, SENDER)
    assert load(unsigned.raw, SENDER) == unsigned
    assert unsigned.is_impersonated
    assert unsigned.hash == keccak256(unsigned.raw)


@every_type
@pytest.mark.parametrize("sender", [SENDER, Address.zero(), Address(b"\xff" * 20)])
@pytest.mark.parametrize("parity", [0, 1])
def test_nobody_can_send_its_bytes(
    payload: EthereumTransaction, sender: Address, parity: int
) -> None:
    unsigned = impersonate(payload, sender)
    with pytest.raises(InvalidTransaction, match="signature"):
        decode(msgspec.structs.replace(unsigned.payload, y_parity=parity).encode())


@every_type
def test_each_sender_has_a_hash_of_its_own(payload: EthereumTransaction) -> None:
    senders = [Address.zero(), Address(bytes(19) + b"\x01"), SENDER]
    assert len({impersonate(payload, sender).hash for sender in senders}) == 3


def test_what_could_not_be_read_back_is_rejected() -> None:
    with pytest.raises(MalformedTransaction, match="gasPrice"):
        impersonate(
            LegacyTransaction(nonce=0, gas_limit=21_000, to=TO, gas_price=2**200, chain_id=270),
            SENDER,
        )


def test_type_0x71_reads_back_and_nobody_can_send_it() -> None:
    unsigned = impersonate(ZK, SENDER)
    assert load(unsigned.raw, SENDER) == unsigned
    assert unsigned.is_impersonated
    with pytest.raises(InvalidTransaction, match="signature"):
        decode(unsigned.raw)


@every_type
def test_a_signed_one_is_not_impersonated(payload: EthereumTransaction) -> None:
    assert not sign(payload, b"\x01" * 32).is_impersonated
