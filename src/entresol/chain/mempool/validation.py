"""Validate transactions on entry to the mempool, first without the sender's account; rejections use geth's wording."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import msgspec

from entresol._native import TRANSACTION_GAS
from entresol.errors import (
    InsufficientFunds,
    IntrinsicGasTooLow,
    InvalidTransaction,
    MalformedTransaction,
    NonceTooLow,
    NotEnoughBalanceForFeeValue,
    PoolRejection,
    TransactionRuleBroken,
)
from entresol.primitives.bytecode import byte_counts
from entresol.primitives.interop_bundles import INTEROP_HANDLER
from entresol.primitives.transactions import BlobTransaction, SetCodeTransaction, ZkTransaction
from entresol.primitives.values import Address

if TYPE_CHECKING:
    from entresol.chain.mempool.ordering import Pricing
    from entresol.chain.mempool.senders import PooledTransaction, SenderTransactions
    from entresol.primitives.transactions import Access, Payload, Transaction


CREATION_GAS: Final = 32_000
ZERO_BYTE_GAS: Final = 4
ACCESSED_ACCOUNT_GAS: Final = 2_400
ACCESSED_SLOT_GAS: Final = 1_900
AUTHORIZATION_GAS: Final = 25_000


MAX_NONCE: Final = 2**64 - 2

_BLOB_PREFIX: Final = bytes([BlobTransaction.type])

_BLOB_VERSION: Final = 1

_MAX_PROVEN_BLOB: Final = 131_072 + 48 + 128 * 49 + 64
"""The bytes of a blob with its commitment and a proof for each of its cells, with the headers of RLP."""


class GasSchedule(msgspec.Struct, frozen=True, kw_only=True):
    """The gas costs of bytes in a fork; `floor_token` is for each zero byte or quarter of a nonzero one (EIP-7623)."""

    nonzero_byte: int = 16
    init_code_word: int = 2
    floor_token: int = 10


_PRAGUE: Final = GasSchedule()
_SHANGHAI: Final = GasSchedule(floor_token=0)
_ISTANBUL: Final = GasSchedule(floor_token=0, init_code_word=0)
_SPURIOUS_DRAGON: Final = GasSchedule(floor_token=0, init_code_word=0, nonzero_byte=68)

SCHEDULES: Final = {
    "spurious_dragon": _SPURIOUS_DRAGON,
    "byzantium": _SPURIOUS_DRAGON,
    "petersburg": _SPURIOUS_DRAGON,
    "istanbul": _ISTANBUL,
    "berlin": _ISTANBUL,
    "london": _ISTANBUL,
    "paris": _ISTANBUL,
    "shanghai": _SHANGHAI,
    "cancun": _SHANGHAI,
    "prague": _PRAGUE,
    "osaka": _PRAGUE,
}
"""The schedules by fork, under the engine's names."""


def intrinsic_gas(
    payload: Payload, schedule: GasSchedule = _PRAGUE, also: Iterable[bytes] = ()
) -> int:
    """Return the minimum gas limit with which a transaction can be included.

    The input of a paymaster costs like data, and so does what is `also` charged: the signature that a contract
    account judges, and factory dependencies on a chain that charges for them.
    """
    zeros, nonzeros = byte_counts((payload.data, *also))
    if isinstance(payload, ZkTransaction) and payload.paymaster_input:
        input_zeros, input_nonzeros = byte_counts((payload.paymaster_input,))
        zeros, nonzeros = zeros + input_zeros, nonzeros + input_nonzeros
    gas = TRANSACTION_GAS + ZERO_BYTE_GAS * zeros + schedule.nonzero_byte * nonzeros
    if payload.to is None:
        gas += CREATION_GAS + schedule.init_code_word * _words(payload.data)
    if payload.access_list:
        gas += _access_gas(payload.access_list)
    gas += AUTHORIZATION_GAS * len(payload.authorizations)
    return max(gas, TRANSACTION_GAS + schedule.floor_token * (zeros + 4 * nonzeros))


def _access_gas(access_list: tuple[Access, ...]) -> int:
    slots = sum(len(access.slots) for access in access_list)
    return ACCESSED_ACCOUNT_GAS * len(access_list) + ACCESSED_SLOT_GAS * slots


def _words(data: bytes) -> int:
    return (len(data) + 31) // 32


class ValidationRules(msgspec.Struct, frozen=True, kw_only=True):
    """A chain's rules for transactions.

    `gas_limit` is that of a block. `accepts_below_base_fee` lets a transaction stay in the pool until the
    base fee falls to its fee cap. Factory dependencies have a separate size limit, for two of the largest:
    they are far larger than the rest of a transaction.
    """

    chain_id: int
    gas_limit: int
    accepted_types: frozenset[int] = frozenset({0, 1, 2, 4, 0x71})
    max_blobs: int = 0
    """The maximum number of blobs of a transaction."""
    transaction_gas_limit: int | None = None
    size_limit_bytes: int = 128 * 1024
    bundle_limit_bytes: int = 0
    """The size limit of a transaction to the handler of bundles, where that is larger."""
    factory_deps_limit_bytes: int = 4 * 1024 * 1024
    published_limit_bytes: int | None = None
    """The most that a batch can publish of a transaction, whatever it has; None where nothing is published."""
    init_code_limit_bytes: int | None = 48 * 1024
    schedule: GasSchedule = SCHEDULES["osaka"]
    min_tip: int = 0
    accepts_unprotected: bool = True
    accepts_below_base_fee: bool = False
    charges_published: bool = False
    """Whether every byte of a transaction costs like calldata, because all of them are published."""
    reserved_sender: Address | None = None
    """The sender of nothing but what the node itself puts into blocks."""

    def size_limit(self, to: Address | None) -> int:
        """Return how large a transaction to an account may be, without factory dependencies."""
        is_bundle = to == INTEROP_HANDLER
        return max(self.size_limit_bytes, self.bundle_limit_bytes if is_bundle else 0)


def check_raw(raw: bytes, rules: ValidationRules) -> None:
    """Reject a blob transaction that the chain does not accept by its type or its size, before it is decoded."""
    if raw[:1] != _BLOB_PREFIX:
        return
    if BlobTransaction.type not in rules.accepted_types:
        raise TransactionRuleBroken("type", BlobTransaction.type)
    limit = rules.size_limit_bytes + rules.max_blobs * _MAX_PROVEN_BLOB
    if len(raw) > limit:
        raise TransactionRuleBroken("too large", len(raw), limit)


def check_transaction(transaction: Transaction, rules: ValidationRules) -> None:
    """Reject a transaction that is invalid under `rules` in any state."""
    payload = transaction.payload
    if transaction.sender == rules.reserved_sender:
        raise TransactionRuleBroken("system sender", transaction.sender)
    _check_form(payload, len(transaction.raw), rules)
    _check_chain(payload.chain_id, rules)
    _check_price(payload, rules)
    _check_gas(payload, rules)


def check_sender(
    entry: PooledTransaction,
    sender_txs: SenderTransactions,
    rules: ValidationRules,
    pricing: Pricing,
) -> None:
    """Reject a transaction by its nonce, its fee caps, or a balance that does not cover all of the sender's."""
    if entry.nonce < sender_txs.nonce:
        raise NonceTooLow(sender_txs.nonce, entry.nonce)
    if entry.fee_cap < pricing.base_fee and not rules.accepts_below_base_fee:
        raise TransactionRuleBroken("fee cap below base fee", entry.fee_cap, pricing.base_fee)
    if entry.blob_fee_cap is not None and entry.blob_fee_cap < pricing.blob_base_fee:
        # As in anvil; the price may still rise above it later.
        raise TransactionRuleBroken(
            "blob fee cap below base fee", entry.blob_fee_cap, pricing.blob_base_fee
        )
    replaced = sender_txs.entries.get(entry.nonce)
    cost = sender_txs.cost + entry.cost - (0 if replaced is None else replaced.cost)
    if cost > sender_txs.balance:
        raise _insufficient_funds(entry, sender_txs.balance, cost)


def check_replacement(entry: PooledTransaction, replaced: PooledTransaction, percent: int) -> None:
    """Reject a replacement that does not bump the price by `percent`."""
    # Rounded down, as clients compute it.
    fee_cap = _raised(replaced.fee_cap, percent)
    # Where the base fee is constant there are no tips, so a tip of 0 may be replaced by 0.
    tip = _raised(replaced.tip, percent) if replaced.tip else 0
    blob_cap, offered = replaced.blob_fee_cap, entry.blob_fee_cap
    is_lower = blob_cap is not None and offered is not None and offered < _raised(blob_cap, percent)
    if entry.fee_cap < fee_cap or entry.tip < tip or is_lower:
        raise PoolRejection(
            f"replacement transaction underpriced: "
            f"maxFeePerGas {fee_cap:d} and maxPriorityFeePerGas {tip:d} needed"
        )


def _raised(price: int, percent: int) -> int:
    return max(price * (100 + percent) // 100, price + 1)


def drop_reason(entry: PooledTransaction, sender_txs: SenderTransactions) -> InvalidTransaction:
    """Return why an entry is dropped after its sender's account has changed."""
    if entry.nonce < sender_txs.nonce:
        return NonceTooLow(sender_txs.nonce, entry.nonce)
    if entry.cost > sender_txs.balance:
        return _insufficient_funds(entry, sender_txs.balance, entry.cost)
    return TransactionRuleBroken("sender with code")


def _insufficient_funds(entry: PooledTransaction, balance: int, cost: int) -> InsufficientFunds:
    """Return why a balance does not cover a cost: that of the entry alone, or with the sender's others."""
    payload = entry.transaction.payload
    if isinstance(payload, ZkTransaction) and entry.cost > balance:
        return NotEnoughBalanceForFeeValue(balance, entry.cost - payload.value, payload.value)
    return InsufficientFunds(balance, cost)


def _check_form(payload: Payload, size: int, rules: ValidationRules) -> None:
    if payload.type not in rules.accepted_types:
        raise TransactionRuleBroken("type", payload.type)
    published_limit = rules.published_limit_bytes
    if published_limit is not None and size > published_limit:
        raise TransactionRuleBroken("too large to publish", size, published_limit)
    if isinstance(payload, ZkTransaction):
        size -= _check_zk(payload, rules)
    limit = rules.size_limit(payload.to)
    if size > limit:
        raise TransactionRuleBroken("too large", size, limit)
    if payload.nonce > MAX_NONCE:
        raise TransactionRuleBroken("nonce overflow")
    if isinstance(payload, BlobTransaction):
        _check_blobs(payload, rules)
    if payload.to is None:
        _check_init_code(len(payload.data), rules.init_code_limit_bytes)
    elif isinstance(payload, SetCodeTransaction) and not payload.authorizations:
        raise TransactionRuleBroken("no authorizations")


def _check_blobs(payload: BlobTransaction, rules: ValidationRules) -> None:
    if not payload.blob_hashes:
        raise TransactionRuleBroken("no blobs")
    if len(payload.blob_hashes) > rules.max_blobs:
        raise TransactionRuleBroken("too many blobs", len(payload.blob_hashes), rules.max_blobs)
    for index, name in enumerate(payload.blob_hashes):
        if name[0] != _BLOB_VERSION:
            problem = f"has version {name[0]}, and {_BLOB_VERSION} is supported"
            raise MalformedTransaction(problem, field=f"blobVersionedHashes[{index}]")


def _check_zk(payload: ZkTransaction, rules: ValidationRules) -> int:
    """Check the fields of type 0x71 only; return the size of its factory dependencies."""
    if payload.gas_per_pubdata_limit == 0:
        raise InvalidTransaction("gas per pub data limit is zero")
    if payload.max_priority_fee_per_gas > payload.max_fee_per_gas:
        raise TransactionRuleBroken(
            "tip above fee cap", payload.max_priority_fee_per_gas, payload.max_fee_per_gas
        )
    size = sum(map(len, payload.factory_deps))
    if size > rules.factory_deps_limit_bytes:
        raise TransactionRuleBroken("too large", size, rules.factory_deps_limit_bytes)
    return size


def _check_init_code(size: int, limit: int | None) -> None:
    if limit is not None and size > limit:
        raise TransactionRuleBroken("init code too large", size, limit)


def _check_chain(chain_id: int | None, rules: ValidationRules) -> None:
    if chain_id is None:
        if not rules.accepts_unprotected:
            raise InvalidTransaction(
                "only replay-protected (EIP-155) transactions allowed over RPC"
            )
    elif chain_id != rules.chain_id:
        raise TransactionRuleBroken("chain id", rules.chain_id, chain_id)


def _check_price(payload: Payload, rules: ValidationRules) -> None:
    if payload.tip > payload.fee_cap:
        raise TransactionRuleBroken("tip above fee cap", payload.tip, payload.fee_cap)
    if payload.tip < rules.min_tip:
        raise InvalidTransaction(
            f"transaction underpriced: gas tip cap {payload.tip:d}, minimum needed {rules.min_tip:d}"
        )


def _check_gas(payload: Payload, rules: ValidationRules) -> None:
    cap = rules.transaction_gas_limit
    if cap is not None and payload.gas_limit > cap:
        raise TransactionRuleBroken("above transaction gas limit", payload.gas_limit, cap)
    if payload.gas_limit > rules.gas_limit:
        raise TransactionRuleBroken("above block gas limit", payload.gas_limit, rules.gas_limit)
    needed = intrinsic_gas(payload, rules.schedule)
    if payload.gas_limit < needed:
        raise IntrinsicGasTooLow(payload.gas_limit, needed)
