"""The changes of a filter for blocks or pending transactions: hashes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from entresol.offload import POLICY
from entresol.primitives.values import Hash32
from entresol.rpc.jsonrpc.gil_turns import cooperatively


class HashChanges:
    """At most `count` hashes, which are still to be read."""

    def __init__(self, count: int, read: Callable[[], Iterable[Hash32]]) -> None:
        self._count = count
        self._read = read

    def hashes(self) -> list[Hash32]:
        """Return the hashes, each once; any thread may."""
        return list(dict.fromkeys(cooperatively(self._read())))

    def run(self) -> list[bytes]:
        """Return the hashes as JSON; any thread may."""
        return [b'"0x%b"' % it.hex().encode() for it in cooperatively(self.hashes())]

    def run_if_quick(self) -> list[bytes] | None:
        """Return the hashes as JSON, or None if they are too many for the event loop."""
        return None if self._count > POLICY.hashes else self.run()
