"""Where blocks are decided: what a sequencer does for those who send transactions and ask for blocks."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from entresol.primitives.headers import Header
    from entresol.primitives.values import Hash32

    OnIncluded: TypeAlias = Callable[[Exception | None], None]
    """Called once a transaction is in a block, or only others can change whether it will be; with what prevented it."""


class Sequencer(Protocol):
    """Decides what the next block of a chain is, and when it is sealed, by the mode of `chain.schedule`.

    The chain does not know its sequencer. Who sends transactions, reads deposits or seals on request is given it.
    """

    @property
    def accepts_known(self) -> bool:
        """Whether a transaction may be sent again that is pending or in a block, as after a lost response."""
        ...

    def wake(self) -> None:
        """Seal what is pending, now or in the background, if the mode is automine."""
        ...

    def include(self, transaction_hash: Hash32, on_included: OnIncluded) -> None:
        """Seal a transaction of the pool if the mode is automine, and report when its sender can have its response.

        Those of many senders may be sealed together.
        """
        ...

    def flush(self) -> None:
        """Seal at once what is to be included, instead of collecting more of it first."""
        ...

    async def seal(self) -> Header:
        """Seal the next block, even if it is empty."""
        ...


async def included(sequencer: Sequencer, transaction_hash: Hash32) -> None:
    """Wait until the sender of a transaction of the pool can have its response; raise what prevents its inclusion."""
    ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def report(error: Exception | None) -> None:
        if ended.done():
            return
        if error is None:
            ended.set_result(None)
        else:
            ended.set_exception(error)

    sequencer.include(transaction_hash, report)
    await ended
