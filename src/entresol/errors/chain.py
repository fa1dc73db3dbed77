"""Errors of blocks, timestamps and batches."""

from __future__ import annotations

from entresol.errors.base import INTERNAL, EntresolError


class UnknownBlock(EntresolError):
    """There is no such block."""

    rpc_code = -32602
    # The wording of zksync-era; what exactly is missing goes into `data`.
    rpc_text = "Block with such an ID doesn't exist yet"

    def __init__(self, block: int | bytes) -> None:
        name = f"number {block}" if isinstance(block, int) else f"hash 0x{block.hex()}"
        super().__init__(f"there is no block with the {name}")
        self.block = block

    @property
    def rpc_data(self) -> str:
        """The block that is missing."""
        return str(self)


class HistoryNotLoaded(EntresolError):
    """The state after a block is not known, because a state file without it was loaded."""

    rpc_code = -32000

    def __init__(self, number: int, first: int) -> None:
        super().__init__(
            f"the state after block {number} is not known: the chain was loaded from a state file with states "
            f"from block {first} on; --preserve-historical-states writes those of earlier blocks"
        )
        self.number = number
        self.first = first


class ChainReplaced(EntresolError):
    """The chain was reverted or replaced while a request used it."""

    # The request is right, and may succeed now.
    rpc_code = -32000

    def __init__(
        self, text: str = "the chain was reverted or replaced meanwhile: send the request again"
    ) -> None:
        super().__init__(text)


class RollbackRejected(EntresolError):
    """The chain cannot be rolled back that far."""

    rpc_code = -32000


class BelowSettledBatch(RollbackRejected):
    """The L1 of --l1-url may have the batch of a later block, and is not reverted."""

    def __init__(self, number: int, batch: int, last_block: int) -> None:
        super().__init__(
            f"cannot revert to block {number}: batch {batch} ends at block {last_block}, and the L1 of --l1-url "
            "is not reverted with it"
        )
        self.number = number
        self.batch = batch


class BlockFull(EntresolError):
    """A transaction does not fit into the block that is being built."""

    rpc_code = -32000
    simulation_code = -38015

    def __init__(self, gas_limit: int, gas_left: int) -> None:
        super().__init__(
            f"the block has {gas_left:d} gas left, the transaction needs {gas_limit:d}"
        )
        self.gas_limit = gas_limit
        self.gas_left = gas_left


class BlockFullOfData(BlockFull):
    """The published bytes or the blobs of a transaction do not fit, or blobs cost more than it offers."""

    # The code of `eth_simulateV1` is about gas.
    simulation_code = 0

    def __init__(self, problem: str) -> None:
        super(BlockFull, self).__init__(problem)


class BlockFullOfMessages(BlockFullOfData):
    """The messages to L1 of a transaction do not fit: no batch could hold those of the block, or no transaction of L1 book them."""


class ReplayMismatch(EntresolError):
    """A block differs from its record when it is re-executed."""

    rpc_code = INTERNAL

    def __init__(self, number: int, difference: str) -> None:
        super().__init__(f"block {number} differs from its record: {difference}")
        self.number = number
        self.difference = difference


class BlockRuleBroken(ReplayMismatch):
    """A block is not what the rules of its chain allow, whatever its execution gives."""

    def __init__(self, number: int, problem: str) -> None:
        EntresolError.__init__(self, f"block {number} breaks a rule of its chain: {problem}")
        self.number = number
        self.difference = problem


class BatchOverflow(EntresolError):
    """A batch would exceed what a batch can hold."""

    rpc_code = INTERNAL
