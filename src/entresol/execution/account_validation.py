"""Validate a transaction that runs in steps before a pool admits it: everything but its execution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol._native import Checks, execute
from entresol.execution.account_senders import has_code, set_nonce
from entresol.execution.evm_env import overlay_on
from entresol.execution.tx_env import ValidationLimits, tx_env_of
from entresol.primitives.transactions import ZkTransaction

if TYPE_CHECKING:
    from entresol.execution.account_senders import AccountReader
    from entresol.execution.evm_env import EvmEnv
    from entresol.primitives.transactions import Transaction

_CHECKS: Final = Checks(nonce=False)


def runs_in_steps(transaction: Transaction, state: AccountReader) -> bool:
    """Return whether a contract account sends the transaction or a paymaster pays for it."""
    payload = transaction.payload
    if not isinstance(payload, ZkTransaction):
        return False
    if payload.sponsor is not None:
        return True
    return not transaction.is_impersonated and has_code(state, payload.sender)


def validate(transaction: Transaction, env: EvmEnv, limits: ValidationLimits) -> None:
    """Raise `AccountRejection` if account or paymaster do not agree, or break a rule.

    The nonce is taken as the sender's next: the transactions before it may still be in the pool.
    """
    overlay = overlay_on(env.state)
    set_nonce(overlay, transaction.sender, transaction.payload.nonce)
    execute(
        overlay,
        env.rules,
        env.block.native,
        tx_env_of(transaction, limits, only_validates=True),
        checks=_CHECKS,
    )
