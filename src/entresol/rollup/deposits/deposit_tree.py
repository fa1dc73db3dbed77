"""Compare deposits with the priority tree of their contract on L1, before the chain includes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.errors import LayerOneMismatch
from entresol.rollup.batches import frontier_after, priority_hash
from entresol.rollup.priority_tree import Frontier, height_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.chain.chain import Chain
    from entresol.l1.contracts import Deposit, ZkChain
    from entresol.l1.layer_one import L1Block


class DepositTree:
    """L1's priority tree after the deposits of the chain, with those that are pending.

    The contract keeps each root that its tree ever had, so that the state of any later block is enough: no content,
    order or number of deposits passes that L1 has not had. Remembers: the tree after the last deposit. Persists:
    nothing; it follows from the batches and blocks of the chain. Assumes: the thread that changes the chain. Fails: as
    `LayerOne` does, and with `LayerOneMismatch` for deposits that are not those of the contract; a retry may help.
    """

    def __init__(self, chain: Chain, contract: ZkChain) -> None:
        self._chain = chain
        self._contract = contract
        self._known: tuple[int, Frontier] | None = None

    @property
    def next_id(self) -> int:
        """The id of the next deposit, after those that are pending."""
        last = self._chain.filler.priority.last
        return self._chain.blocks.next_priority_id() if last is None else last.payload.nonce + 1

    async def check(self, deposits: Sequence[Deposit], last: L1Block) -> None:
        """Raise `LayerOneMismatch` unless the contract has had the tree with these deposits, as of a block of L1.

        Those that the chain has already are passed over; the others follow each other.
        """
        removals = self._chain.use.removals
        before = self._frontier()
        new = [
            deposit.payload.hash() for deposit in deposits if deposit.priority_id >= before.count
        ]
        if not new:
            return
        after = before.extend(new)
        root = after.root()
        if not await self._contract.is_priority_root(root, height_of(after.count), last):
            raise LayerOneMismatch(
                f"the logs of {self._contract.l1.name} up to block {last.number} have other deposits than its contract: "
                f"{_named(before.count, after.count)} would make the root {root}, which the contract never had"
            )
        self._known = removals, after

    def _frontier(self) -> Frontier:
        """Return the tree after the deposits of the chain and of its queue."""
        if self._known is not None:
            removals, known = self._known
            if removals == self._chain.use.removals and known.count == self.next_id:
                return known
        blocks, batch = self._chain.blocks, self._chain.batches.last()
        included = Frontier() if batch is None else frontier_after(blocks, batch)
        later = range(included.count, blocks.next_priority_id())
        found = included.extend(priority_hash(blocks, number) for number in later)
        return found.extend(it.hash for it in self._chain.filler.priority)


def _named(first: int, end: int) -> str:
    return f"deposit {first}" if end == first + 1 else f"deposits {first} to {end - 1}"
