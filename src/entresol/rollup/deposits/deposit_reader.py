"""Read the priority transactions of a chain from the logs of L1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from entresol.errors import LayerOneMismatch, LayerOneRejected
from entresol.l1.contracts import read_as_of
from entresol.l1.layer_one import MAX_REORG_DEPTH, check_blocks, existing_block
from entresol.primitives.l1_to_l2_gas import body_gas

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.l1.contracts import Deposit, ZkChain
    from entresol.l1.layer_one import L1Block
    from entresol.primitives.values import Hash32


class DepositRange(msgspec.Struct, frozen=True):
    """The deposits of a range of L1 blocks."""

    first: int
    last: L1Block
    deposits: Sequence[Deposit]
    total: int | None
    """How many the contract counts up to the last block; None if L1 has no state of it any more."""

    def missing(self, next_id: int) -> int | None:
        """Return the first id from `next_id` on that is missing in the range; None if it is complete."""
        for deposit in self.deposits:
            if deposit.priority_id > next_id:
                return next_id
            if deposit.priority_id == next_id:
                next_id += 1
        return None if self.total is None or next_id >= self.total else next_id


class DepositReader:
    """Reads the deposits of one chain.

    The nodes behind one URL may lag or be on different forks, and L1 may reorg between two requests, so each log must
    be in a block that L1 still has, and the contract's own count is read with the logs. A deposit with more gas than a
    block has must have been allowed by the contract. Fails: as `LayerOne` does, and with `LayerOneMismatch` if
    responses contradict each other; a retry may help.
    """

    def __init__(self, contract: ZkChain, gas_limit: int) -> None:
        self._contract = contract
        self._gas_limit = gas_limit
        self._l1 = contract.l1

    async def read(self, first: int, last: int) -> DepositRange:
        """Return the deposits from block `first` to block `last`."""
        block = await existing_block(self._l1, last)
        deposits = await self._contract.deposits(first, last)
        total = await self.total_at(block.number, block.hash)
        if total is None and await self._l1.block_number() - last <= MAX_REORG_DEPTH:
            raise LayerOneMismatch(f"{self._l1.name} has no state of block {last} at the moment")
        places = [(deposit.block, deposit.block_hash) for deposit in deposits]
        await check_blocks(self._l1, first, block, places)
        await self._check_gas(deposits)
        return DepositRange(first, block, deposits, total)

    async def total_at(self, number: int, block_hash: Hash32 | None = None) -> int | None:
        """Return how many deposits the contract counts at a block; None if L1 has no state of it."""
        blocks = (number,) if block_hash is None else (block_hash, number)
        try:
            return await read_as_of(self._contract.total_priority_transactions, *blocks)
        except LayerOneRejected:
            return None
        except LayerOneMismatch:
            # The contract did not exist then.
            return 0

    async def _check_gas(self, deposits: Sequence[Deposit]) -> None:
        """Raise `LayerOneMismatch` if the contract cannot have accepted a deposit."""
        most: dict[int, int] = {}
        for deposit in deposits:
            if deposit.payload.gas_limit > self._gas_limit:
                gas = body_gas(deposit.payload)
                most[deposit.block] = max(most.get(deposit.block, 0), gas)
        for block, gas in most.items():
            if gas > self._gas_limit and not await self._has_allowed(gas, block):
                raise LayerOneMismatch(
                    f"{self._l1.name} has a deposit of {gas} gas in block {block}, which its contract does not allow"
                )

    async def _has_allowed(self, gas: int, block: int) -> bool:
        """Return whether the contract allowed so much gas in a block, before or after it: an admin may change it.

        Without the state of the block nobody knows; what exceeds a block is included as failed.
        """
        for number in (block, block - 1):
            if number < self._contract.first_block:
                continue
            try:
                if gas <= await self._contract.priority_tx_max_gas(number):
                    return True
            except LayerOneRejected:
                return True
        return False
