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
    """The time between blocks is not a time."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"an interval is a positive number of seconds, got {seconds}")
        self.seconds = seconds


class InvalidPercentiles(EntresolError):
    """Percentiles are not from 0 to 100, or in disorder."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"invalid `eth_feeHistory` reward percentiles: {problem}")


class TimestampTooLow(EntresolError):
    """The time for the next block is not after the last one's."""

    def __init__(self, timestamp: int, parent: int) -> None:
        super().__init__(
            f"timestamp {timestamp:d} is not after the last block's, which is {parent:d}"
        )
        self.timestamp = timestamp
        self.parent = parent


class TimestampTooHigh(EntresolError):
    """The time is so late that blocks after it would soon have none left."""

    def __init__(self, timestamp: int, latest: int) -> None:
        super().__init__(
            f"timestamp {timestamp:d} is too late: the latest that can be set is {latest:d}"
        )
        self.timestamp = timestamp
        self.latest = latest


class TooManyToSeal(EntresolError):
    """A request asks for more blocks to be sealed than one may."""

    def __init__(self, blocks: int, limit: int) -> None:
        super().__init__(f"one request seals at most {limit:d} blocks, got {blocks:d}")
        self.blocks = blocks
        self.limit = limit


class BlockFull(EntresolError):
    """A transaction has no room in the block that is being built."""

    def __init__(self, gas_limit: int, gas_left: int) -> None:
        super().__init__(
            f"the block has {gas_left:d} gas left, the transaction asks for {gas_limit:d}"
        )
        self.gas_limit = gas_limit
        self.gas_left = gas_left


class BlockFullOfMessages(BlockFull):
    """A transaction's messages to L1 have no room in the block: no batch could take them all."""

    def __init__(self, sent: int, most: int) -> None:
        super(BlockFull, self).__init__(
            f"the block would have {sent:d} messages to L1, and a batch has {most:d} at most"
        )
        self.sent = sent
        self.most = most


class ReplayMismatch(EntresolError):
    """A block does not come out as its record says."""

    def __init__(self, number: int, difference: str) -> None:
        super().__init__(f"block {number} does not come out as recorded: {difference}")
        self.number = number
        self.difference = difference


class BatchOverflow(EntresolError):
    """There is more in a batch than a batch can have."""
