"""Binding of the contract that gathers the roots of all chains on L1, each with its books."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol._native import keccak256
from entresol.l1.contracts import read_contract
from entresol.primitives import abi
from entresol.primitives.values import Hash32

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.l1.layer_one import L1Log, LayerOne
    from entresol.primitives.values import Address

BATCH_APPENDED: Final = Hash32(keccak256(b"AppendedChainBatchRoot(uint256,uint256,bytes32)"))
_SETTLE: Final = "settle(uint256,uint256,bytes,bytes[])"


class BooksContract:
    """The `MessageRoot` of L1, as the operator of one chain uses it.

    Remembers and persists: nothing. Fails: as `LayerOne` does.
    """

    def __init__(self, l1: LayerOne, address: Address, chain_id: int) -> None:
        self.l1 = l1
        self.address = address
        self._chain_id = chain_id

    async def chain_count(self, block: Hash32) -> int:
        """Return how many chains settle on L1, as of a block."""
        return int(
            await read_contract(self.l1, self.address, "chainCount()", "uint256", block=block)
        )

    async def is_settled(self, batch: int, block: Hash32) -> bool:
        """Return whether a batch is booked with all of its bundles, as of a block."""
        found = await read_contract(
            *(self.l1, self.address, "isSettled(uint256,uint256)", "bool", self._chain_id, batch),
            block=block,
        )
        return bool(found)

    async def appended(self, batch: int, first: int, last: int) -> L1Log | None:
        """Return the event of the root of a batch in a range of L1 blocks."""
        words = [Hash32(it.to_bytes(32)) for it in (self._chain_id, batch)]
        found = await self.l1.logs(self.address, [BATCH_APPENDED, *words], first, last)
        return found[-1] if found else None

    def settle_call(self, batch: int, logs: bytes, messages: Sequence[bytes]) -> bytes:
        """Return the call that books a batch: all its logs, and its bundles in their order."""
        return abi.encode_call(_SETTLE, self._chain_id, batch, logs, list(messages))
