"""Errors of the data directory, of caches of forks, and of tries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.errors.base import INTERNAL, EntresolError

if TYPE_CHECKING:
    from pathlib import Path


class StoreFailed(EntresolError):
    """The data directory of a chain cannot be used."""

    rpc_code = INTERNAL


class StoreLocked(StoreFailed):
    """Another process has the data directory open."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} is in use by another process: stop it, or choose another directory"
        )
        self.path = path


class StoreForeign(StoreFailed):
    """The directory contains something else than a chain."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} is not empty and holds no chain: choose an empty or missing directory"
        )
        self.path = path


class StoreDamaged(StoreFailed):
    """The data directory is corrupted."""

    rpc_code = -32000
    # What exactly is the operator's, in the log.
    rpc_text = (
        "the data of the node is damaged, and what the request needs cannot be read: see its log"
    )

    def __init__(self, path: Path, detail: str) -> None:
        super().__init__(f"{path} is damaged ({detail}): restore it from a copy, or start anew")
        self.path = path
        self.detail = detail


class StoreFull(StoreFailed):
    """The disk of the data directory is full."""

    # A client has to know that nothing was done, and the operator why.
    rpc_code = -32000

    def __init__(self, path: Path, *, recovers: bool = False) -> None:
        then = "the node then continues by itself" if recovers else "then start again"
        super().__init__(f"no space left for {path}: make room, {then}")
        self.path = path


class GenesisMismatch(StoreFailed):
    """The chain in the data directory has another genesis."""

    def __init__(self, path: Path, *differences: str) -> None:
        super().__init__(
            f"{path} holds a chain with another genesis ({'; '.join(differences)}): give the flags that it "
            "was created with, or choose another directory"
        )
        self.path = path
        self.differences = differences


class StoreAnchorMismatch(StoreFailed):
    """The chain in the data directory stands on another block of a remote chain, or on none."""

    def __init__(self, path: Path, found: object, expected: object) -> None:
        """Name two anchors, which say themselves which block of which chain they are; None is not a fork."""
        holds = "a chain that is not a fork" if found is None else f"a fork of {found}"
        given = "no fork is given" if expected is None else f"a fork of {expected} is given"
        super().__init__(
            f"{path} holds {holds}, and {given}: give the flags that it was created with, or choose another directory"
        )
        self.path = path
        self.found = found
        self.expected = expected


class WrongParent(StoreFailed):
    """A block does not follow the head of the store."""

    def __init__(self, number: int, head: int | None) -> None:
        after = "an empty store" if head is None else f"block {head}"
        super().__init__(f"block {number} does not follow {after}")
        self.number = number
        self.head = head


class TrieError(EntresolError):
    """A trie or a proof does not match its root."""

    rpc_code = INTERNAL


class InvalidProof(TrieError):
    """A Merkle proof does not lead from the root to the key."""
