"""Send transactions of one account to L1, one at a time: send the pending one again, and replace it if it is stuck."""

from __future__ import annotations

import contextlib
import logging
import time
from typing import TYPE_CHECKING, Final

from entresol.errors import EntresolError, LayerOneRejected
from entresol.l1.fee_limits import GWEI
from entresol.l1.operator import SignedTransaction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.l1.layer_one import L1Block, L1Receipt
    from entresol.l1.operator import Operator
    from entresol.primitives.values import Address, Hash32

log = logging.getLogger(__name__)

RESEND_SECONDS: Final = 1.0
"""How long until a pending transaction is sent again: a reorg of L1 may have dropped it."""
REPLACE_SECONDS: Final = 30.0
"""How long a transaction may be pending before one with a higher fee replaces it."""
MAX_ATTEMPTS: Final = 32
"""More than the fee limits allow, so that only an L1 that rejects everything gets there."""

_BLOCKS_UNTIL_STUCK: Final = 2
"""A transaction is stuck once so many blocks did not include it; the first may have been begun before it was sent."""
_MAX_REJECTED: Final = 256
_LOOKS_FOR_RECEIPT: Final = 3
"""An L1 may count the nonce of a transaction a moment before it has the receipt."""
_GAS_TOLERANCE: Final = 1.25
"""How far the gas limit of a rejected transaction may be from the current one, before it is what L1 rejects."""


class TxManager:
    """Has at most one transaction of an account pending on L1, with every attempt that was signed for it.

    All attempts have the same nonce, so L1 includes one of them at most. Assumes: the account has no other user.
    """

    def __init__(
        self,
        operator: Operator,
        *,
        resend_seconds: float = RESEND_SECONDS,
        replace_seconds: float = REPLACE_SECONDS,
    ) -> None:
        self.operator = operator
        self._l1 = operator.l1
        self._resend_seconds = resend_seconds
        self._replace_seconds = replace_seconds
        self._attempts: Sequence[SignedTransaction] = ()
        self._max_gas: int | None = None
        self._signed_at: float | None = None
        self._signed_head: int | None = None
        self._sent_at = 0.0
        self._problem: str | None = None
        self._is_fee_limited = False
        self._rejected: set[Hash32] = set()

    @property
    def address(self) -> Address:
        """The account."""
        return self.operator.address

    @property
    def attempts(self) -> Sequence[SignedTransaction]:
        """The attempts of the pending transaction, the one with the highest fee first; empty if there is none."""
        return self._attempts

    @property
    def problem(self) -> str | None:
        """Why the pending transaction is neither included nor replaced."""
        return self._problem if self.attempts else None

    @property
    def is_fee_limited(self) -> bool:
        """Whether the pending transaction is stuck, and a limit forbids a higher fee."""
        return self._is_fee_limited and bool(self.attempts)

    async def send(
        self, signed: SignedTransaction, now: float, *, max_gas: int | None = None
    ) -> None:
        """Send a transaction of the account while nothing is pending; signed anew, it has at most so much gas.

        What L1 rejects is not pending: it would be rejected again, and nothing else have the nonce.
        """
        self._attempts, self._max_gas = (signed,), max_gas
        try:
            await self._begin(signed, None, now)
        except LayerOneRejected:
            self.forget()
            raise

    async def included(self, name: str, poll_seconds: float) -> L1Receipt | None:
        """Send the pending transaction until L1 has it, and return the receipt; None if another took the nonce."""
        nonce = self.attempts[0].nonce
        while await self.nonce() <= nonce:
            await self._l1.wait_for_block(poll_seconds)
            await self.resend(name, await self._l1.head(), time.monotonic())
        for _ in range(_LOOKS_FOR_RECEIPT):
            if (receipt := await self.receipt()) is not None:
                return receipt
            await self._l1.wait_for_block(poll_seconds)
        return None

    async def resend(self, name: str, head: L1Block, now: float) -> None:
        """Send the pending transaction again, as L1 may have dropped it; replace it if it is stuck.

        Of all attempts the one with the highest fee is sent that L1 can include, and that the operator may and can
        pay. If there is none, the call is signed anew, with the same nonce. Messages call it `name`.
        """
        if self._signed_at is None:
            self._signed_at = now
        elif now - self._sent_at < self._resend_seconds:
            return
        if self._signed_head is None:
            self._signed_head = head.number
        self._sent_at = now
        attempts, balance = self.attempts, await self.operator.balance()
        best = next((attempt for attempt in attempts if self._is_sendable(attempt, balance)), None)
        if best is None:
            best = await self.operator.sign_again(attempts[-1], head.hash, self._max_gas)
            await self._add(best, head, now)
        else:
            best = await self._replaced(name, best, head, now)
        try:
            await self.operator.send(best)
        except LayerOneRejected:
            with contextlib.suppress(EntresolError):
                await self._check_gas(best, head.hash)
            raise

    async def nonce(self, block: Hash32 | None = None) -> int:
        """Return the account's next nonce after the latest block of L1, or after another one."""
        return await self._l1.nonce(self.address, block)

    async def receipt(self) -> L1Receipt | None:
        """Return the receipt of whichever attempt L1 included; None if it is none yet."""
        for attempt in self.attempts:
            receipt = await self._l1.receipt(attempt.hash)
            if receipt is not None:
                return receipt
        return None

    def forget(self) -> None:
        """Stop following the transaction."""
        self._attempts = ()

    async def _persist(self, attempt: SignedTransaction) -> None:
        """Add an attempt to the pending transaction, before it is sent."""
        self._attempts = with_attempt(self._attempts, attempt)

    async def _begin(self, signed: SignedTransaction, head: int | None, now: float) -> None:
        """Send the first attempt, which was signed at a block of L1, or at the one that is read next."""
        self._on_signed(head, now)
        self._sent_at = now
        await self.operator.send(signed)

    async def _add(self, attempt: SignedTransaction, head: L1Block, now: float) -> None:
        await self._persist(attempt)
        self._on_signed(head.number, now)

    def _on_signed(self, head: int | None, now: float) -> None:
        self._signed_at, self._signed_head = now, head
        self._problem, self._is_fee_limited = None, False

    def _is_sendable(self, attempt: SignedTransaction, balance: int) -> bool:
        is_within_limit = attempt.fees.max_fee <= self.operator.limits.max_fee
        is_payable = is_within_limit and attempt.max_cost <= balance
        return is_payable and attempt.hash not in self._rejected and self.operator.is_valid(attempt)

    async def _check_gas(self, attempt: SignedTransaction, block: Hash32) -> None:
        """Note that L1 rejects an attempt because of its gas limit, if that is not what L1 estimates now."""
        payload = attempt.payload
        estimated = (await self.operator.estimated(payload, block)).gas_limit
        if not estimated // _GAS_TOLERANCE <= payload.gas_limit <= _GAS_TOLERANCE * estimated:
            if len(self._rejected) >= _MAX_REJECTED:
                self._rejected.clear()
            self._rejected.add(attempt.hash)

    async def _replaced(
        self, name: str, best: SignedTransaction, head: L1Block, now: float
    ) -> SignedTransaction:
        """Return a replacement of the best attempt, or itself if it is not stuck or a limit forbids it."""
        assert self._signed_at is not None
        assert self._signed_head is not None
        # After a revert the base fee can be above what was signed, and an L1 that only this would wake makes no blocks.
        if not best.fees.is_too_low(head.base_fee):
            if now - self._signed_at < self._replace_seconds:
                return best
            if head.number < self._signed_head + _BLOCKS_UNTIL_STUCK:
                self._report(f"{name} is pending, and {self._l1.name} makes no blocks")
                return best
        signed = await self.operator.sign_replacement(best)
        if isinstance(signed, SignedTransaction):
            log.warning(
                "replacing the stuck transaction for %s: %g gwei instead of %g",
                *(name, signed.fees.max_fee / GWEI, best.fees.max_fee / GWEI),
            )
            await self._add(signed, head, now)
            return signed
        self._is_fee_limited = True
        self._report(
            f"{name} is stuck on {self._l1.name} with a fee of up to "
            f"{best.fees.max_fee / GWEI:g} gwei, and {signed.limit} forbids a higher one"
        )
        return best

    def _report(self, problem: str) -> None:
        if problem != self._problem:
            log.warning("%s", problem)
        self._problem = problem


def with_attempt(
    attempts: Sequence[SignedTransaction], signed: SignedTransaction
) -> list[SignedTransaction]:
    """Return the attempts with one more, the one with the highest fee first.

    Above the maximum the one with the lowest fee is forgotten. If L1 includes that nevertheless, its effect or the
    nonce shows it.
    """
    others = [attempt for attempt in attempts if attempt.hash != signed.hash]
    found = [signed, *others[: MAX_ATTEMPTS - 1]]
    return sorted(found, key=lambda attempt: attempt.fees, reverse=True)
