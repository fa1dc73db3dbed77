"""The cache that the settings of a fork ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from entresol.fork.cache.cache import ForkCache, Recording
from entresol.fork.cache.directory import SUFFIX as DATABASE_SUFFIX
from entresol.fork.cache.directory import default_directory
from entresol.fork.cache.json_lines import SUFFIX as EXPORT_SUFFIX
from entresol.fork.cache.places import (
    DefaultPlace,
    DirectoryPlace,
    ExportPlace,
    FilePlace,
    NoPlace,
    Place,
)
from entresol.storage.database.directory import FORK_FOLDER

DEFAULT_MAX_BYTES: Final = 4 * 1024**3

_FILE_SUFFIXES: Final = frozenset({DATABASE_SUFFIX, ".db", ".sqlite3"})


class CacheSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where the values of a fork are cached, and how much of them."""

    place: Path | None = None
    """`--fork-cache`: a directory, a file, or an export (`.jsonl`); by default in the user's cache directory."""
    data_dir: Path | None = None
    """The directory of the chain, if it is on disk: then what it has read stays with it."""
    max_bytes: int = DEFAULT_MAX_BYTES
    is_stored: bool = True
    """Whether anything is cached on disk (`--no-storage-caching`)."""
    is_offline: bool = False
    recording: Recording = Recording()
    is_verified: bool = False
    """Whether everything is proven (`--fork-verify`): it is cached apart from what is not."""


def open_cache(
    settings: CacheSettings,
    environment: Mapping[str, str],
    report: Callable[[str], None] = lambda _: None,
) -> ForkCache:
    """Return the cache of a fork; its files are opened once the fork is known (`start`, `bind`)."""
    return ForkCache(
        _place(settings, environment, report),
        is_offline=settings.is_offline,
        recording=settings.recording,
        report=report,
    )


def place_of(path: Path, max_bytes: int | None = None, *, is_verified: bool = False) -> Place:
    """Return what `--fork-cache` names: an export, a file, or a directory."""
    if path.suffix == EXPORT_SUFFIX:
        return ExportPlace(path)
    if path.is_file() or (path.suffix in _FILE_SUFFIXES and not path.is_dir()):
        return FilePlace(path)
    return DirectoryPlace(path, max_bytes, is_verified=is_verified)


def _place(
    settings: CacheSettings, environment: Mapping[str, str], report: Callable[[str], None]
) -> Place:
    if not settings.is_stored and not settings.is_offline:
        return NoPlace()
    is_verified = settings.is_verified
    if settings.place is not None:
        return place_of(settings.place, settings.max_bytes, is_verified=is_verified)
    if settings.data_dir is not None:
        return DirectoryPlace(settings.data_dir / FORK_FOLDER, None, is_verified=is_verified)
    directory = default_directory(environment)
    return DefaultPlace(directory, settings.max_bytes, report, is_verified=is_verified)
