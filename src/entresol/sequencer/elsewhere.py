"""Blocks that another process decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.errors import ProducerUnavailable

if TYPE_CHECKING:
    from entresol.primitives.headers import Header
    from entresol.primitives.values import Hash32
    from entresol.sequencer.sequencer import OnIncluded


class SequencerElsewhere:
    """Rejects what only the sequencer can do: requests for that are forwarded before they come here.

    Remembers and persists: nothing. Fails: with `ProducerUnavailable`.
    """

    accepts_known = False

    def wake(self) -> None:
        """Reject."""
        raise _elsewhere()

    def include(self, transaction_hash: Hash32, on_included: OnIncluded) -> None:  # noqa: ARG002 - as in Sequencer
        """Report that another process decides."""
        on_included(_elsewhere())

    def flush(self) -> None:
        """Do nothing: nothing is to be included."""

    async def seal(self) -> Header:
        """Reject."""
        raise _elsewhere()


def _elsewhere() -> ProducerUnavailable:
    return ProducerUnavailable("is another node")
