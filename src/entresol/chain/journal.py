"""Where batches, their settlement, deposits and finality become durable: the store; in a cluster, its log first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from entresol.storage.log_entries import ConfirmedEntry, apply_to_batches

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.storage.batch_table import BatchTable
    from entresol.storage.log_entries import Entry


class Journal(Protocol):
    """Makes changes of a chain durable."""

    async def write(self, entry: Entry) -> None:
        """Make an entry durable, and apply it to the chain."""


class StoreJournal:
    """The journal of a chain on one machine: each entry is one durable write of its store."""

    def __init__(
        self, batches: BatchTable, confirm: Callable[[int, int], None] = lambda _safe, _final: None
    ) -> None:
        self._batches = batches
        self._confirm = confirm

    async def write(self, entry: Entry) -> None:
        """Apply an entry to the chain."""
        if isinstance(entry, ConfirmedEntry):
            self._confirm(entry.safe, entry.finalized)
        else:
            apply_to_batches(self._batches, entry)
