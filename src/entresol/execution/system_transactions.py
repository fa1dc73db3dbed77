"""The rules of system transactions: first in a block, at most one, never failed, and nothing else from their sender."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.errors import (
    MalformedTransaction,
    ReplayMismatch,
    SystemSender,
    SystemTransactionFailed,
)
from entresol.execution.reverts import failure_of
from entresol.primitives.bytecode import EMPTY_CODE_HASH
from entresol.primitives.interop.roots import ROOT_STORAGE, import_error
from entresol.primitives.transactions.system import SYSTEM_SENDER, SYSTEM_TYPE, SystemTransaction

if TYPE_CHECKING:
    from entresol._native import ExecutionResult
    from entresol.execution.evm_env import State
    from entresol.primitives.records import BlockRecord


def next_salt(state: State) -> int:
    """Return the salt of the next system transaction."""
    account = state.account(SYSTEM_SENDER)
    return 0 if account is None else account.nonce


def check_sender(sender: bytes, state: State) -> None:
    """Reject what anybody else sends from the address of the node; chains without roots may have had such blocks."""
    if sender == SYSTEM_SENDER and _has_roots(state):
        raise SystemSender(sender)


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
            problem = str(SystemSender(sender))
        else:
            continue
        if problem is not None:
            raise ReplayMismatch(number, f"transaction {index} is rejected: {problem}")


def _problem(record: BlockRecord, index: int, state: State) -> str | None:
    """Return what is wrong with the system transaction at `index`."""
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
