"""The help that fits a screen."""

from __future__ import annotations

import pytest

from entresol.cli.main import main
from entresol.cli.parsers import PARSERS, node_parser
from entresol.cli.short_help import COMMANDS
from entresol.node.config.schema import SETTINGS

LINES, COLUMNS = 40, 80


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", ["", *PARSERS])
def test_the_help_of_a_command_fits_a_screen(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    lines = printed(capsys, *command.split(), "--help").splitlines()
    assert len(lines) <= LINES
    assert [line for line in lines if len(line) > COLUMNS] == []
    assert lines[0].startswith(f"usage: entresol {command}".rstrip())


def test_the_help_of_the_program_has_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert COMMANDS.keys() == PARSERS.keys()
    text = printed(capsys, "-h")
    assert [command for command in COMMANDS if f"\n  {command} " not in text] == []


def test_all_flags_are_in_the_long_help(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "--help-all")
    missing = [it.flag for it in SETTINGS.all if it.flag not in text]
    assert missing == []
    assert [
        argument.flags for argument in node_parser().arguments() if "--help-all" in argument.flags
    ]


def test_a_default_is_that_of_the_setting(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "run", "--help")
    port = next(it for it in SETTINGS.all if it.name == "port")
    assert f"--port N {' ' * 19} port of the L2; 0 picks a free one [{port.default}]" in text
