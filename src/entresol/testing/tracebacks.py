"""The frames of a failed test that are about the test: those of web3.py, of contextlib and of the plugin are not."""

from __future__ import annotations

import linecache
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HIDDEN: Final = frozenset(
    {
        *("asyncio", "concurrent", "contextlib"),
        *("cytoolz", "eth_abi", "eth_account", "eth_utils", "hexbytes", "toolz", "web3"),
    }
)
"""Packages whose frames say how a request is made, and not which one."""
PLUGIN: Final = "entresol.testing"


def is_hidden(frame: FrameType, *, with_node: bool) -> bool:
    """Return whether a frame is one of web3.py, contextlib or the plugin; `with_node` also one of all of Entresol."""
    name = module_of(frame)
    package = name.partition(".")[0]
    return package in HIDDEN or is_of_plugin(frame) or (with_node and package == "entresol")


def is_of_plugin(frame: FrameType) -> bool:
    """Return whether a frame is one of the plugin."""
    name = module_of(frame)
    return name == PLUGIN or name.startswith(PLUGIN + ".")


def module_of(frame: FrameType) -> str:
    """Return the name of the module that a frame is in."""
    name = frame.f_globals.get("__name__")
    # What a program executes may have any other value as its name.
    return name if type(name) is str else ""


def frames_of(error: BaseException) -> Iterator[FrameType]:
    """Yield the frames of the traceback of an exception, the outermost first."""
    for entry in entries_of(error):
        yield entry.tb_frame


def entries_of(error: BaseException) -> Iterator[TracebackType]:
    """Yield the entries of the traceback of an exception, the outermost first."""
    entry = error.__traceback__
    while entry is not None:
        yield entry
        entry = entry.tb_next


def related_to(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception, and all others that are shown with it: causes, contexts and members of groups."""
    seen, open_ones = {id(error)}, [error]
    while open_ones:
        found = open_ones.pop()
        yield found
        members = found.exceptions if isinstance(found, BaseExceptionGroup) else ()
        for other in (found.__cause__, found.__context__, *members):
            if other is not None and id(other) not in seen:
                seen.add(id(other))
                open_ones.append(other)


def add_note(error: BaseException, note: str) -> None:
    """Add a note, once: a fixture of a session fails with the same exception in every test."""
    notes = getattr(error, "__notes__", None)
    known = list(notes) if isinstance(notes, list | tuple) else []
    if note and note not in known:
        # Not by its method, which needs a list and an exception whose attributes can be set.
        BaseException.__setattr__(error, "__notes__", [*known, note])


def pruned(error: BaseException, is_shown: Callable[[FrameType], bool]) -> TracebackType | None:
    """Return the traceback of an exception without the frames that are not shown; None if it has no others."""
    following: TracebackType | None = None
    for entry in reversed([entry for entry in entries_of(error) if is_shown(entry.tb_frame)]):
        following = TracebackType(following, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return following


def line_of(error: BaseException, is_shown: Callable[[FrameType], bool]) -> str | None:
    """Return the innermost line of an exception that is shown: its file, its number and its text."""
    shown = [entry for entry in entries_of(error) if is_shown(entry.tb_frame)]
    if not shown:
        return None
    path, number = shown[-1].tb_frame.f_code.co_filename, shown[-1].tb_lineno
    return f"{path.rpartition('/')[2]}:{number}: {linecache.getline(path, number).strip()}"
