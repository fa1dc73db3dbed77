"""Senders of transactions of type 0x71, as the crate reads them: accounts with a key, contract accounts, and others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from entresol._native import (
    CONTRACT_DEPLOYER as _CONTRACT_DEPLOYER,
)
from entresol._native import (
    NONCE_HOLDER as _NONCE_HOLDER,
)
from entresol._native import (
    Checks,
    Overlay,
    Snapshot,
    charges_factory_deps,
    check_parties,
    execute,
    has_accounts,
    has_code,
    is_contract_account,
    not_an_account,
    read_sender,
    set_next_nonce,
    transaction_count,
)
from entresol.errors.base import without_frames
from entresol.execution.evm_env import ValidationLimits, overlay_on, tx_env_of
from entresol.primitives.transactions import ZkTransaction
from entresol.primitives.values import Address

if TYPE_CHECKING:
    from entresol.execution.evm_env import EvmEnv
    from entresol.primitives.transactions import Transaction

__all__ = [
    "CONTRACT_DEPLOYER",
    "NONCE_HOLDER",
    "AccountReader",
    "charges_factory_deps",
    "check_parties",
    "check_signature",
    "has_accounts",
    "has_code",
    "is_contract_account",
    "not_an_account",
    "read_sender",
    "runs_in_steps",
    "set_next_nonce",
    "transaction_count",
    "validate",
]

AccountReader: TypeAlias = Snapshot | Overlay
"""The accounts of a state."""

NONCE_HOLDER: Final = Address(_NONCE_HOLDER)
CONTRACT_DEPLOYER: Final = Address(_CONTRACT_DEPLOYER)

_CHECKS: Final = Checks(nonce=False)


def runs_in_steps(transaction: Transaction, state: AccountReader) -> bool:
    """Return whether a contract account sends the transaction or a paymaster pays for it."""
    payload = transaction.payload
    if not isinstance(payload, ZkTransaction):
        return False
    if payload.sponsor is not None:
        return True
    return not transaction.is_impersonated and has_code(state, payload.sender)


def check_signature(transaction: Transaction, state: AccountReader) -> None:
    """Raise what is wrong with the signature of type 0x71, unless the code of its sender judges it.

    Whether it does is a matter of the state: a sender without code, or with a delegation, signs with its key.
    """
    error = transaction.signature_error
    if error is not None and not has_code(state, transaction.sender):
        raise without_frames(error)


def validate(transaction: Transaction, env: EvmEnv, limits: ValidationLimits) -> None:
    """Raise `AccountRejection` if account or paymaster do not agree, or break a rule.

    The nonce is taken as the sender's next: the transactions before it may still be in the pool.
    """
    overlay = overlay_on(env.state)
    set_next_nonce(overlay, transaction.sender, transaction.payload.nonce)
    execute(
        overlay,
        env.rules,
        env.block.native,
        tx_env_of(transaction, limits, only_validates=True),
        checks=_CHECKS,
    )
