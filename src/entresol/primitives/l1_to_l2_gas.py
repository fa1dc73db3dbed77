"""Bounds that L1 sets for the gas limit of a priority transaction: for its overhead in a batch, and for its body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol._native import TRANSACTION_GAS
from entresol.primitives.bytecode import byte_counts

if TYPE_CHECKING:
    from entresol.primitives.transactions import PriorityTransaction

REQUIRED_GAS_PER_PUBDATA: Final = 800
MAX_PUBDATA_BYTES: Final = 99_000
MAX_BODY_GAS: Final = 80_000_000
"""The most that an admin of the ZK Stack's contracts may allow."""

_SLOT_OVERHEAD: Final = 10_000
_OVERHEAD_PER_BYTE: Final = 10

_BODY_BASE: Final = 167_157
_BODY_PER_544_BYTES: Final = 1_656
_BODY_PER_DEPENDENCY: Final = 2_473
_MIN_BODY: Final = 173_484
_PUBDATA_BYTES: Final = 88
_PUBDATA_BYTES_PER_DEPENDENCY: Final = 64

_FLOOR_PER_TOKEN: Final = 10


def overhead(encoded_bytes: int) -> int:
    """Return the overhead of a priority transaction with this ABI-encoded size."""
    return max(_SLOT_OVERHEAD, _OVERHEAD_PER_BYTE * encoded_bytes)


def min_gas_limit(request: PriorityTransaction) -> int:
    """Return the minimum gas limit with which L1 accepts `request`; its own limit is ignored."""
    size, dependencies = request.abi_size, len(request.factory_dep_hashes)
    computation = max(
        _BODY_BASE + -(-size * _BODY_PER_544_BYTES // 544) + dependencies * _BODY_PER_DEPENDENCY,
        _MIN_BODY,
    )
    pubdata = _PUBDATA_BYTES + dependencies * _PUBDATA_BYTES_PER_DEPENDENCY
    by_work = overhead(size) + computation + pubdata * request.gas_per_pubdata_limit
    return max(by_work, calldata_floor(request.data, *request.factory_deps))


def calldata_floor(*charged: bytes) -> int:
    """Return the gas limit below which a transaction with this calldata and these dependencies cannot start (EIP-7623)."""
    zeros, nonzeros = byte_counts(charged)
    return TRANSACTION_GAS + _FLOOR_PER_TOKEN * (zeros + 4 * nonzeros)


def max_gas_limit(request: PriorityTransaction, block_gas_limit: int) -> int:
    """Return the maximum gas limit with which L1 accepts a request, by the gas of a block and the published bytes."""
    body = block_gas_limit
    if request.gas_per_pubdata_limit:
        # The contract divides and rounds down before it compares.
        body = min(body, (MAX_PUBDATA_BYTES + 1) * request.gas_per_pubdata_limit - 1)
    return overhead(request.abi_size) + body


def body_gas(request: PriorityTransaction) -> int:
    """Return the gas limit of `request` without its overhead, which the contract compares with its maximum."""
    return request.gas_limit - overhead(request.abi_size)


def max_room(request: PriorityTransaction, block_gas_limit: int) -> int:
    """Return the gas limit that a block has at most for the sake of `request`, whatever L1 says that it accepted."""
    return max(block_gas_limit, MAX_BODY_GAS) + overhead(request.abi_size)


def max_executed(request: PriorityTransaction, block_gas_limit: int) -> int:
    """Return the gas that `request` may have to be executed in a block with this gas limit."""
    if request.gas_limit <= block_gas_limit:
        return block_gas_limit
    return max(block_gas_limit, MAX_BODY_GAS + overhead(request.abi_size))
