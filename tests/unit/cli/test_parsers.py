"""Which flags each command has."""

from __future__ import annotations

import pytest

from entresol.cli.parsers import derive_parser, replay_parser
from entresol.errors import InvalidConfig
from entresol.node.config.schema import SETTINGS

HASH = "0x" + "11" * 32


def test_a_replay_lists_only_what_it_reads() -> None:
    text = replay_parser().format_help()
    for flag in ("--fork-url", "--offline", "--fork-verify", "--abi", "--sources", "--config"):
        assert flag in text
    sections = {it.section for it in SETTINGS.all} - {"fork", "log", "api"}
    assert not {section for section in sections if f"\n{section}:\n" in text}
    assert "--data-dir" not in text
    assert len(text.splitlines()) < 100


@pytest.mark.parametrize("flag", ["--port", "--data-dir", "--fork-block-number", "--l1-fork-url"])
def test_a_replay_rejects_flags_of_a_node_and_says_why(flag: str) -> None:
    with pytest.raises(InvalidConfig, match="a replay starts no node"):
        replay_parser().parse([HASH, flag, "1"])


def test_a_replay_takes_the_flags_of_its_remote_with_their_aliases() -> None:
    flags = replay_parser().parse([HASH, "-f", "http://127.0.0.1:1", "--offline", "--abi", "out"])
    assert (flags["hash"], flags["offline"]) == (HASH, True)


def test_a_derivation_lists_only_what_it_reads() -> None:
    text = derive_parser().format_help()
    for flag in (
        "--l1-url",
        "--bridgehub",
        "--chain-id",
        "--l1-from-block",
        "--genesis",
        "--data-dir",
    ):
        assert flag in text
    assert "--port" not in text
    assert len(text.splitlines()) < 60


@pytest.mark.parametrize("flag", ["--port", "--operator-key", "--gas-limit", "--fork-url"])
def test_a_derivation_rejects_flags_of_a_node_and_says_why(flag: str) -> None:
    with pytest.raises(InvalidConfig, match="derive starts no node"):
        derive_parser().parse([flag, "1"])
