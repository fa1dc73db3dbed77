"""The environment of an execution: the state it runs on, the chain's rules and the block."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final, Self, TypeAlias

import msgspec

from entresol import _native
from entresol._native import Account, Checks, Overlay, Rules, Snapshot, TxEnv, ZkFields, keccak256
from entresol.primitives.bytecode import byte_counts
from entresol.primitives.headers import ForkFields, Header
from entresol.primitives.records import StoredChange
from entresol.primitives.transactions import (
    Access,
    AccessListTransaction,
    Authorization,
    BlobTransaction,
    LegacyTransaction,
    PriorityTransaction,
    SetCodeTransaction,
    SystemTransaction,
    Transaction,
    ZkTransaction,
)
from entresol.primitives.transactions.zk import NO_PAYMASTER
from entresol.primitives.values import Address, Hash32

State: TypeAlias = Snapshot | Overlay


AccessItem: TypeAlias = tuple[bytes, Sequence[bytes]]

AuthorizationItem: TypeAlias = tuple[int, bytes, int, int, int, int]

MAX_GAS_LIMIT: Final = (1 << 63) - 1
"""The maximum gas limit of a block, as in geth."""

PRIORITY_CHECKS: Final = Checks(
    base_fee=False, fees=False, balance=False, nonce=False, sender_code=False, gas_cap=False
)
"""No check applies to a priority transaction, since L1 has accepted it."""

SYSTEM_CHECKS: Final = Checks(
    base_fee=False, fees=False, balance=False, sender_code=False, gas_cap=False
)
"""The checks of a transaction of the node itself: its nonce is the next of its sender, which is a contract."""

IMPERSONATION_CHECKS: Final = Checks(sender_code=False)
"""The checks of an unsigned transaction: all, except that its sender may be a contract."""


def code_of(state: State, address: Address) -> bytes:
    """Return the code that an account has in a state."""
    account = state.account(address)
    return b"" if account is None else state.code(account.code_hash)


def overlay_on(state: State) -> Overlay:
    """Return an overlay on `state`, whose changes leave `state` as it is."""
    return state.fork() if isinstance(state, Overlay) else Overlay(state)


def apply_changes(
    overlay: Overlay, changes: Iterable[StoredChange], codes: Iterable[bytes]
) -> None:
    """Apply the changes of a block record, or a developer's edits; `codes` has those that may be new to `overlay`."""
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


class BlockEnv(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The block that an execution runs in.

    `block_hashes` take precedence over those of the state. `precompiles` maps an address to the
    address whose precompile runs there, or to None if none does; addresses that are not in it are as
    the fork defines them. The fork gives blob gas a price by the excess in `fork_fields`, unless
    `blob_base_fee` overrides it.
    """

    number: int
    timestamp: int
    gas_limit: int
    beneficiary: Address = Address.zero()
    base_fee: int = 0
    prevrandao: Hash32 = Hash32.zero()
    difficulty: int = 0
    blob_base_fee: int | None = None
    fork_fields: ForkFields = ForkFields()
    block_hashes: Mapping[int, Hash32] | None = None
    precompiles: Mapping[bytes, bytes | None] | None = None

    @classmethod
    def of(cls, header: Header) -> Self:
        """Return the environment of the block with this header."""
        return cls(
            number=header.number,
            timestamp=header.timestamp,
            gas_limit=header.gas_limit,
            beneficiary=header.beneficiary,
            base_fee=header.base_fee_per_gas,
            prevrandao=header.mix_hash,
            difficulty=header.difficulty,
            fork_fields=header.fork_fields(),
        )

    @cached_property
    def native(self) -> _native.BlockEnv:
        """The same block as the engine takes it; raises `OverflowError` if a number is too large for it."""
        return _native.BlockEnv(
            number=self.number,
            timestamp=self.timestamp,
            gas_limit=self.gas_limit,
            beneficiary=self.beneficiary,
            base_fee=self.base_fee,
            prevrandao=self.prevrandao,
            difficulty=self.difficulty,
            blob_base_fee=self.blob_base_fee,
            excess_blob_gas=self.fork_fields.excess_blob_gas or 0,
            block_hashes=self.block_hashes,
            precompiles=self.precompiles,
        )


class EvmEnv(msgspec.Struct, frozen=True):
    """A state, the chain's rules and a block; all calls on the same block share one."""

    state: State
    rules: Rules
    block: BlockEnv


class ValidationLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much the steps before an execution may use, and whether they have to follow the rules.

    `gas` is for the steps of the sender, and again for the paymaster; `seconds` is for all of them. Nobody pays for
    them if one fails, in the pool or in a block. The rules allow only what the sender alone can change, so that nobody
    invalidates the transactions of many at once.
    """

    gas: int = 300_000
    seconds: float = 1.0
    enforces_rules: bool = True


def tx_env_of(
    transaction: Transaction,
    limits: ValidationLimits | None = None,
    *,
    only_validates: bool = False,
) -> TxEnv:
    """Return the `TxEnv` of `transaction`, to be executed or only to be validated.

    Type 0x71 executes like type 2, except from a contract account or with a paymaster; `limits` bound the steps before
    such an execution. A node that executes the block of another has none.
    """
    # Keywords for each type are faster than a collected dictionary: see bench_calls.
    payload = transaction.payload
    if isinstance(payload, LegacyTransaction):
        return TxEnv(
            sender=transaction.sender,
            gas_limit=payload.gas_limit,
            to=payload.to,
            value=payload.value,
            data=payload.data,
            gas_price=payload.gas_price,
            nonce=payload.nonce,
            chain_id=payload.chain_id,
        )
    if isinstance(payload, PriorityTransaction):
        return priority_tx_env(payload)
    if isinstance(payload, SystemTransaction):
        return system_tx_env(payload)
    is_access_list = isinstance(payload, AccessListTransaction)
    is_set_code = isinstance(payload, SetCodeTransaction)
    return TxEnv(
        sender=transaction.sender,
        gas_limit=payload.gas_limit,
        to=payload.to,
        value=payload.value,
        data=payload.data,
        gas_price=payload.fee_cap,
        priority_fee=None if is_access_list else payload.tip,
        nonce=payload.nonce,
        chain_id=payload.chain_id,
        access_list=access_items(payload.access_list),
        authorizations=authorization_items(payload.authorizations) if is_set_code else None,
        blob_hashes=payload.blob_hashes if isinstance(payload, BlobTransaction) else None,
        blob_fee_cap=payload.max_fee_per_blob_gas if isinstance(payload, BlobTransaction) else 0,
        published=byte_counts(payload.factory_deps)
        if isinstance(payload, ZkTransaction) and payload.factory_deps
        else None,
        zk=_zk_fields(transaction, payload, limits, only_validates=only_validates)
        if isinstance(payload, ZkTransaction)
        else None,
    )


def _zk_fields(
    transaction: Transaction,
    payload: ZkTransaction,
    limits: ValidationLimits | None,
    *,
    only_validates: bool,
) -> ZkFields:
    paymaster = payload.paymaster or NO_PAYMASTER
    mode = "impersonation" if transaction.is_impersonated else "transaction"
    return ZkFields(
        signature=payload.signature,
        gas_per_pubdata_limit=payload.gas_per_pubdata_limit,
        max_priority_fee_per_gas=payload.max_priority_fee_per_gas,
        paymaster=paymaster.address,
        paymaster_input=paymaster.input,
        factory_dep_hashes=payload.factory_dep_hashes() if payload.factory_deps else None,
        mode="validation" if only_validates else mode,
        validation_gas=0 if limits is None else limits.gas,
        validation_seconds=0.0 if limits is None else limits.seconds,
        # Who builds a block enforces none: what a validation reads is as it will be then.
        enforces_rules=only_validates and limits is not None and limits.enforces_rules,
    )


def priority_tx_env(payload: PriorityTransaction) -> TxEnv:
    """Return the `TxEnv` of a priority transaction, to be executed under `PRIORITY_CHECKS`.

    The value is minted first; fee and refund are paid out of the rest of `to_mint`. The nonce counts
    requests on L1 and is not the sender's. Raises `OverflowError` for numbers that fit a word of L1 but not
    the engine's types.
    """
    return TxEnv(
        sender=payload.sender,
        gas_limit=payload.gas_limit,
        to=payload.to,
        value=payload.value,
        data=payload.data,
        gas_price=payload.max_fee_per_gas,
        mint=payload.value,
        keeps_nonce=True,
        l1_payment=(payload.to_mint, payload.max_fee_per_gas, payload.refund_recipient),
        published=byte_counts(payload.factory_deps) if payload.factory_deps else None,
    )


def system_tx_env(payload: SystemTransaction) -> TxEnv:
    """Return the `TxEnv` of a transaction of the node itself, to be executed under `SYSTEM_CHECKS`."""
    return TxEnv(
        sender=payload.sender,
        gas_limit=payload.gas_limit,
        to=payload.to,
        data=payload.data,
        nonce=payload.nonce,
    )


def unstarted_tx_env(payload: PriorityTransaction) -> TxEnv:
    """Return the `TxEnv` of a priority transaction that cannot start, whatever its numbers are."""
    return TxEnv(
        sender=payload.sender,
        gas_limit=min(payload.gas_limit, MAX_GAS_LIMIT),
        to=payload.to,
        value=payload.value,
        data=payload.data,
        keeps_nonce=True,
        l1_payment=(payload.to_mint, payload.max_fee_per_gas, payload.refund_recipient),
    )


def access_items(access_list: Sequence[Access]) -> list[AccessItem]:
    """Return an access list as the engine takes it."""
    return [(access.account, access.slots) for access in access_list]


def authorization_items(authorizations: Sequence[Authorization]) -> list[AuthorizationItem]:
    """Return authorizations as the engine takes them."""
    return [(a.chain_id, a.address, a.nonce, a.y_parity, a.r, a.s) for a in authorizations]
