from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol.sources import registry
from entresol.sources.compiled import CompiledCode, CompiledContract
from entresol.sources.registry import SourceRegistry


def contract(name: str, code: bytes) -> CompiledContract:
    return CompiledContract(name, "A.sol", [], CompiledCode(code, ""), CompiledCode(code, ""), [])


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
        known.add([contract(name, b"\x01")])
        found = known.find(b"\x01")
        assert found is not None
        names.append(found.name)
    assert names == ["first", "second"]


def test_the_longest_code_that_fits_creates_the_contract() -> None:
    known = SourceRegistry()
    known.add([contract("short", b"\x01\x02"), contract("long", b"\x01\x02\x03")])
    found = known.find(b"\x01\x02\x03\x04", is_creation=True)
    assert found is not None
    assert found.name == "long"


def test_without_sources_nothing_is_found() -> None:
    known = SourceRegistry.of_paths(())
    assert known.is_empty
    assert known.find(b"\x01") is None
    assert known.find(b"") is None


def test_contracts_beyond_the_limit_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "MAX_ADDED", 2)
    known = SourceRegistry()
    for number in range(3):
        known.add([contract(str(number), bytes([number + 1]))])
    assert known.find(b"\x01") is None
    assert known.find(b"\x03") is not None


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
