"""The codes of the contracts that an execution has created so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.primitives.values import Data

if TYPE_CHECKING:
    from entresol.execution.trace.call_frames import CallFrame


class CreatedCodes:
    """The codes of created contracts by their accounts, while an execution is followed.

    Remembers: those of frames that have ended, and what the open frames would undo. Fails: never.
    """

    def __init__(self) -> None:
        self._codes: dict[str, bytes | None] = {}
        self._undo: list[tuple[str, bytes | None]] = []
        self._marks: list[int] = []

    def get(self, account: str) -> bytes | None:
        """Return the code of an account; None if the execution has not created it."""
        return self._codes.get(account)

    def enter(self) -> None:
        """Enter a frame."""
        self._marks.append(len(self._undo))

    def leave(self, frame: CallFrame, *, is_creation: bool) -> None:
        """Leave the innermost frame; a contract has code once its creation has ended, and none if a frame has failed."""
        mark = self._marks.pop()
        if frame.error is not None:
            for account, before in reversed(self._undo[mark:]):
                self._codes[account] = before
            del self._undo[mark:]
        elif is_creation and frame.to is not None:
            self._undo.append((frame.to, self._codes.get(frame.to)))
            self._codes[frame.to] = bytes(Data.parse(frame.output))
