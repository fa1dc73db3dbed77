"""Gas prices and the fee history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.chain.fees.fee_history import (
    BlobFeeHistory,
    FeeHistory,
    blob_fee_history,
    fee_history,
)
from entresol.errors import InvalidPercentiles, UnknownBlock
from entresol.primitives.values import Quantity
from entresol.rpc.jsonrpc.codec import JsonModel
from entresol.rpc.jsonrpc.method import ServedBy, method
from entresol.rpc.jsonrpc.offload import POLICY, Offload
from entresol.rpc.types.block_id import BlockNumber
from entresol.rpc.types.number import Number

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.rpc.services.block_resolver import BlockResolver


class FeeHistoryResult(JsonModel, frozen=True, kw_only=True):
    """The fees of consecutive blocks."""

    oldest_block: Quantity
    base_fee_per_gas: list[Quantity]
    gas_used_ratio: list[float]
    reward: list[list[Quantity]]
    base_fee_per_blob_gas: list[Quantity]
    blob_gas_used_ratio: list[float]


class EthFees:
    """`eth_` methods about fees."""

    prefix = "eth"

    def __init__(self, chain: Chain, resolver: BlockResolver) -> None:
        self._chain = chain
        self._resolver = resolver

    @method(served_by=ServedBy.QUOTE)
    def gas_price(self) -> Quantity:
        """Return a gas price in wei at which the next block includes a transaction."""
        return Quantity(self._chain.next_base_fee() + self._chain.rules.suggested_tip)

    @method(served_by=ServedBy.REPLICA)
    def max_priority_fee_per_gas(self) -> Quantity:
        """Return a priority fee per gas in wei at which the next block includes a transaction."""
        return Quantity(self._chain.rules.suggested_tip)

    @method(served_by=ServedBy.QUOTE)
    def base_fee(self) -> Quantity:
        """Return the base fee per gas of the next block, in wei."""
        return Quantity(self._chain.next_base_fee())

    @method(served_by=ServedBy.REPLICA)
    def blob_base_fee(self) -> Quantity:
        """Return the base fee per blob gas of the next block, in wei; 1 on an L2, which accepts no blobs."""
        return Quantity(self._chain.next_blob_base_fee())

    @method(UnknownBlock, InvalidPercentiles, short=True, served_by=ServedBy.BLOCK)
    def fee_history(
        self,
        block_count: Number,
        newest_block: BlockNumber,
        reward_percentiles: list[float] | None = None,
    ) -> FeeHistoryResult | Offload[FeeHistoryResult]:
        """Return base fees, gas used ratios and priority fees at percentiles of gas, for a range of blocks."""
        newest, percentiles = self._resolver.sealed(newest_block), reward_percentiles or []
        blocks, next_base_fee = self._chain.blocks, self._chain.next_base_fee()
        blob_fees, next_blob_fee = self._chain.ledger.blob_fees, self._chain.next_blob_base_fee()

        def work() -> FeeHistoryResult:
            history = fee_history(blocks, next_base_fee, block_count, newest, percentiles)
            return _result(history, blob_fee_history(blocks, blob_fees, next_blob_fee, history))

        return work() if block_count <= POLICY.fee_history_blocks else Offload(work)


def _result(history: FeeHistory, blobs: BlobFeeHistory) -> FeeHistoryResult:
    return FeeHistoryResult(
        oldest_block=Quantity(history.oldest),
        base_fee_per_gas=[Quantity(fee) for fee in history.base_fees],
        gas_used_ratio=list(history.gas_used_ratios),
        reward=[[Quantity(tip) for tip in tips] for tips in history.rewards],
        base_fee_per_blob_gas=[Quantity(fee) for fee in blobs.base_fees],
        blob_gas_used_ratio=list(blobs.used_ratios),
    )
