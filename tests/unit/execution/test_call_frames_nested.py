"""Reading JSON of any depth."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from entresol.execution.call_frames import decode_nested

scalars = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


def same(members: dict[str, Any]) -> dict[str, Any]:
    return members


@given(values, st.sampled_from([None, 1]), st.booleans())
def test_it_reads_what_other_readers_read(value: object, indent: int | None, ascii_: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_)
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        encoded = json.dumps(value).encode()
    assert decode_nested(encoded, same) == json.loads(encoded)


def test_objects_become_what_they_are_made_into() -> None:
    assert decode_nested(b'{"b":{"a":1},"c":[{}]}', len) == 2
