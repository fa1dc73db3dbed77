"""Stack traces as results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from entresol.primitives.values import Address
from entresol.rpc.jsonrpc.model import ResultModel, says

if TYPE_CHECKING:
    from entresol.sources.stack_trace import StackTrace


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
