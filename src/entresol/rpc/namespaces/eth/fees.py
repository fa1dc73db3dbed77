"""Gas prices and the fee history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import UNSET, Raw, UnsetType

from entresol.errors import InvalidParams, UnknownBlock
from entresol.offload import POLICY, Offload
from entresol.primitives.values import Quantity
from entresol.rpc.jsonrpc.method import Past, ServedBy, method
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.services.native_reads import check_percentiles
from entresol.rpc.types.block_id import BlockNumber
from entresol.rpc.types.number import Number

if TYPE_CHECKING:
    from entresol._native import FeeHistory
    from entresol.chain.chain import Chain
    from entresol.rpc.services.block_resolver import BlockResolver


class FeeHistoryResult(JsonModel, frozen=True, kw_only=True):
    """The fees of consecutive blocks."""

    oldest_block: Annotated[Quantity, says("The first of the blocks.")]
    base_fee_per_gas: Annotated[list[Quantity], says("Of each block, and of the next one.")]
    gas_used_ratio: Annotated[list[float], says("The part of its gas limit that each block used.")]
    reward: Annotated[
        list[list[Quantity]], says("The priority fees of each block at the requested percentiles.")
    ]
    base_fee_per_blob_gas: Annotated[
        list[Quantity] | UnsetType,
        says("The price of blob gas in each block, and in the next one."),
    ] = UNSET
    blob_gas_used_ratio: Annotated[
        list[float] | UnsetType, says("The part of its blob gas limit that each block used.")
    ] = UNSET


class EthFees:
    """`eth_` methods about fees."""

    prefix = "eth"

    def __init__(self, chain: Chain, resolver: BlockResolver, history: FeeHistory) -> None:
        self._chain = chain
        self._resolver = resolver
        self._history = history

    @method(getter=True, served_by=ServedBy.QUOTE)
    def gas_price(self) -> Quantity:
        """Return a gas price in wei at which the next block includes a transaction."""
        return Quantity(self._chain.next_base_fee() + self._chain.rules.suggested_tip)

    @method(cached=True, served_by=ServedBy.REPLICA)
    def max_priority_fee_per_gas(self) -> Quantity:
        """Return a priority fee per gas in wei at which the next block includes a transaction."""
        return Quantity(self._chain.rules.suggested_tip)

    @method(getter=True, served_by=ServedBy.REPLICA)
    def blob_base_fee(self) -> Quantity:
        """Return the base fee per blob gas of the next block, in wei; 1 on an L2, which accepts no blobs."""
        return Quantity(self._chain.next_blob_base_fee())

    @method(UnknownBlock, InvalidParams, short=True, served_by=ServedBy.BLOCK, past=Past.SPLIT)
    def fee_history(
        self,
        block_count: Number,
        newest_block: BlockNumber,
        reward_percentiles: list[float] | None = None,
    ) -> Annotated[Raw, FeeHistoryResult] | Offload[Raw]:
        """Return base fees, gas used ratios and priority fees at percentiles of gas, for a range of blocks."""
        newest, percentiles = self._resolver.sealed(newest_block), reward_percentiles or []
        check_percentiles(percentiles)
        history = self._history
        first = history.first(block_count, newest, self._chain.ledger.first)

        def work() -> Raw:
            return Raw(history.render(first, newest, percentiles))

        is_long = history.is_long(first, newest, len(percentiles))
        missing = history.missing(first, newest)
        return Offload(work) if is_long or missing > POLICY.fee_history_blocks else work()
