"""Apply stored changes to a state: those of a block record or of a developer's edit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol._native import Account, keccak256

if TYPE_CHECKING:
    from collections.abc import Iterable

    from entresol._native import Overlay
    from entresol.primitives.records import StoredChange


def apply_changes(
    overlay: Overlay, changes: Iterable[StoredChange], codes: Iterable[bytes]
) -> None:
    """Apply `changes` to `overlay`; `codes` contains the codes that may be new to it."""
    code_of = {keccak256(code): code for code in codes}
    for change in changes:
        if change.destroyed or change.account is None:
            overlay.set_account(change.address, None)
        if change.account is None:
            continue
        nonce, code_hash = change.account.nonce, change.account.code_hash
        if code_hash in code_of:
            overlay.set_code(change.address, code_of[code_hash])
        balance = int.from_bytes(change.account.balance)
        overlay.set_account(change.address, Account(nonce, balance, code_hash))
        for slot, value in change.slots:
            overlay.set_slot(change.address, slot, value.rjust(32, b"\0"))
