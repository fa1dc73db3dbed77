"""`anvil_dumpState` and `anvil_loadState`: the chains of the node as a state file."""

from __future__ import annotations

import asyncio
import contextlib
from binascii import hexlify
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Raw

from entresol.errors import ChainReplaced, DeadlinePassed, NotPossible, RollbackRejected
from entresol.features.dev.errors import InvalidStateFile
from entresol.primitives.values import Data
from entresol.rpc.jsonrpc.gil_turns import cooperatively
from entresol.rpc.jsonrpc.method import Order, method
from entresol.state_missing import work_clock

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.features.dev.methods.revert_runner import RevertRunner
    from entresol.features.dev.state_file.node_state import NodeState
    from entresol.rpc.threads.client_threads import Threads


DUMP_ATTEMPTS: Final = 3
"""How often a dump starts again if the chain is reverted meanwhile."""

MAX_SECONDS: Final = 60.0
"""How long a dump may take, as the traces of a request."""


class AnvilState:
    """State files over RPC, by anvil's names."""

    prefix = "anvil"

    def __init__(
        self,
        chain: Chain,
        states: NodeState,
        reverts: RevertRunner,
        threads: Threads,
        max_memory: int | None = None,
    ) -> None:
        """Dump on `threads`, of which one is enough: a dump is mostly Python."""
        self._chain = chain
        self._states = states
        self._reverts = reverts
        self._threads = threads
        self._max_memory = max_memory

    @method(ChainReplaced, DeadlinePassed)
    async def dump_state(
        self, preserve_historical_states: bool | None = None
    ) -> Annotated[Raw, Data]:
        """Return the state file of the chain, packed by gzip; on request with the states after earlier blocks.

        With a development L1 it has both layers, so that either restores both.
        """
        historical = bool(preserve_historical_states)
        for _ in range(DUMP_ATTEMPTS - 1):
            with contextlib.suppress(ChainReplaced):
                return await self._dump(historical=historical)
        return await self._dump(historical=historical)

    @method(InvalidStateFile, NotPossible, RollbackRejected, order=Order.IN_TURN)
    async def load_state(self, state: Data) -> bool:
        """Load a state file, packed by gzip or not, of this node or of anvil.

        One of this node restores all of its chains. One of anvil replaces the L1, and the L2 starts again; on the L2
        only its accounts are taken. Snapshots from before stay, also those of a chain that was replaced, unless that is
        in `--data-dir` or served by `--workers`, and larger than 256 MiB. What a file may unpack to is limited by
        `--load-state-limit-bytes`.
        """
        files = {self._chain: bytes(state)}
        prepared = await self._reverts.prepared(
            partial(self._states.prepare, files, max_memory=self._max_memory)
        )
        try:
            await self._reverts.idle()
            self._states.apply(prepared)
        finally:
            await asyncio.to_thread(prepared.close)
        return True

    async def _dump(self, *, historical: bool) -> Raw:
        work = self._states.dump(self._chain, historical=historical, paced=_paced)
        return await self._threads.run(
            lambda: Raw(b'"0x' + hexlify(work()) + b'"'), ends_with_client=True
        )


def _paced(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the pieces of a dump cooperatively, and only for so long."""
    end = work_clock() + MAX_SECONDS
    for piece in cooperatively(pieces):
        if work_clock() > end:
            raise DeadlinePassed(
                f"the dump took longer than {MAX_SECONDS:g} s: --dump-state writes one of any size"
            )
        yield piece


class HardhatState(AnvilState):
    """The same, by Hardhat's prefix."""

    prefix = "hardhat"
