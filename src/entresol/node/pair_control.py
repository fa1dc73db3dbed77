"""What developers do to all chains of a node at once: snapshots, rollbacks, state files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.dev.checkpoints import Checkpoints
from entresol.dev.linked_chains import LinkedChains
from entresol.dev.state_file.pair_state import PairState

if TYPE_CHECKING:
    from entresol.chain.chain import Chain


class PairControl:
    """Controls of the chains of a node, which both of its APIs share."""

    def __init__(
        self, *chains: Chain, settling: Chain | None = None, foreign_l1: bool = False
    ) -> None:
        # L1 is reverted first: if the process ends in between, it must not have batches that the L2 has not.
        self.checkpoints = Checkpoints(*chains)
        self.linked = LinkedChains(*chains, foreign_l1=foreign_l1)
        self.states = PairState(self.linked, settling)
