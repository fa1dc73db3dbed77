"""The command `cache`: lists, shows, clears and exports what forks have read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from entresol.errors import InvalidConfig
from entresol.features.fork.cache.cache_files import (
    CachedFork,
    DirectoryPlace,
    FilePlace,
    cached_forks,
    copy_cache,
    default_directory,
    delete_unused,
    in_use,
    place_of,
)
from entresol.features.fork.cache.fork_database import ForkDatabase
from entresol.features.fork.errors import ForkCacheFailed
from entresol.terminal.exit_codes import FAILED, SUCCEEDED


def run_cache(flags: Mapping[str, Any], environment: Mapping[str, str]) -> int:
    """Run the command with its flags, and return the exit code."""
    given = flags["fork_cache"]
    place = Path(given) if given is not None else default_directory(environment)
    words: Sequence[str] = flags["names"]
    match flags["command"], words:
        case "list", []:
            return _list(place)
        case "show", [name]:
            return _show(place, name)
        case "show", [] if given is not None:
            return _show(place, given)
        case "clear", _:
            return _clear(place, words)
        case "export", [file, *names] if len(names) <= 1:
            return _export(_chosen(place, "".join(names)), Path(file))
    raise InvalidConfig("cache", f"{flags['command']} does not take {len(words)} arguments")


def _list(place: Path) -> int:
    forks = cached_forks(_directory(place))
    if not forks:
        print(f"no forks in {place}")
        return SUCCEEDED
    rows: list[tuple[str, ...]] = [("FORK", "CHAIN", "BLOCK", "SIZE", "LAST USED", "")]
    rows += [_row(fork) for fork in forks]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )
    print(f"{_bytes(sum(fork.size for fork in forks))} in {place}")
    return SUCCEEDED


def _row(cached: CachedFork) -> tuple[str, ...]:
    fork = cached.fork
    chain, block = ("?", "?") if fork is None else (str(fork.chain_id), str(fork.number))
    used = datetime.fromtimestamp(cached.used, UTC).strftime("%Y-%m-%d %H:%M")
    state = "damaged" if fork is None else "in use" if in_use(cached.path) else ""
    return cached.path.stem, chain, block, _bytes(cached.size), used, state


def _show(place: Path, name: str) -> int:
    path = _chosen(place, name)
    with closing(ForkDatabase.open(path)) as database:
        print(database.fork)
        print(path)
        for kind, count in database.counts().items():
            print(f"{count:>10,} {_plural(kind)}")
        methods = Counter(row.key[0] for row in database.rows("response"))
        for method, count in sorted(methods.items()):
            print(f"{count:>10,} responses to {method}")
    return SUCCEEDED


def _clear(place: Path, names: Sequence[str]) -> int:
    directory = _directory(place)
    paths = [_chosen(place, name) for name in names] or [
        cached_fork.path for cached_fork in cached_forks(directory)
    ]
    code = SUCCEEDED
    for path in paths:
        if delete_unused(path):
            print(f"deleted {path}")
        else:
            print(f"a process uses {path}")
            code = FAILED
    if not names:
        for aside in directory.glob("*.damaged"):
            aside.unlink(missing_ok=True)
    return code


def _export(source: Path, file: Path) -> int:
    fork, values = copy_cache(source, file)
    print(f"{file}: {values:,} values of {fork}")
    print(f"A fork reads them with --fork-cache {file}, and nothing else with --offline.")
    return SUCCEEDED


def _chosen(place: Path, name: str) -> Path:
    """Return the cache with a name, or that begins with it; or the file that is named so."""
    if name and Path(name).is_file():
        return Path(name)
    if isinstance(place_of(place), FilePlace):
        return place
    forks = cached_forks(_directory(place))
    found = [fork.path for fork in forks if fork.path.stem == name]
    found = found or [fork.path for fork in forks if fork.path.stem.startswith(name)]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(fork.path.stem for fork in forks) or "none"
    problem = f"{len(found)} forks begin with {name}" if name else "name a fork"
    raise ForkCacheFailed(f"{problem}; in {place} there are: {listed}")


def _directory(place: Path) -> Path:
    if not isinstance(place_of(place), DirectoryPlace):
        raise InvalidConfig(
            "--fork-cache", f"this command needs a directory, and {place} is a file"
        )
    return place


def _plural(kind: str) -> str:
    return {"hash": "hashes", "absent": "absent"}.get(kind, kind + "s")


def _bytes(size: int) -> str:
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:,} {unit}"
        size //= 1024
    return f"{size:,} GiB"
