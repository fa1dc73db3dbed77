"""The totals of many executions: of each code by instruction, and of each function by its calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Self

import msgspec

from entresol.errors import DeadlinePassed, TraceTooLarge
from entresol.execution.profile import PROFILE, decode_profile
from entresol.execution.tracing import trace_block
from entresol.features.debugger.sources.profile.amounts import Amounts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from entresol.execution.profile import CodeProfile, FrameProfile, Profile
    from entresol.execution.tracing import SealedBlock, TraceBudget

MAX_CODE_BYTES: Final = 64 << 20
"""Bytes of codes that are remembered; what runs of others is counted as left out."""

MAX_FUNCTIONS: Final = 100_000
MAX_ADDRESSES: Final = 8

CREATION_MARK: Final = "+"
"""The prefix of the key of a code that creates a contract."""


def add_addresses(known: list[str], more: Iterable[str]) -> None:
    """Add addresses to those of a contract, as long as there are few."""
    for address in more:
        if address not in known and len(known) < MAX_ADDRESSES:
            known.append(address)


class CodeTotals(msgspec.Struct):
    """The totals of a code, by the offsets of its instructions."""

    code: bytes
    is_creation: bool
    addresses: list[str] = []
    """The first accounts that had it, or that it has created."""
    executions: dict[int, int] = {}
    gas: dict[int, int] = {}
    """Without the gas of the frames that were opened there."""
    call_gas: dict[int, int] = {}
    """The gas of the frames that were opened there."""
    taken: dict[int, int] = {}
    """How often a conditional jump has jumped."""

    def add(self, profile: CodeProfile) -> None:
        """Add what ran in one execution."""
        add_addresses(self.addresses, profile.addresses)
        executions, gas = self.executions, self.gas
        for pc, times, used in profile.steps:
            executions[pc] = executions.get(pc, 0) + times
            gas[pc] = gas.get(pc, 0) + used
        _add(self.call_gas, profile.calls)
        _add(self.taken, profile.taken)

    def merge(self, other: CodeTotals) -> None:
        """Add what others have."""
        add_addresses(self.addresses, other.addresses)
        _add(self.executions, other.executions.items())
        _add(self.gas, other.gas.items())
        _add(self.call_gas, other.call_gas.items())
        _add(self.taken, other.taken.items())


class FunctionKey(NamedTuple):
    """The key that frames are counted by."""

    code: str
    """The key of the code that ran."""
    via: str
    """The key of the code that has called, if the frame ran in its account; else nothing."""
    kind: str
    selector: str
    is_outermost: bool


class FunctionTotals(msgspec.Struct):
    """The frames of a function: transactions and calls, or those that contracts have opened."""

    succeeded: Amounts = msgspec.field(default_factory=Amounts)
    failed: Amounts = msgspec.field(default_factory=Amounts)
    size: int = 0
    """The size of the largest code that was deployed."""

    def merge(self, other: FunctionTotals) -> None:
        """Add what others have."""
        self.succeeded.merge(other.succeeded)
        self.failed.merge(other.failed)
        self.size = max(self.size, other.size)


class _Encoded(msgspec.Struct):
    codes: dict[str, CodeTotals]
    functions: list[tuple[FunctionKey, FunctionTotals]]
    left_out: int
    executions: int


class ProfileTotals:
    """The sum of profiles. Assumes: one thread at a time."""

    def __init__(self, max_functions: int = MAX_FUNCTIONS) -> None:
        self._max_functions = max_functions
        self.codes: dict[str, CodeTotals] = {}
        self.functions: dict[FunctionKey, FunctionTotals] = {}
        self.executions = 0
        """Transactions and calls that were counted."""
        self.left_out = 0
        """Executions of which something was not counted, because they took too long or had too many codes."""
        self._code_bytes = 0

    def add(self, profile: Profile, gas_used: int | None = None) -> None:
        """Add one execution; `gas_used` is all of its gas, which is more than that of its frames."""
        keys = [self._add_code(code) for code in profile.codes]
        self.executions += 1
        outermost = [frame for frame in profile.frames if frame.is_outermost]
        is_single = sum(times for frame in outermost for _, times in frame.gas) == 1
        is_complete = None not in keys
        for frame in profile.frames:
            whole = gas_used if frame.is_outermost and is_single else None
            is_complete &= self._add_frame(frame, keys, whole)
        self.left_out += not is_complete

    def leave_out(self, executions: int = 1) -> None:
        """Count executions that have no profile."""
        self.left_out += executions

    def merge(self, other: ProfileTotals) -> None:
        """Add what others have."""
        for key, code in other.codes.items():
            known = self._code(key, code.code, is_creation=code.is_creation)
            if known is not None:
                known.merge(code)
        dropped = 0
        for function, totals in other.functions.items():
            has_room = function in self.functions or len(self.functions) < self._max_functions
            if function.code in self.codes and has_room:
                self._function(function).merge(totals)
            else:
                dropped += totals.succeeded.count + totals.failed.count
        self.executions += other.executions
        # Calls that were dropped are of so many executions at most, and some of these were counted before.
        self.left_out += max(other.left_out, min(dropped, other.executions))

    def encode(self) -> bytes:
        """Return it as bytes, for another process."""
        functions = list(self.functions.items())
        encoded = _Encoded(self.codes, functions, self.left_out, self.executions)
        return msgspec.msgpack.encode(encoded)

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Return what `encode` has encoded."""
        decoded = msgspec.msgpack.decode(data, type=_Encoded)
        totals = cls()
        totals.codes = decoded.codes
        totals.functions = dict(decoded.functions)
        totals.left_out, totals.executions = decoded.left_out, decoded.executions
        totals._code_bytes = sum(len(code.code) for code in decoded.codes.values())
        return totals

    def _add_code(self, profile: CodeProfile) -> str | None:
        key = f"{CREATION_MARK if profile.is_creation else ''}{profile.hash}"
        known = self.codes.get(key)
        if known is None:
            code = bytes.fromhex(profile.code[2:])
            known = self._code(key, code, is_creation=profile.is_creation)
            if known is None:
                return None
        known.add(profile)
        return key

    def _code(self, key: str, code: bytes, *, is_creation: bool) -> CodeTotals | None:
        """Return a code that is known, or remember another one; None if there are too many."""
        known = self.codes.get(key)
        if known is None and self._code_bytes + len(code) <= MAX_CODE_BYTES:
            self._code_bytes += len(code)
            known = self.codes[key] = CodeTotals(code, is_creation)
        return known

    def _add_frame(self, frame: FrameProfile, keys: list[str | None], whole: int | None) -> bool:
        code = keys[frame.code]
        via = None if frame.via is None else keys[frame.via]
        if code is None:
            return False
        key = FunctionKey(code, via or "", frame.kind, frame.selector, frame.is_outermost)
        if key not in self.functions and len(self.functions) >= self._max_functions:
            return False
        function = self._function(key)
        function.size = max(function.size, frame.size)
        amounts = function.failed if frame.failed else function.succeeded
        for amount, times in frame.gas:
            amounts.add(amount if whole is None else whole, times)
        return True

    def _function(self, key: FunctionKey) -> FunctionTotals:
        return self.functions.setdefault(key, FunctionTotals())


def _add(totals: dict[int, int], rows: Iterable[tuple[int, int]]) -> None:
    for pc, number in rows:
        totals[pc] = totals.get(pc, 0) + number


class ProfiledTransaction(NamedTuple):
    """A transaction and all of its gas."""

    profile: Profile
    gas_used: int


def block_profiles(block: SealedBlock, budget: TraceBudget) -> Iterator[ProfiledTransaction | None]:
    """Yield the profile of each transaction; None for one that took too long, or after which there is no room."""
    left = len(block.record.transactions)
    try:
        for traced in trace_block(block, PROFILE, budget):
            left -= 1
            if isinstance(traced.outcome, DeadlinePassed):
                yield None
            else:
                assert traced.outcome.trace is not None
                yield ProfiledTransaction(
                    decode_profile(traced.outcome.trace), traced.outcome.gas_used
                )
    except (DeadlinePassed, TraceTooLarge):
        for _ in range(left):
            yield None
