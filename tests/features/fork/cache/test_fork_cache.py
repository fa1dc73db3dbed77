"""The cache of a fork: what is put is got, by this process and by the next one."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from entresol._native import keccak256
from entresol.errors import (
    ForkCacheConflict,
    ForkCacheDamaged,
    ForkCacheFailed,
    ForkCacheMismatch,
    ForkCacheUnusable,
    NotRecorded,
)
from entresol.features.fork.cache import fork_cache
from entresol.features.fork.cache.cache_files import (
    DefaultPlace,
    DirectoryPlace,
    FilePlace,
    NoPlace,
    WantedFork,
    cached_forks,
)
from entresol.features.fork.cache.fork_cache import (
    CacheSettings,
    ForkCache,
    Recording,
    compact,
    open_cache,
)
from entresol.features.fork.cache.fork_database import CachedAccount, StartAnswers
from tests.support.fork.cached_forks import (
    ACCOUNT,
    ADDRESS,
    ANSWERS,
    FORK,
    OTHER,
    SLOT,
    cache_at,
    fill,
)
from tests.support.small_disk import mounted_disk

PLACES = ("directory", "fork.sqlite")


def check(cache: ForkCache) -> None:
    assert cache.accounts(FORK.hash, [ADDRESS, b"\x22" * 20, b"\x33" * 20]) == {
        ADDRESS: ACCOUNT,
        b"\x22" * 20: CachedAccount(0, 0, b""),
    }
    assert cache.slots(FORK.hash, [(ADDRESS, SLOT), (ADDRESS, bytes(32))]) == {
        (ADDRESS, SLOT): b"\x2a"
    }
    assert cache.slots(b"\xcc" * 32, [(ADDRESS, SLOT)]) == {(ADDRESS, SLOT): b""}
    assert cache.hashes([1, FORK.number - 1]) == {FORK.number - 1: b"\xdd" * 32}
    assert cache.response("eth_getBlockByNumber", b'["0x1",false]') == b'{"number":"0x1"}'
    assert cache.response("eth_getBlockByNumber", b'["0x2",false]') is None
    assert cache.code(keccak256(ACCOUNT.code)) == ACCOUNT.code


@pytest.mark.parametrize("place", PLACES)
def test_what_is_put_is_got_at_once_and_after_a_restart(tmp_path: Path, place: str) -> None:
    with closing(cache_at(tmp_path / place)) as cache:
        fill(cache)
        check(cache)
    with closing(cache_at(tmp_path / place)) as cache:
        check(cache)


def test_a_cache_without_a_disk_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it was: 200,000 values of any length, so that blocks that somebody scanned took gigabytes."""
    monkeypatch.setattr(fork_cache, "MAX_IN_MEMORY", 4 << 16)
    text = b'"' + b"0" * (1 << 16) + b'"'
    with closing(ForkCache.memory()) as cache:
        fill(cache)
        for number in range(6):
            cache.put_response("eth_getLogs", b"[%d]" % number, text)
        kept = [cache.response("eth_getLogs", b"[%d]" % number) == text for number in range(6)]
        assert kept == [True] * 3 + [False] * 3
        check(cache)


def test_the_largest_nonce_and_balance_fit(tmp_path: Path) -> None:
    account = CachedAccount((1 << 64) - 1, (1 << 256) - 1, b"\x00" * 30_000)
    with closing(cache_at(tmp_path)) as cache:
        cache.put_accounts(FORK.hash, {ADDRESS: account})
        cache.flush()
        assert cache.accounts(FORK.hash, [ADDRESS]) == {ADDRESS: account}


@pytest.mark.parametrize("is_flushed", [False, True])
def test_another_value_is_an_error_that_names_both(tmp_path: Path, is_flushed: bool) -> None:
    with closing(cache_at(tmp_path)) as cache:
        cache.put_slots(FORK.hash, {(ADDRESS, SLOT): b"\x2a"})
        if is_flushed:
            cache.flush()
        cache.put_slots(FORK.hash, {(ADDRESS, SLOT): b"\x00\x2a"})
        with pytest.raises(
            ForkCacheConflict, match=r"slot 0x0+7 of account 0x11.* is 0x2a .* 0x2b"
        ):
            cache.put_slots(FORK.hash, {(ADDRESS, SLOT): b"\x2b"})


def test_a_value_that_another_process_has_written_otherwise_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "fork.sqlite"
    with closing(cache_at(file)) as cache, closing(cache_at(file)) as other:
        with closing(sqlite3.connect(file, isolation_level=None)) as writer:
            writer.execute("BEGIN IMMEDIATE")
            # Neither sees the other's value when it puts its own.
            cache.put_hashes({1: b"\x01" * 32})
            other.put_hashes({1: b"\x02" * 32, 2: b"\x03" * 32})
        conflicts = [conflict_of(it) for it in (cache, other)]
        assert other.hashes([2]) == {2: b"\x03" * 32}
    (conflict,) = filter(None, conflicts)
    assert "the hash of block 1 is 0x" in conflict


def conflict_of(cache: ForkCache) -> str:
    """Return which value was found to be another one when it was written."""
    try:
        cache.flush()
    except ForkCacheConflict as error:
        return str(error)
    return ""


def test_answers_of_a_later_start_do_not_replace_the_first_ones(tmp_path: Path) -> None:
    with closing(cache_at(tmp_path)) as cache:
        cache.put_start(ANSWERS)
        cache.put_start(type(ANSWERS)(FORK, ANSWERS.anchor, {"eth_config": b"1", "more": b"2"}))
        cache.flush()
        found = cache.start(WantedFork(hash=FORK.hash))
    assert found is not None
    assert found.answers == {"eth_config": b'{"current":{}}', "more": b"2"}


def test_a_file_of_one_fork_knows_where_it_stands(tmp_path: Path) -> None:
    place = "fork.sqlite"
    with closing(cache_at(tmp_path / place, None)) as cache:
        assert cache.start() is None
        fill(cache)
    with closing(cache_at(tmp_path / place, None)) as cache:
        found = cache.start(WantedFork(chain_id=1))
        assert found is not None
        assert (found.fork, found.anchor) == (FORK, b'{"number":"0x121eac0"}')
        with pytest.raises(ForkCacheMismatch, match=r"block 19000000 .*not block 19000001"):
            cache.start(WantedFork(number=OTHER.number))
        with pytest.raises(ForkCacheMismatch):
            cache.bind(OTHER)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "fork.sqlite"
    file.write_bytes(b"garbage" * 1000)
    with pytest.raises(ForkCacheDamaged, match=r"fork\.sqlite is damaged"):
        cache_at(file)


def test_a_file_of_another_program_is_named(tmp_path: Path) -> None:
    file = tmp_path / "fork.sqlite"
    with closing(sqlite3.connect(file)) as database:
        database.execute("CREATE TABLE bookmarks (url TEXT)")
    with pytest.raises(ForkCacheDamaged, match="not a fork's cache"):
        cache_at(file)


def test_a_file_of_another_format_is_named(tmp_path: Path) -> None:
    cache_at(tmp_path / "fork.sqlite").close()
    with closing(sqlite3.connect(tmp_path / "fork.sqlite")) as database:
        database.execute("PRAGMA user_version = 99")
    with pytest.raises(ForkCacheFailed, match="format 99"):
        cache_at(tmp_path / "fork.sqlite")


def test_an_empty_file_that_a_killed_process_left_is_used(tmp_path: Path) -> None:
    (tmp_path / "fork.sqlite").touch()
    with closing(cache_at(tmp_path / "fork.sqlite", None)) as cache:
        assert cache.start() is None
        fill(cache)


def default_cache(home: Path, reports: list[str], *, is_offline: bool = False) -> ForkCache:
    settings = CacheSettings(is_offline=is_offline)
    return open_cache(settings, {"XDG_CACHE_HOME": str(home)}, reports.append)


def test_a_damaged_default_cache_is_set_aside(tmp_path: Path) -> None:
    reports: list[str] = []
    with closing(default_cache(tmp_path, reports)) as cache:
        fill(cache)
    (file,) = tmp_path.glob("entresol/forks/*.sqlite")
    file.write_bytes(b"garbage" * 1000)
    with closing(default_cache(tmp_path, reports)) as cache:
        cache.bind(FORK)
        assert cache.hashes([FORK.number - 1]) == {}
        fill(cache)
        check(cache)
    assert len(reports) == 1
    assert "set aside" in reports[0]
    assert file.with_name(file.name + ".damaged").exists()


def test_a_default_place_that_cannot_be_used_costs_only_the_cache(tmp_path: Path) -> None:
    (tmp_path / "entresol").write_text("a file where a directory should be")
    reports: list[str] = []
    with closing(default_cache(tmp_path, reports)) as cache:
        fill(cache)
        check(cache)
    assert len(reports) == 1
    assert "not cached on disk" in reports[0]


def test_a_place_that_was_given_and_cannot_be_used_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ForkCacheUnusable, match=r"fork\.sqlite cannot be used"):
        cache_at(tmp_path / "file" / "fork.sqlite")


def test_a_full_disk_is_reported_once_and_values_are_written_when_there_is_room(
    tmp_path: Path,
) -> None:
    reports: list[str] = []
    with mounted_disk(tmp_path, 2) as disk:
        cache = cache_at(tmp_path / "forks", reports=reports)
        disk.fill()
        code = os.urandom(1 << 20)
        for number in range(3):
            account = CachedAccount(1, 1, code[number:])
            cache.put_accounts(FORK.hash, {bytes([number]) * 20: account})
        with pytest.raises(ForkCacheFailed, match="disk is full"):
            cache.flush()
        assert len(cache.accounts(FORK.hash, [bytes(20)])) == 1
        disk.free()
        disk.enlarge(20)
        cache.flush()
        cache.close()
        with closing(cache_at(tmp_path / "forks")) as cache:
            assert len(cache.accounts(FORK.hash, [bytes([it]) * 20 for it in range(3)])) == 3
    assert len(reports) == 1


def test_a_directory_that_is_too_large_takes_no_more_values(tmp_path: Path) -> None:
    reports: list[str] = []
    settings = CacheSettings(place=tmp_path / "forks", max_bytes=1)
    with closing(open_cache(settings, {}, reports.append)) as cache:
        fill(cache)
        with pytest.raises(ForkCacheFailed, match="--fork-cache-size"):
            cache.flush()
        check(cache)
    assert len(reports) == 1


def test_nothing_is_written_without_a_remote_or_a_new_value(tmp_path: Path) -> None:
    with closing(cache_at(tmp_path / "fork.sqlite")) as cache:
        fill(cache)
    before = (tmp_path / "fork.sqlite").read_bytes()
    for is_offline in (False, True):
        with closing(cache_at(tmp_path / "fork.sqlite", FORK, is_offline=is_offline)) as cache:
            assert cache.start() is not None
            check(cache)
            if is_offline:
                cache.put_hashes({5: bytes(32)})
            else:
                fill(cache)
        # A file in a repository is not changed, and nothing is left beside it.
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
            "fork.sqlite": before
        }


def test_a_file_on_a_disk_that_takes_no_writes_serves_without_a_remote(tmp_path: Path) -> None:
    with mounted_disk(tmp_path, 4) as disk:
        with closing(cache_at(tmp_path / "fork.sqlite")) as cache:
            fill(cache)
        disk.protect()
        with closing(cache_at(tmp_path / "fork.sqlite", None, is_offline=True)) as cache:
            assert cache.start() is not None
            check(cache)
        with pytest.raises(ForkCacheUnusable, match=r"Read-only file system|readonly"):
            cache_at(tmp_path / "fork.sqlite")


def test_what_is_missing_without_a_remote_is_named_with_the_command_that_records_it(
    tmp_path: Path,
) -> None:
    place = tmp_path / "my fork.sqlite"
    with closing(cache_at(place)) as cache:
        fill(cache)
    settings = CacheSettings(
        place=place, is_offline=True, recording=Recording("entresol anvil", "--l1-")
    )
    with closing(open_cache(settings, {})) as cache:
        cache.start()
        command = (
            "record it with `entresol anvil --l1-fork-url <url> --l1-fork-block-number 19000000 "
            f"--l1-fork-cache '{place}'`"
        )
        missing = {
            cache.missing("account", b"", ADDRESS): f"account 0x{ADDRESS.hex()} is",
            cache.missing("slot", FORK.hash, ADDRESS, SLOT): (
                f"slot 0x{SLOT.hex()} of account 0x{ADDRESS.hex()} is"
            ),
            cache.missing("slot", b"\xcc" * 32, ADDRESS, SLOT): f"at block 0x{'cc' * 32}",
            cache.missing("hash", 7): "the hash of block 7",
            cache.missing("response", "eth_getLogs", b"[{}]"): "the response to eth_getLogs [{}]",
        }
    for error, text in missing.items():
        assert text in str(error)
        assert command in str(error)


@pytest.mark.parametrize("place", PLACES)
def test_a_start_without_a_remote_needs_a_recorded_fork(tmp_path: Path, place: str) -> None:
    with (
        closing(cache_at(tmp_path / place, None, is_offline=True)) as cache,
        pytest.raises(NotRecorded, match=r"--fork-url <url> --fork-block-number 7 --fork-cache"),
    ):
        cache.start(WantedFork(number=7))
    assert list(tmp_path.iterdir()) == []


def test_code_that_has_lost_a_bit_is_read_again(tmp_path: Path) -> None:
    with closing(cache_at(tmp_path / "fork.sqlite")) as cache:
        fill(cache)
    with closing(sqlite3.connect(tmp_path / "fork.sqlite")) as database:
        database.execute("UPDATE code SET code = x'6002'")
        database.commit()
    with closing(cache_at(tmp_path / "fork.sqlite")) as cache:
        assert cache.accounts(FORK.hash, [ADDRESS]) == {}


@pytest.mark.parametrize("place", PLACES)
def test_what_is_absent_is_kept_and_a_response_takes_precedence(tmp_path: Path, place: str) -> None:
    with closing(cache_at(tmp_path / place)) as cache:
        cache.put_start(ANSWERS)
        for _ in range(2):
            cache.put_absent("eth_getBlockByHash", b'["0x1", false]')
        assert cache.is_absent("eth_getBlockByHash", b'["0x1",false]')
        cache.put_response("eth_getBlockByHash", b'["0x1",false]', b'{"number":"0x1"}')
    with closing(cache_at(tmp_path / place)) as cache:
        cache.bind(FORK)
        assert cache.is_absent("eth_getBlockByHash", b'["0x1",false]')
        assert not cache.is_absent("eth_getBlockByHash", b'["0x2",false]')
        assert cache.response("eth_getBlockByHash", b'["0x1",false]') == b'{"number":"0x1"}'


def test_only_so_many_absent_results_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("entresol.features.fork.cache.fork_cache.MAX_ABSENT", 3)
    for first in (0, 2):
        with closing(cache_at(tmp_path / "fork.sqlite")) as cache:
            cache.put_start(ANSWERS)
            for number in range(first, first + 8):
                cache.put_absent("eth_getBlockByHash", b"[%d]" % number)
            kept = [it for it in range(10) if cache.is_absent("eth_getBlockByHash", b"[%d]" % it)]
            assert kept == [0, 1, 2]


def test_without_a_remote_an_answer_of_its_start_selects_one_of_several_forks(
    tmp_path: Path,
) -> None:
    told = StartAnswers(OTHER, ANSWERS.anchor, {"block of 0xab": b'"0xcd"'})
    for answers in (ANSWERS, told):
        with closing(cache_at(tmp_path, None)) as cache:
            cache.put_start(answers)
    with closing(cache_at(tmp_path, None, is_offline=True)) as cache:
        found = cache.start(WantedFork(answer="block of 0xab"))
    assert found is not None
    assert found.fork == OTHER


HOME = {"XDG_CACHE_HOME": "/caches"}
GIVEN, DATA = Path("given"), Path("data")


@pytest.mark.parametrize(
    ("settings", "kind", "path"),
    [
        (CacheSettings(), DefaultPlace, "/caches/entresol/forks"),
        (CacheSettings(place=GIVEN), DirectoryPlace, "given"),
        (CacheSettings(place=Path("a.sqlite")), FilePlace, "a.sqlite"),
        (CacheSettings(data_dir=DATA), DirectoryPlace, "data/fork"),
        (CacheSettings(data_dir=DATA, place=GIVEN), DirectoryPlace, "given"),
        (CacheSettings(data_dir=DATA, is_stored=False), NoPlace, "memory"),
        (CacheSettings(place=GIVEN, is_stored=False), NoPlace, "memory"),
        (CacheSettings(is_offline=True), DefaultPlace, "/caches/entresol/forks"),
    ],
)
def test_a_cache_is_where_the_settings_say(settings: CacheSettings, kind: type, path: str) -> None:
    place = open_cache(settings, HOME).place
    assert (type(place), str(place)) == (kind, path)


@pytest.mark.usefixtures("usual_recursion")
@pytest.mark.parametrize("json", [b"", b"nul", b'{"a":', b"[1]]", b'"\xff"', b"[" * 100_000])
def test_only_json_is_kept(json: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        compact(json)


def test_numbers_and_strings_stay_as_they_are_written() -> None:
    json = b'{"a": 1.0e400, "b" : [123456789012345678901234567890, "\\u0041"]}'
    assert compact(json) == json.replace(b" ", b"")


KILLS = 10


def writer(place: Path, first: int, count: int, step: int) -> subprocess.Popen[str]:
    arguments = [str(place), str(first), str(count), str(step)]
    module = [sys.executable, "-m", "tests.support.fork.cached_forks", *arguments]
    return subprocess.Popen(module, stdout=subprocess.PIPE, text=True)


def found(place: Path, numbers: list[int]) -> dict[int, int]:
    with closing(cache_at(place)) as cache:
        slots = cache.slots(
            FORK.hash, [(ADDRESS, number.to_bytes(32, "big")) for number in numbers]
        )
    return {
        int.from_bytes(slot, "big"): int.from_bytes(value, "big")
        for (_, slot), value in slots.items()
    }


def test_processes_that_write_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    # They share some values: all of those that 2 and 3 divide.
    processes = [writer(tmp_path, 0, 600 // step, step) for step in (2, 3)]
    for process in processes:
        process.communicate(timeout=120)
        assert process.returncode == 0
    expected = {number: number + 1 for number in range(600) if number % 2 == 0 or number % 3 == 0}
    assert found(tmp_path, list(range(600))) == expected
    assert len(cached_forks(tmp_path)) == 1


def test_a_process_that_is_killed_while_it_writes_leaves_a_file_that_opens(tmp_path: Path) -> None:
    written = -1
    for _ in range(KILLS):
        with writer(tmp_path, written + 1, 0, 1) as process:
            assert process.stdout is not None
            written = int(process.stdout.readline())
            process.kill()
        values = found(tmp_path, list(range(written + 1)))
        assert values == {number: number + 1 for number in range(written + 1)}
