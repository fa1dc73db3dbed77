"""The events of a chain's batches, put together from the logs of L1."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Sequence
from typing import Any, cast

import msgspec
import pytest

from entresol._native import keccak256
from entresol.errors import DerivationAlarm, LayerOneMismatch, UnderivableBatch
from entresol.features.derive.l1_events import (
    MAX_NUMBER,
    BatchCommitted,
    BatchesReverted,
    BatchesVerified,
    BatchEvent,
    BatchReverts,
    L1Events,
)
from entresol.l1.availability.batch_data import EventPosition
from entresol.l1.contracts import ZkChain
from entresol.l1.layer_one import LayerOne
from entresol.primitives.published.compression import compress, decompress
from entresol.primitives.published.edits import PublishedEdits
from entresol.primitives.published.rules import BlockRules
from entresol.primitives.records import StoredAccount, StoredChange, transaction_type
from entresol.primitives.transactions import impersonate, load
from entresol.primitives.values import Address, Hash32
from tests.support.chain.dev_chain import fee_market, root
from tests.support.contracts.accounts import fill
from tests.support.features.derive.liar import Liar
from tests.support.features.derive.operated_chain import seen
from tests.support.features.derive.scripted_l1 import CONTRACT, ScriptedLayerOne
from tests.support.known import known
from tests.support.published.rejected import uncompressed
from tests.support.rollup.published_traffic import ETHER, STRANGER
from tests.support.run.examples import tries_many

OTHER = Hash32(b"\x5a" * 32)
CODELESS = PublishedEdits((StoredChange(b"\x44" * 20, StoredAccount(1, b"\1", b"\x45" * 32)),))
RICH = PublishedEdits(
    (StoredChange(bytes(STRANGER), StoredAccount(0, b"\xff" * 16, keccak256(b""))),)
)
FLIPS = 1_000 if tries_many() else 60


@pytest.fixture(scope="module")
def liar() -> Iterator[Liar]:
    found = Liar(seed=3)
    yield found
    found.close()


@pytest.fixture(scope="module")
def production() -> Iterator[Liar]:
    """Return the operator of a chain that is not for development."""
    found = Liar(seed=3, is_development=False)
    yield found
    found.close()


@pytest.mark.parametrize(
    ("field", "value"),
    [("state_root", OTHER), ("commitment", OTHER), ("first_block", 1), ("last_block", 1_000)],
)
def test_a_claim_that_is_another_in_one_field_is_an_alarm_about_it(
    liar: Liar, field: str, value: Hash32 | int
) -> None:
    alarm = liar.lie(**{field: value})
    assert alarm.field == field
    assert alarm.expected == str(value)
    assert alarm.found == str(getattr(liar.truth, field))


@pytest.mark.parametrize(
    ("field", "other"),
    [("parent_hash", OTHER), ("rules_hash", OTHER), ("number", 3), ("first_block", 1)],
)
def test_a_body_with_another_header_is_an_alarm(
    liar: Liar, field: str, other: Hash32 | int
) -> None:
    alarm = liar.publish(
        lambda batch: msgspec.structs.replace(
            batch, header=msgspec.structs.replace(batch.header, **{field: other})
        )
    )
    assert alarm.field == field
    assert str(other) in (alarm.expected, alarm.found)


def test_another_hash_of_the_last_block_is_an_alarm(liar: Liar) -> None:
    alarm = liar.publish(lambda batch: msgspec.structs.replace(batch, last_hash=OTHER))
    assert (alarm.field, alarm.expected) == ("block_hash", str(OTHER))
    assert alarm.found == str(liar.batch.last_hash)


def test_data_that_was_compressed_by_others_is_right_if_it_is_committed(liar: Liar) -> None:
    other = uncompressed(decompress(liar.truth.data))
    assert other != liar.truth.data
    assert liar.lie(data=other).field == "commitment"
    claim = liar.committed(msgspec.structs.replace(liar.truth, data=other))
    sealed = liar.derived.deriver.derive(claim, liar.operator.deposits_from)
    assert sealed.data == other
    liar.derived.deriver.unwind(claim.first_block - 1)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"\x02", "version 2 is not known"),
        (b"\x01", "magic"),
        (b"garbage", "version"),
        (b"\x01\x28\xb5\x2f\xfd" + b"\x77" * 400, "descriptor"),
        # Says that it is 8 MiB and a byte, and that it is 200 bytes but is none.
        (bytes.fromhex("0128b52ffda0") + (8 * 1024 * 1024 + 1).to_bytes(4, "little"), "content_size"),
        (bytes.fromhex("0128b52ffd20c8"), "block"),
        (b"\x01" + bytes(126_976), "size"),
    ],
)  # fmt: skip
def test_garbage_is_an_alarm_with_its_hash(liar: Liar, data: bytes, problem: str) -> None:
    alarm = liar.lie(data=data)
    assert isinstance(alarm, UnderivableBatch)
    assert problem in f"{alarm.field} {alarm.found}"
    assert alarm.expected == f"{len(data)} bytes of data with the hash 0x{keccak256(data).hex()}"


def test_a_flipped_bit_of_a_body_that_is_committed_gives_the_same_blocks_or_an_alarm(
    liar: Liar,
) -> None:
    choice, body = random.Random(4), decompress(liar.truth.data)
    blocks = range(liar.truth.first_block, liar.truth.last_block + 1)
    for _ in range(FLIPS):
        data = compress(flipped(body, choice))
        claim = liar.committed(msgspec.structs.replace(liar.truth, data=data))
        before = seen(liar.derived.chain)
        try:
            liar.derived.deriver.derive(claim, liar.operator.deposits_from)
        except DerivationAlarm:
            assert seen(liar.derived.chain) == before
            continue
        # The price of gas on L1 is in no header if the base fee does not follow from it.
        for number in blocks:
            ours = liar.derived.chain.ledger.record(number)
            assert ours == liar.operator.chain.ledger.record(number)
        liar.derived.deriver.unwind(claim.first_block - 1)


@pytest.mark.parametrize("kind", [0, 1, 2, 4, 0x71])
def test_a_wrong_signature_is_an_alarm_that_names_the_transaction(liar: Liar, kind: int) -> None:
    for index, block in enumerate(liar.batch.blocks):
        for position, raw in enumerate(block.transactions):
            found = load(raw, Address.zero())
            payload: Any = found.payload
            is_key = not found.is_impersonated and not getattr(payload, "custom_signature", b"")
            if transaction_type(raw) != kind or not is_key:
                continue
            other = msgspec.structs.replace(payload, s=payload.s ^ 1).encode()
            raws = (*block.transactions[:position], other, *block.transactions[position + 1 :])
            alarm = liar.change(index, transactions=raws)
            number = liar.truth.first_block + index
            assert alarm.field == f"block {number}, transactions[{position}]"
            return
    pytest.fail("there is no such transaction")


def test_a_wrong_signature_of_a_contract_account_is_an_alarm(liar: Liar) -> None:
    index = liar.at(lambda block: any(custom_signature(raw) for raw in block.transactions))
    block = liar.batch.blocks[index]
    raws = list(block.transactions)
    position = next(it for it, raw in enumerate(raws) if custom_signature(raw))
    payload: Any = load(raws[position], Address.zero()).payload
    signature = payload.custom_signature[:40] + b"\0" + payload.custom_signature[41:]
    raws[position] = msgspec.structs.replace(payload, custom_signature=signature).encode()
    alarm = liar.change(index, transactions=tuple(raws))
    assert f"transactions[{position}]" in alarm.field


def test_a_transaction_that_was_left_out_moved_or_repeated_is_an_alarm(liar: Liar) -> None:
    index = liar.at(lambda block: len(block.transactions) > 2)
    raws = liar.batch.blocks[index].transactions
    for others in (raws[1:], raws[:-1], raws[::-1], (*raws, raws[0])):
        liar.change(index, transactions=others)


def test_a_transaction_that_nobody_knows_the_sender_of_is_an_alarm(liar: Liar) -> None:
    payload = fee_market(0, STRANGER, fee=ETHER)
    for r, s in ((0, 0), (5, 7), (5, 1 << 161)):
        raw = msgspec.structs.replace(payload, r=r, s=s).encode()
        alarm = liar.change(0, transactions=(raw,))
        assert "transactions[0]" in alarm.field


def test_more_or_fewer_deposits_than_there_were_are_an_alarm(liar: Liar) -> None:
    index = liar.at(lambda block: block.deposits)
    count = liar.batch.blocks[index].deposits
    total = sum(block.deposits for block in liar.batch.blocks)
    liar.change(index, deposits=count - 1)
    alarm = liar.change(index, deposits=1_000)
    assert alarm.field == "deposits"
    assert alarm.found == f"{total - count + 1_000} in its blocks"


def test_deposits_that_l1_has_not_are_an_alarm(liar: Liar) -> None:
    total = sum(block.deposits for block in liar.batch.blocks)
    before = seen(liar.derived.chain)
    with pytest.raises(
        DerivationAlarm, match=rf"deposits: 0 with ids from \d+ on L1, {total} in its blocks here"
    ):
        liar.derived.deriver.derive(liar.truth, lambda _first, _count: ())
    with pytest.raises(DerivationAlarm, match="deposits: "):
        liar.derived.deriver.derive(
            liar.truth, lambda first, count: liar.operator.deposits_from(first - 1, count)
        )
    assert seen(liar.derived.chain) == before


def test_another_deposit_with_the_same_id_is_an_alarm(liar: Liar) -> None:
    before = seen(liar.derived.chain)
    with pytest.raises(DerivationAlarm):
        liar.derived.deriver.derive(
            liar.truth,
            lambda first, count: [
                msgspec.structs.replace(it, refund_recipient=STRANGER)
                for it in liar.operator.deposits_from(first, count)
            ],
        )
    assert seen(liar.derived.chain) == before


def test_roots_that_were_invented_or_left_out_are_an_alarm(liar: Liar) -> None:
    index = liar.at(lambda block: block.roots)
    liar.change(index, roots=())
    liar.change(index, roots=(*liar.batch.blocks[index].roots, root(999)))
    # A root that is there already is rejected by the contract that keeps them.
    twice = liar.batch.blocks[index].roots * 2
    assert liar.change(index, roots=twice).field.endswith("roots[0]")


def test_an_edit_that_was_invented_or_left_out_is_an_alarm(liar: Liar) -> None:
    index = liar.at(lambda block: block.edits)
    liar.change(index, edits=None)
    liar.change(index, edits=RICH)


def test_an_edit_with_code_that_nobody_has_is_an_alarm_by_name(liar: Liar) -> None:
    alarm = liar.change(0, edits=CODELESS)
    assert alarm.field.endswith("edits.codes")
    assert "0x" + "45" * 32 in alarm.found


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"edits": RICH}, "it has an edit, and is not of a development chain"),
        ({"base_fee": 7}, "its base fee is 7, and"),
        ({"prevrandao": OTHER}, f"its PREVRANDAO is {OTHER}, not"),
    ],
)
def test_what_only_developers_may_do_is_an_alarm_on_a_production_chain(
    production: Liar, fields: dict[str, Any], problem: str
) -> None:
    index = production.at(lambda block: not block.transactions)
    alarm = production.change(index, **fields)
    assert alarm.field == f"block {production.truth.first_block + index}, rules"
    assert problem in alarm.found


@pytest.mark.parametrize("by", ["ethereum", "zk"])
def test_impersonation_is_an_alarm_on_a_production_chain(production: Liar, by: str) -> None:
    payload: Any = fee_market(0, STRANGER, fee=ETHER)
    payload = payload if by == "ethereum" else fill(STRANGER)
    raw = impersonate(payload, STRANGER).raw
    index = production.at(lambda block: not block.transactions)
    alarm = production.change(index, transactions=(raw,))
    assert alarm.field.endswith("transactions[0]")
    assert alarm.found == "it is not signed, which only a development chain accepts"


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("chain_id", 271, "rules.chain_id"),
        ("is_development", False, "rules.is_development"),
        ("fork", "amsterdam", "rules.fork"),
    ],
)
def test_rules_that_would_make_another_chain_of_it_are_an_alarm(
    liar: Liar, field: str, value: object, named: str
) -> None:
    rules = msgspec.structs.replace(_rules(liar), **{field: value})
    alarm = liar.change(1, rules=rules)
    assert alarm.field == f"block {liar.truth.first_block + 1}, {named}"


def flipped(data: bytes, choice: random.Random) -> bytes:
    at, bit = choice.randrange(len(data)), choice.randrange(8)
    return data[:at] + bytes((data[at] ^ 1 << bit,)) + data[at + 1 :]


def custom_signature(raw: bytes) -> bytes:
    """Return the signature of a contract account; empty for any other transaction."""
    payload: Any = load(raw, Address.zero()).payload
    return bytes(getattr(payload, "custom_signature", b""))


def _rules(liar: Liar) -> BlockRules:
    return known(liar.operator.chain.ledger.store.rules.at(0))


def events(l1: ScriptedLayerOne, after: EventPosition | None = None) -> list[BatchEvent]:
    async def read() -> list[BatchEvent]:
        contract = ZkChain(cast("LayerOne", l1), CONTRACT)
        return [it async for it in L1Events(contract).after(after, len(l1.blocks) - 1)]

    return asyncio.run(read())


def position(block: int, index: int) -> EventPosition:
    return EventPosition(block, Hash32.zero(), index)


def test_the_logs_of_a_commit_are_one_event() -> None:
    l1 = ScriptedLayerOne()
    block = l1.commit(1, blocks=3)
    (event,) = events(l1)
    assert isinstance(event, BatchCommitted)
    claim = event.claim
    assert (claim.number, claim.first_block, claim.last_block, claim.data) == (1, 1, 3, b"batch 1 ")
    assert event.position == EventPosition(block, l1.blocks[block][0], 2)


def test_events_up_to_a_position_are_left_out() -> None:
    l1 = ScriptedLayerOne()
    logs = [*l1.commit_logs(l1.batch(1))]
    block = l1.mine(*logs)
    l1.verify(0, 1)
    (event,) = events(l1, position(block, 2))
    assert isinstance(event, BatchesVerified)


@pytest.mark.parametrize(
    ("kept", "problem"),
    [
        ([0], "has data of batch 1, but its commit is missing"),
        ([0, 1], "has data of batch 1, but its commit is missing"),
        ([1], "the commit of these blocks is missing"),
        ([2], "the range of blocks of batch 1 is missing"),
        ([0, 2], "the range of blocks of batch 1 is missing"),
        ([0, 0, 1, 2], "has data of batch 1, but its commit is missing"),
        ([0, 1, 1, 2], "the commit of these blocks is missing"),
    ],
)
def test_a_commit_that_is_not_complete_is_named(kept: Sequence[int], problem: str) -> None:
    l1 = ScriptedLayerOne()
    logs = l1.commit_logs(l1.batch(1))
    l1.mine(*(logs[index] for index in kept))
    with pytest.raises(LayerOneMismatch, match=problem):
        events(l1)


def test_logs_of_a_commit_in_two_transactions_are_none() -> None:
    l1 = ScriptedLayerOne()
    logs = l1.commit_logs(l1.batch(1))
    l1.mine(*logs[:2])
    l1.mine(*logs[2:])
    with pytest.raises(LayerOneMismatch, match="the range of blocks of batch 1 is missing"):
        events(l1)


def test_a_commit_lasts_unless_a_later_revert_undoes_it() -> None:
    l1, reverts = ScriptedLayerOne(), BatchReverts()
    for number in (1, 2, 3, 4):
        l1.commit(number)
    first = l1.revert(3)
    l1.commit(4)
    second = l1.revert(1)
    for event in events(l1):
        if isinstance(event, BatchesReverted):
            reverts.add(event)
    assert reverts.last == 1
    assert reverts.last_after(position(1, 2)) == 1
    assert reverts.last_after(position(first, 1)) == 1
    assert reverts.last_after(position(second, 1)) == MAX_NUMBER
