"""The sequencer of a node in a cluster: it leads while the node holds the lease, and otherwise follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.sequencer.sequencer import SequencerElsewhere

if TYPE_CHECKING:
    from entresol.primitives.headers import Header
    from entresol.primitives.values import Hash32
    from entresol.replication.postgres.sealer import ClusterSealer
    from entresol.sequencer.sequencer import OnIncluded


class ClusterSequencer:
    """Decides blocks while this node leads; otherwise another node does.

    Remembers: what seals, while this node leads. Persists: through that. Fails: with `ProducerUnavailable` while
    another node leads.
    """

    def __init__(self) -> None:
        self._leading: ClusterSealer | None = None
        self._following = SequencerElsewhere()

    @property
    def accepts_known(self) -> bool:
        """Whether this node leads: a response may have been lost with the node that led before."""
        return self._leading is not None

    def lead(self, sealer: ClusterSealer) -> None:
        """Let `sealer` decide from now on."""
        self._leading = sealer

    def follow(self) -> None:
        """Decide nothing any more."""
        self._leading = None

    def wake(self) -> None:
        """Seal what is pending in the next round."""
        (self._leading or self._following).wake()

    def include(self, transaction_hash: Hash32, on_included: OnIncluded) -> None:
        """Report once the transaction is in a block, or everything that is pending now is or has a row in the pool."""
        (self._leading or self._following).include(transaction_hash, on_included)

    def flush(self) -> None:
        """Do nothing: a round of the cluster seals what has come."""

    async def seal(self) -> Header:
        """Seal the next block, even if it is empty."""
        return await (self._leading or self._following).seal()
