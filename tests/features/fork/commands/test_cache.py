"""The command `cache`."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from entresol.cli.main import main
from entresol.features.fork.cache.fork_database import Fork
from tests.support.fork.cached_forks import FORK, OTHER, cache_at, fill


@pytest.fixture
def forks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the user's directory, with two forks."""
    monkeypatch.setenv("ENTRESOL_CACHE_DIR", str(tmp_path / "entresol"))
    directory = tmp_path / "entresol" / "forks"
    for fork in (FORK, OTHER):
        record(directory, fork)
    return directory


def record(place: Path, fork: Fork) -> None:
    with closing(cache_at(place, fork)) as cache:
        fill(cache, fork)


def test_forks_are_listed(forks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(cache_at(forks, OTHER)):
        assert main(["cache", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["FORK", "CHAIN", "BLOCK", "SIZE", "LAST", "USED"]
    assert lines[1].startswith("1-19000001-bbbbbbbbbbbb  1      19000001")
    assert lines[1].endswith("in use")
    assert lines[2].startswith("1-19000000-aaaaaaaaaaaa  1      19000000")
    assert lines[3].endswith(f"in {forks}")


@pytest.mark.usefixtures("forks")
def test_the_values_of_a_fork_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "show", "1-19000000"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == str(FORK)
    assert [line.split(maxsplit=1) for line in lines[2:]] == [
        ["2", "answers"],
        ["2", "accounts"],
        ["1", "codes"],
        ["2", "slots"],
        ["1", "hashes"],
        ["1", "responses"],
        ["1", "absent"],
        ["1", "responses to eth_getBlockByNumber"],
    ]


@pytest.mark.parametrize("words", [["show", "2"], ["show", "1-"], ["export", "f.sqlite"]])
def test_a_fork_that_is_not_clear_is_asked_for(
    forks: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert main(["cache", *words]) == 1
    error = capsys.readouterr().err
    assert f"in {forks} there are: " in error
    assert FORK.name in error


def test_forks_that_are_not_in_use_are_cleared(
    forks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(cache_at(forks, OTHER)):
        assert main(["cache", "clear"]) == 1
    assert "a process uses " in capsys.readouterr().out
    assert main(["cache", "clear", "1-19000001"]) == 0
    assert list(forks.iterdir()) == []


def test_a_fork_is_exported_and_what_was_read_since_is_added(
    forks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = forks / "fork.sqlite"
    assert main(["cache", "export", str(file), "1-19000000"]) == 0
    first, last = capsys.readouterr().out.splitlines()
    assert first == f"{file}: 10 values of {FORK}"
    assert last == f"A fork reads them with --fork-cache {file}, and nothing else with --offline."
    with closing(cache_at(forks)) as cache:
        cache.put_hashes({5: b"\x05" * 32})
    assert main(["cache", "export", str(file), "1-19000000"]) == 0
    assert capsys.readouterr().out.startswith(f"{file}: 11 values")
    assert main(["cache", "show", str(file)]) == 0
