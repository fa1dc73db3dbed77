"""The edits of a published block: in its data, or elsewhere if they are too large for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from entresol._native import keccak256
from entresol.errors import UnderivableBlock, UnreadableData
from entresol.primitives.bytecode import EMPTY_CODE_HASH
from entresol.primitives.published.edits import EditsByHash, PublishedEdits

if TYPE_CHECKING:
    from entresol.storage.store_view import StateReader


class EditSource(Protocol):
    """Somebody who has the edits of which L1 has only the hash."""

    def edits(self, block: int, wanted: EditsByHash) -> bytes | None:
        """Return the encoding of the edits of a block; None if they are not known."""


def read_edits(wanted: EditsByHash, found: bytes) -> PublishedEdits:
    """Decode edits that somebody has given; raise `UnderivableBlock` if they are not those that L1 has the hash of."""
    if len(found) != wanted.size:
        raise UnderivableBlock("edits.size", f"{wanted.size} bytes expected, got {len(found)}")
    found_hash = keccak256(found)
    if found_hash != wanted.hash:
        raise UnderivableBlock("edits.hash", f"{wanted.hash} expected, got 0x{found_hash.hex()}")
    try:
        return PublishedEdits.decode(found)
    except UnreadableData as error:
        raise UnderivableBlock("edits", str(error)) from error


def check_codes(edits: PublishedEdits, state: StateReader) -> None:
    """Raise `UnderivableBlock` if edits give an account code that nobody knows."""
    known = {EMPTY_CODE_HASH, *map(keccak256, edits.codes)}
    for change in edits.changes:
        code_hash = None if change.account is None else change.account.code_hash
        if code_hash is None or code_hash in known or state.code(code_hash) is not None:
            continue
        problem = f"0x{change.address.hex()} has code with the hash 0x{code_hash.hex()}, which is not published"
        raise UnderivableBlock("edits.codes", problem)
