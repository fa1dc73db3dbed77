from __future__ import annotations

import json
from pathlib import Path

import pytest

from entresol.errors import InvalidConfig
from entresol.primitives import abi
from entresol.terminal import abi_files
from entresol.terminal.abi_files import abis_of
from entresol.terminal.config import LogConfig

ABI = [{"type": "function", "name": "mine", "inputs": []}]
MINE = abi.selector("mine()")


@pytest.mark.parametrize("document", [ABI, {"abi": ABI, "bytecode": "0x"}])
def test_a_file_is_an_abi_or_an_artifact(tmp_path: Path, document: object) -> None:
    path = tmp_path / "Mine.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert abis_of(LogConfig(abi=(str(path),))).call(MINE) == "mine()"


def test_a_folder_is_searched_and_other_files_in_it_are_ignored(tmp_path: Path) -> None:
    folder = tmp_path / "out" / "Mine.sol"
    folder.mkdir(parents=True)
    (folder / "Mine.json").write_text(json.dumps({"abi": ABI}), encoding="utf-8")
    (folder / "build.json").write_text('{"id": 1}', encoding="utf-8")
    (folder / "broken.json").write_text("{", encoding="utf-8")
    assert abis_of(LogConfig(abi=(str(tmp_path),))).call(MINE) == "mine()"


def test_the_contracts_of_the_node_are_known() -> None:
    assert abis_of(LogConfig()).call(abi.encode_call("withdraw(address)", bytes(20))) is not None


@pytest.mark.parametrize(
    ("content", "problem"), [(None, "No such file"), ("{}", "neither an ABI"), ("[5]", "neither")]
)
def test_a_file_without_an_abi_is_rejected(
    tmp_path: Path, content: str | None, problem: str
) -> None:
    path = tmp_path / "x.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidConfig, match=problem) as rejected:
        abis_of(LogConfig(abi=(str(path),)))
    assert "--abi" in str(rejected.value)


def test_a_file_that_is_too_large_is_rejected_by_its_limit_and_passed_over_in_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(abi_files, "MAX_ABI_FILE_BYTES", 1_000)
    path = tmp_path / "large.json"
    path.write_text(" " * 1_001, encoding="utf-8")
    with pytest.raises(InvalidConfig, match=r"--abi: .*it has more than 1,000 bytes"):
        abis_of(LogConfig(abi=(str(path),)))
    (tmp_path / "mine.json").write_text(json.dumps(ABI), encoding="utf-8")
    assert abis_of(LogConfig(abi=(str(tmp_path),))).call(MINE) == "mine()"


def test_a_folder_of_too_many_files_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(abi_files, "MAX_ABI_FILES", 1)
    for name in "ab":
        (tmp_path / f"{name}.json").write_text("[]", encoding="utf-8")
    with pytest.raises(InvalidConfig, match="more than 1 JSON files"):
        abis_of(LogConfig(abi=(str(tmp_path),)))
