"""Errors of the `debug_` namespace, in geth's words."""

from __future__ import annotations

from entresol.errors.base import EntresolError


class BlockNotFound(EntresolError):
    """There is no block to inspect."""

    def __init__(self, block: int | bytes) -> None:
        name = f"#{block}" if isinstance(block, int) else f"0x{block.hex()}"
        super().__init__(f"block {name} not found")
        self.block = block


class TransactionIndexTooHigh(EntresolError):
    """The block has fewer transactions."""

    def __init__(self, index: int, block_hash: bytes) -> None:
        super().__init__(f"transaction index {index} out of range for block 0x{block_hash.hex()}")
        self.index = index


class GenesisNotExecuted(EntresolError):
    """The genesis was not executed, so there is nothing to execute again."""

    def __init__(self) -> None:
        super().__init__("no transaction in genesis")
