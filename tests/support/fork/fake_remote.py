"""A remote chain as a dictionary: it fills a `RemoteTable` from a thread, as slowly or as badly as a test wants."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from time import monotonic
from typing import Any, Final, NamedTuple, Self, TypeAlias, TypeVar

from entresol._native import Account, Overlay, RemoteTable, Snapshot, wait_for_remote
from entresol.primitives.bytecode import EMPTY_CODE_HASH

Key: TypeAlias = tuple[Any, ...]

HOST: Final = "http://there"
MAX_TAKEN: Final = 1_024


class RemoteAccount(NamedTuple):
    nonce: int = 0
    balance: int = 0
    code: bytes = b""


class FakeRemote:
    """The state of one remote block, and the thread that puts what is wanted of it into `table`.

    Switches, which a test may turn at any time: `latency` (seconds until a group of keys is put), `failures` (an error
    by key, or by its kind: "account", "slot", "hash"), `silent` (keys or kinds that never get a response), and
    `failure`, the error of every key while it is not None. Counters: `asked` by key, and `groups`, how often keys were
    taken. Remembers: all of this. Any thread may change the switches.
    """

    def __init__(
        self,
        accounts: Mapping[bytes, RemoteAccount] | None = None,
        slots: Mapping[tuple[bytes, int], int] | None = None,
        hashes: Mapping[int, bytes] | None = None,
        *,
        max_entries: int = 500_000,
        silence: float = 1e6,
        total: float = 1e6,
    ) -> None:
        self.accounts = {bytes(it): account for it, account in (accounts or {}).items()}
        self.slots = {
            (bytes(address), slot): value for (address, slot), value in (slots or {}).items()
        }
        self.hashes = dict(hashes or {})
        self.state: Snapshot | Overlay | None = None
        """Where the rest is, if not nowhere: the state of another chain."""
        self.latency = 0.0
        self.failure: BaseException | None = None
        self.failures: dict[Key | str, BaseException] = {}
        self.silent: set[Key | str] = set()
        self.asked: Counter[Key] = Counter()
        self.groups = 0
        self._held: list[Key] = []
        self._wanted = threading.Event()
        self._released = threading.Event()
        self._released.set()
        self._is_closed = False
        self.table = RemoteTable(
            self._wanted.set,
            max_entries=max_entries,
            silence=silence,
            total=total,
            host=lambda: HOST,
        )
        self._thread = threading.Thread(target=self._serve, name="fake-remote", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Respond to nothing meanwhile, and then to all of it."""
        self._released.clear()
        try:
            yield
        finally:
            self._released.set()

    def answer_silent(self) -> None:
        self.silent.clear()
        held, self._held = self._held, []
        self._respond(held)

    def asked_of(self, kind: str) -> int:
        return sum(count for key, count in self.asked.items() if key[0] == kind)

    def close(self) -> None:
        """End the thread; what waits gets an error."""
        self._is_closed = True
        self._released.set()
        self._wanted.set()
        self._thread.join()
        left = [*self._held, *self.table.take_wanted(1_000_000)]
        if left:
            self.table.fail(left, ConnectionError("the fake remote is closed"))

    def _serve(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            self._released.wait()
            if self._is_closed:
                return
            while keys := self.table.take_wanted(MAX_TAKEN):
                self.groups += 1
                self.asked.update(keys)
                if self.latency:
                    _pause(self.latency, lambda: self._is_closed)
                self._respond(keys)

    def _respond(self, keys: Iterable[Key]) -> None:
        known: list[Key] = []
        for key in keys:
            if key in self.silent or key[0] in self.silent:
                self._held.append(key)
                continue
            error = self.failure or self.failures.get(key) or self.failures.get(key[0])
            if error is None:
                known.append(key)
            else:
                self.table.fail([key], error)
        accounts = [
            (entry[1], *self._account(entry[1])) for entry in known if entry[0] == "account"
        ]
        slots = [
            (entry[1], entry[2], self._slot(entry[1], entry[2]))
            for entry in known
            if entry[0] == "slot"
        ]
        hashes = [
            (entry[1], self.hashes.get(entry[1], bytes(32)))
            for entry in known
            if entry[0] == "hash"
        ]
        if accounts:
            self.table.put_accounts(accounts)
        if slots:
            self.table.put_slots(slots)
        if hashes:
            self.table.put_hashes(hashes)

    def _account(self, address: bytes) -> RemoteAccount:
        known = self.accounts.get(bytes(address))
        if known is not None or self.state is None:
            return known or RemoteAccount()
        found = self.state.account(address)
        if found is None:
            return RemoteAccount()
        has_code = found.code_hash != EMPTY_CODE_HASH
        code = self.state.code(found.code_hash) if has_code else b""
        return RemoteAccount(found.nonce, found.balance, code)

    def _slot(self, address: bytes, slot: bytes) -> bytes:
        known = self.slots.get((bytes(address), int.from_bytes(slot)))
        if known is not None or self.state is None:
            return (known or 0).to_bytes(32)
        return self.state.slot(address, slot)


def _pause(seconds: float, is_over: Callable[[], bool]) -> None:
    """Wait for the latency of the remote, but not for that of one that is closed."""
    end, tick = monotonic() + seconds, threading.Event()
    while (left := end - monotonic()) > 0 and not is_over():
        tick.wait(min(left, 0.05))


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
    def run() -> T:
        wait_for_remote(seconds)
        try:
            return work()
        finally:
            wait_for_remote(None)

    return run


def on_thread(work: Callable[[], T], seconds: float = SECONDS) -> T:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(waiting(work, seconds)).result()
