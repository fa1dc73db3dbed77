"""Senders of transactions of type 0x71: accounts with a key, contract accounts, and what is neither."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Final, Protocol

from entresol._native import Checks, execute, keccak256
from entresol.errors import AccountRejection
from entresol.execution.evm_env import ValidationLimits, overlay_on, tx_env_of
from entresol.primitives.bytecode import EMPTY_CODE_HASH
from entresol.primitives.l2_to_l1_logs import BOOTLOADER
from entresol.primitives.transactions import ZkTransaction
from entresol.primitives.values import Address

if TYPE_CHECKING:
    from entresol._native import Account, Overlay
    from entresol.execution.evm_env import EvmEnv
    from entresol.primitives.transactions import Transaction


NONCE_HOLDER: Final = Address((0x8003).to_bytes(20))
CONTRACT_DEPLOYER: Final = Address((0x8006).to_bytes(20))

_LAST_SYSTEM_ADDRESS: Final = Address((0xFFFF).to_bytes(20))
_DELEGATION_PREFIX: Final = b"\xef\x01\x00"
_DELEGATION_SIZE: Final = 23
_ACCOUNT_VERSION: Final = 1
_MIN_NONCE_BYTES: Final = 16
_FIRST_SLOT: Final = bytes(32)
_SECOND_SLOT: Final = bytes(31) + b"\x01"


_CHECKS: Final = Checks(nonce=False)


class AccountReader(Protocol):
    """The accounts of a state."""

    def account(self, address: bytes, /) -> Account | None:
        """Return nonce, balance and code hash, or None."""

    def code(self, code_hash: bytes, /) -> bytes:
        """Return the code with this hash."""

    def slot(self, address: bytes, slot: bytes, /) -> bytes:
        """Return the value of a slot."""


class SenderKind(Enum):
    """How the sender of a transaction is handled."""

    KEY = auto()
    """By its key: it has no code, or only a delegation."""
    CONTRACT = auto()
    """By its code: it says that it is an account."""
    OTHER = auto()
    """Not at all: it has code, and is no account."""


def has_code(state: AccountReader, address: bytes) -> bool:
    """Return whether there is code other than a delegation (EIP-7702)."""
    account = state.account(address)
    return account is not None and is_contract(state, account.code_hash)


def is_contract(state: AccountReader, code_hash: bytes) -> bool:
    """Return whether code is that of a contract, and no delegation."""
    if code_hash == EMPTY_CODE_HASH:
        return False
    code = state.code(code_hash)
    return len(code) != _DELEGATION_SIZE or not code.startswith(_DELEGATION_PREFIX)


def has_accounts(state: AccountReader) -> bool:
    """Return whether the chain calls accounts and paymasters, which its genesis says."""
    return any(state.slot(BOOTLOADER, _FIRST_SLOT))


def charges_factory_deps(state: AccountReader) -> bool:
    """Return whether factory dependencies cost what calldata of their size costs, which the genesis says, too."""
    return any(state.slot(BOOTLOADER, _SECOND_SLOT))


def sender_kind(state: AccountReader, sender: bytes) -> SenderKind:
    """Return how a sender is handled on a chain that calls accounts."""
    if not has_code(state, sender):
        return SenderKind.KEY
    version = state.slot(CONTRACT_DEPLOYER, account_slot(sender))[-1]
    return SenderKind.CONTRACT if version == _ACCOUNT_VERSION else SenderKind.OTHER


def is_contract_account(state: AccountReader, sender: bytes) -> bool:
    """Return whether a sender is a contract account, whose nonce is in the nonce holder."""
    return has_code(state, sender) and (
        has_accounts(state) and sender_kind(state, sender) is SenderKind.CONTRACT
    )


def min_nonce(state: AccountReader, account: bytes) -> int:
    """Return the first unused nonce of a contract account."""
    return int.from_bytes(state.slot(NONCE_HOLDER, account_slot(account))[-_MIN_NONCE_BYTES:])


def transaction_count(state: AccountReader, address: bytes) -> int:
    """Return the nonce of the next transaction of an account of any kind."""
    if is_contract_account(state, address):
        return min_nonce(state, address)
    account = state.account(address)
    return 0 if account is None else account.nonce


def set_nonce(overlay: Overlay, sender: Address, nonce: int) -> None:
    """Let `nonce` be the next of a sender."""
    if not is_contract_account(overlay, sender):
        overlay.set_nonce(sender, nonce)
        return
    slot = account_slot(sender)
    deployments = overlay.slot(NONCE_HOLDER, slot)[:-_MIN_NONCE_BYTES]
    overlay.set_slot(NONCE_HOLDER, slot, deployments + nonce.to_bytes(_MIN_NONCE_BYTES))


def check_addresses(sender: Address, paymaster: Address | None) -> None:
    """Reject a system contract that sends or pays."""
    if sender <= _LAST_SYSTEM_ADDRESS or (paymaster and paymaster <= _LAST_SYSTEM_ADDRESS):
        raise AccountRejection("form", "a system contract neither sends nor pays")


def not_an_account() -> AccountRejection:
    """Return why a contract that is no account cannot send."""
    return AccountRejection(
        "sender", "invalid sender. can't start a transaction from a non-account"
    )


def account_slot(account: bytes) -> bytes:
    """Return the slot of an account in the first mapping of a contract."""
    return keccak256(bytes(account).rjust(32, b"\0") + _FIRST_SLOT)


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
