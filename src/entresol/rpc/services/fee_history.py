"""The fees of blocks, in memory once they were requested, for `eth_feeHistory`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from entresol._native import FeeHistory
from entresol.chain.fees.fee_history import block_fees

if TYPE_CHECKING:
    from entresol.chain.chain import Chain

MAX_FEE_HISTORY_BYTES: Final = 8 << 20


def new_fee_history(chain: Chain) -> FeeHistory:
    """Return the fee history of a chain; its owner removes reverted blocks."""

    def load(number: int) -> tuple[int, str, int, list[tuple[int, int]]]:
        fees = block_fees(chain.blocks.record(number))
        ratio = msgspec.json.encode(fees.gas_used_ratio).decode()
        return fees.base_fee, ratio, fees.gas_used, fees.tips

    def head() -> tuple[int, int]:
        return chain.number, chain.next_base_fee()

    return FeeHistory(load=load, head=head, capacity=MAX_FEE_HISTORY_BYTES)
