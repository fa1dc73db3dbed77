"""What tells a compilation from others."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from entresol.features.debugger.sources.compilation import (
    GAP_BYTES,
    MAP_BYTES,
    MAX_TEXT,
    MIN_DEFINITIONS,
    MIN_MAP,
    compilation_of,
)
from entresol.features.debugger.sources.compiled import Compilation, CompiledCode, CompiledContract
from entresol.features.debugger.sources.compiler_json import CompilerInput, CompilerOutput
from entresol.features.debugger.sources.source_file import SourceFile

SLACK = 64_000
"""Bytes of caches of the decoder and the interpreter, however much they decode."""

_output = msgspec.json.Decoder(CompilerOutput).decode


def documents() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return input and output of a compilation of two contracts."""
    code = {"evm": {"deployedBytecode": {"object": "5f5ffd", "sourceMap": "1:2:0:-"}}}
    given = {
        "sources": {"A.sol": {"content": "contract A {}"}},
        "settings": {"optimizer": {"enabled": False}},
    }
    output = {
        "sources": {"A.sol": {"id": 0}},
        "contracts": {"A.sol": {"A": code}, "B.sol": {"B": dict(code)}},
    }
    return given, output


def compiled(given: dict[str, Any], output: dict[str, Any]) -> Compilation:
    texts = msgspec.convert(given, CompilerInput)
    return compilation_of(_output(msgspec.json.encode(output)), texts)


def test_equal_compilations_have_the_same_key() -> None:
    assert compiled(*documents()).key == compiled(*documents()).key


@pytest.mark.parametrize(
    "change",
    [
        lambda given, _: given["sources"].update({"A.sol": {"content": "contract A { }"}}),
        lambda given, _: given["settings"]["optimizer"].update(enabled=True),
        lambda _, output: output["sources"]["A.sol"].update(id=1),
        lambda _, output: output["contracts"]["B.sol"].update(C=output["contracts"]["A.sol"]["A"]),
        lambda _, output: output["contracts"]["B.sol"]["B"].update(abi=[{"type": "fallback"}]),
        lambda _, output: output["contracts"].update({"C.sol": output["contracts"].pop("B.sol")}),
    ],
)
def test_each_part_of_a_compilation_is_in_its_key(change: Callable[[Any, Any], None]) -> None:
    changed = documents()
    change(*changed)
    assert compiled(*changed).key != compiled(*documents()).key


def described(text: str = "", file: str = "A.sol", **contract: Any) -> tuple[Any, Any]:
    """Return input and output of a compilation of one contract."""
    contract["evm"] = {"deployedBytecode": contract.pop("code", {"object": "00"})}
    output = {"sources": {file: {"id": 0}}, "contracts": {file: {"A": contract}}}
    return {"sources": {file: {"content": text}}}, output


def code(size: int, **members: Any) -> dict[str, Any]:
    return {"object": "5b" * size, **members}


BY_OFFSETS = {
    "pc_pos_map": {str(pc): [1, 0, 1, 1] for pc in range(10_000)},
    "pc_jump_map": {str(pc): "i" for pc in range(10_000)},
    "error_map": {str(pc): str(pc) for pc in range(10_000)},
}


@pytest.mark.parametrize(
    "uploaded",
    [
        described("function f" + "(" * 50_000),
        described("\n" * 500_000),
        described("uint a;" * 18_000),
        described("contract A{}" * 18_000),
        described("/*" * 50_000),
        described(code=code(20_000, sourceMap=";".join(f"{it}:1:0:-" for it in range(10_000)))),
        described(code=code(100, sourceMap=";" * 1_000_000)),
        described(code=code(100, immutableReferences={"1": [{"start": 1, "length": 1}] * 9_000})),
        described(abi=[{"inputs": [1.5] * 300_000}]),
        described(abi=[{"inputs": [[]] * 30_000}]),
        described(abi=[{"type": "error", "name": f"a{it}"} for it in range(3_000)]),
        described(storageLayout={"storage": [{}] * 40_000}),
        described("\n", "A.vy", code=code(10_000, sourceMap=BY_OFFSETS)),
        described("\n", "A.vy", code=code(100, sourceMap=BY_OFFSETS)),
    ],
    ids=[
        "brackets",
        "lines",
        "variables",
        "contracts",
        "comment",
        "map",
        "map that is too long",
        "gaps",
        "ABI of floats",
        "ABI of lists",
        "ABI",
        "layout",
        "offsets",
        "offsets that are not there",
    ],
)
def test_what_is_read_of_a_compilation_takes_no_more_memory_than_is_counted(
    uploaded: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    tracemalloc.start()
    try:
        found = compiled(*uploaded)
        (contract,) = found.contracts
        (source,) = contract.sources
        assert source is not None
        assert contract.deployed is not None
        kept = source.line(0), source.definitions, contract.deployed.source_map
        decoded = contract.abi, contract.abis, contract.storage_layout
        gc.collect()
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (len(kept), len(decoded)) == (3, 3)
    assert taken <= found.size + SLACK


def deployed(contract: CompiledContract) -> CompiledCode:
    assert contract.deployed is not None
    return contract.deployed


def source_of(contract: CompiledContract) -> SourceFile:
    (source,) = contract.sources
    assert source is not None
    return source


EVERY_BYTE = {"1": [{"start": at, "length": 1} for at in range(100)]}


@pytest.mark.parametrize(
    ("uploaded", "read", "expected"),
    [
        (
            described(code=code(100, sourceMap=";" * 1_000_000)),
            lambda found: deployed(found).size - deployed(compiled_alone(100)).size,
            MIN_MAP + 100 * MAP_BYTES,
        ),
        (
            described(code=code(100, immutableReferences=EVERY_BYTE)),
            lambda found: [
                deployed(found).starts(bytes(count).ljust(100, b"\x5b"))
                for count in (100 // GAP_BYTES, 100 // GAP_BYTES + 1)
            ],
            [True, False],
        ),
        (
            described("uint a;" * (MIN_DEFINITIONS + 1)),
            lambda found: len(source_of(found).definitions),
            MIN_DEFINITIONS,
        ),
        (described(abi=[{"inputs": [1.5] * 300_000}]), lambda found: found.abi, []),
        (
            described(storageLayout={"storage": [{}] * 100_000}),
            lambda found: found.storage_layout,
            None,
        ),
        (described(" " * (MAX_TEXT + 1)), lambda found: source_of(found).text, None),
    ],
    ids=["map", "gaps", "definitions", "ABI", "layout", "text"],
)
def test_what_is_longer_than_its_code_can_need_is_left_out(
    uploaded: tuple[dict[str, Any], dict[str, Any]],
    read: Callable[[CompiledContract], Any],
    expected: object,
) -> None:
    (contract,) = compiled(*uploaded).contracts
    assert read(contract) == expected


def compiled_alone(size: int) -> CompiledContract:
    """Return a contract whose code has so many bytes, and nothing that describes it."""
    (contract,) = compiled(*described(code=code(size))).contracts
    return contract
