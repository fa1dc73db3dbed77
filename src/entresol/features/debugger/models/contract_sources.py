"""Contracts whose source is known, and stack traces through their lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from entresol.primitives.values import Address
from entresol.rpc.jsonrpc.model import ResultModel, says

if TYPE_CHECKING:
    from collections.abc import Iterable

    from entresol.features.debugger.sources.compiled import CompiledContract
    from entresol.features.debugger.sources.stack_trace import StackTrace


MAX_ENTRIES: Final = 2_000
"""Entries of an ABI that are returned."""

MAX_ABI_BYTES: Final = 2 << 20
"""Bytes of all ABIs of a response."""


class AbiInput(ResultModel, frozen=True, kw_only=True, omit_defaults=True):
    """A parameter or a result, as compilers write it."""

    type: Annotated[str, says("The type; `tuple` for a struct.")]
    name: Annotated[str, says("Empty if it has none.")] = ""
    indexed: Annotated[bool, says("Whether it is a topic of the event.")] = False
    components: Annotated[list[AbiInput] | UnsetType, says("The members of a struct.")] = UNSET


class AbiItem(ResultModel, frozen=True, kw_only=True, omit_defaults=True):
    """A function, an event, an error, the constructor, or what receives calls of no function."""

    type: Annotated[
        str, says("`function`, `event`, `error`, `constructor`, `fallback`, `receive`.")
    ]
    name: Annotated[str | UnsetType, says("What its source calls it.")] = UNSET
    inputs: Annotated[list[AbiInput] | UnsetType, says("Its parameters.")] = UNSET
    outputs: Annotated[list[AbiInput] | UnsetType, says("Its results.")] = UNSET
    state_mutability: Annotated[
        str | UnsetType, says("`pure`, `view`, `nonpayable` or `payable`.")
    ] = UNSET
    anonymous: Annotated[bool, says("Whether the event has no topic of its own.")] = False


class KnownContract(ResultModel, frozen=True, kw_only=True):
    """A contract on the chain whose code is that of a known source."""

    name: Annotated[str, says("Its name in the source.")]
    file: Annotated[str, says("The source, as the compiler names it.")]
    abi: Annotated[list[AbiItem], says("Its ABI, without items that are not entries.")]
    omitted: Annotated[
        int, says("Entries that were left out: beyond 2,000, or beyond 2 MiB of a response.")
    ]
    optimized: Annotated[
        bool | None, says("Whether an optimizer has moved instructions; null if it is not known.")
    ]


def known_contracts(contracts: Iterable[CompiledContract | None]) -> list[KnownContract | None]:
    """Return contracts as results, with as much of their ABIs as there is room for."""
    room = MAX_ABI_BYTES
    results: list[KnownContract | None] = []
    for contract in contracts:
        if contract is None:
            results.append(None)
            continue
        abi: list[AbiItem] = []
        read = 0
        for entry in contract.abi[:MAX_ENTRIES]:
            item = _item(entry)
            room -= 0 if item is None else len(msgspec.json.encode(item))
            if room < 0:
                break
            read += 1
            if item is not None:
                abi.append(item)
        results.append(
            KnownContract(
                name=contract.name,
                file=contract.file,
                abi=abi,
                omitted=len(contract.abi) - read,
                optimized=contract.is_optimized,
            )
        )
    return results


def _item(entry: Any) -> AbiItem | None:
    """Return an entry of an ABI, as somebody's compiler or hand has written it; members that no ABI has are left out."""
    try:
        return msgspec.convert(_without_others(entry), AbiItem)
    except (msgspec.ValidationError, RecursionError):
        return None


def _without_others(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    names = ("type", "name", "stateMutability", "anonymous")
    kept = {name: entry[name] for name in names if name in entry}
    for name in ("inputs", "outputs"):
        if isinstance(entry.get(name), list):
            kept[name] = [_input(item) for item in entry[name]]
    return kept


def _input(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    kept = {name: entry[name] for name in ("type", "name", "indexed") if name in entry}
    if isinstance(entry.get("components"), list):
        kept["components"] = [_input(item) for item in entry["components"]]
    return kept


class SourceFrame(ResultModel, frozen=True, kw_only=True):
    """A function that was open when an execution failed."""

    contract: Annotated[
        str | None, says("Its contract; null for a free function, or if no source is known.")
    ]
    function: Annotated[
        str | None,
        says("Its name, or `constructor`, `<fallback>`, `<receive>`, `<unrecognized-selector>`."),
    ]
    file: Annotated[str | None, says("The source, as the compiler names it.")]
    line: Annotated[int | None, says("The line in it, from one.")]
    address: Annotated[
        Address | None, says("The account whose code it is; null while it is created.")
    ]


class FailureTrace(ResultModel, frozen=True, kw_only=True):
    """Why and where an execution failed."""

    message: Annotated[str, says("The reason, decoded; why the compiler's own checks failed.")]
    frames: Annotated[list[SourceFrame], says("The open functions, the innermost last.")]
    omitted: Annotated[int, says("How many frames were left out in the middle, beyond 100.")]
    text: Annotated[list[str], says("The same as lines for people.")]


def failure_trace(trace: StackTrace | None) -> FailureTrace | None:
    """Return a stack trace as a result."""
    if trace is None:
        return None
    return FailureTrace(
        message=trace.message,
        frames=[
            SourceFrame(
                contract=frame.contract,
                function=frame.function,
                file=frame.file,
                line=frame.line,
                address=None if frame.address is None else Address.parse(frame.address),
            )
            for frame in trace.frames
        ],
        omitted=trace.omitted,
        text=trace.lines(),
    )
