"""ABI files, and what the log says by them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from entresol.contracts.abi_registry import AbiRegistry
from entresol.errors import ExecutionHalted, ExecutionReverted, InvalidConfig
from entresol.primitives import abi
from entresol.primitives.records import TransactionResult
from entresol.terminal import log_details
from entresol.terminal.config import LogConfig
from entresol.terminal.log_details import LogDetails, abis_of

ABI = [{"type": "function", "name": "mine", "inputs": []}]
MINE = abi.selector("mine()")

ABIS = AbiRegistry.of([[{"name": "set"}, {"type": "error", "name": "Bad"}]])


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
    monkeypatch.setattr(log_details, "MAX_ABI_FILE_BYTES", 1_000)
    path = tmp_path / "large.json"
    path.write_text(" " * 1_001, encoding="utf-8")
    with pytest.raises(InvalidConfig, match=r"--abi: .*it has more than 1,000 bytes"):
        abis_of(LogConfig(abi=(str(path),)))
    (tmp_path / "mine.json").write_text(json.dumps(ABI), encoding="utf-8")
    assert abis_of(LogConfig(abi=(str(tmp_path),))).call(MINE) == "mine()"


@pytest.mark.parametrize(("verbosity", "count"), [(1, 0), (2, 1), (3, 1), (4, 0)])
def test_events_are_shown_unless_the_call_tree_has_them(verbosity: int, count: int) -> None:
    result = TransactionResult(succeeded=True, gas_used=1, logs=((bytes(20), (bytes(32),), b""),))
    events = LogDetails(ABIS, verbosity).events(result)
    assert events == [f"topic 0: 0x{'00' * 32}, data: 0x"] * count


def test_a_failure_is_described_by_name() -> None:
    details = LogDetails(ABIS)
    bad = ExecutionReverted(abi.selector("Bad()"), "custom error 0x")
    assert details.failure(bad) == "execution reverted: Bad()"
    assert details.failure(ExecutionReverted(b"", None)) == "execution reverted"
    assert details.failure(ExecutionHalted("out of gas")) == "out of gas"
    assert details.failure(None) is None


@pytest.mark.parametrize(
    ("verbosity", "failed", "succeeded"), [(2, False, False), (3, True, False), (4, True, True)]
)
def test_the_verbosity_chooses_what_is_traced(
    verbosity: int, failed: bool, succeeded: bool
) -> None:
    details = LogDetails(ABIS, verbosity)
    assert details.wants_trace(succeeded=False) is failed
    assert details.wants_trace(succeeded=True) is succeeded
