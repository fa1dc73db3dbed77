"""Senders of replayed blocks: the bytes of each transaction say who sent it, and one wrong bit rejects its block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from entresol._native import Snapshot
from entresol.errors import InvalidSignature, ReplayMismatch
from entresol.execution.block_rules import RecordRules
from entresol.execution.replay import re_execute, recovered
from entresol.primitives.records import BlockRecord
from entresol.primitives.transactions import (
    AccessListTransaction,
    Authorization,
    BlobTransaction,
    FeeMarketTransaction,
    LegacyTransaction,
    SetCodeTransaction,
    SignedPayload,
    Transaction,
    ZkTransaction,
    impersonate,
    load,
    sign,
)
from entresol.primitives.values import Address, Hash32
from entresol.state.snapshots import HistoricalState
from entresol.storage.store import Store
from tests.support.chain.block_production import CHAIN_ID, ETHER, GWEI, Producer, secret, sender

ALICE, BOB = sender(1), sender(2)
CARD = Address(b"\xca" * 20)
STRANGER = sender(77)

replace = msgspec.structs.replace
common: dict[str, Any] = {"nonce": 0, "gas_limit": 100_000, "to": CARD, "value": 7}
priced: dict[str, Any] = {"max_fee_per_gas": GWEI, "max_priority_fee_per_gas": 0}
PAYLOADS: dict[str, SignedPayload] = {
    "unprotected": LegacyTransaction(chain_id=None, gas_price=GWEI, **common),
    "legacy": LegacyTransaction(chain_id=CHAIN_ID, gas_price=GWEI, **common),
    "access list": AccessListTransaction(chain_id=CHAIN_ID, gas_price=GWEI, **common),
    "fee market": FeeMarketTransaction(chain_id=CHAIN_ID, **priced, **common),
    "blobs": BlobTransaction(
        chain_id=CHAIN_ID,
        max_fee_per_blob_gas=GWEI,
        blob_hashes=(Hash32(b"\x01" + bytes(31)),),
        **priced,
        **common,
    ),
    "set code": SetCodeTransaction(
        chain_id=CHAIN_ID,
        authorizations=(Authorization(CHAIN_ID, CARD, 9, 0, 1, 1),),
        **priced,
        **common,
    ),
    "0x71": ZkTransaction(
        chain_id=CHAIN_ID, sender=ALICE, gas_per_pubdata_limit=50_000, **priced, **common
    ),
}


@pytest.fixture
def producer() -> Iterator[Producer]:
    store = Store.temporary()
    yield Producer(store, balances={ALICE: ETHER, BOB: ETHER, STRANGER: ETHER})
    store.close()


def again(producer: Producer, record: BlockRecord, *, accepts_unsigned: bool = True) -> None:
    parent = producer.store.get_record(0)
    assert parent is not None
    re_execute(
        record,
        parent.header(),
        rules=producer.rules,
        snapshot=Snapshot(HistoricalState(producer.store, 0)),
        trie=producer.trie,
        record_rules=RecordRules(is_development=accepts_unsigned, base_fee=0),
    )


def custom(transaction: Transaction) -> Transaction:
    """Return a transaction of type 0x71 with its signature in the other form."""
    payload = transaction.payload
    assert isinstance(payload, ZkTransaction)
    other = replace(payload, v=None, r=0, s=0, custom_signature=payload.signature)
    return load(other.encode(), ALICE)


def signed(kind: str) -> Transaction:
    if kind == "0x71 custom":
        return custom(sign(PAYLOADS["0x71"], secret(1)))
    return sign(PAYLOADS[kind], secret(1))


def flip(field: str) -> Callable[[Any], Any]:
    def flipped(payload: Any) -> Any:
        if isinstance(payload, ZkTransaction) and payload.custom_signature and field != "value":
            at = {"r": 31, "s": 63, "y_parity": 64}[field]
            signature = bytearray(payload.custom_signature)
            signature[at] = 55 - signature[at] if at == 64 else signature[at] ^ 1
            return replace(payload, custom_signature=bytes(signature))
        name = "v" if field == "y_parity" and isinstance(payload, ZkTransaction) else field
        return replace(payload, **{name: getattr(payload, name) ^ 1})

    return flipped


KINDS = [*PAYLOADS, "0x71 custom"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_block_with_right_signatures_comes_out_the_same(producer: Producer, kind: str) -> None:
    again(producer, producer.seal(signed(kind)).record)


@pytest.mark.parametrize("field", ["r", "s", "y_parity", "value"])
@pytest.mark.parametrize("kind", KINDS)
def test_one_wrong_bit_is_named(producer: Producer, kind: str, field: str) -> None:
    transaction = signed(kind)
    record = producer.seal(transaction).record
    raw = flip(field)(transaction.payload).encode()
    lying = replace(record, transactions=((raw, ALICE),))
    with pytest.raises(ReplayMismatch, match="transaction 0 is rejected: invalid signature: "):
        again(producer, lying)


@pytest.mark.parametrize("kind", KINDS)
def test_one_wrong_bit_of_the_recorded_sender_is_named(producer: Producer, kind: str) -> None:
    record = producer.seal(signed(kind)).record
    other = bytes([ALICE[0] ^ 1, *ALICE[1:]])
    lying = replace(record, transactions=((record.transactions[0][0], other),))
    expected = f"transaction 0 is rejected: invalid signature: it is sent by {ALICE.hex()}"
    with pytest.raises(ReplayMismatch, match=expected.replace("by ", "by 0x")):
        again(producer, lying)


@pytest.mark.parametrize("kind", PAYLOADS)
def test_an_invented_sender_with_all_that_follows_from_it_is_rejected(
    producer: Producer, kind: str
) -> None:
    signature = sign(PAYLOADS[kind], secret(2)).payload
    invented = load(signature.encode(), ALICE)
    record = producer.seal(invented).record
    with pytest.raises(ReplayMismatch, match="transaction 0 is rejected: invalid signature: "):
        again(producer, record)


@pytest.mark.parametrize("kind", PAYLOADS)
def test_a_development_chain_replays_impersonated_senders(producer: Producer, kind: str) -> None:
    record = producer.seal(impersonate(PAYLOADS[kind], ALICE)).record
    again(producer, record)
    with pytest.raises(ReplayMismatch, match="transaction 0 is rejected: it is not signed, which"):
        again(producer, record, accepts_unsigned=False)


@pytest.mark.parametrize("kind", PAYLOADS)
def test_an_impersonated_transaction_names_its_sender(producer: Producer, kind: str) -> None:
    payload = impersonate(PAYLOADS[kind], BOB).payload
    stolen = load(payload.encode(), ALICE)
    record = producer.seal(stolen).record
    with pytest.raises(ReplayMismatch, match="transaction 0 is rejected: invalid signature: "):
        again(producer, record)


def test_what_a_state_file_brought_unsigned_is_replayed(producer: Producer) -> None:
    record = producer.seal(load(PAYLOADS["fee market"].encode(), ALICE)).record
    again(producer, record)
    with pytest.raises(ReplayMismatch, match="it is not signed"):
        again(producer, record, accepts_unsigned=False)


def test_a_signature_of_type_0x71_is_judged_by_the_state_of_the_block(producer: Producer) -> None:
    wrong = load(flip("r")(sign(PAYLOADS["0x71"], secret(1)).payload).encode(), ALICE)
    judged = replace(wrong, signature_error=InvalidSignature("by another key"))
    with pytest.raises(InvalidSignature, match="by another key"):
        producer.begin().run(judged)


def test_a_delegation_does_not_judge(producer: Producer) -> None:
    executor = producer.begin()
    executor.overlay.set_code(ALICE, b"\xef\x01\x00" + CARD)
    good = sign(PAYLOADS["0x71"], secret(1))
    with pytest.raises(InvalidSignature, match="by another key"):
        executor.run(replace(good, signature_error=InvalidSignature("by another key")))
    assert executor.run(good).succeeded


def test_senders_of_many_blocks_are_recovered_at_once(producer: Producer) -> None:
    payload = PAYLOADS["fee market"]
    records = [
        producer.seal(*(sign(replace(payload, nonce=nonce), secret(1)) for nonce in nonces)).record
        for nonces in ((0, 1), (), (2,))
    ]
    found = list(recovered(iter(records)))
    assert [record for record, _ in found] == records
    assert [len(transactions) for _, transactions in found] == [2, 0, 1]
