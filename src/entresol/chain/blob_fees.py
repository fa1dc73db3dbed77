"""The price of blob gas, and the fields of headers that come with blobs and later forks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from entresol._native import blob_base_fee, next_excess_blob_gas
from entresol.chain.fees import LARGEST_BASE_FEE
from entresol.primitives.headers import EMPTY_TRIE, NO_REQUESTS, ForkFields
from entresol.primitives.values import Hash32

if TYPE_CHECKING:
    from entresol._native import Rules
    from entresol.primitives.headers import Header

_LOWEST_BASE_FEE: Final = 1
"""The price of blob gas that an L2 shows, though it takes no blobs."""

_BEFORE_SHANGHAI: Final = frozenset(
    {"spurious_dragon", "byzantium", "petersburg", "istanbul", "berlin", "london", "paris"}
)
_WITH_REQUESTS: Final = frozenset({"prague", "osaka"})


class BlobSchedule(NamedTuple):
    """How many blobs a block has, and how their price moves (EIP-7840)."""

    target: int
    max: int
    base_fee_update_fraction: int


BLOB_SCHEDULES: Final = {
    "cancun": BlobSchedule(3, 6, 3_338_477),
    "prague": BlobSchedule(6, 9, 5_007_716),
    "osaka": BlobSchedule(6, 9, 5_007_716),
}


class BlobFees:
    """The price of blob gas on one chain; without `has_fork_fields` it is that of an L2, which has no blobs."""

    def __init__(self, rules: Rules, *, has_fork_fields: bool) -> None:
        self._rules = rules
        self._has_fork_fields = has_fork_fields

    @property
    def prices(self) -> Rules | int:
        """The price of blob gas for the crate: the rules by which it changes, or the constant of an L2."""
        return self._rules if self._has_fork_fields else _LOWEST_BASE_FEE

    def fork_fields(self, parent: Header | None) -> ForkFields:
        """Return the fields of the block after `parent`, or of a genesis; after a block without them they begin anew."""
        fork = self._rules.fork
        if not self._has_fork_fields or fork in _BEFORE_SHANGHAI:
            return ForkFields()
        if not self._rules.max_blobs:
            return ForkFields(withdrawals_root=EMPTY_TRIE)
        return ForkFields(
            withdrawals_root=EMPTY_TRIE,
            excess_blob_gas=0 if parent is None else self._excess_after(parent),
            parent_beacon_block_root=Hash32.zero(),
            requests_hash=NO_REQUESTS if fork in _WITH_REQUESTS else None,
        )

    def next_base_fee(self, parent: Header) -> int:
        """Return the base fee per blob gas of the block after `parent`."""
        if not self._has_fork_fields:
            return _LOWEST_BASE_FEE
        return blob_base_fee(self._rules, self._excess_after(parent)) or 0

    def _excess_after(self, parent: Header) -> int:
        excess = next_excess_blob_gas(
            self._rules,
            excess_blob_gas=parent.excess_blob_gas or 0,
            blob_gas_used=parent.blob_gas_used or 0,
            base_fee=min(parent.base_fee_per_gas, LARGEST_BASE_FEE),
        )
        return excess or 0
