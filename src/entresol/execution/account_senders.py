"""Senders of transactions of type 0x71, and who else takes part in one that runs in steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from entresol._native import CONTRACT_DEPLOYER as _CONTRACT_DEPLOYER
from entresol._native import NONCE_HOLDER as _NONCE_HOLDER
from entresol._native import Checks, execute, has_code, set_next_nonce, zk_parties
from entresol.errors import AccountRejection
from entresol.errors.base import without_frames
from entresol.execution.evm_env import State, ValidationLimits, overlay_on, tx_env_of
from entresol.primitives.transactions import ZkTransaction
from entresol.primitives.values import Address

if TYPE_CHECKING:
    from entresol.execution.evm_env import EvmEnv
    from entresol.primitives.transactions import Transaction


NONCE_HOLDER: Final = Address(_NONCE_HOLDER)
CONTRACT_DEPLOYER: Final = Address(_CONTRACT_DEPLOYER)

_CHECKS: Final = Checks(nonce=False)


def runs_in_steps(transaction: Transaction, state: State) -> bool:
    """Return whether a contract account sends the transaction or a paymaster pays for it."""
    payload = transaction.payload
    if not isinstance(payload, ZkTransaction):
        return False
    if payload.sponsor is not None:
        return True
    return not transaction.is_impersonated and has_code(state, payload.sender)


def check_signature(transaction: Transaction, state: State) -> None:
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


Culprit: TypeAlias = "tuple[Address, ...]"
"""A party to blame: an address, or a paymaster with the token that it was to take.

Only their combination is: the owner of a token lets any paymaster fail with it, and the owner of a paymaster lets any
token fail.
"""

_APPROVAL: Final = bytes.fromhex("949431dc")
_TOKEN: Final = slice(16, 36)
_OF_TOKEN: Final = ("preparation", "rules")


class Involved(NamedTuple):
    """The addresses whose code the steps before an execution may run."""

    sender: Address
    paymaster: Address | None = None
    token: Address | None = None
    signer: Address | None = None
    """Whose key has signed, if that is known: anybody can send something in the name of a contract account."""

    @classmethod
    def of(cls, payload: ZkTransaction) -> Involved:
        """Return the accounts of a transaction."""
        payer = payload.sponsor
        if payer is None:
            return cls(payload.sender)
        return cls._of(payload.sender, payer.address, payer.input)

    @classmethod
    def of_signed(cls, transaction: Transaction) -> Involved:
        """Return the accounts of a transaction of type 0x71, and who has signed it."""
        payload, error = transaction.payload, transaction.signature_error
        assert isinstance(payload, ZkTransaction)
        signer: bytes | None = payload.sender if error is None else error.signer
        return cls.of(payload)._replace(signer=None if signer is None else Address(signer))

    @classmethod
    def of_raw(cls, raw: bytes) -> Involved | None:
        """Return the accounts of a raw transaction of type 0x71; None if it is malformed."""
        parties = zk_parties(raw)
        if parties is None:
            return None
        sender, payer = Address(parties[0]), parties[1]
        return cls(sender) if payer is None else cls._of(sender, *payer)

    @classmethod
    def _of(cls, sender: Address, paymaster: bytes, message: bytes) -> Involved:
        token = None
        if message.startswith(_APPROVAL) and len(message) >= _TOKEN.stop:
            token = Address(message[_TOKEN])
        return cls(sender, Address(paymaster), token)

    @property
    def payer(self) -> Culprit | None:
        """The paymaster, if there is one, with its token."""
        if self.paymaster is None:
            return None
        return (self.paymaster,) if self.token is None else (self.paymaster, self.token)

    def responsible(self, error: Exception) -> tuple[Culprit, ...]:
        """Return who has let the transaction fail, as far as the step shows it."""
        if not isinstance(error, AccountRejection) or self.payer is None:
            return ((self.sender,),)
        if error.party == "paymaster":
            return (self.payer,)
        if error.step in _OF_TOKEN and self.token is not None:
            return ((self.sender,), self.payer)
        return ((self.sender,),)
