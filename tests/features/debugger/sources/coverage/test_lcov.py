"""Coverage as a file of lcov."""

from __future__ import annotations

from entresol.features.debugger.sources.coverage.coverage import SourceCoverage
from entresol.features.debugger.sources.coverage.lcov import lcov_of
from entresol.features.debugger.sources.source_file import SourceFile
from tests.support.features.debugger.covered_contracts import coverage_of_steps


def test_a_source_is_a_record() -> None:
    found = coverage_of_steps()["contracts/Ether.sol"]
    assert lcov_of([("contracts/Ether.sol", found)]).splitlines() == [
        "TN:",
        "SF:contracts/Ether.sol",
        "FN:7,Ether.<receive>",
        "FN:11,Ether.<fallback>",
        "FN:18,Ether.send",
        "FNDA:1,Ether.<receive>",
        "FNDA:1,Ether.<fallback>",
        "FNDA:0,Ether.send",
        "FNF:3",
        "FNH:2",
        "BRDA:12,0,0,0",
        "BRDA:12,0,1,1",
        "BRDA:20,1,0,-",
        "BRDA:20,1,1,-",
        "BRF:4",
        "BRH:1",
        "DA:8,1",
        "DA:12,1",
        "DA:13,0",
        "DA:15,1",
        "DA:19,0",
        "DA:20,0",
        "LF:6",
        "LH:3",
        "end_of_record",
    ]


def test_functions_of_the_same_name_are_told_apart() -> None:
    text = b"contract A {\nfunction f() public {}\nfunction f(uint a) public {}\n}"
    record = lcov_of([("A.sol", SourceCoverage(SourceFile("A.sol", text)))])
    assert "FN:2,A.f:2\nFN:3,A.f:3\n" in record


def test_a_path_cannot_add_lines() -> None:
    found = SourceCoverage(SourceFile("A.sol", b"function f() {}"))
    assert "SF:a?end_of_record\n" in lcov_of([("a\nend_of_record", found)])
