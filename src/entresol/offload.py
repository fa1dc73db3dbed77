"""How a call ends if not with a value: with work for a thread (`Offload`), or with an awaitable.

A hop to a thread and back takes about 0.1 ms, longer than most calls: those that are shorter run on the event loop.
(The server has a limit of its own for the responses that it compresses on the loop: it knows nothing of JSON-RPC.)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import AbstractContextManager
from typing import Any, Final, Generic, TypeGuard, TypeVar

import msgspec

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)


class Offload(Generic[_T_co]):
    """The result of a method that turns out to need a thread: the work that is left."""

    __slots__ = ("work",)

    def __init__(self, work: Callable[[], _T_co]) -> None:
        self.work = work


class _Suspended(Generic[_T_co]):
    """A coroutine that is suspended until something happens on the event loop."""

    __slots__ = ("_awaited", "_coroutine")

    def __init__(self, coroutine: Coroutine[Any, Any, _T_co], awaited: object) -> None:
        self._coroutine = coroutine
        self._awaited = awaited

    def __await__(self) -> Generator[Any, Any, _T_co]:
        awaited = self._awaited
        while True:
            try:
                try:
                    value = yield awaited
                except BaseException as error:  # noqa: BLE001 - it is the coroutine's
                    awaited = self._coroutine.throw(error)
                else:
                    awaited = self._coroutine.send(value)
            except StopIteration as end:
                result: _T_co = end.value
                return result


def started(
    coroutine: Coroutine[Any, Any, _T], flush: Callable[[], None] | None = None
) -> _T | Awaitable[_T]:
    """Run a coroutine until it is suspended, and return its result if it never is, or not after `flush`.

    That saves a task and a turn of the event loop. Until then, it must not need a task: no timeouts, no task groups.
    """
    try:
        awaited = coroutine.send(None)
        if flush is not None:
            flush()
            # A coroutine yields the future that it awaits, or None for a turn of the event loop.
            if awaited is not None and awaited.done():
                awaited = coroutine.send(None)
    except StopIteration as end:
        result: _T = end.value
        return result
    return _Suspended(coroutine, awaited)


def is_awaitable(result: object) -> TypeGuard[Awaitable[Any]]:
    """Say whether a result is still to be awaited; quicker than `inspect.isawaitable`."""
    return hasattr(result, "__await__")


class BuildFirst(Exception):  # noqa: N818  # no error
    """Raised by what needs something that takes long to build: it has to be called again, in the context of `build`."""

    def __init__(self, build: Callable[[], Awaitable[AbstractContextManager[None]]]) -> None:
        super().__init__()
        self._build = build

    async def then(self, call: Callable[[], _T]) -> _T:
        """Build it, and return what `call` returns."""
        with await self._build():
            return call()


class OffloadPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How much work stays on the event loop, and how the rest shares the interpreter with it."""

    params_bytes: int = 64 * 1024
    """Parameters decoded on the loop, in bytes of JSON: one or two milliseconds."""

    data_bytes: int = 64 * 1024
    """Data that is hashed, executed or rendered on the loop."""

    call_gas: int = 200_000
    """Gas that a call or an estimate may use on the loop; it starts over on a thread once it needs more."""
    simulated_items: int = 4
    """Blocks and calls of a simulation on the loop: each block hashes tries."""
    overrides: int = 128
    """Accounts and slots that state overrides may name to be laid out on the loop."""

    copied_bytes: int = 1024 * 1024
    """A response that is known already and copied on the loop: some 0.3 ms."""
    rendered_items: int = 64
    """Transactions and logs of a block that is rendered on the loop."""
    record_bytes: int = 16 * 1024
    """The stored record of a block whose receipts the crate renders on the loop: some forty transactions."""
    log_blocks: int = 8
    """Blocks that a log search on the loop reads."""
    log_prefixes: int = 16
    """Addresses and topics that a log search on the loop looks up in the index; one if its range is longer."""
    logs: int = 128
    """Logs that a log search renders on the loop; logs that are rendered already count for less."""

    hashes: int = 256
    """Hashes that a poll of a filter reads on the loop."""

    fee_history_blocks: int = 4
    """Blocks of a fee history that are read on the loop; those in memory count for nothing."""
    fee_history_items: int = 4_096
    """Figures of a fee history that is rendered on the loop."""
    slots: int = 128
    """Storage slots that are read on the loop."""
    proof_slots: int = 8
    """Storage slots of an account proof on the loop."""

    batch_seconds: float = 0.002
    """How long the calls of a batch run before the loop serves others."""

    threads: int = 4
    """Threads of a chain. They mostly run native code, which releases the GIL."""
    turn_seconds: float = 0.0005
    """How long a thread runs Python code before it yields the GIL."""
    pause_seconds: float = 0.00002
    """How long it sleeps then: as short as wakes another thread."""


POLICY: Final = OffloadPolicy()
