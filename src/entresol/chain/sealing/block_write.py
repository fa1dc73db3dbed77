"""A block on its way to the disk, which another thread may sync."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.execution.block_executor import ExecutedBlock


class BlockWrite:
    """An executed block that is written, but neither durable nor shown yet.

    `sync` runs on a thread. A caller that needs the chain as it will be runs it, too, and waits that way. Remembers:
    whether it is durable, and what prevented it.
    """

    def __init__(self, executed: ExecutedBlock, sync: Callable[[], None]) -> None:
        self.executed = executed
        self.error: Exception | None = None
        self._sync = sync
        self._is_done = False
        self._lock = Lock()

    def sync(self) -> None:
        """Make the block durable; the second call waits for the first one."""
        with self._lock:
            if self._is_done:
                return
            try:
                self._sync()
            except Exception as error:  # noqa: BLE001  # raised where the block is shown
                self.error = error
            self._is_done = True
