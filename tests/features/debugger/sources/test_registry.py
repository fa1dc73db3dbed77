from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol.features.debugger.sources import compiled as compiled_module
from entresol.features.debugger.sources import registry
from entresol.features.debugger.sources.compiled import (
    AddedContracts,
    Compilation,
    CompiledCode,
    CompiledContract,
)
from entresol.features.debugger.sources.registry import SourceRegistry


def contract(name: str, code: bytes) -> CompiledContract:
    return CompiledContract(
        name, "A.sol", b"[]", CompiledCode(code, ""), CompiledCode(code, ""), []
    )


def compiled(*contracts: CompiledContract, size: int = 1) -> Compilation:
    return Compilation(" ".join(it.name for it in contracts).encode(), size, contracts)


def test_folders_are_read_when_a_contract_is_needed_first() -> None:
    reads = []

    def load() -> Iterator[CompiledContract]:
        reads.append(1)
        yield contract("A", b"\x01\x02")

    known = SourceRegistry(load)
    assert not known.is_empty
    assert reads == []
    found = known.find(b"\x01\x02")
    assert found is not None
    assert found.name == "A"
    assert known.find(b"\x03") is None
    assert reads == [1]


def test_the_contract_that_was_added_last_is_found() -> None:
    known = SourceRegistry(lambda: [contract("read", b"\x01")])
    names = []
    for name in ("first", "second"):
        known.add(compiled(contract(name, b"\x01")))
        found = known.find(b"\x01")
        assert found is not None
        names.append(found.name)
    assert names == ["first", "second"]


def test_the_longest_code_that_fits_creates_the_contract() -> None:
    known = SourceRegistry()
    known.add(compiled(contract("short", b"\x01\x02"), contract("long", b"\x01\x02\x03")))
    found = known.find(b"\x01\x02\x03\x04", is_creation=True)
    assert found is not None
    assert found.name == "long"


def test_the_oldest_compilations_are_forgotten_beyond_the_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compiled_module, "MAX_ADDED_BYTES", 10)
    added = AddedContracts()
    names = []
    for name, size in [("A", 5), ("B", 5), ("C", 1), ("D", 99), ("E", 10)]:
        added.add(compiled(contract(name, b"\x01"), size=size))
        names.append("".join(it.name for it in added))
    assert names == ["A", "BA", "CB", "D", "E"]
    assert len(added) == 1


def test_an_equal_compilation_replaces_itself() -> None:
    added = AddedContracts()
    first, second = compiled(contract("A", b"\x01")), compiled(contract("B", b"\x02"))
    for it in (first, second, first, first):
        added.add(it)
    assert [it.name for it in added] == ["A", "B"]


def test_what_was_read_stays_if_reading_again_fails(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(registry, "LOOK_SECONDS", 0)
    states = ["first"]

    def load() -> Iterator[CompiledContract]:
        yield contract(states[0], b"\x01")
        if states[0] == "broken":
            raise OSError("no such folder")

    known = SourceRegistry(load, lambda: states[0])
    names = []
    for state in ("first", "broken", "mended"):
        states[0] = state
        assert known.find(b"\x02") is None
        found = known.find(b"\x01")
        assert found is not None
        names.append(found.name)
    assert names == ["first", "first", "mended"]
    assert "no such folder" in caplog.text


def test_codes_that_are_known_do_not_wait_for_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "LOOK_SECONDS", 0)
    stamps, found = [1], []

    def load() -> Iterator[CompiledContract]:
        if stamps[0] == 2:
            found.append(known.find(b"\x01"))
        yield contract("A", b"\x01")

    known = SourceRegistry(load, lambda: stamps[0])
    first = known.find(b"\x01")
    stamps[0] = 2
    assert known.find(b"\x02") is None
    assert found == [first]


def test_folders_that_have_changed_are_read_again_for_a_code_that_is_not_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry, "LOOK_SECONDS", 0)
    stamps = ["first"]
    known = SourceRegistry(lambda: [contract(stamps[0], b"\x01")], lambda: stamps[0])
    assert known.find(b"\x02") is None
    stamps[0] = "second"
    found = known.find(b"\x01")
    assert found is not None
    assert found.name == "second"
    stamps[0] = "third"
    assert known.find(b"\x01") is found
    assert known.find(b"\x02") is None
    again = known.find(b"\x01")
    assert again is not None
    assert again.name == "third"


def test_folders_are_not_looked_at_for_every_code() -> None:
    looks: list[int] = []
    known = SourceRegistry(list, lambda: looks.append(1))
    for number in range(3):
        assert known.find(bytes([number + 1])) is None
    assert looks == [1]
