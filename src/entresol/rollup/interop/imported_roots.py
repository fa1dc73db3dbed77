"""Which roots of L1 a chain has imported: its own state says."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final

from entresol._native import keccak256
from entresol.chain.logs import find_logs
from entresol.primitives.interop.roots import ROOT_ADDED, ROOT_STORAGE
from entresol.primitives.values import Hash32
from entresol.storage.log_index import LogQuery

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.primitives.interop.roots import InteropRoot

LAST_BLOCK: Final = 2**63 - 1


def imports_roots(chain: Chain) -> bool:
    """Return whether a chain has the contract of roots; a genesis of one's own may lack it."""
    return chain.latest.account(ROOT_STORAGE) is not None


class ImportedRoots:
    """The roots in the state of a chain; they are the first ones of those that are stored for import.

    Remembers and persists: nothing. Assumes: the thread that changes the chain.
    """

    def __init__(self, chain: Chain, l1_chain_id: int) -> None:
        self._chain = chain
        self._l1_chain_id = l1_chain_id
        self._table = chain.batches.roots
        self._slots = keccak256(l1_chain_id.to_bytes(32) + bytes(32))

    def get(self, l1_block: int) -> Hash32:
        """Return the root that the chain has imported of a block of L1; zero if none."""
        slot = keccak256(l1_block.to_bytes(32) + self._slots)
        return Hash32(self._chain.latest.slot(ROOT_STORAGE, slot).rjust(32, b"\0"))

    def last(self) -> InteropRoot | None:
        """Return the last root that is imported among those stored."""
        newest = self._table.last(LAST_BLOCK)
        if newest is None or any(self.get(newest.block_number)):
            return newest
        return self._table.last(self.first_missing(newest.block_number) - 1)

    def first_missing(self, last: int) -> int:
        """Return the first L1 block up to `last` whose root is stored and not imported: before it all are."""

        def is_missing(number: int) -> bool:
            after = self._table.read(number, last, 1)
            return not after or not any(self.get(after[0].block_number))

        first = bisect_left(range(last + 1), x=True, key=is_missing)
        return self._table.read(first, last, 1)[0].block_number

    def block_with(self, l1_block: int) -> int | None:
        """Return the block of the chain that has imported the root of a block of L1; None without one."""
        words = (self._l1_chain_id.to_bytes(32), l1_block.to_bytes(32))
        query = LogQuery(
            addresses=frozenset({bytes(ROOT_STORAGE)}),
            topics=tuple(frozenset({it}) for it in (ROOT_ADDED, *words)),
        )
        blocks = self._chain.blocks
        found = next(find_logs(blocks, query, 0, self._chain.number, newest_first=True), None)
        return None if found is None else found.block_number
