"""Which transactions of contract accounts and with paymasters a pool admits, before it asks either."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol.chain.mempool.intrinsic_gas import intrinsic_gas
from entresol.errors import (
    IntrinsicGasTooLow,
    InvalidSignature,
    PaymasterNotSupported,
    SenderLimitExceeded,
    SenderNotEOA,
)
from entresol.execution.account_senders import (
    SenderKind,
    charges_factory_deps,
    check_addresses,
    has_accounts,
    has_code,
    not_an_account,
    sender_kind,
)
from entresol.primitives.transactions import ZkTransaction
from entresol.primitives.values import Address

if TYPE_CHECKING:
    from entresol.chain.mempool.senders import PooledTransaction, SenderTransactions
    from entresol.chain.mempool.validation import ValidationRules
    from entresol.execution.account_senders import AccountReader
    from entresol.primitives.transactions import Transaction

ACCOUNT_LIMIT: Final = 4
"""How many transactions a contract account may have in the pool."""


def check_zk_sender(
    transaction: Transaction, accounts: AccountReader, rules: ValidationRules
) -> bool:
    """Reject a transaction by its sender and its payer; return whether it is a contract account's own.

    One of any other type than 0x71 passes.
    """
    payload = transaction.payload
    if not isinstance(payload, ZkTransaction):
        return False
    paymaster = None if payload.sponsor is None else payload.sponsor.address
    is_impersonated = transaction.is_impersonated
    signature_error = None if is_impersonated else transaction.signature_error
    is_contract = not is_impersonated and has_code(accounts, payload.sender)
    if (paymaster is not None or is_contract) and not has_accounts(accounts):
        raise signature_error or (
            SenderNotEOA() if paymaster is None else PaymasterNotSupported(paymaster)
        )
    check_addresses(_ANY if is_impersonated else payload.sender, paymaster)
    if not is_contract:
        if signature_error is not None:
            raise signature_error
        if payload.factory_deps:
            _check_gas(payload, _charged(payload, accounts), rules)
        return False
    if sender_kind(accounts, payload.sender) is not SenderKind.CONTRACT:
        raise not_an_account()
    if not payload.signature:
        raise InvalidSignature("the transaction is not signed")
    _check_gas(payload, (payload.signature, *_charged(payload, accounts)), rules)
    return True


def _charged(payload: ZkTransaction, accounts: AccountReader) -> tuple[bytes, ...]:
    """Return the factory dependencies that the chain charges for."""
    return payload.factory_deps if charges_factory_deps(accounts) else ()


def _check_gas(payload: ZkTransaction, also: tuple[bytes, ...], rules: ValidationRules) -> None:
    needed = intrinsic_gas(payload, rules.schedule, also)
    if payload.gas_limit < needed:
        raise IntrinsicGasTooLow(payload.gas_limit, needed)


_ANY: Final = Address(b"\xff" * 20)


def check_account_limit(sender_txs: SenderTransactions, replaced: PooledTransaction | None) -> None:
    """Reject the transaction of a contract account that has too many."""
    if sender_txs.is_account and replaced is None and len(sender_txs.nonces) >= ACCOUNT_LIMIT:
        raise SenderLimitExceeded(ACCOUNT_LIMIT)
