"""The price of blob gas (EIP-4844), and the header fields by which forks carry it on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol._native import blob_base_fee, next_excess_blob_gas
from entresol.primitives.headers import EMPTY_TRIE, NO_REQUESTS, ForkFields
from entresol.primitives.transactions.ethereum import BLOB_GAS
from entresol.primitives.values import Hash32

if TYPE_CHECKING:
    from entresol._native import Rules
    from entresol.primitives.headers import Header

LOWEST_BLOB_BASE_FEE: Final = 1
"""What an L2 shows as its price of blob gas, though it takes no blobs."""

_BEFORE_SHANGHAI: Final = frozenset(
    {"spurious_dragon", "byzantium", "petersburg", "istanbul", "berlin", "london", "paris"}
)
_WITH_REQUESTS: Final = frozenset({"prague", "osaka"})
_LARGEST_BASE_FEE: Final = 2**64 - 1


class BlobFees:
    """The price of blob gas on one chain; without `has_fork_fields` it is that of an L2, which has no blobs."""

    def __init__(self, rules: Rules, *, has_fork_fields: bool) -> None:
        self._rules = rules
        self._has_fork_fields = has_fork_fields

    def fork_fields(self, parent: Header | None) -> ForkFields:
        """Return the fields of the block after `parent`, or of a genesis.

        After a block without them, as one of an earlier version, they begin as in the first block of a fork.
        """
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

    def base_fee(self, header: Header) -> int:
        """Return the base fee per blob gas of a block; 0 in a block of an L1 from before Cancun."""
        if not self._has_fork_fields:
            return LOWEST_BLOB_BASE_FEE
        if header.excess_blob_gas is None:
            return 0
        return blob_base_fee(self._rules, header.excess_blob_gas) or 0

    def next_base_fee(self, parent: Header) -> int:
        """Return the base fee per blob gas of the block after `parent`."""
        if not self._has_fork_fields:
            return LOWEST_BLOB_BASE_FEE
        return blob_base_fee(self._rules, self._excess_after(parent)) or 0

    def used_ratio(self, header: Header) -> float:
        """Return which part of its blobs a block has."""
        most = BLOB_GAS * self._rules.max_blobs
        return (header.blob_gas_used or 0) / most if most else 0.0

    def _excess_after(self, parent: Header) -> int:
        return (
            next_excess_blob_gas(
                self._rules,
                excess_blob_gas=parent.excess_blob_gas or 0,
                blob_gas_used=parent.blob_gas_used or 0,
                base_fee=min(parent.base_fee_per_gas, _LARGEST_BASE_FEE),
            )
            or 0
        )
