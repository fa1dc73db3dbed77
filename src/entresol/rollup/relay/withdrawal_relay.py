"""Have L1 pay the withdrawals of an L2 that anybody may finalize."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.errors import MalformedValue, RelayRejected
from entresol.primitives import abi
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.l2_to_l1_logs import L1_MESSAGE_SENT, L1_MESSENGER
from entresol.primitives.values import Address
from entresol.rollup.relay.account import RelayCall
from entresol.rollup.relay.proofs import words_of
from entresol.rollup.relay.retries import MAX_OPEN, RetryQueue
from entresol.rollup.step_loop import Backoff, StepLoop

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.chain.chain import Chain
    from entresol.primitives.values import Hash32
    from entresol.rollup.open_transfers import OpenTransfers
    from entresol.rollup.relay.account import RelayAccount
    from entresol.rollup.relay.proofs import RelayProofs

log = logging.getLogger(__name__)

MAX_PAGES: Final = 10
"""How many pages of open transfers a step reads."""
PAGE_SIZE: Final = 100
MAX_PENDING: Final = 16
_FINALIZE: Final = "finalizeDeposit((uint256,uint256,uint256,address,uint16,bytes,bytes32[]))"


class OpenWithdrawal(NamedTuple):
    """A withdrawal that L1 can pay."""

    transaction: Hash32
    position: int
    """Of its message among those of the transaction."""


class WithdrawalRelay:
    """Finalizes each withdrawal of one L2 on L1, once.

    Remembers: up to a thousand withdrawals that are open, those that were given up, and its pending transactions.
    Persists: nothing: `OpenTransfers` says which are open. Assumes: the event loop whose thread changes the chain. Fails:
    what reverts or needs too much gas is tried five times, and given up; an account without funds is a `problem`.
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
        self._account = account
        self._max_gas = max_gas
        self._interval = interval
        self._queue: RetryQueue[OpenWithdrawal] = RetryQueue(clock)
        self._given_up: BoundedMap[OpenWithdrawal, bool] = BoundedMap(10 * MAX_OPEN)
        self._pending: dict[OpenWithdrawal, Hash32] = {}
        self._after = b""
        self.finalized = 0
        self.failed = 0
        """Tries that reverted, before or after they were sent."""
        self._steps = StepLoop(
            self._poll,
            log,
            failing=f"the relay of chain {self._chain_id} cannot finalize withdrawals",
            recovered=f"the relay of chain {self._chain_id} finalizes withdrawals again",
            backoff=Backoff(0.5),
        )

    @property
    def problem(self) -> str | None:
        """Why it does not finalize; None if it does."""
        return self._steps.problem

    @property
    def skipped(self) -> int:
        """How many withdrawals were given up."""
        return self._queue.skipped

    @property
    def open(self) -> int:
        """How many withdrawals are held."""
        return len(self._queue)

    async def run(self) -> None:
        """Finalize for ever."""
        await self._steps.run()

    async def step(self) -> None:
        """Read what is open, and finalize what can be."""
        await self._collect()
        await self._read()
        for _, withdrawal in self._queue.due():
            if len(self._pending) >= MAX_PENDING:
                break
            if withdrawal not in self._pending:
                await self._finalize(withdrawal)

    async def _poll(self) -> float:
        await self.step()
        return self._interval

    async def _read(self) -> None:
        for failed in self._queue.make_room(PAGE_SIZE):
            self._give_up(failed)
        for _ in range(MAX_PAGES):
            if self._queue.room <= 0:
                return
            page = await self._transfers.page(self._after, min(self._queue.room, PAGE_SIZE))
            for it in page.transfers:
                found = OpenWithdrawal(it.transaction, it.index)
                is_open = it.kind == "withdrawal" and it.status == "claimable"
                if is_open and self._queue.room and found not in self._given_up:
                    self._queue.add(found, found)
            # From the beginning next time: what follows may be old and have become claimable.
            self._after = page.following or b""
            if page.following is None:
                return

    async def _finalize(self, withdrawal: OpenWithdrawal) -> None:
        try:
            proven = await self._proofs.prove(*withdrawal)
            message = self._message(withdrawal)
            if proven is None or message is None:
                # It was reverted meanwhile, or its batch on L1 was.
                self._queue.remove(withdrawal)
                return
            sender = Address(proven.log.key[-20:])
            claim = (
                *(self._chain_id, proven.batch, proven.proof.id, sender, proven.log.tx_number),
                *(message, words_of(proven)),
            )
            call = RelayCall(self._nullifier, abi.encode_call(_FINALIZE, claim))
            sent = await self._account.submit(call, self._max_gas)
        except RelayRejected as error:
            self._gave_up_or_later(withdrawal, str(error))
            return
        if sent is not None:
            self._pending[withdrawal] = sent

    def _message(self, withdrawal: OpenWithdrawal) -> bytes | None:
        location = self._blocks.locate_transaction(withdrawal.transaction)
        record = None if location is None else self._blocks.get_record(location.block_number)
        if location is None or record is None:
            return None
        sent = [
            data
            for address, topics, data in record.results[location.transaction_index].logs
            if address == L1_MESSENGER and topics[:1] == (L1_MESSAGE_SENT,)
        ]
        try:
            return bytes(abi.decode("(bytes)", sent[withdrawal.position])[0])
        except (IndexError, MalformedValue):
            return None

    async def _collect(self) -> None:
        for withdrawal, transaction in tuple(self._pending.items()):
            outcome = await self._account.outcome(transaction)
            if outcome is None:
                continue
            del self._pending[withdrawal]
            if outcome:
                self.finalized += 1
                self._queue.remove(withdrawal)
            else:
                self._gave_up_or_later(withdrawal, "its transaction failed, or was dropped")

    def _gave_up_or_later(self, withdrawal: OpenWithdrawal, reason: str) -> None:
        self.failed += 1
        is_last = self._queue.failed(withdrawal)
        if is_last:
            self._give_up(withdrawal)
        log.log(
            self._queue.log_level(is_last=is_last),
            "the withdrawal of %s on chain %d cannot be finalized%s: %s",
            *(withdrawal.transaction, self._chain_id),
            *(" and is given up" if is_last else "", reason),
        )

    def _give_up(self, withdrawal: OpenWithdrawal) -> None:
        """Remember that it is not to be read again."""
        self._given_up.put(withdrawal, True)  # noqa: FBT003 - a set
