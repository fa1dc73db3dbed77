"""Published edits: round trips, one order, and no code that nobody has."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given

from entresol._native import keccak256
from entresol.errors import NotPublishable, UnreadableData
from entresol.primitives.published.edits import PublishedEdits
from entresol.primitives.records import StoredAccount, StoredChange
from tests.support.published.rejected import REJECTED_EDITS
from tests.support.published.values import CODE, GIVEN_EDITS, edits

DELETED, CHANGED, PLAIN = GIVEN_EDITS.changes


@given(edits())
def test_edits_are_read_as_they_were_written(value: PublishedEdits) -> None:
    assert PublishedEdits.decode(value.encode()) == value


def test_edits_have_the_codes_of_their_accounts_in_order() -> None:
    code, other = sorted((b"\x01", b"\x02"), key=keccak256)
    one, two = (
        StoredChange(bytes((at,)) * 20, StoredAccount(0, b"", keccak256(it)))
        for at, it in ((1, code), (2, other))
    )
    # Code that is deleted is listed by records as none at all, and that of later transactions, too.
    found = PublishedEdits.of([two, one, PLAIN], [other, b"", code, b"\x03"])
    assert found == PublishedEdits((one, two, PLAIN), (code, other))
    assert PublishedEdits.decode(found.encode()) == found


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("edits.accounts", PublishedEdits(())),
        ("edits.accounts", PublishedEdits((CHANGED, DELETED), (CODE,))),
        ("edits.accounts", PublishedEdits((DELETED, DELETED))),
        ("edits.codes", PublishedEdits((DELETED,), (CODE,))),
        ("edits.codes", PublishedEdits((CHANGED,), (CODE, CODE))),
        (
            "edits.slots",
            PublishedEdits((msgspec.structs.replace(CHANGED, slots=CHANGED.slots[::-1]),), (CODE,)),
        ),
        (
            "edits.balance",
            PublishedEdits((StoredChange(b"\x01" * 20, StoredAccount(0, b"\0", bytes(32))),)),
        ),
    ],
)
def test_what_is_not_canonical_is_not_encoded(field: str, value: PublishedEdits) -> None:
    with pytest.raises(NotPublishable, match=field):
        value.encode()


@pytest.mark.parametrize(("field", "data"), REJECTED_EDITS)
def test_what_no_edits_have_is_rejected_by_name(field: str, data: bytes) -> None:
    with pytest.raises(UnreadableData) as rejected:
        PublishedEdits.decode(data)
    assert rejected.value.field == f"edits.{field}"
