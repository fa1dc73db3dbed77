"""Check before opening that a database still has every acknowledged block.

Opening for writing recovers the write-ahead log, and what recovery drops is lost. So the check comes
first. It reads through links to the files, because even a read-only database writes to its directory.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from entresol.errors import StoreDamaged
from entresol.storage import tables
from entresol.storage.database.key_value import KeyValueStore
from entresol.storage.tables import GenesisTable

if TYPE_CHECKING:
    from entresol.storage.database.key_value import Recovery

# Enough to hit the gap that a lost table file leaves, and few enough to read at every start.
SAMPLES: Final = 32

_IGNORED: Final = frozenset({"LOCK", "LOG", "rocksdict-config.json"})


def check(database: Path) -> None:
    """Reject a database that cannot be read, or that would lose blocks by being opened."""
    with _links_to(database) as links:
        try:
            _check_samples(links, "reject")
        except StoreDamaged as error:
            # A crash may tear the last write, which was never acknowledged. Blocks behind the damage
            # show that it is not a torn last write.
            recovered, found = _head(links, "stop"), _head(links, "skip")
            if found > recovered:
                lost = f"blocks {recovered + 1} to {found} would be lost: {error.detail}"
                raise StoreDamaged(database, lost) from error
            _check_samples(links, "stop")


@contextlib.contextmanager
def _links_to(database: Path) -> Iterator[Path]:
    """Create a temporary directory with links to the files of `database`."""
    if not (database / "CURRENT").exists():
        raise StoreDamaged(database, "CURRENT is missing")
    with tempfile.TemporaryDirectory(prefix="entresol-check-") as name:
        links = Path(name)
        for file in database.resolve().iterdir():
            if file.name not in _IGNORED:
                (links / file.name).symlink_to(file)
        try:
            yield links
        except StoreDamaged as error:
            raise StoreDamaged(database, error.detail.replace(name, str(database))) from error


def _head(links: Path, recovery: Recovery) -> int:
    db = KeyValueStore(links, read_only=True, recovery=recovery)
    try:
        return _head_number(db)
    finally:
        db.close()


def _check_samples(links: Path, recovery: Recovery) -> None:
    """Read what every start reads, and a sample of the records with the first and the last."""
    db = KeyValueStore(links, read_only=True, recovery=recovery)
    try:
        head = _head_number(db)
        db.get(tables.REBUILDING)
        first = GenesisTable(db).number
        for block in sorted(
            {first + (head - first) * part // SAMPLES for part in range(SAMPLES + 1)}
        ):
            if head >= 0 and db.get(tables.record_key(block)) is None:
                raise StoreDamaged(links, f"block {block} of {head} is missing")
    finally:
        db.close()


def _head_number(db: KeyValueStore) -> int:
    row = db.get(tables.HEAD)
    return -1 if row is None else int.from_bytes(row)
