"""Blocks of others: executed again or applied, they come out the same or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from entresol._native import Account, Snapshot, keccak256
from entresol.errors import InvalidSignature, ReplayMismatch
from entresol.execution.block_executor import ExecutedBlock
from entresol.execution.block_rules import RecordRules
from entresol.execution.replay import apply_and_verify, re_execute, recovered
from entresol.primitives.headers import Header
from entresol.primitives.records import BlockRecord, StoredChange, stored_account
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
from entresol.primitives.values import Address, Bloom, Hash32
from entresol.state.snapshots import HistoricalState
from entresol.storage.store import Store
from tests.support.chain.block_production import (
    CHAIN_ID,
    ETHER,
    GWEI,
    Producer,
    call,
    priority,
    secret,
    sender,
)
from tests.support.chain.records import EMPTY_CODE, dump
from tests.support.evm.assembler import assemble, initcode
from tests.support.hex_data import word

ALICE, BOB = sender(1), sender(2)
TARGET = b"\xc1" * 20
MORTAL = b"\xc2" * 20
EDITED = b"\xed" * 20

STORING = assemble("0 calldataload 0 sstore 0 0 log0")
# Without input it destroys itself, else it stores the input.
DESTROYING = assemble("calldatasize @keep jumpi 0 selfdestruct keep: 0 calldataload dup1 sstore")


@pytest.fixture(params=["osaka", "shanghai"])
def producer(request: pytest.FixtureRequest) -> Iterator[Producer]:
    """Return a chain of some blocks in which all sorts of things happen."""
    store = Store.temporary()
    producer = Producer(
        store,
        fork=request.param,
        balances={ALICE: 100 * ETHER, BOB: ETHER},
        codes={TARGET: STORING, MORTAL: DESTROYING},
    )
    producer.seal(call(1, 0, MORTAL, data=word(7)), call(1, 1, BOB, value=5))
    producer.seal()
    producer.seal(priority(TARGET, data=word(3)), call(1, 2, TARGET, data=word(4)))
    producer.seal(call(1, 3, None, data=initcode(STORING + b"\0")), call(1, 4, MORTAL))
    edit = StoredChange(
        EDITED, stored_account(Account(9, 5, keccak256(b"\x00"))), slots=((word(1), b"\x02"),)
    )
    producer.seal(call(1, 5, EDITED), edits=[edit], codes=[b"\x00"])
    yield producer
    store.close()


def record_of(producer: Producer, number: int) -> BlockRecord:
    record = producer.store.get_record(number)
    assert record is not None
    return record


def again(producer: Producer, record: BlockRecord, number: int) -> ExecutedBlock:
    return re_execute(
        record,
        record_of(producer, number - 1).header(),
        rules=producer.rules,
        snapshot=Snapshot(HistoricalState(producer.store, number - 1)),
        trie=producer.trie,
    )


def test_every_block_comes_out_the_same(producer: Producer) -> None:
    for number in range(1, 6):
        record = record_of(producer, number)
        executed = again(producer, record, number)
        assert executed.record.encode() == record.encode()
        assert executed.header == record.header()


def test_a_follower_that_applies_has_the_same_bytes(producer: Producer) -> None:
    follower = Producer(
        Store.temporary(),
        fork=producer.rules.fork,
        balances={ALICE: 100 * ETHER, BOB: ETHER},
        codes={TARGET: STORING, MORTAL: DESTROYING},
    )
    for record in producer.store.records(1):
        overlay, nodes = apply_and_verify(
            record, follower.head, snapshot=follower.snapshot, trie=follower.trie
        )
        follower.store.append(record, nodes)
        follower.snapshot = overlay.seal(HistoricalState(follower.store, record.header().number))
    assert dump(follower.store) == dump(producer.store)
    follower.store.close()


def test_code_that_an_edit_sets_and_replaces_is_replayed(producer: Producer) -> None:
    number = producer.head.number + 1
    executor = producer.begin()
    for code in (b"\x00", b"\x5b\x00", b"\x5b\x5b\x00"):
        edit = StoredChange(b"\xee" * 20, stored_account(Account(0, 0, keccak256(code))))
        executor.edit([edit], [code])
    producer.finish(executor)
    again(producer, record_of(producer, number), number)


def test_an_edit_may_use_code_that_is_there_already(producer: Producer) -> None:
    number = producer.head.number + 1
    edit = StoredChange(b"\xee" * 20, stored_account(Account(0, 0, keccak256(STORING))))
    producer.seal(call(1, 6, b"\xee" * 20, data=word(8)), edits=[edit])
    assert producer.store.slot(b"\xee" * 20, word(0), number) == b"\x08"
    again(producer, record_of(producer, number), number)


def test_an_edit_may_destroy_and_make_again(producer: Producer) -> None:
    number = producer.head.number + 1
    edit = StoredChange(
        TARGET,
        stored_account(Account(1, 1, keccak256(STORING))),
        destroyed=True,
        slots=((word(9), b"\x09"),),
    )
    producer.seal(edits=[edit])
    assert producer.store.slot(TARGET, word(0), number) == b""
    assert producer.store.slot(TARGET, word(9), number) == b"\x09"
    again(producer, record_of(producer, number), number)


Tamper = Callable[[BlockRecord], BlockRecord]
replace = msgspec.structs.replace


def header_with(**fields: Any) -> Tamper:
    return lambda record: replace(record, header_rlp=replace(record.header(), **fields).encode())


def outcome_with(**fields: Any) -> Tamper:
    def tamper(record: BlockRecord) -> BlockRecord:
        first, *others = record.results
        return replace(record, results=(replace(first, **fields), *others))

    return tamper


def change_with(**fields: Any) -> Tamper:
    def tamper(record: BlockRecord) -> BlockRecord:
        first, *others = record.changes
        return replace(record, changes=(replace(first, **fields), *others))

    return tamper


def sent_by(stranger: bytes) -> Tamper:
    def tamper(record: BlockRecord) -> BlockRecord:
        *others, (raw, _) = record.transactions
        return replace(record, transactions=(*others, (raw, stranger)))

    return tamper


@pytest.mark.parametrize(
    "tamper",
    [
        header_with(parent_hash=Hash32.zero()),
        header_with(number=9),
        header_with(state_root=Hash32.zero()),
        header_with(transactions_root=Hash32.zero()),
        header_with(receipts_root=Hash32.zero()),
        header_with(ommers_hash=Hash32.zero()),
        header_with(logs_bloom=Bloom(b"\xff" * 256)),
        header_with(gas_used=1),
        header_with(gas_limit=1),
        header_with(difficulty=1),
        header_with(base_fee_per_gas=10**18),
        header_with(base_fee_per_gas=2**100),
        header_with(beneficiary=Address(b"\x01" * 20)),
        outcome_with(succeeded=False),
        outcome_with(gas_used=1),
        outcome_with(created=b"\x01" * 20),
        outcome_with(logs=()),
        outcome_with(l2_to_l1_logs=()),
        change_with(address=b"\x01" * 20),
        change_with(account=None),
        change_with(account=stored_account(Account(0, 1, EMPTY_CODE))),
        change_with(destroyed=True),
        change_with(slots=((word(1), b"\x01"),)),
        lambda record: replace(record, codes=(b"\x01",)),
        lambda record: replace(record, changes=record.changes[1:]),
        lambda record: replace(record, changes=record.changes[::-1]),
        lambda record: replace(record, results=record.results[1:]),
        lambda record: replace(record, results=record.results[::-1]),
        lambda record: replace(record, transactions=record.transactions[1:]),
        lambda record: replace(record, transactions=record.transactions[::-1]),
        lambda record: replace(record, transactions=record.transactions * 2),
        lambda record: replace(record, transactions=((b"\x02nonsense", bytes(20)),)),
        lambda record: replace(record, edits=(StoredChange(BOB, None),)),
        sent_by(BOB),
        sent_by(sender(77)),
    ],
)
def test_a_tampered_record_is_rejected(producer: Producer, tamper: Tamper) -> None:
    record = tamper(record_of(producer, 3))
    assert record != record_of(producer, 3)
    with pytest.raises(ReplayMismatch, match=r"block . differs from its record: "):
        again(producer, record, 3)


@pytest.mark.parametrize(
    "tamper",
    [
        header_with(state_root=Hash32.zero()),
        change_with(address=b"\x01" * 20),
        change_with(account=None),
        change_with(slots=((word(1), b"\x01"),)),
        lambda record: replace(record, changes=record.changes[1:]),
    ],
)
def test_changes_that_do_not_give_the_root_are_rejected(producer: Producer, tamper: Tamper) -> None:
    parent: Header = record_of(producer, 2).header()
    with pytest.raises(ReplayMismatch, match="state root 0x"):
        apply_and_verify(
            tamper(record_of(producer, 3)),
            parent,
            snapshot=Snapshot(HistoricalState(producer.store, 2)),
            trie=producer.trie,
        )


@pytest.mark.parametrize(
    ("tamper", "difference"),
    [
        (outcome_with(gas_used=1), "other results"),
        (change_with(account=None), "other changes"),
        (header_with(gas_used=1), "other header"),
        (lambda record: replace(record, codes=(b"\x01",)), "other codes"),
        (header_with(parent_hash=Hash32.zero()), "block 2 is not its parent"),
        (sent_by(sender(77)), "transaction 1 is rejected: "),
    ],
)
def test_the_difference_is_named(producer: Producer, tamper: Tamper, difference: str) -> None:
    with pytest.raises(ReplayMismatch, match=difference):
        again(producer, tamper(record_of(producer, 3)), 3)


CARD = Address(b"\xca" * 20)
STRANGER = sender(77)

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
def signer() -> Iterator[Producer]:
    store = Store.temporary()
    yield Producer(store, balances={ALICE: ETHER, BOB: ETHER, STRANGER: ETHER})
    store.close()


def executed_again(signer: Producer, record: BlockRecord, *, accepts_unsigned: bool = True) -> None:
    parent = signer.store.get_record(0)
    assert parent is not None
    re_execute(
        record,
        parent.header(),
        rules=signer.rules,
        snapshot=Snapshot(HistoricalState(signer.store, 0)),
        trie=signer.trie,
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
def test_a_block_with_right_signatures_comes_out_the_same(signer: Producer, kind: str) -> None:
    executed_again(signer, signer.seal(signed(kind)).record)


@pytest.mark.parametrize("field", ["r", "s", "y_parity", "value"])
@pytest.mark.parametrize("kind", KINDS)
def test_one_wrong_bit_is_named(signer: Producer, kind: str, field: str) -> None:
    transaction = signed(kind)
    record = signer.seal(transaction).record
    raw = flip(field)(transaction.payload).encode()
    lying = replace(record, transactions=((raw, ALICE),))
    with pytest.raises(ReplayMismatch, match="transaction 0 is rejected: invalid signature: "):
        executed_again(signer, lying)


@pytest.mark.parametrize("kind", KINDS)
def test_one_wrong_bit_of_the_recorded_sender_is_named(signer: Producer, kind: str) -> None:
    record = signer.seal(signed(kind)).record
    other = bytes([ALICE[0] ^ 1, *ALICE[1:]])
    lying = replace(record, transactions=((record.transactions[0][0], other),))
    expected = f"transaction 0 is rejected: invalid signature: it is sent by {ALICE.hex()}"
    with pytest.raises(ReplayMismatch, match=expected.replace("by ", "by 0x")):
        executed_again(signer, lying)


@pytest.mark.parametrize("kind", PAYLOADS)
def test_an_invented_sender_with_all_that_follows_from_it_is_rejected(
    signer: Producer, kind: str
) -> None:
    signature = sign(PAYLOADS[kind], secret(2)).payload
    invented = load(signature.encode(), ALICE)
    record = signer.seal(invented).record
    with pytest.raises(ReplayMismatch, match="transaction 0 is rejected: invalid signature: "):
        executed_again(signer, record)


@pytest.mark.parametrize("kind", PAYLOADS)
def test_a_development_chain_replays_impersonated_senders(signer: Producer, kind: str) -> None:
    record = signer.seal(impersonate(PAYLOADS[kind], ALICE)).record
    executed_again(signer, record)
    with pytest.raises(ReplayMismatch, match="transaction 0 is rejected: it is not signed, which"):
        executed_again(signer, record, accepts_unsigned=False)


@pytest.mark.parametrize("kind", PAYLOADS)
def test_an_impersonated_transaction_names_its_sender(signer: Producer, kind: str) -> None:
    payload = impersonate(PAYLOADS[kind], BOB).payload
    stolen = load(payload.encode(), ALICE)
    record = signer.seal(stolen).record
    with pytest.raises(ReplayMismatch, match="transaction 0 is rejected: invalid signature: "):
        executed_again(signer, record)


def test_what_a_state_file_brought_unsigned_is_replayed(signer: Producer) -> None:
    record = signer.seal(load(PAYLOADS["fee market"].encode(), ALICE)).record
    executed_again(signer, record)
    with pytest.raises(ReplayMismatch, match="it is not signed"):
        executed_again(signer, record, accepts_unsigned=False)


def test_a_signature_of_type_0x71_is_judged_by_the_state_of_the_block(signer: Producer) -> None:
    wrong = load(flip("r")(sign(PAYLOADS["0x71"], secret(1)).payload).encode(), ALICE)
    judged = replace(wrong, signature_error=InvalidSignature("by another key"))
    with pytest.raises(InvalidSignature, match="by another key"):
        signer.begin().run(judged)


def test_a_delegation_does_not_judge(signer: Producer) -> None:
    executor = signer.begin()
    executor.overlay.set_code(ALICE, b"\xef\x01\x00" + CARD)
    good = sign(PAYLOADS["0x71"], secret(1))
    with pytest.raises(InvalidSignature, match="by another key"):
        executor.run(replace(good, signature_error=InvalidSignature("by another key")))
    assert executor.run(good).succeeded


def test_senders_of_many_blocks_are_recovered_at_once(signer: Producer) -> None:
    payload = PAYLOADS["fee market"]
    records = [
        signer.seal(*(sign(replace(payload, nonce=nonce), secret(1)) for nonce in nonces)).record
        for nonces in ((0, 1), (), (2,))
    ]
    found = list(recovered(iter(records)))
    assert [record for record, _ in found] == records
    assert [len(transactions) for _, transactions in found] == [2, 0, 1]
