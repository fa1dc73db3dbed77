"""The actions of developers on all chains of a node at once: snapshots, rollbacks, state files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.features.dev.node_chains import NodeChains
from entresol.features.dev.reverts import Checkpoints, Reverts
from entresol.features.dev.settings import DevConfig
from entresol.features.dev.state_file.node_state import NodeState

if TYPE_CHECKING:
    from collections.abc import Collection

    from entresol.chain.chain import Chain
    from entresol.primitives.values import Address


class DevControl:
    """Controls of the chains of a node, which all of its APIs share."""

    def __init__(
        self,
        *chains: Chain,
        settling: Collection[Chain] = (),
        foreign_l1: bool = False,
        operators: Collection[Address] = (),
        settings: DevConfig | None = None,
    ) -> None:
        """Take the chains, L1 first; `operators` settle those of `settling` on it."""
        self.settings = settings or DevConfig()
        self._reverts = [Reverts(chain) for chain in chains]
        # L1 is reverted first: if the process ends in between, it must not have batches that the L2 has not.
        self.checkpoints = Checkpoints(*self._reverts)
        self.node_chains = NodeChains(*self._reverts, foreign_l1=foreign_l1, operators=operators)
        self._settling = list(settling)
        self.states = NodeState(self.node_chains, self._settling)

    def add(self, chain: Chain) -> None:
        """Have one more L2, which settles and which the genesis of its L1 does not know."""
        reverts = Reverts(chain)
        self._reverts.append(reverts)
        self._settling.append(chain)
        self.checkpoints.add(reverts)
        self.node_chains.add(reverts)

    def checkpoint_bytes(self, chain: Chain) -> int:
        """Return how much memory the transactions of a chain's checkpoints take."""
        return self.node_chains.reverts_of(chain).checkpoints.weight

    def close(self) -> None:
        """Close what the chains have held to return to."""
        for reverts in self._reverts:
            reverts.close()
