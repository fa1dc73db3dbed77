"""Errors of the database directory and of tries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.errors.base import EntresolError

if TYPE_CHECKING:
    from pathlib import Path


class TrieError(EntresolError):
    """A trie or a proof is not what its root says."""


class MissingNode(TrieError):
    """A trie node that the root refers to is not in the store."""

    def __init__(self, node_hash: bytes) -> None:
        super().__init__(f"trie node 0x{node_hash.hex()} is missing")
        self.node_hash = node_hash


class InvalidProof(TrieError):
    """A proof does not lead from the root to the key."""


class StoreFailed(EntresolError):
    """The directory of a chain cannot be used."""


class StoreLocked(StoreFailed):
    """Another process has the directory open."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} is in use by another process: stop it, or choose another directory"
        )
        self.path = path


class StoreForeign(StoreFailed):
    """Something else is in the directory."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} is not empty and holds no chain: choose an empty or missing directory"
        )
        self.path = path


class StoreTooNew(StoreFailed):
    """A newer version wrote the directory."""

    def __init__(self, path: Path, found: int, known: int) -> None:
        super().__init__(
            f"{path} has format {found}, and this version knows up to {known}: update entresol"
        )
        self.path = path
        self.found = found
        self.known = known


class StoreDamaged(StoreFailed):
    """The directory cannot be read."""

    def __init__(self, path: Path, detail: str) -> None:
        super().__init__(f"{path} is damaged ({detail}): restore it from a copy, or start anew")
        self.path = path
        self.detail = detail


class StoreFull(StoreFailed):
    """There is no space left for the directory."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"no space left for {path}: make room, then start again")
        self.path = path


class RebuildInterrupted(StoreFailed):
    """The indexes in the directory are being made anew, and that has not come to its end."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"rebuilding {path} was interrupted: rebuild it again")
        self.path = path


class GenesisMismatch(StoreFailed):
    """The chain in the directory began otherwise."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} holds a chain with another genesis: give that one, or choose another directory"
        )
        self.path = path


class WrongParent(StoreFailed):
    """A record does not continue the chain."""

    def __init__(self, number: int, head: int | None) -> None:
        after = "an empty store" if head is None else f"block {head}"
        super().__init__(f"block {number} does not follow {after}")
        self.number = number
        self.head = head
