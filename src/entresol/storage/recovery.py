"""Whether a database can be opened with all that was acknowledged, asked without touching it.

Opening for writing recovers, and what recovery drops is gone. So a look comes first, at links to the
files, because even a reading engine leaves traces in the directory it is given.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from entresol.errors import StoreDamaged
from entresol.storage import tables
from entresol.storage.key_value import KeyValueStore

if TYPE_CHECKING:
    from entresol.storage.key_value import Recovery

# Enough to meet the gap that a lost table file leaves, and few enough to be read at every start.
SAMPLES: Final = 32

_TRACES: Final = frozenset({"LOCK", "LOG", "rocksdict-config.json"})


def check(database: Path) -> None:
    """Reject a database that cannot be read, or that would lose blocks by being opened."""
    with _links_to(database) as links:
        try:
            _check_samples(links, "reject")
        except StoreDamaged as error:
            # The last write before a crash may be torn: it was never acknowledged. But if there are
            # blocks behind the damage, it is no torn last write.
            kept, found = _head(links, "stop"), _head(links, "skip")
            if found > kept:
                lost = f"blocks {kept + 1} to {found} would be lost: {error.detail}"
                raise StoreDamaged(database, lost) from error
            _check_samples(links, "stop")


@contextlib.contextmanager
def _links_to(database: Path) -> Iterator[Path]:
    """Make a directory that looks like `database`, for as long as it is used."""
    if not (database / "CURRENT").exists():
        raise StoreDamaged(database, "CURRENT is missing")
    with tempfile.TemporaryDirectory(prefix="entresol-check-") as name:
        links = Path(name)
        for file in database.resolve().iterdir():
            if file.name not in _TRACES:
                (links / file.name).symlink_to(file)
        try:
            yield links
        except StoreDamaged as error:
            raise StoreDamaged(database, error.detail.replace(name, str(database))) from error


def _head(links: Path, recovery: Recovery) -> int:
    engine = KeyValueStore(links, read_only=True, recovery=recovery)
    try:
        return _number(engine)
    finally:
        engine.close()


def _check_samples(links: Path, recovery: Recovery) -> None:
    """Look for what is read at every start, and for some of the records, first and last among them."""
    engine = KeyValueStore(links, read_only=True, recovery=recovery)
    try:
        head = _number(engine)
        engine.get(tables.REBUILDING)
        for block in sorted({head * part // SAMPLES for part in range(SAMPLES + 1)}):
            if head >= 0 and engine.get(tables.record_key(block)) is None:
                raise StoreDamaged(links, f"block {block} of {head} is missing")
    finally:
        engine.close()


def _number(engine: KeyValueStore) -> int:
    row = engine.get(tables.HEAD)
    return -1 if row is None else int.from_bytes(row)
