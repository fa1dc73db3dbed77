"""System transactions in blocks of others: what breaks their rules is not a block."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec
import pytest

from entresol.chain.chain import Chain
from entresol.errors import ReplayMismatch, SystemTransactionFailed, TransactionRuleBroken
from entresol.execution.block_executor import BlockExecutor
from entresol.primitives.interop_roots import ROOT_STORAGE, import_call
from entresol.primitives.records import BlockRecord
from entresol.primitives.transactions import (
    SystemTransaction,
    Transaction,
    impersonate,
)
from entresol.primitives.transactions.system import SYSTEM_SENDER
from tests.support.chain.dev_chain import (
    ALICE,
    ETHER,
    FEE,
    GENESIS_NONCE,
    fee_market,
    open_importing,
    priority_transaction,
    root,
    roots,
    stored_root,
    transaction,
)


@pytest.fixture
def chain() -> Iterator[Chain]:
    chain = open_importing()
    chain.schedule.seal_on_request()
    yield chain
    chain.close()


@pytest.fixture
def other() -> Iterator[Chain]:
    chain = open_importing()
    yield chain
    chain.close()


def imported(*numbers: int, salt: int = GENESIS_NONCE) -> Transaction:
    return Transaction.of_system(
        SystemTransaction.root_import([root(number) for number in numbers], salt)
    )


def executor_of(chain: Chain) -> BlockExecutor:
    ledger = chain.ledger
    env = ledger.next_block_env(timestamp=ledger.head.timestamp + 1)
    executor = BlockExecutor(ledger.rules.evm_rules(), ledger.latest, env, ledger.parent)
    executor.begin()
    return executor


def test_it_is_the_first_of_its_block_and_the_only_one(chain: Chain) -> None:
    executor = executor_of(chain)
    executor.run(imported(1))
    with pytest.raises(SystemTransactionFailed, match="not the first"):
        executor.run(imported(2, salt=GENESIS_NONCE + 1))
    executor = executor_of(chain)
    executor.run(transaction(0))
    with pytest.raises(SystemTransactionFailed, match="not the first"):
        executor.run(imported(1))


@pytest.mark.parametrize("salt", [0, GENESIS_NONCE + 1, 2**64 - 2])
def test_its_salt_is_the_next(chain: Chain, salt: int) -> None:
    executor = executor_of(chain)
    with pytest.raises(SystemTransactionFailed, match="nonce"):
        executor.run(imported(1, salt=salt))
    assert not executor.transactions


def test_one_that_reverts_leaves_the_block_as_it_is(chain: Chain) -> None:
    executor = executor_of(chain)
    with pytest.raises(SystemTransactionFailed, match=r"InteropRootAlreadyExists\(31337, 1\)"):
        executor.run(imported(1, 1))
    assert (executor.failures, executor.outputs, executor.gas_used) == ({}, {}, 0)
    executor.run(imported(1))
    assert len(executor.transactions) == 1


def impersonated(**fields: object) -> Transaction:
    call = import_call(roots(1))
    payload = fee_market(GENESIS_NONCE, ROOT_STORAGE, data=call, gas=200_000, fee=FEE)
    return impersonate(msgspec.structs.replace(payload, **fields), SYSTEM_SENDER)


def test_an_impersonated_sender_is_rejected_by_pool_and_block(chain: Chain) -> None:
    chain.edit(SYSTEM_SENDER, lambda it: it.set_balance(SYSTEM_SENDER, ETHER))
    for sent in (impersonated(), impersonated(to=ALICE, data=b"", value=1)):
        with pytest.raises(TransactionRuleBroken, match="only the node itself sends from 0x"):
            chain.add(sent)
        with pytest.raises(TransactionRuleBroken, match="only the node itself sends"):
            executor_of(chain).run(sent)
    assert not chain.pool


def test_a_request_of_l1_from_that_sender_is_included_as_failed(chain: Chain) -> None:
    forged = priority_transaction(
        0,
        sender=SYSTEM_SENDER,
        to=ROOT_STORAGE,
        value=0,
        gas_limit=500_000,
        fee=FEE,
        data=import_call(roots(1)),
    )
    chain.enqueue(forged)
    chain.builder.seal()
    (result,) = chain.blocks.record(1).results
    assert not result.succeeded
    assert stored_root(chain, 1) == bytes(32)
    chain.verify()


def test_a_chain_without_roots_keeps_the_blocks_that_it_has(chain: Chain) -> None:
    def without_storage(overlay: object) -> None:
        overlay.set_code(ROOT_STORAGE, b"")  # type: ignore[attr-defined]
        overlay.set_balance(SYSTEM_SENDER, ETHER)  # type: ignore[attr-defined]

    chain.edit(ROOT_STORAGE, without_storage, SYSTEM_SENDER)
    executor = BlockExecutor(
        chain.ledger.rules.evm_rules(),
        chain.latest,
        chain.ledger.next_block_env(5_000),
        chain.ledger.parent,
    )
    assert executor.run(impersonated(to=ALICE, data=b"", value=1)).succeeded


# Blocks of others, executed again and applied as they are.

Change = Callable[[BlockRecord], BlockRecord]


def with_first(raw: bytes, sender: bytes = SYSTEM_SENDER) -> Change:
    def change(record: BlockRecord) -> BlockRecord:
        kept = record.transactions[1:]
        return msgspec.structs.replace(record, transactions=((raw, bytes(sender)), *kept))

    return change


def swapped(record: BlockRecord) -> BlockRecord:
    return msgspec.structs.replace(record, transactions=record.transactions[::-1])


def doubled(record: BlockRecord) -> BlockRecord:
    first = record.transactions[0]
    return msgspec.structs.replace(record, transactions=(first, first))


def failed(record: BlockRecord) -> BlockRecord:
    result = msgspec.structs.replace(record.results[0], succeeded=False)
    return msgspec.structs.replace(record, results=(result, *record.results[1:]))


def from_the_node(record: BlockRecord) -> BlockRecord:
    forged = impersonate(transaction(0).payload, SYSTEM_SENDER).raw  # type: ignore[arg-type]
    others = record.transactions[:1]
    return msgspec.structs.replace(record, transactions=(*others, (forged, bytes(SYSTEM_SENDER))))


_OTHER_TARGET = b"\x7d" + imported(1).raw[1:].replace(bytes(ROOT_STORAGE), b"\x11" * 20)
_TOO_MANY = Transaction.of_system(SystemTransaction.root_import(roots(101), GENESIS_NONCE)).raw


@pytest.mark.parametrize("execute", [True, False], ids=["executed", "applied"])
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (swapped, "transaction 1 is rejected"),
        (doubled, "transaction 1 is rejected"),
        (failed, ""),
        (from_the_node, "only the node itself sends"),
        (with_first(_OTHER_TARGET), "to: 0x0000000000000000000000000000000000010008 expected"),
        (with_first(_TOO_MANY), "got 101"),
        (with_first(imported(1, salt=9).raw), ""),
        (with_first(imported(1).raw, ALICE), ""),
    ],
    ids=["second", "two", "failed", "sender", "target", "too many", "salt", "other sender"],
)
def test_a_block_that_breaks_the_rules_is_not_imported(
    chain: Chain, other: Chain, change: Change, problem: str, *, execute: bool
) -> None:
    chain.add(transaction(0))
    chain.filler.roots.extend(roots(1))
    chain.builder.seal()
    record = chain.blocks.record(1)
    with pytest.raises(ReplayMismatch) as rejected:
        other.import_block(change(record), execute=execute)
    assert problem in str(rejected.value)
    other.import_block(record, execute=execute)
    assert (other.head, stored_root(other, 1)) == (chain.head, root(1).root)
