"""The rules of a block that executing it does not show: what may be in it, in which order, and what its header has.

`docs/block-rules.md` has all fields of a header, and the rule of each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from entresol._native import keccak256
from entresol.errors import (
    BlockRuleBroken,
    InvalidTransaction,
    MalformedTransaction,
    ReplayMismatch,
    SystemTransactionFailed,
    TransactionRuleBroken,
)
from entresol.execution.reverts import failure_of
from entresol.primitives.bytecode import EMPTY_CODE_HASH
from entresol.primitives.headers import EMPTY_OMMERS, ForkFields
from entresol.primitives.interop_roots import ROOT_STORAGE, import_error
from entresol.primitives.records import transaction_type
from entresol.primitives.transactions import load
from entresol.primitives.transactions.priority import L1_TYPES
from entresol.primitives.transactions.system import (
    SYSTEM_SENDER,
    SYSTEM_TYPE,
    UNSIGNED_TYPES,
    SystemTransaction,
)
from entresol.primitives.values import Address, Hash32, Nonce8

if TYPE_CHECKING:
    from entresol._native import ExecutionResult
    from entresol.execution.evm_env import State
    from entresol.primitives.headers import Header
    from entresol.primitives.records import BlockRecord


_CONSTANTS: Final = {
    "ommers_hash": EMPTY_OMMERS,
    "difficulty": 0,
    "extra_data": b"",
    "nonce": Nonce8.zero(),
}
_NO_FORK_FIELDS: Final = ForkFields()


class RecordRules(msgspec.Struct, frozen=True, kw_only=True):
    """The rules that a block's record has to follow; by default those of a development chain that publishes nothing."""

    is_development: bool = True
    """Whether it may have edits, unsigned transactions, and a base fee and a PREVRANDAO that developers set."""
    publishes: bool = False
    """Whether others derive the block from L1, so that order, types and constant fields have a rule."""
    accepted_types: frozenset[int] = frozenset()
    base_fee: int | None = None
    """That by the rule of fees; None if the prices that it follows from are not known."""


def prevrandao_after(parent: Hash32, number: int) -> Hash32:
    """Return the PREVRANDAO of block `number`, as anvil derives it: other than the parent's, but no secret."""
    return Hash32(keccak256(parent + number.to_bytes(8, "little")))


def check_block(record: BlockRecord, parent: Header, rules: RecordRules) -> None:
    """Raise `BlockRuleBroken` if a block breaks a rule of its chain, which names it."""
    if rules.publishes:
        _check_constants(record.header(), parent)
        _check_order(record, rules.accepted_types)
    if not rules.is_development:
        _check_production(record, rules.base_fee)


def check_signed(record: BlockRecord) -> None:
    """Raise `BlockRuleBroken` if a block that is not executed has a transaction without a signature."""
    for index, (raw, sender) in enumerate(record.transactions):
        if raw[0] in UNSIGNED_TYPES:
            continue
        try:
            if load(raw, Address(sender)).is_impersonated:
                raise TransactionRuleBroken("unsigned")
        except InvalidTransaction as error:
            number = record.header().number
            raise BlockRuleBroken(number, f"transaction {index} is rejected: {error}") from error


def _check_constants(header: Header, parent: Header) -> None:
    number = header.number
    if header.timestamp < parent.timestamp:
        times = f"{header.timestamp}, before {parent.timestamp} of its parent"
        raise BlockRuleBroken(number, f"its timestamp is {times}")
    for name, constant in _CONSTANTS.items():
        if (found := getattr(header, name)) != constant:
            raise BlockRuleBroken(number, f"its {name} is {found!s:.80}, not {constant!s:.80}")
    if header.fork_fields() != _NO_FORK_FIELDS:
        raise BlockRuleBroken(number, "its header has fields that those of an L2 have not")


def _check_order(record: BlockRecord, accepted_types: frozenset[int]) -> None:
    """Check that a system transaction is first, then come deposits, then those of accepted types."""
    number, has_others = record.header().number, False
    for index, (raw, _) in enumerate(record.transactions):
        kind = transaction_type(raw)
        if kind == SYSTEM_TYPE:
            if index:
                raise BlockRuleBroken(number, f"transaction {index} is the system's, but not first")
        elif kind in L1_TYPES:
            if has_others:
                problem = f"transaction {index} is a deposit, after one that is not"
                raise BlockRuleBroken(number, problem)
        elif kind not in accepted_types:
            raise BlockRuleBroken(number, f"transaction {index} has type {kind:#x}")
        else:
            has_others = True


def _check_production(record: BlockRecord, base_fee: int | None) -> None:
    header = record.header()
    number = header.number
    if record.edits:
        raise BlockRuleBroken(number, "it has an edit, and is not of a development chain")
    prevrandao = prevrandao_after(header.parent_hash, number)
    if header.mix_hash != prevrandao:
        raise BlockRuleBroken(number, f"its PREVRANDAO is {header.mix_hash}, not {prevrandao}")
    if base_fee is None:
        raise BlockRuleBroken(number, "the prices that its base fee follows from are not known")
    if header.base_fee_per_gas != base_fee:
        fees = f"{header.base_fee_per_gas}, and {base_fee} by the rule of fees"
        raise BlockRuleBroken(number, f"its base fee is {fees}")


# System transactions: first in a block, at most one, never failed, and nothing else from their sender


def next_salt(state: State) -> int:
    """Return the salt of the next system transaction."""
    account = state.account(SYSTEM_SENDER)
    return 0 if account is None else account.nonce


def check_sender(sender: bytes, state: State) -> None:
    """Reject what anybody else sends from the address of the node, on chains that import roots."""
    if sender == SYSTEM_SENDER and _has_roots(state):
        raise TransactionRuleBroken("system sender", sender)


def check_succeeded(ran: ExecutionResult) -> None:
    """Raise `SystemTransactionFailed` with the reason, by name, unless it has succeeded."""
    failure = failure_of(ran)
    if failure is not None:
        raise SystemTransactionFailed(import_error(ran.output) or str(failure))


def check_system_transactions(record: BlockRecord, state: State) -> None:
    """Raise `ReplayMismatch` if a block that is not executed breaks these rules; `state` is that before it."""
    number = record.header().number
    for index, (raw, sender) in enumerate(record.transactions):
        if raw[0] == SYSTEM_TYPE:
            problem = _problem(record, index, state)
        elif sender == SYSTEM_SENDER and _has_roots(state):
            problem = str(TransactionRuleBroken("system sender", sender))
        else:
            continue
        if problem is not None:
            raise ReplayMismatch(number, f"transaction {index} is rejected: {problem}")


def _problem(record: BlockRecord, index: int, state: State) -> str | None:
    raw, sender = record.transactions[index]
    if index:
        return "a system transaction is the first of its block"
    if sender != SYSTEM_SENDER:
        return f"a system transaction is sent from {SYSTEM_SENDER}"
    if not record.results[index].succeeded:
        return "a system transaction may not fail"
    try:
        salt = SystemTransaction.decode(raw).nonce
    except MalformedTransaction as error:
        return str(error)
    edited = (edit.account for edit in record.edits if edit.address == SYSTEM_SENDER)
    account = next(edited, None)
    expected = next_salt(state) if account is None else account.nonce
    return None if salt == expected else f"the salt is {salt}, not {expected}"


def _has_roots(state: State) -> bool:
    account = state.account(ROOT_STORAGE)
    return account is not None and account.code_hash != EMPTY_CODE_HASH
