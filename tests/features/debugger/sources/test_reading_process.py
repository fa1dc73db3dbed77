"""Large output of compilers is read by a process of its own."""

from __future__ import annotations

import io
import logging
import shutil
from pathlib import Path

import pytest

from entresol.features.debugger.sources import reading_process
from entresol.features.debugger.sources.compiled import CompiledContract
from entresol.features.debugger.sources.folders import read_contracts
from entresol.features.debugger.sources.reading_process import contracts_of_paths, read_apart
from entresol.features.debugger.sources.registry import SourceRegistry
from tests.support.contracts.stack_trace_cases import FOLDER


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the output of two compilations, and a file that is none."""
    for name in ("plain", "optimized"):
        shutil.copy(FOLDER / f"{name}-output.json", tmp_path)
    (tmp_path / "broken.json").write_text('{"contracts": 5, "sources": {}}', encoding="utf-8")
    return tmp_path


def described(contract: CompiledContract) -> list[object]:
    codes = [None if it is None else vars(it) for it in (contract.creation, contract.deployed)]
    sources = [
        None if source is None else (source.name, source.text) for source in contract.sources
    ]
    return [contract.name, contract.file, contract.abi, codes, sources]


def test_contracts_are_the_same_as_if_they_were_read_here(folder: Path) -> None:
    apart, here = (
        [described(it) for it in read([str(folder)])] for read in (read_apart, read_contracts)
    )
    assert apart == here
    assert apart


def test_what_is_not_read_is_logged_here(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    list(read_apart([str(folder)]))
    assert "broken.json is not read" in caplog.text


def test_a_project_cannot_replace_modules(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("entresol", "pickle", "logging"):
        (folder / f"{name}.py").write_text("raise SystemExit(1)", encoding="utf-8")
    monkeypatch.chdir(folder)
    assert list(read_apart([str(folder)]))


def test_without_the_process_they_are_read_here(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(reading_process, "LARGE_BYTES", 0)
    monkeypatch.setattr(reading_process, "MODULE", "entresol.no_such_module")
    assert list(contracts_of_paths([str(folder)]))
    assert "sources are read in this process: the process that reads them has ended" in caplog.text


def test_a_process_that_ends_in_the_middle_is_an_error() -> None:
    with pytest.raises(OSError, match="has ended"):
        list(reading_process._received(io.BytesIO(b"\x80\x05")))


@pytest.mark.parametrize(("size", "is_apart"), [(1 << 40, False), (0, True)])
def test_only_large_output_is_read_apart(
    folder: Path, monkeypatch: pytest.MonkeyPatch, size: int, is_apart: bool
) -> None:
    read: list[object] = []

    def apart(paths: object) -> list[CompiledContract]:
        read.append(paths)
        return []

    monkeypatch.setattr(reading_process, "LARGE_BYTES", size)
    monkeypatch.setattr(reading_process, "read_apart", apart)
    SourceRegistry.of_paths([str(folder)]).find(b"\1")
    assert bool(read) == is_apart
