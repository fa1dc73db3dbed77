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


class TransactionIndexTooHigh(NotInspectable):
    """The block has fewer transactions."""

    def __init__(self, index: int, block_hash: bytes) -> None:
        super().__init__(f"transaction index {index} out of range for block 0x{block_hash.hex()}")
        self.index = index


class NotExecutedHere(NotInspectable):
    """The block cannot be executed again: it is that of another node, loaded from a state file."""

    def __init__(self, number: int) -> None:
        super().__init__(
            f"block {number} was loaded from another node's state file, and cannot be executed again"
        )
        self.number = number


class GenesisNotExecuted(NotInspectable):
    """The genesis was not executed, so there is nothing to execute again."""

    def __init__(self, text: str = "no transaction in genesis") -> None:
        super().__init__(text)


class GenesisNotTraceable(GenesisNotExecuted):
    """The genesis has nothing to trace."""

    def __init__(self) -> None:
        super().__init__("genesis is not traceable")


class PendingNotTraceable(NotInspectable):
    """The pending block changes all the time."""

    def __init__(self, text: str = "tracing on top of pending is not supported") -> None:
        super().__init__(text)


class NoSources(NotInspectable):
    """Stack traces need sources, and the node has none."""

    def __init__(self) -> None:
        super().__init__(
            "the node knows no sources: start it with --sources, or send hardhat_addCompilationResult"
        )


class StepNotRecorded(NotInspectable):
    """An execution has no such step, or it is one of the middle of a long one."""

    rpc_code = -32602

    def __init__(self, step: int, total: int, recorded: str) -> None:
        problem = "is not recorded" if step < total else "is beyond the end"
        super().__init__(
            f"step {step:d} {problem}: the execution has {total:,} steps"
            + (f", of which {recorded} are recorded" if recorded else "")
        )


class SearchTooLong(NotInspectable):
    """A search has read as many blocks as it may, and found less than was requested."""

    def __init__(self, blocks: int) -> None:
        super().__init__(f"the search stopped after {blocks:d} blocks, the most that one reads")
        self.blocks = blocks


class AccountsNotIndexed(NotInspectable):
    """The node keeps no index of accounts and tokens."""

    def __init__(self) -> None:
        super().__init__("accounts and tokens are not indexed: the node runs with --no-explorer")


class InvalidTraceRange(EntresolError):
    """A range of blocks that is too large, or ends before it starts."""

    rpc_code = -32602
