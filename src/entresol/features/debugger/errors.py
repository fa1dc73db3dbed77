"""Errors of the debugger."""

from __future__ import annotations

from entresol.errors.execution import NotInspectable


class StepNotRecorded(NotInspectable):
    """An execution has no such step, or it is one of the middle of a long one."""

    rpc_code = -32602

    def __init__(self, step: int, total: int, recorded: str) -> None:
        problem = "is not recorded" if step < total else "is beyond the end"
        super().__init__(
            f"step {step:d} {problem}: the execution has {total:,} steps"
            + (f", of which {recorded} are recorded" if recorded else "")
        )
