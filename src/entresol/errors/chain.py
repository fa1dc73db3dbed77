"""Errors of blocks, timestamps and batches."""

from __future__ import annotations

from entresol.errors.base import EntresolError


class UnknownBlock(EntresolError):
    """There is no such block."""

    def __init__(self, block: int | bytes) -> None:
        name = f"number {block}" if isinstance(block, int) else f"hash 0x{block.hex()}"
        super().__init__(f"there is no block with the {name}")
        self.block = block


class InvalidInterval(EntresolError):
    """A block interval that is not a positive number of seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"an interval is a positive number of seconds, got {seconds}")
        self.seconds = seconds


class InvalidPercentiles(EntresolError):
    """Percentiles that are not ascending numbers from 0 to 100."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"invalid `eth_feeHistory` reward percentiles: {problem}")


class TimestampTooLow(EntresolError):
    """A timestamp below the last block's."""

    def __init__(self, timestamp: int) -> None:
        # As in anvil.
        super().__init__(f"Timestamp error: {timestamp:d} is lower than previous block's timestamp")
        self.timestamp = timestamp


class TimestampTooHigh(EntresolError):
    """A timestamp that leaves too few for later blocks."""

    def __init__(self, timestamp: int, latest: int) -> None:
        # It begins as in anvil.
        super().__init__(f"The timestamp is too big: {timestamp:d}, and at most {latest:d}")
        self.timestamp = timestamp
        self.latest = latest


class TooManyToSeal(EntresolError):
    """A request to seal more blocks than allowed."""

    def __init__(self, blocks: int, limit: int) -> None:
        super().__init__(f"one request seals at most {limit:d} blocks, got {blocks:d}")
        self.blocks = blocks
        self.limit = limit


class BlockFull(EntresolError):
    """A transaction does not fit into the block that is being built."""

    def __init__(self, gas_limit: int, gas_left: int) -> None:
        super().__init__(
            f"the block has {gas_left:d} gas left, the transaction needs {gas_limit:d}"
        )
        self.gas_limit = gas_limit
        self.gas_left = gas_left


class BlockFullOfMessages(BlockFull):
    """The messages to L1 of a transaction do not fit: no batch could hold those of the block."""

    def __init__(self, sent: int, limit: int) -> None:
        super(BlockFull, self).__init__(
            f"the block would have {sent:d} messages to L1, and a batch has {limit:d} at most"
        )
        self.sent = sent
        self.limit = limit


class ReplayMismatch(EntresolError):
    """A block differs from its record when it is re-executed."""

    def __init__(self, number: int, difference: str) -> None:
        super().__init__(f"block {number} differs from its record: {difference}")
        self.number = number
        self.difference = difference


class BatchOverflow(EntresolError):
    """A batch would exceed what a batch can hold."""
