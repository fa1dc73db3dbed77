"""The page about the storage has everything that is stored."""

from __future__ import annotations

from pathlib import Path

import pytest

from entresol import errors
from entresol.primitives import batches, records
from entresol.storage import tables
from entresol.storage.database.directory import FORMAT_FILE, LOCK_FILE
from entresol.version import FORMAT

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "storage.md").read_text(encoding="utf-8")

TABLES = {
    name: value
    for name, value in vars(tables).items()
    if name in tables.__annotations__ and isinstance(value, bytes)
}


@pytest.mark.parametrize("name", sorted(TABLES.keys() - {"LAST_NUMBER"}))
def test_every_table_and_key_is_described(name: str) -> None:
    assert f"`{name}`" in PAGE


@pytest.mark.parametrize(
    "name", [n for n, value in TABLES.items() if len(value) == 1 and value.isalpha()]
)
def test_every_table_has_a_byte_of_its_own(name: str) -> None:
    assert f"| `{name}` | `{TABLES[name].decode()}` |" in PAGE
    assert [table for table in TABLES.values() if table == TABLES[name]] == [TABLES[name]]


@pytest.mark.parametrize(
    "kind", [kind for kind in errors.StoreFailed.__subclasses__() if kind is not errors.WrongParent]
)
def test_every_rejection_is_described(kind: type[Exception]) -> None:
    assert f"`{kind.__name__}`" in PAGE


def test_the_numbers_are_the_current_ones() -> None:
    assert f'{FORMAT_FILE}          "entresol chain, format {FORMAT}\\n"' in PAGE
    assert f"a version byte, `{records.VERSION:02x}`" in PAGE
    assert f"| batch: array of {len(batches.Batch.__struct_fields__)} |" in PAGE
    assert LOCK_FILE in PAGE
