"""Settings of a whole run of the tests: where its files are, how many examples it tries, what it releases."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from entresol import devnet
from entresol.fork.cache.cache_files import default_directory
from tests.support.anvil import running_anvil
from tests.support.fork.remote_anvil import ANVIL
from tests.support.run import temporary_files as files
from tests.support.run.default_ports import held_ports
from tests.support.run.examples import VARIABLE, examples
from tests.support.run.memory import release_memory
from tests.support.run.own_cache import own_cache


def test_temporary_files_of_a_run_are_removed_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MEMORY", tmp_path / "absent")
    before = os.environ["TMPDIR"], tempfile.gettempdir()
    with files.temporary_files() as folder:
        made = Path(tempfile.mkdtemp())
        assert made.parent == folder
        assert os.environ["TMPDIR"] == str(folder)
    assert not made.exists()
    assert not folder.exists()
    assert (os.environ["TMPDIR"], tempfile.gettempdir()) == before


def test_only_files_of_runs_that_are_no_more_are_abandoned(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    abandoned, used, other = (
        tmp_path / name
        for name in (
            f"etests-{ended.pid}-a",
            f"etests-{os.getpid()}-b",
            "entresol-c",
        )
    )
    for folder in (abandoned, used, other):
        folder.mkdir()
    files.remove_abandoned(tmp_path)
    assert set(tmp_path.iterdir()) == {used, other}


@pytest.mark.parametrize(("many", "few"), [(5, 5), (15, 10), (150, 15)])
def test_a_run_in_a_hurry_tries_a_tenth_of_the_examples(
    many: int, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert examples(many) == few
    monkeypatch.setenv(VARIABLE, "many")
    assert examples(many) == many


def test_caches_of_a_file_of_tests_end_with_it() -> None:
    module = ModuleType("test_something")

    @cache
    def own() -> object:
        return object()

    @cache
    def imported() -> object:
        return object()

    own.__module__ = module.__name__
    vars(module).update(own=own, imported=imported)
    before = own(), imported()
    release_memory(module)
    assert own() is not before[0]
    assert imported() is before[1]


def test_forks_of_tests_are_cached_in_the_folder_of_the_run(tmp_path: Path) -> None:
    """Both in this process and in one that it starts, without a flag."""
    folder = tmp_path / "forks"
    with own_cache(tmp_path), running_anvil("--chain-id", "99") as remote:
        assert default_directory(os.environ) == folder
        with devnet(fork_url=remote.url) as net:
            net.l2.request("eth_getBalance", "0x" + "12" * 20, "latest")
        here = {file.stem for file in folder.glob("*.sqlite")}
        assert here
        remote("anvil_mine", "0x1")
        with running_anvil("--fork-url", remote.url, program=ANVIL):
            pass
        assert here < {file.stem for file in folder.glob("*.sqlite")}
    # The run does the same, for all of its tests.
    assert Path(os.environ["ENTRESOL_CACHE_DIR"]).parts[-1] == "cache"


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


def test_a_held_port_cannot_be_bound_until_it_is_released() -> None:
    port = free_port()
    with held_ports([port]) as held:
        assert held == [port]
        for host in ("127.0.0.1", ""):
            with pytest.raises(OSError, match="Address already in use"):
                socket.create_server((host, port))
    socket.create_server(("127.0.0.1", port)).close()


def test_a_port_that_somebody_else_has_is_left_alone() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        held_ports([taken.getsockname()[1]]) as held,
    ):
        assert held == []
