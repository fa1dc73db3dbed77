"""A directory of many forks: the least recently used one goes first, never an open one."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest

from entresol.errors import ForkCacheConflict, ForkCacheMismatch, ForkCacheUnusable
from entresol.features.fork.cache.cache_files import (
    FilePlace,
    WantedFork,
    cached_forks,
    copy_cache,
    copy_caches,
    default_directory,
    delete_unused,
    file_in,
    in_use,
    lock_file,
    make_room,
)
from entresol.features.fork.cache.fork_database import Fork
from tests.support.fork.cached_forks import FORK, OTHER, cache_at, fill

THIRD = Fork(10, 5, b"\xee" * 32)


def recorded(directory: Path, *forks: Fork) -> None:
    """Write forks to a directory, the first one least recently."""
    for time, fork in enumerate(forks, 1_000):
        with closing(cache_at(directory, fork)) as cache:
            fill(cache, fork)
        os.utime(lock_file(file_in(directory, fork)), (time, time))


def names(directory: Path) -> list[Fork | None]:
    return [cached_fork.fork for cached_fork in cached_forks(directory)]


def test_the_fork_that_was_used_last_is_listed_first(tmp_path: Path) -> None:
    recorded(tmp_path, FORK, OTHER, THIRD)
    assert names(tmp_path) == [THIRD, OTHER, FORK]
    cache_at(tmp_path, FORK).close()
    assert names(tmp_path) == [FORK, THIRD, OTHER]


def test_the_least_recently_used_fork_goes_first(tmp_path: Path) -> None:
    recorded(tmp_path, FORK, OTHER, THIRD)
    size = sum(cached_fork.size for cached_fork in cached_forks(tmp_path))
    assert make_room(tmp_path, size)
    assert len(names(tmp_path)) == 3
    assert make_room(tmp_path, size - 1)
    assert names(tmp_path) == [THIRD, OTHER]
    assert not list(tmp_path.glob(f"{FORK.name}*"))


def test_an_open_fork_is_never_deleted(tmp_path: Path) -> None:
    recorded(tmp_path, FORK, OTHER)
    with closing(cache_at(tmp_path, FORK)) as cache:
        assert in_use(file_in(tmp_path, FORK))
        assert not delete_unused(file_in(tmp_path, FORK))
        assert not make_room(tmp_path, 1)
        assert names(tmp_path) == [FORK]
        assert cache.hashes([FORK.number - 1])
    assert not in_use(file_in(tmp_path, FORK))
    assert make_room(tmp_path, 1)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_read_is_listed_and_goes_as_others_do(tmp_path: Path) -> None:
    file_in(tmp_path, FORK).write_bytes(b"garbage" * 1000)
    (tmp_path / "notes.txt").write_text("not a fork")
    assert names(tmp_path) == [None]
    assert make_room(tmp_path, 1)
    assert [it.name for it in tmp_path.iterdir()] == ["notes.txt"]


def test_a_file_that_another_process_deletes_meanwhile_is_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the log is, when the last process that has a cache open closes it."""
    recorded(tmp_path, FORK)
    monkeypatch.setattr(Path, "exists", lambda _: True)
    assert make_room(tmp_path, 1 << 40)
    assert names(tmp_path) == [FORK]
    assert FilePlace(tmp_path / "missing.sqlite").find(WantedFork()) is None


def test_a_file_that_cannot_be_deleted_is_an_error_of_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded(tmp_path, FORK)

    def unlink(_: Path, **__: bool) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", unlink)
    with pytest.raises(ForkCacheUnusable, match="Permission denied"):
        make_room(tmp_path, 0)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, Path("~/.cache/entresol/forks").expanduser()),
        ({"XDG_CACHE_HOME": "/caches"}, Path("/caches/entresol/forks")),
        ({"ENTRESOL_CACHE_DIR": "/own", "XDG_CACHE_HOME": "/caches"}, Path("/own/forks")),
        ({"ENTRESOL_CACHE_DIR": "relative"}, Path("~/.cache/entresol/forks").expanduser()),
        ({"XDG_CACHE_HOME": "relative"}, Path("~/.cache/entresol/forks").expanduser()),
    ],
)
def test_the_default_is_the_users_cache_directory(
    environment: dict[str, str], expected: Path
) -> None:
    assert default_directory(environment) == expected


def test_a_cache_is_copied_while_it_is_open(tmp_path: Path) -> None:
    with closing(cache_at(tmp_path / "from")) as cache:
        fill(cache)
        cache.flush()
        copy_caches(tmp_path / "from", tmp_path / "to")
    with closing(cache_at(tmp_path / "to")) as cache:
        assert cache.hashes([FORK.number - 1]) == {FORK.number - 1: b"\xdd" * 32}


def test_a_copy_into_a_file_keeps_what_is_there_and_names_what_contradicts_it(
    tmp_path: Path,
) -> None:
    """So two branches that have recorded are joined."""
    for name, number, digit in (("ours", 1, 1), ("theirs", 2, 2), ("wrong", 1, 3)):
        with closing(cache_at(tmp_path / name)) as cache:
            cache.put_hashes({number: bytes([digit]) * 32})
    file = tmp_path / "fork.sqlite"
    assert copy_cache(file_in(tmp_path / "ours", FORK), file) == (FORK, 1)
    assert copy_cache(file_in(tmp_path / "theirs", FORK), file) == (FORK, 2)
    with pytest.raises(ForkCacheConflict, match="hash of block 1"):
        copy_cache(file_in(tmp_path / "wrong", FORK), file)
    with closing(cache_at(file, None, is_offline=True)) as cache:
        cache.bind(FORK)
        assert cache.hashes([1, 2]) == {1: b"\1" * 32, 2: b"\2" * 32}


def test_a_copy_into_the_file_of_another_fork_is_an_error(tmp_path: Path) -> None:
    recorded(tmp_path, FORK, OTHER)
    with pytest.raises(ForkCacheMismatch, match=r"block 19000000 .* not .* block 19000001"):
        copy_cache(file_in(tmp_path, OTHER), file_in(tmp_path, FORK))
