"""Coverage of contracts in test runs: `--entresol-coverage`."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from pathlib import Path

import pytest

from tests.support.clients.tools import PytestRuns
from tests.support.features.debugger.covered_contracts import FOLDER, coverage_of_steps

ETHER = "contracts/Ether.sol              50.0% (3/6)       50.0% (3/6)       25.0% (1/4)       66.7% (2/3)  13, 19-20"
TOGETHER = "together                     79.3% (111/140)   78.8% (119/151)    66.1% (74/112)     85.7% (60/70)"


@pytest.fixture
def runs(tmp_path: Path) -> PytestRuns:
    """Return runs in a project whose sources are beside the folder of its compiler."""
    shutil.copytree(FOLDER / "contracts", tmp_path / "contracts")
    out = tmp_path / "out"
    out.mkdir()
    shutil.copy(FOLDER / "plain-output.json", out)
    runs = PytestRuns(tmp_path)
    runs.write(
        conftest="""
        import pytest

        @pytest.fixture(scope="session")
        def devnet_settings():
            return {"sources": ["out"], "l1": False}
        """,
        test_steps="""
        import pytest
        from tests.support.features.debugger.covered_contracts import CoveredContracts, steps

        MIDDLE = next(n for n, it in enumerate(steps()) if it[:2] == ["deploy", "Light"])

        @pytest.mark.parametrize("part", [slice(MIDDLE), slice(MIDDLE, None)])
        def test_steps(isolated_devnet, part):
            CoveredContracts(isolated_devnet.l2.request).take(steps()[part])
        """,
    )
    return runs


def record_of(text: str) -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = {}
    for block in text.split("end_of_record\n")[:-1]:
        rows = defaultdict[str, list[str]](list)
        for line in block.splitlines():
            kind, _, rest = line.partition(":")
            rows[kind].append(rest)
        found[rows["SF"][0]] = rows
    return found


def test_the_table_has_every_source_and_the_lines_that_did_not_run(runs: PytestRuns) -> None:
    ran = runs.run("-q", "--entresol-coverage")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    lines = ran.stdout.splitlines()
    assert ETHER in lines
    assert TOGETHER in lines
    assert "optimizer" not in ran.stdout


def test_the_file_of_lcov_has_lines_branches_and_functions(runs: PytestRuns) -> None:
    runs.run("-q", "--entresol-coverage")
    found = record_of((runs.folder / "lcov.info").read_text())
    expected = coverage_of_steps()
    assert list(found) == list(expected)
    for name, rows in found.items():
        lines = {int(line): int(times) for line, times in (it.split(",") for it in rows["DA"])}
        assert lines == expected[name].lines
        assert len(rows["BRDA"]) == int(rows["BRF"][0])
        assert len(rows["FN"]) == len(rows["FNDA"]) == int(rows["FNF"][0])


def test_workers_of_xdist_are_counted_together(runs: PytestRuns) -> None:
    ran = runs.run("-q", "-n", "2", "--entresol-coverage", "other/file.info")
    assert ran.stdout.count(TOGETHER) == 1, ran.stdout + ran.stderr
    found = record_of((runs.folder / "other" / "file.info").read_text())
    assert found["contracts/Ether.sol"]["DA"] == ["8,1", "12,1", "13,0", "15,1", "19,0", "20,0"]


def test_a_run_with_too_few_lines_fails(runs: PytestRuns) -> None:
    ran = runs.run("-q", "--entresol-coverage", "--entresol-coverage-fail-under=79.8")
    assert ran.returncode == 1
    assert "79.29% of lines ran, --entresol-coverage-fail-under wants 79.8%" in ran.stdout
    assert (
        runs.run("-q", "--entresol-coverage", "--entresol-coverage-fail-under=79").returncode == 0
    )


def test_of_a_source_that_was_compiled_again_the_text_of_the_file_counts(runs: PytestRuns) -> None:
    again = runs.folder / "out" / "build-info"
    again.mkdir()
    output = json.loads((FOLDER / "optimized-output.json").read_text())
    text = (FOLDER / "contracts" / "Ether.sol").read_text().replace("unknown++;", "")
    given = {"language": "Solidity", "sources": {"contracts/Ether.sol": {"content": text}}}
    (again / "old.json").write_text(json.dumps({"input": given, "output": output}))
    ran = runs.run("-q", "--entresol-coverage")
    names = (runs.folder / "lcov.info").read_text().count("SF:contracts/Ether.sol\n")
    assert names == 1, ran.stdout + ran.stderr
    assert "DA:15,1\n" in (runs.folder / "lcov.info").read_text()
    assert "changed" not in ran.stdout


def test_a_file_that_cannot_be_written_fails_the_run_after_its_table(runs: PytestRuns) -> None:
    (runs.folder / "file").write_text("")
    ran = runs.run("-q", "--entresol-coverage=file/lcov.info")
    assert ran.returncode == pytest.ExitCode.USAGE_ERROR
    assert TOGETHER in ran.stdout.splitlines()
    assert "--entresol-coverage=file/lcov.info was not written: " in ran.stdout
    assert "INTERNALERROR" not in ran.stdout


def test_without_the_flag_nothing_is_loaded_or_written(runs: PytestRuns) -> None:
    runs.write(
        test_steps="""
        import sys

        def test_off(isolated_devnet):
            assert not any("coverage" in it for it in sys.modules if it.startswith("entresol"))
        """
    )
    ran = runs.run("-q")
    assert ran.returncode == 0, ran.stdout
    assert "coverage" not in ran.stdout
    assert not (runs.folder / "lcov.info").exists()
