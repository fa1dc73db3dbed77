"""The local part of a fork's state in dictionaries, and threads that wait for the rest of it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from entresol._native import Account, RemoteTable, wait_for_remote

SECONDS = 20.0

T = TypeVar("T")


class LocalRows:
    """Rows that a fork has changed; all else is unknown."""

    def __init__(self, remote: RemoteTable) -> None:
        self.remote = remote
        self.accounts: dict[bytes, Account | None] = {}
        self.codes: dict[bytes, bytes] = {}
        self.slots: dict[tuple[bytes, bytes], bytes] = {}
        self.hashes: dict[int, bytes] = {}

    def account(self, address: bytes, /) -> Any:
        return self.accounts.get(address, NotImplemented)

    def code(self, code_hash: bytes, /) -> bytes | None:
        return self.codes.get(code_hash)

    def slot(self, address: bytes, slot: bytes, /) -> Any:
        return self.slots.get((address, slot), NotImplemented)

    def block_hash(self, number: int, /) -> Any:
        return self.hashes.get(number, NotImplemented)


def waiting(work: Callable[[], T], seconds: float = SECONDS) -> Callable[[], T]:
    """Return `work` for a thread that waits for the remote chain."""

    def run() -> T:
        wait_for_remote(seconds)
        try:
            return work()
        finally:
            wait_for_remote(None)

    return run


def on_thread(work: Callable[[], T], seconds: float = SECONDS) -> T:
    """Do `work` on a thread that waits for the remote chain."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(waiting(work, seconds)).result()
