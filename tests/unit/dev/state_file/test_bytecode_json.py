"""Code as revm serializes it."""

from __future__ import annotations

import pytest

from entresol.dev.state_file.bytecode_json import bytecode_fields, read_bytecode
from entresol.errors import MalformedValue


@pytest.mark.parametrize("code", ["00", "5b", "605b5b", "7f" + "5b" * 31, "ef0100" + "ab" * 20])
def test_code_is_read_as_it_was_written(code: str) -> None:
    assert read_bytecode(bytecode_fields(bytes.fromhex(code))).hex() == code


def test_jump_destinations_are_marked_but_not_within_push_data() -> None:
    fields = bytecode_fields(bytes.fromhex("605b5b005b"))["LegacyAnalyzed"]
    assert fields["original_len"] == 5
    assert fields["jump_table"]["bits"] == 5 + 33
    assert fields["jump_table"]["data"] == [0b00010100, 0, 0, 0, 0]


def test_other_forms_are_rejected() -> None:
    with pytest.raises(MalformedValue):
        read_bytecode({"Eof": {}})
