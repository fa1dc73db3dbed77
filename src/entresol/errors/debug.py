"""Errors of inspection, `debug_`, `trace_` and `ots_`, in the words of geth and reth."""

from __future__ import annotations

from entresol.errors.base import EntresolError


class NotInspectable(EntresolError):
    """What is to be inspected is not there, or cannot be inspected."""

    # As in geth's debug_.
    rpc_code = -32000


class BlockNotFound(NotInspectable):
    """There is no block to inspect."""

    def __init__(self, block: int | bytes) -> None:
        name = f"#{block}" if isinstance(block, int) else f"0x{block.hex()}"
        super().__init__(f"block {name} not found")
        self.block = block


class TransactionNotFound(NotInspectable):
    """No block contains the transaction."""

    def __init__(self) -> None:
        super().__init__("transaction not found")


class StepNotRecorded(NotInspectable):
    """An execution has no such step, or it is one of the middle of a long one."""

    rpc_code = -32602

    def __init__(self, step: int, total: int, recorded: str) -> None:
        problem = "is not recorded" if step < total else "is beyond the end"
        super().__init__(
            f"step {step:d} {problem}: the execution has {total:,} steps"
            + (f", of which {recorded} are recorded" if recorded else "")
        )
