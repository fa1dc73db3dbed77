"""The description of a fork in banner, log and `--config-out`: its block and its remote, without secrets."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from entresol.primitives.values import Hash32

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entresol.features.fork.opening.open_fork import OpenFork


class ForkInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The block that a fork stands on, and scheme, host and port of its remote."""

    chain_id: int
    number: int
    hash: Hash32
    timestamp: int
    host: str
    waiting: str | None
    """The wait for the remote, if there is one."""
    cache: str

    @classmethod
    def of(cls, fork: OpenFork | None) -> ForkInfo | None:
        """Collect it; None if there is no fork."""
        if fork is None:
            return None
        remote = fork.remote
        anchor = remote.anchor
        return cls(
            chain_id=anchor.chain_id,
            number=anchor.number,
            hash=anchor.hash,
            timestamp=anchor.header.timestamp,
            host=remote.host,
            waiting=str(remote.waiting) if remote.waiting.requests else None,
            cache=remote.cache_place,
        )

    def rows(self) -> Iterator[str]:
        """Yield the rows of the banner."""
        yield f"Copy of      chain {self.chain_id}, block {self.number:,}, {self.hash}"
        yield f"Block time   {self.timestamp}, {_shown(self.timestamp)}"
        yield f"Remote       {self.host}" + (f"; {self.waiting}" if self.waiting else "")
        yield f"Cache        {self.cache}"

    def to_json(self) -> dict[str, Any]:
        """Return the fields of the JSON file."""
        return {
            "chain_id": self.chain_id,
            "block_number": self.number,
            "block_hash": str(self.hash),
            "timestamp": self.timestamp,
            "remote": self.host,
        }


def _shown(timestamp: int) -> str:
    try:
        return datetime.fromtimestamp(timestamp, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return "a time that no calendar has"
