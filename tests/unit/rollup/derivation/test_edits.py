"""Edits that are too large for L1 come from elsewhere, or derivation stops by name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol.errors import DerivationAlarm, EditsNotPublished
from entresol.primitives.published.edits import EditsByHash, PublishedEdits
from entresol.rollup.derivation.claim import BatchClaim
from entresol.rollup.publication.blocks import MAX_BLOCK_BYTES
from tests.support.derivation.derived_chain import DerivedChain, assert_same, seen
from tests.support.derivation.operated_chain import OperatedChain
from tests.support.published.chain import EDITED

CODE = b"\x00" + bytes(range(1, 256)) * (MAX_BLOCK_BYTES // 255 + 1)


class Elsewhere:
    """Somebody who has edits, or says so."""

    def __init__(self, found: bytes | None) -> None:
        self.found = found
        self.asked: list[tuple[int, EditsByHash]] = []

    def edits(self, block: int, wanted: EditsByHash) -> bytes | None:
        """Return the edits, and remember who asks."""
        self.asked.append((block, wanted))
        return self.found


class Edited:
    """An operator with a block of large edits, and one more that the edited account is in."""

    def __init__(self) -> None:
        self.operator = OperatedChain()
        self.operator.seal()
        self.first = self.operator.seal_batch()
        chain = self.operator.chain
        chain.edit(EDITED, lambda state: state.set_code(EDITED, CODE))
        self.operator.seal()
        record = chain.ledger.record(chain.number)
        self.edits = PublishedEdits(record.edits, (CODE,))
        chain.edit(EDITED, lambda state: state.set_balance(EDITED, 1))
        self.operator.seal()
        self.second: BatchClaim = self.operator.seal_batch()

    def derived(self, found: bytes | None) -> tuple[DerivedChain, Elsewhere]:
        """Return a chain with the first batch, and whom it asks for edits."""
        elsewhere = Elsewhere(found)
        derived = DerivedChain(self.operator, edits=elsewhere)
        derived.derive(self.first)
        return derived, elsewhere


@pytest.fixture(scope="module")
def edited() -> Iterator[Edited]:
    """Return the operator."""
    found = Edited()
    yield found
    found.operator.close()


def test_edits_by_hash_come_from_who_has_them(edited: Edited) -> None:
    derived, elsewhere = edited.derived(edited.edits.encode())
    derived.derive(*edited.operator.claims()[1:])
    assert_same(derived.chain, edited.operator.chain)
    assert elsewhere.asked == [(2, edited.edits.by_hash())]
    derived.close()


@pytest.mark.parametrize("is_asked", [True, False])
def test_without_them_derivation_says_from_which_block_on_l1_is_not_enough(
    edited: Edited, *, is_asked: bool
) -> None:
    derived, _ = edited.derived(None)
    if not is_asked:
        derived.close()
        derived = DerivedChain(edited.operator)
        derived.derive(edited.first)
    before = seen(derived.chain)
    with pytest.raises(EditsNotPublished, match="from block 2 on L1 is not enough") as caught:
        derived.derive(edited.operator.claim(2))
    assert (caught.value.batch, caught.value.block) == (2, 2)
    assert f"0x{edited.edits.by_hash().hash.hex()}" in caught.value.expected
    assert seen(derived.chain) == before
    derived.close()


@pytest.mark.parametrize("lie", ["shorter", "other", "unreadable"])
def test_edits_that_are_not_those_of_the_hash_are_an_alarm(edited: Edited, lie: str) -> None:
    encoded = edited.edits.encode()
    found = {
        "shorter": encoded[:-1],
        "other": encoded[:-1] + bytes((encoded[-1] ^ 1,)),
        "unreadable": bytes(len(encoded)),
    }[lie]
    derived, _ = edited.derived(found)
    before = seen(derived.chain)
    with pytest.raises(DerivationAlarm, match=r"batch 2, block 2, edits\.(size|hash): "):
        derived.derive(edited.operator.claim(2))
    assert seen(derived.chain) == before
    derived.close()
