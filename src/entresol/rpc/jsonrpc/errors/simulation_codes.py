"""The codes of `eth_simulateV1` for the calls that it rejects."""

from __future__ import annotations

from typing import Final

from entresol.errors import (
    BlockFull,
    EntresolError,
    FeeCapTooLow,
    GasLimitExceeded,
    InitCodeTooLarge,
    InsufficientFunds,
    IntrinsicGasTooLow,
    NonceTooHigh,
    NonceTooLow,
    SenderNotEOA,
    TransactionGasTooHigh,
)

SIMULATION_CODES: Final[dict[type[EntresolError], int]] = {
    NonceTooLow: -38010,
    NonceTooHigh: -38011,
    FeeCapTooLow: -38012,
    IntrinsicGasTooLow: -38013,
    InsufficientFunds: -38014,
    BlockFull: -38015,
    GasLimitExceeded: -38015,
    TransactionGasTooHigh: -38015,
    SenderNotEOA: -38024,
    InitCodeTooLarge: -38025,
}
"""The code of a rejected call of eth_simulateV1, by the reason."""
