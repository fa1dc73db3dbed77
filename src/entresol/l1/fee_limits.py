"""Fees of the operator's transactions: what the first one offers, and how much more a replacement may."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from entresol.errors import L1FeeTooHigh
from entresol.l1.layer_one import L1Fees

GWEI: Final = 10**9

BUMP_PERCENT: Final = 125
"""The offer of a replacement relative to the transaction it replaces."""
MIN_BUMP_PERCENT: Final = 110
"""The least offer that nodes take for a replacement, of the tip and of the fee cap alike."""
MIN_TIP: Final = GWEI
"""The tip that limits are computed from if L1 suggests a lower one, as an idle L1 does."""

MAX_IDLE_TIP: Final = 3 * GWEI
"""The highest tip while the base fee is lower. Above, a tip is at most the base fee, whatever L1 suggests."""


class TxFees(NamedTuple):
    """The fee cap and the tip of a transaction, in wei per gas."""

    max_fee: int
    tip: int

    def is_too_low(self, base_fee: int) -> bool:
        """Return whether the block after one with this base fee may ask for more (EIP-1559: an eighth more)."""
        return self.max_fee * 8 < base_fee * 9


class FeeCeiling(NamedTuple):
    """The highest fee cap that is allowed at the moment, and the limit that sets it."""

    max_fee: int
    limit: str


class FeeLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of what the operator offers for gas.

    The absolute limit bounds the loss if L1, or the node behind its URL, reports absurd prices; the
    relative one bounds what is paid to hurry a transaction that is stuck for another reason.
    """

    max_fee: int = 500 * GWEI
    """The highest fee cap of any transaction, in wei per gas."""
    multiplier: float = 5.0
    """How many times the fee cap of a new transaction a replacement may offer."""

    def plausible(self, fees: L1Fees) -> L1Fees:
        """Return the fees of L1 with a tip that is not out of proportion to its base fee."""
        return L1Fees(fees.base_fee, min(fees.tip, max(fees.base_fee, MAX_IDLE_TIP)))

    def first(self, fees: L1Fees) -> TxFees:
        """Return the fees of a new transaction; raises `L1FeeTooHigh` if no block would include it."""
        fees = self.plausible(fees)
        if fees.base_fee > self.max_fee:
            raise L1FeeTooHigh(self.max_fee)
        max_fee = min(_suggested(fees.base_fee, fees.tip), self.max_fee)
        return TxFees(max_fee, min(fees.tip, max_fee))

    def replacement(self, replaced: TxFees, fees: L1Fees, ceiling: FeeCeiling) -> TxFees | None:
        """Return the fees of a replacement; None if nodes would reject all that are allowed."""
        wanted = max(_percent(replaced.max_fee, BUMP_PERCENT), _suggested(fees.base_fee, fees.tip))
        max_fee = min(wanted, ceiling.max_fee)
        tip = min(max(_percent(replaced.tip, BUMP_PERCENT), fees.tip), max_fee)
        least = (_percent(fee, MIN_BUMP_PERCENT) for fee in replaced)
        if any(offered < required for offered, required in zip((max_fee, tip), least, strict=True)):
            return None
        return TxFees(max_fee, tip)

    def ceiling(self, fees: L1Fees, affordable: int) -> FeeCeiling:
        """Return the lowest of the limits, given the fee cap that the operator's balance can pay."""
        suggested = _suggested(fees.base_fee, max(fees.tip, MIN_TIP))
        return min(
            FeeCeiling(self.max_fee, "--l1-max-fee-gwei"),
            FeeCeiling(int(self.multiplier * suggested), "--l1-fee-multiplier"),
            FeeCeiling(affordable, "the operator's balance"),
        )


def _suggested(base_fee: int, tip: int) -> int:
    """Return a fee cap with room for a base fee that doubles."""
    return 2 * base_fee + tip


def _percent(fee: int, percent: int) -> int:
    return fee * percent // 100 + 1
