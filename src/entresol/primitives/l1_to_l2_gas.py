"""What the contracts on L1 ask of the gas limit of a request to L2, whatever L2 itself would need.

The limit of a request has two parts: what its place in a batch costs, and what is left for its body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from entresol.primitives.transactions import PriorityTransaction

REQUIRED_GAS_PER_PUBDATA: Final = 800
MAX_BODY_GAS: Final = 72_000_000
MAX_PUBDATA_BYTES: Final = 99_000

_SLOT_OVERHEAD: Final = 10_000
_OVERHEAD_PER_BYTE: Final = 10

_BODY_BASE: Final = 167_157
_BODY_PER_544_BYTES: Final = 1_656
_BODY_PER_DEPENDENCY: Final = 2_473
_BODY_LEAST: Final = 173_484
_PUBDATA_BYTES: Final = 88
_PUBDATA_BYTES_PER_DEPENDENCY: Final = 64


def overhead(encoded_bytes: int) -> int:
    """Return what the place of a request costs, given the size of its ABI encoding."""
    return max(_SLOT_OVERHEAD, _OVERHEAD_PER_BYTE * encoded_bytes)


def min_gas_limit(request: PriorityTransaction) -> int:
    """Return the lowest gas limit with which L1 takes `request`; its own limit does not count."""
    size, dependencies = len(request.to_abi()), len(request.factory_dep_hashes)
    computation = max(
        _BODY_BASE + -(-size * _BODY_PER_544_BYTES // 544) + dependencies * _BODY_PER_DEPENDENCY,
        _BODY_LEAST,
    )
    pubdata = _PUBDATA_BYTES + dependencies * _PUBDATA_BYTES_PER_DEPENDENCY
    return overhead(size) + computation + pubdata * request.gas_per_pubdata_limit


def max_gas_limit(request: PriorityTransaction) -> int:
    """Return the highest gas limit with which L1 takes `request`; its own limit does not count."""
    body = MAX_BODY_GAS
    if request.gas_per_pubdata_limit:
        # The contract divides and rounds down before it compares.
        body = min(body, (MAX_PUBDATA_BYTES + 1) * request.gas_per_pubdata_limit - 1)
    return overhead(len(request.to_abi())) + body
