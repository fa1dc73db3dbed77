"""The block that a chain on disk stands on."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from entresol.storage.database.directory import FORMAT_FILE

if TYPE_CHECKING:
    from pathlib import Path

    from entresol.primitives.anchor import Anchor


def stored_anchor(folder: Path | None) -> Anchor | None:
    """Return the anchor of the fork in a folder; None if there is no chain, or one that is not a fork."""
    if folder is None or not (folder / FORMAT_FILE).exists():
        return None
    from entresol.storage.store import Store  # noqa: PLC0415 - a fork that is not on disk asks its remote without it

    with closing(Store.open(folder)) as store:
        return store.fork.anchor
