"""Settlement as a client of a devnet requests or awaits it, by web3.py."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any, Final

from web3.exceptions import Web3RPCError

from entresol.errors import BridgeFailed
from entresol.inprocess.bridge_client import PATIENCE_SECONDS, POLL_SECONDS, BridgeClient
from entresol.primitives.batches import SettlementStep

if TYPE_CHECKING:
    from web3 import Web3

_SETTLE: Final = {
    SettlementStep.COMMIT: "anvil_zks_commitBatch",
    SettlementStep.PROVE: "anvil_zks_proveBatch",
    SettlementStep.EXECUTE: "anvil_zks_executeBatch",
}


class SettlingClient(BridgeClient):
    """Clients of two layers that have batches settled: on request if the devnet does not settle by itself.

    Remembers: which of the two it is. Fails: with `BridgeFailed`, or with what web3.py raises.
    """

    def __init__(self, l1: Web3, l2: Web3, *, settles_by_itself: bool = True) -> None:
        super().__init__(l1, l2)
        self._settles_by_itself = settles_by_itself

    def request_settlement(self, block: int) -> None:
        """Settle and book the batch of a block of L2 if the devnet settles on request; otherwise that happens by itself.

        What L1 does not book, `books_of` says.
        """
        if self._settles_by_itself:
            return
        self.settle(block)
        books = self.books_of(block)
        if books is not None and books["status"] in ("pending", "partial", "rejected"):
            with contextlib.suppress(Web3RPCError):
                self.rpc("anvil_zks_bookBatch", self._batch_of(block))

    def books_of(self, block: int) -> dict[str, Any] | None:
        """Return whether L1 has booked what the batch of a block sends to other chains; None if it is in no batch."""
        found: dict[str, Any] | None = self.rpc("entresol_getBatchBooks", self._batch_of(block))
        return found

    def _batch_of(self, block: int) -> int:
        return int(self.rpc("zks_getBlockDetails", block)["l1BatchNumber"])

    def settle(self, block: int | None = None) -> None:
        """Return once L1 has executed the batch of a block of L2; by default of the last one."""
        last = self.l2.eth.block_number
        wanted = last if block is None else block
        if wanted > last:
            raise BridgeFailed(f"the L2 has no block {wanted} to settle: the last one is {last}")
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (finalized := self.l2.eth.get_block("finalized")["number"]) < wanted:
            if not self._settles_by_itself:
                self._settle_next()
                if self.l2.eth.get_block("finalized")["number"] == finalized:
                    raise BridgeFailed(f"settling a batch has not finalized block {wanted}")
            elif time.monotonic() > deadline:
                raise BridgeFailed(f"block {wanted} is not finalized, only {finalized}")
            else:
                time.sleep(POLL_SECONDS)

    def _settle_next(self) -> None:
        """Take the steps that are due of the first batch that is not executed."""
        blocks = self.l2.eth.get_block("finalized")["number"]
        details = self.rpc("zks_getBlockDetails", blocks + 1)
        batch = details["l1BatchNumber"]
        found = self.rpc("zks_getL1BatchDetails", batch) or {}
        for step, method in _SETTLE.items():
            if found.get(f"{step.name.lower()}TxHash") is None:
                self.rpc(method, hex(batch))
