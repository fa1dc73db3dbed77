"""An open fork: its remote chain, the development accounts there, and what waits for it."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import TYPE_CHECKING, Any, Final

from entresol._native import Snapshot, wait_for_remote
from entresol.chain.genesis.fork_genesis import AnchoredAccount, delegated
from entresol.features.fork.opening.fork_report import fork_health
from entresol.features.fork.table_feed import remote_snapshot
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from collections.abc import Iterable

    from entresol.features.fork.opening.first_block import FirstBlock
    from entresol.features.fork.remote_chain import RemoteChain

log = logging.getLogger(__name__)

SLOW_SECONDS: Final = 3.0
"""A longer wait for the remote makes the node degraded."""


class OpenFork:
    """A part of a node: a remote chain, and what the node reads of it itself.

    It stops before the parts that wait for it, which fail then. Remembers: the remote. Persists: nothing; the cache does. Fails: with `RemoteFailed`.
    """

    def __init__(self, remote: RemoteChain) -> None:
        self.remote = remote
        self.first_block: FirstBlock | None = None
        """The block that is executed at the start, before anything else."""
        self._known: dict[Address, AnchoredAccount] = {}
        self._is_closed = False

    @property
    def timestamp(self) -> int:
        """The Unix time of the block that it stands on."""
        return self.remote.anchor.header.timestamp

    @property
    def salt(self) -> Hash32:
        """The salt that parts addresses our contracts deploy to from those where others like them did on the remote.

        A fork of this one stands on another block, and has another salt.
        """
        return self.remote.anchor.hash

    def accounts(self, addresses: Iterable[Address]) -> dict[Address, AnchoredAccount]:
        """Return accounts as the remote has them, all asked for at once; it blocks, unless they were read before."""
        asked = list(addresses)
        wanted = [address for address in dict.fromkeys(asked) if address not in self._known]
        if wanted:
            self._known |= self._read(wanted)
        return {address: self._known[address] for address in asked}

    def _read(self, wanted: list[Address]) -> dict[Address, AnchoredAccount]:
        table, seconds = self.remote.table, self.remote.settings.timeout
        known = threading.Event()
        table.want([("account", bytes(address)) for address in wanted], known.set)
        known.wait(seconds)
        wait_for_remote(seconds)
        try:
            snapshot = remote_snapshot(table)
            return {address: _account(snapshot, address) for address in wanted}
        finally:
            wait_for_remote(None)

    def funded(self, addresses: Iterable[Address]) -> dict[Address, AnchoredAccount]:
        """Return the development accounts as the remote has them, and say whose delegation is cleared."""
        found = self.accounts(addresses)
        for address in delegated(found):
            log.warning(
                "%s is delegated to a contract on the remote, since its key is public: the fork clears that",
                address.checksummed(),
            )
        return found

    @property
    def problem(self) -> str | None:
        """The wait for the remote, if it is long."""
        report = self.remote.waiting
        return str(report) if report.seconds >= SLOW_SECONDS else None

    def health(self) -> dict[str, Any]:
        """Return what `/health` says of the fork."""
        return fork_health(self.remote)

    async def start(self) -> None:
        """Do nothing: it is open."""

    async def stop(self) -> None:
        """Close the remote without blocking the event loop."""
        await asyncio.get_running_loop().run_in_executor(None, self.close)

    def close(self) -> None:
        """Close the remote, once: whatever waits for it fails."""
        if not self._is_closed:
            self._is_closed = True
            self.remote.close()


def _account(snapshot: Snapshot, address: Address) -> AnchoredAccount:
    found = snapshot.account(bytes(address))
    if found is None:
        return AnchoredAccount()
    return AnchoredAccount(found.nonce, found.balance, snapshot.code(found.code_hash))
