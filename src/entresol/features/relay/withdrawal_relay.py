"""Have L1 pay the withdrawals of an L2 that anybody may finalize."""

from __future__ import annotations

import logging
import time
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.errors import MalformedValue
from entresol.features.relay.dispatch import Dispatch, Relay, words_of
from entresol.features.relay.relay_account import RelayCall
from entresol.primitives import abi
from entresol.primitives.l2_to_l1_logs import L1_MESSAGE_SENT, L1_MESSENGER
from entresol.primitives.values import Address
from entresol.rollup.step_loop import Backoff, StepLoop
from entresol.rollup.work_queue import WorkQueue

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.chain.chain import Chain
    from entresol.features.relay.dispatch import RelayProofs
    from entresol.features.relay.relay_account import RelayAccount
    from entresol.primitives.records import BlockRecord
    from entresol.primitives.values import Hash32
    from entresol.rollup.open_transfers import OpenTransfers

log = logging.getLogger(__name__)

MAX_PAGES: Final = 10
"""How many pages of open transfers a step reads."""
PAGE_SIZE: Final = 100
_FINALIZE: Final = "finalizeDeposit((uint256,uint256,uint256,address,uint16,bytes,bytes32[]))"


class OpenWithdrawal(NamedTuple):
    """A withdrawal that L1 can pay."""

    transaction: Hash32
    position: int
    """The position of its message among those of the transaction."""


class WithdrawalRelay(Relay[OpenWithdrawal, OpenWithdrawal]):
    """Finalizes each withdrawal of one L2 on L1, once.

    Fails: what reverts or needs too much gas is tried again later and later; an account without funds is a `problem`.
    """

    def __init__(  # noqa: PLR0913 - independent parts
        self,
        chain: Chain,
        transfers: OpenTransfers,
        proofs: RelayProofs,
        nullifier: Address,
        account: RelayAccount,
        *,
        max_gas: int,
        interval: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._blocks = chain.blocks
        self._chain_id = chain.rules.chain_id
        self._transfers = transfers
        self._proofs = proofs
        self._nullifier = nullifier
        self._interval = interval
        self._clock = clock
        self._queue: WorkQueue[OpenWithdrawal, OpenWithdrawal] = WorkQueue()
        self._dispatch = Dispatch(self._queue, account, max_gas, clock, self._failing)
        self._after = b""
        self._steps = StepLoop(
            self._poll,
            log,
            failing=f"the relay of chain {self._chain_id} cannot finalize withdrawals",
            recovered=f"the relay of chain {self._chain_id} finalizes withdrawals again",
            backoff=Backoff(0.5),
        )

    def reason(self, transaction: Hash32, position: int) -> str | None:
        """Return why it has not finalized a withdrawal when it last tried; None if it has not tried."""
        return self._queue.reason(OpenWithdrawal(transaction, position))

    async def step(self) -> None:
        """Read what is open, and finalize what can be."""
        now = self._clock()
        await self._dispatch.follow()
        await self._read(now)
        for _, withdrawal in self._queue.due(now):
            if self._dispatch.is_full:
                break
            await self._dispatch.attempt(withdrawal, partial(self._call, withdrawal))

    async def _poll(self) -> float:
        await self.step()
        return self._interval

    async def _read(self, now: float) -> None:
        self._queue.make_room(PAGE_SIZE, now)
        for _ in range(MAX_PAGES):
            if self._queue.room() <= 0:
                return
            page = await self._transfers.page(self._after, min(self._queue.room(), PAGE_SIZE))
            for transfer in page.transfers:
                found = OpenWithdrawal(transfer.transaction, transfer.index)
                is_open = transfer.kind == "withdrawal" and transfer.status == "claimable"
                if is_open and self._queue.room() and found not in self._queue:
                    self._queue.add(found, found, now, sender=self._sender(found))
            # From the beginning next time: what follows may be old and have become claimable.
            self._after = page.following or b""
            if page.following is None:
                return

    async def _call(self, withdrawal: OpenWithdrawal) -> RelayCall | None:
        """Return the call that finalizes a withdrawal; None if that is not open any more, and so forgotten."""
        proven = await self._proofs.prove(*withdrawal)
        message = self._message(withdrawal)
        if proven is None or message is None:
            # It was reverted meanwhile, or its batch on L1 was.
            self._queue.remove(withdrawal)
            return None
        sender = Address(proven.log.key[-20:])
        claim = (
            *(self._chain_id, proven.batch, proven.proof.id, sender, proven.log.tx_number),
            *(message, words_of(proven)),
        )
        return RelayCall(self._nullifier, abi.encode_call(_FINALIZE, claim))

    def _located(self, withdrawal: OpenWithdrawal) -> tuple[BlockRecord, int] | None:
        location = self._blocks.locate_transaction(withdrawal.transaction)
        record = None if location is None else self._blocks.get_record(location.block_number)
        return None if location is None or record is None else (record, location.transaction_index)

    def _sender(self, withdrawal: OpenWithdrawal) -> bytes | None:
        located = self._located(withdrawal)
        return None if located is None else bytes(located[0].transactions[located[1]][1])

    def _message(self, withdrawal: OpenWithdrawal) -> bytes | None:
        located = self._located(withdrawal)
        if located is None:
            return None
        record, index = located
        sent = [
            data
            for address, topics, data in record.results[index].logs
            if address == L1_MESSENGER and topics[:1] == (L1_MESSAGE_SENT,)
        ]
        try:
            return bytes(abi.decode("(bytes)", sent[withdrawal.position])[0])
        except (IndexError, MalformedValue):
            return None

    def _failing(self, withdrawal: OpenWithdrawal) -> str:
        return f"the withdrawal of {withdrawal.transaction} on chain {self._chain_id} cannot be finalized"
