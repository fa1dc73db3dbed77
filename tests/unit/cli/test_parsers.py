"""Which flags each command has."""

from __future__ import annotations

import json
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

from entresol.cli.main import main
from entresol.cli.parsers import COMMIT_FILE, commit_of, derive_parser, replay_parser
from entresol.errors import InvalidConfig
from entresol.node.config.schema import SETTINGS

HASH = "0x" + "11" * 32


def test_a_replay_lists_only_what_it_reads() -> None:
    text = replay_parser().format_help()
    for flag in ("--fork-url", "--offline", "--fork-verify", "--abi", "--sources", "--config"):
        assert flag in text
    sections = {it.section for it in SETTINGS.all} - {"fork", "log", "debugger"}
    assert not {section for section in sections if f"\n{section}:\n" in text}
    assert "--data-dir" not in text
    assert len(text.splitlines()) < 100


@pytest.mark.parametrize("flag", ["--port", "--data-dir", "--fork-block-number", "--l1-fork-url"])
def test_a_replay_rejects_flags_of_a_node_and_says_why(flag: str) -> None:
    with pytest.raises(InvalidConfig, match="a replay starts no node"):
        replay_parser().parse([HASH, flag, "1"])


@pytest.mark.parametrize("flag", ["--port", "--operator-key", "--gas-limit", "--fork-url"])
def test_a_derivation_rejects_flags_of_a_node_and_says_why(flag: str) -> None:
    with pytest.raises(InvalidConfig, match="derive starts no node"):
        derive_parser().parse([flag, "1"])


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return a package below a root, as `src/entresol` is."""
    path = tmp_path / "src" / "entresol"
    path.mkdir(parents=True)
    return path


def git(root: Path, *words: str) -> str:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    command = ["git", "-C", str(root), *identity, *words]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    return ran.stdout.strip()


def test_a_checkout_has_the_commit_of_git(package: Path) -> None:
    root = package.parent.parent
    (package / "a").write_text("1", encoding="utf-8")
    (package / COMMIT_FILE).write_text("stale", encoding="utf-8")
    for words in (("init", "--quiet"), ("add", "src/entresol/a"), ("commit", "--quiet", "-m", "a")):
        git(root, *words)
    head = git(root, "rev-parse", "--short=12", "HEAD")
    assert commit_of(package) == head
    (package / "a").write_text("2", encoding="utf-8")
    assert commit_of(package) == f"{head}-dirty"


def test_a_wheel_has_the_commit_in_a_file(package: Path) -> None:
    (package / COMMIT_FILE).write_text("0123456789ab\n", encoding="utf-8")
    assert commit_of(package) == "0123456789ab"


def test_pip_records_the_commit_of_a_repository(package: Path) -> None:
    recorded = {"url": "https://example.org/a.git", "vcs_info": {"commit_id": "0123456789ab" * 3}}
    assert commit_of(package, json.dumps(recorded)) == "0123456789ab"


def test_the_flag_prints_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"entresol {metadata.version('entresol')}")
