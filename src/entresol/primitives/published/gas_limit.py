"""The gas limit of a block, as it follows from the rules, unless another one is published."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.primitives.interop.roots import import_size
from entresol.primitives.l1_to_l2_gas import max_room
from entresol.primitives.transactions.system import import_gas

if TYPE_CHECKING:
    from entresol.primitives.transactions import PriorityTransaction


def roots_gas(count: int) -> int:
    """Return the gas limit of the transaction that imports so many roots; 0 without any."""
    return import_gas(import_size(count)) if count else 0


def gas_limit_with_room(gas_limit: int, roots: int, first: PriorityTransaction | None) -> int:
    """Return the gas limit of a block that begins with the import of so many roots and with this deposit.

    It covers both, if that is possible. L1 accepts the overhead of a request on top of the gas of a block, and may have
    accepted more before. What no L1 accepts does not fit, and is included as failed.
    """
    needed = roots_gas(roots)
    if first is not None:
        needed += min(first.gas_limit, max_room(first, gas_limit))
    return max(gas_limit, needed)
