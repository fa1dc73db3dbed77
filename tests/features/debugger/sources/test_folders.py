from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from entresol.errors import InvalidConfig
from entresol.features.debugger.sources import folders
from entresol.features.debugger.sources.folders import check_paths, read_contracts, stamp_of
from tests.support.contracts.stack_trace_cases import FOLDER, output_of

CALLS, FAILURES = "contracts/Calls.sol", "contracts/Failures.sol"


def written(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def hardhat_2(root: Path) -> Path:
    written(root / "artifacts/build-info/ab.json", {"id": "ab", **output_of("plain")})
    artifact = {"abi": [], "bytecode": "0x", "deployedBytecode": "0x", "linkReferences": {}}
    written(root / f"artifacts/{CALLS}/Calls.json", artifact)
    written(root / f"artifacts/{CALLS}/Calls.dbg.json", {"buildInfo": "../build-info/ab.json"})
    return root / "artifacts"


def hardhat_3(root: Path) -> Path:
    both = output_of("plain")
    sources = {f"project/{name}": it for name, it in both["input"]["sources"].items()}
    names = {name: f"project/{name}" for name in both["input"]["sources"]}
    output = {
        part: {f"project/{name}": it for name, it in found.items()}
        for part, found in both["output"].items()
    }
    build = root / "artifacts/build-info"
    written(
        build / "solc-0_8_26-ab.json",
        {"id": "ab", "userSourceNameMap": names, "input": {"sources": sources}},
    )
    written(build / "solc-0_8_26-ab.output.json", {"id": "ab", "output": output})
    return root / "artifacts"


def foundry(root: Path) -> Path:
    both = output_of("plain")
    paths = {str(it["id"]): name for name, it in both["output"]["sources"].items()}
    written(root / "out/build-info/ab.json", {"id": "ab", "source_id_to_path": paths})
    for name, it in both["input"]["sources"].items():
        written(root / name, it["content"])
    for file, contracts in both["output"]["contracts"].items():
        for name, it in contracts.items():
            artifact = {
                "abi": it["abi"],
                "bytecode": it["evm"]["bytecode"],
                "deployedBytecode": it["evm"]["deployedBytecode"],
                "metadata": {"settings": {"compilationTarget": {file: name}}},
                "id": both["output"]["sources"][file]["id"],
            }
            written(root / f"out/{Path(file).name}/{name}.json", artifact)
    return root / "out"


def standard_json(root: Path) -> Path:
    both = output_of("plain")
    written(root / "json/input.json", {"language": "Solidity", **both["input"]})
    return written(root / "json/output.json", both["output"])


@pytest.mark.parametrize("layout", [hardhat_2, hardhat_3, foundry, standard_json])
def test_contracts_have_names_codes_and_texts(
    tmp_path: Path, layout: Callable[[Path], Path]
) -> None:
    found = {contract.name: contract for contract in read_contracts([str(layout(tmp_path))])}
    # Interfaces and abstract contracts have no code.
    assert found.keys() == {
        name
        for contracts in output_of("plain")["output"]["contracts"].values()
        for name, it in contracts.items()
        if it["evm"]["bytecode"]["object"]
    }
    assert found["Calls"].file == CALLS
    names = [source.name for source in found["Failures"].sources if source is not None]
    assert names == [CALLS, FAILURES]
    assert all(source.text for source in found["Failures"].sources if source is not None)
    deployed = found["Failures"].deployed
    assert deployed is not None
    assert deployed.source_map.span(0).source == 1


def test_the_sources_of_foundry_are_those_of_the_build_that_numbered_them(tmp_path: Path) -> None:
    out = foundry(tmp_path)
    newer = written(out / "build-info/cd.json", {"source_id_to_path": {"0": "src/Other.sol"}})
    later = newer.stat().st_mtime + 10
    os.utime(newer, (later, later))
    found = {contract.name: contract for contract in read_contracts([str(out)])}
    own = found["Calls"].own_source
    assert own is not None
    assert own.text is not None


def test_vyper_is_read_with_the_input_beside_it() -> None:
    (found,) = read_contracts([str(FOLDER / "vyper")])
    own = found.own_source
    assert (found.name, found.file) == ("T", "T.vy")
    assert own is not None
    assert [definition.name for definition in own.definitions] == [
        "T",
        "constructor",
        "_check",
        "run",
        "<fallback>",
    ]


def test_an_output_that_begins_with_blanks_is_read(tmp_path: Path) -> None:
    written(tmp_path / "output.json", "\n \t" + json.dumps(output_of("plain")["output"]))
    assert any(contract.name == "Calls" for contract in read_contracts([str(tmp_path)]))


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    artifacts = hardhat_2(tmp_path)
    broken = written(artifacts / "build-info/broken.json", '{"output": {"contracts": [')
    nested = written(artifacts / "nested.json", '{"output":' + '{"a":' * 100_000)
    assert any(contract.name == "Calls" for contract in read_contracts([str(artifacts)]))
    assert str(broken) in caplog.text
    assert str(nested) in caplog.text


def test_names_and_numbers_that_are_too_long_lose_only_their_file(tmp_path: Path) -> None:
    out = foundry(tmp_path)
    numbers = {"9" * 5_000: "src/A.sol", "7": "n" * 300 + ".sol", "8": "a\0b"}
    later = written(out / "build-info/cd.json", {"source_id_to_path": numbers}).stat().st_mtime + 10
    os.utime(out / "build-info/cd.json", (later, later))
    assert any(contract.name == "Calls" for contract in read_contracts([str(out)]))


def test_pipes_and_folders_are_not_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    artifacts = hardhat_2(tmp_path)
    os.mkfifo(artifacts / "pipe.json")
    (artifacts / "folder.json").mkdir()
    assert any(contract.name == "Calls" for contract in read_contracts([str(artifacts)]))
    assert "pipe.json is not read: it is not a regular file" in caplog.text
    assert "folder.json is not read" in caplog.text


def test_outputs_of_one_folder_share_their_input_and_are_charged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    standard_json(tmp_path)
    content = (tmp_path / "json/output.json").read_text()
    for number in range(4):
        written(tmp_path / f"json/before-{number}.json", content)
    total = sum(it.stat().st_size for it in (tmp_path / "json").iterdir())
    monkeypatch.setattr(folders, "MAX_TOTAL_BYTES", total)
    found = [
        contract
        for contract in read_contracts([str(tmp_path / "json")])
        if contract.name == "Calls"
    ]
    assert len(found) == 5
    assert all(it.own_source is not None and it.own_source.text for it in found)
    assert not caplog.records


def test_files_beyond_the_total_are_not_read_for_that_reason(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "MAX_TOTAL_BYTES", 1_000)
    assert not list(read_contracts([str(hardhat_2(tmp_path))]))
    assert "all files together have more than 1,000 bytes" in caplog.text


def test_a_file_that_is_too_large_is_not_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "MAX_FILE_BYTES", 1_000)
    artifacts = hardhat_2(tmp_path)
    assert not list(read_contracts([str(artifacts)]))
    assert "ab.json is not read: it is too large" in caplog.text


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda path: path / "missing", "no such file or folder"),
        (lambda path: path, "has no JSON files: compile first"),
    ],
    ids=["missing", "empty"],
)
def test_a_path_without_output_is_an_error_that_names_it(
    tmp_path: Path, make: Callable[[Path], Path], problem: str
) -> None:
    path = make(tmp_path)
    with pytest.raises(InvalidConfig, match=problem) as failure:
        check_paths([str(path)])
    assert str(path) in str(failure.value)
    assert str(failure.value).startswith("--sources: ")


def test_the_stamp_of_a_folder_changes_with_its_files(tmp_path: Path) -> None:
    artifacts = hardhat_2(tmp_path)
    before = stamp_of([str(artifacts)])
    assert stamp_of([str(artifacts)]) == before
    written(artifacts / "build-info/cd.json", {})
    assert stamp_of([str(artifacts)]) != before
    assert stamp_of([str(tmp_path / "missing.json")]) == (0, 0, 0)
