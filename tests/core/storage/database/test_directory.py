"""The data directory: which ones are accepted, and that others are not changed."""

from __future__ import annotations

import errno
import fcntl
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from entresol.errors import StoreDamaged, StoreFailed, StoreForeign, StoreFull, StoreLocked
from entresol.storage.database.directory import Directory
from entresol.storage.store import Store
from entresol.version import FORMAT
from tests.support.chain.records import files_of, fill, random_chain, record_after

HOLDER = """
import pathlib, sys
from entresol.storage.store import Store
store = Store.open(pathlib.Path(sys.argv[1]))
print("open", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    """Return the directory of a chain of some blocks, closed."""
    store = Store.open(tmp_path / "chain")
    fill(store, random_chain(random.Random(2), 10))
    store.close()
    return tmp_path / "chain"


@pytest.fixture
def holder(chain: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(chain)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield process
        process.kill()


def rejected(path: Path, kind: type[StoreFailed], advice: str) -> None:
    """Check that opening `path` fails in this way and leaves everything as it was."""
    before = files_of(path) if path.is_dir() else path.read_bytes()
    with pytest.raises(kind, match=advice):
        Store.open(path)
    assert (files_of(path) if path.is_dir() else path.read_bytes()) == before


def test_a_missing_directory_is_made_with_its_parents(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "a" / "b" / "c")
    fill(store, [record_after(None)])
    store.close()
    assert (tmp_path / "a/b/c/FORMAT").read_text() == f"entresol chain, format {FORMAT}\n"


@pytest.mark.parametrize(
    "content",
    [
        {"notes.txt": "hello"},
        {".hidden": ""},
        {"CURRENT": "MANIFEST-000001\n", "LOCK": "", "MANIFEST-000001": "x"},
        {"LOCK": "", "database/000004.sst": "x"},
        {"FORMAT": "somebody else's file\n"},
        {"FORMAT": "\udcff\udcfe"},
    ],
)
def test_a_foreign_directory_is_left_alone(tmp_path: Path, content: dict[str, str]) -> None:
    for name, text in content.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, errors="surrogateescape")
    rejected(tmp_path, StoreForeign, "choose an empty or missing directory")


@pytest.mark.parametrize("found", [FORMAT - 1, FORMAT + 1])
def test_another_format_is_rejected(chain: Path, found: int) -> None:
    (chain / "FORMAT").write_text(f"entresol chain, format {found}\n")
    rejected(chain, StoreFailed, f"has format {found}, .* or a new directory")


@pytest.mark.parametrize("text", ["", "0\n", "1", "1_0\n", "9" * 99])
def test_a_format_that_cannot_be_read_is_damage(chain: Path, text: str) -> None:
    (chain / "FORMAT").write_text(f"entresol chain, format {text}")
    rejected(chain, StoreDamaged, "restore it from a copy, or start anew")


@pytest.mark.parametrize("left", [[], ["LOCK"], ["LOCK", "FORMAT.new"], ["LOCK", "database/LOG"]])
def test_making_a_directory_may_be_interrupted(tmp_path: Path, left: list[str]) -> None:
    for name in left:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    store = Store.open(tmp_path)
    fill(store, [record_after(None)])
    store.close()
    store = Store.open(tmp_path)
    assert store.head_number == 0
    store.close()


def test_a_directory_without_a_format_whose_database_is_ready_is_finished(chain: Path) -> None:
    # Killed between the last two steps of making it.
    fresh = chain.parent / "fresh"
    Store.open(fresh).close()
    (fresh / "FORMAT").unlink()
    Store.open(fresh).close()
    assert (fresh / "FORMAT").exists()


def test_the_format_is_durable_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[str, str]] = []

    def noting(handle: int) -> None:
        directory = tmp_path / "chain"
        names = sorted(it.name for it in directory.iterdir() if it.name.startswith("FORMAT"))
        content = (directory / names[0]).read_text() if names else ""
        synced.append((str(Path(f"/proc/self/fd/{handle}").readlink()), content and names[0]))

    directory = Directory.open(tmp_path / "chain")
    monkeypatch.setattr("entresol.storage.database.directory.os.fsync", noting)
    directory.finish()
    directory.close()
    path = str(tmp_path / "chain")
    assert synced == [
        (f"{path}/FORMAT.new", "FORMAT.new"), (path, "FORMAT"), (str(tmp_path), "FORMAT")
    ]  # fmt: skip


def test_a_directory_is_locked_by_another_process(
    chain: Path, holder: subprocess.Popen[str]
) -> None:
    rejected(chain, StoreLocked, "in use by another process")
    holder.kill()
    holder.wait()
    Store.open(chain).close()


def test_this_process_cannot_open_a_directory_twice(chain: Path) -> None:
    store = Store.open(chain)
    rejected(chain, StoreLocked, "in use")
    assert store.head_number == 9
    fill(store, [record_after(store.get_record(9))])
    store.close()
    Store.open(chain).close()


def failing(number: int) -> Callable[..., int]:
    """Return a function that fails as the system would."""

    def fail(*_args: object, **_kwargs: object) -> int:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize(
    ("number", "kind", "complaint"),
    [
        (errno.ENOSPC, StoreFull, "make room, then start again"),
        (errno.EDQUOT, StoreFull, "make room, then start again"),
        (errno.EACCES, StoreFailed, "cannot be used: Permission denied"),
    ],
)
def test_an_error_of_the_system_is_reported(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    kind: type[StoreFailed],
    complaint: str,
) -> None:
    monkeypatch.setattr(fcntl, "flock", failing(number))
    with pytest.raises(kind, match=complaint) as caught:
        Directory.open(tmp_path)
    assert type(caught.value) is kind


@pytest.mark.parametrize("ending", ["", "raise SystemExit(1)", "1 / 0"])
def test_a_temporary_directory_is_removed_at_exit(ending: str) -> None:
    program = f"""
from entresol.storage.store import Store
from tests.support.chain.records import fill, record_after
store = Store.temporary()
fill(store, [record_after(None)])
print(store.path, flush=True)
{ending}
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    path = Path(ran.stdout.strip())
    assert path.name.startswith("entresol-")
    assert not path.exists()


def test_what_a_fork_has_read_may_be_there_before_its_chain(tmp_path: Path) -> None:
    place = tmp_path / "fork"
    place.mkdir()
    (place / "1-5-aaaaaaaaaaaa.sqlite").write_bytes(b"read before the chain was created")
    Store.open(tmp_path).close()
    Store.open(tmp_path).close()
    assert (place / "1-5-aaaaaaaaaaaa.sqlite").read_bytes().startswith(b"read before")
