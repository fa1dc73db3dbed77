"""Exports of a cache, and what is beside them until the next one."""

from __future__ import annotations

import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from entresol.errors import ForkCacheConflict, ForkCacheMismatch, ForkNotChosen
from entresol.fork.cache.directory import file_in
from entresol.fork.cache.export import copy_caches, export, fold
from tests.support.fork.cached_forks import ADDRESS, FORK, OTHER, SLOT, cache_at, fill


def test_an_export_serves_without_a_remote(tmp_path: Path) -> None:
    with closing(cache_at(tmp_path / "forks")) as cache:
        fill(cache)
    done = export(file_in(tmp_path / "forks", FORK), tmp_path / "fork.jsonl")
    assert (done.fork, done.values) == (FORK, 10)
    with closing(cache_at(tmp_path / "fork.jsonl", None, is_offline=True)) as cache:
        assert cache.start() is not None
        assert cache.slots(FORK.hash, [(ADDRESS, SLOT)]) == {(ADDRESS, SLOT): b"\x2a"}
    assert sorted(it.name for it in tmp_path.iterdir()) == ["fork.jsonl", "forks"]


def test_new_values_are_beside_an_export_until_the_next_one(tmp_path: Path) -> None:
    file = tmp_path / "fork.jsonl"
    with closing(cache_at(file)) as cache:
        fill(cache)
    assert fold(file).values == 10
    assert list(tmp_path.iterdir()) == [file]
    before = file.read_text()
    with closing(cache_at(file)) as cache:
        fill(cache)
        cache.put_hashes({5: b"\x05" * 32})
    assert file.read_text() == before
    with closing(cache_at(file, None, is_offline=True)) as cache:
        cache.start()
        assert cache.hashes([5]) == {5: b"\x05" * 32}
    assert fold(file).values == 11
    assert list(tmp_path.iterdir()) == [file]


def test_values_that_a_process_still_reads_and_writes_stay_beside(tmp_path: Path) -> None:
    file = tmp_path / "fork.jsonl"
    with closing(cache_at(file)) as cache:
        fill(cache)
        cache.flush()
        assert fold(file).in_use == tmp_path / "fork.jsonl.new"
        cache.put_hashes({5: b"\x05" * 32})
    assert fold(file) == (FORK, 11, None)


def test_an_export_into_a_file_keeps_what_is_there(tmp_path: Path) -> None:
    file = tmp_path / "fork.jsonl"
    for number, name in enumerate(("first", "second")):
        with closing(cache_at(tmp_path / name)) as cache:
            cache.put_hashes({number: bytes([number]) * 32})
        done = export(file_in(tmp_path / name, FORK), file)
    assert done.values == 2


def test_an_export_that_contradicts_the_file_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "fork.jsonl"
    for number, name in enumerate(("first", "second")):
        with closing(cache_at(tmp_path / name)) as cache:
            cache.put_hashes({7: bytes([number]) * 32})
    export(file_in(tmp_path / "first", FORK), file)
    with pytest.raises(ForkCacheConflict, match="hash of block 7"):
        export(file_in(tmp_path / "second", FORK), file)


def test_an_export_into_the_file_of_another_fork_is_an_error(tmp_path: Path) -> None:
    for fork in (FORK, OTHER):
        with closing(cache_at(tmp_path, fork)) as cache:
            fill(cache, fork)
    export(file_in(tmp_path, FORK), tmp_path / "fork.jsonl")
    with pytest.raises(ForkCacheMismatch, match=r"block 19000000 .* not .* block 19000001"):
        export(file_in(tmp_path, OTHER), tmp_path / "fork.jsonl")


def test_nothing_to_export_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ForkNotChosen):
        fold(tmp_path / "fork.jsonl")


def test_exports_of_two_branches_merge(tmp_path: Path) -> None:
    """By git, line by line, where they differ in different places."""
    for name, numbers in {"base": [50], "ours": [50, 10], "theirs": [50, 90]}.items():
        with closing(cache_at(tmp_path / name)) as cache:
            cache.put_hashes({number: bytes([number]) * 32 for number in numbers})
        export(file_in(tmp_path / name, FORK), tmp_path / f"{name}.jsonl")
    merge = ["git", "merge-file", "-p", "ours.jsonl", "base.jsonl", "theirs.jsonl"]
    merged = subprocess.run(merge, cwd=tmp_path, capture_output=True, check=True).stdout
    (tmp_path / "merged.jsonl").write_bytes(merged)
    with closing(cache_at(tmp_path / "merged.jsonl")) as cache:
        assert sorted(cache.hashes([10, 50, 90])) == [10, 50, 90]


def test_a_cache_is_copied_while_it_is_open(tmp_path: Path) -> None:
    with closing(cache_at(tmp_path / "from")) as cache:
        fill(cache)
        cache.flush()
        copy_caches(tmp_path / "from", tmp_path / "to")
    with closing(cache_at(tmp_path / "to")) as cache:
        assert cache.hashes([FORK.number - 1]) == {FORK.number - 1: b"\xdd" * 32}
