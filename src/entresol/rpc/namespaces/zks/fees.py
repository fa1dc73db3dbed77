"""Fees of an L2: estimates and fee parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec

from entresol.chain.fees import MAX_GAS_PER_PUBDATA, FeeConstants, FeeInput, FeeModel
from entresol.chain.finality import BlockTag
from entresol.errors import ExecutionFailed, InvalidTransaction, UnserializableCall
from entresol.execution.calls import estimate_gas, estimate_l1_to_l2_gas
from entresol.offload import Offload
from entresol.primitives.published.rules import PARTS
from entresol.primitives.values import Quantity
from entresol.rpc.jsonrpc.method import ServedBy, method
from entresol.rpc.jsonrpc.model import says
from entresol.rpc.render.raw_transactions import Fee
from entresol.rpc.types.block_id import BlockId
from entresol.rpc.types.call_request import CallObject
from entresol.rpc.types.simulation_request import StateOverrides

if TYPE_CHECKING:
    from entresol.rpc.services.block_resolver import BlockResolver
    from entresol.rpc.services.call_runner import CallRunner

_PENDING = BlockId(tag=BlockTag.PENDING)
_PUBDATA_MARGIN_PERCENT = 30


class Ratio(msgspec.Struct, frozen=True, kw_only=True):
    """The price of ether in the base token."""

    numerator: Annotated[int, says("The upper part of the fraction.")] = 1
    denominator: Annotated[int, says("The lower part of the fraction.")] = 1


class ConversionRatio(Ratio, frozen=True, kw_only=True):
    """The same, with L1 and the settlement layer apart."""

    l1: Annotated[Ratio, says("In relation to the token of L1.")] = Ratio()
    sl: Annotated[Ratio, says("In relation to the token of the settlement layer.")] = Ratio()


class FeeConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The operator's fee settings, before the conversion to the base token."""

    minimal_l2_gas_price: Annotated[int, says("The least that gas costs on L2, in wei of ether.")]
    compute_overhead_part: Annotated[float, says("How much of a batch's cost execution bears.")]
    pubdata_overhead_part: Annotated[float, says("How much of a batch's cost pubdata bears.")]
    batch_overhead_l1_gas: Annotated[int, says("What a batch costs on L1 without transactions.")]
    max_gas_per_batch: Annotated[int, says("The most gas of a batch.")]
    max_pubdata_per_batch: Annotated[int, says("The most bytes of pubdata of a batch.")]


class FeeParamsV2(msgspec.Struct, frozen=True, kw_only=True):
    """The inputs of the fee formula."""

    config: Annotated[FeeConfig, says("The parameters that do not change with the price of gas.")]
    l1_gas_price: Annotated[int, says("The price of gas on L1, in wei.")]
    l1_pubdata_price: Annotated[int, says("What a byte of pubdata costs on L1, in wei.")]
    conversion_ratio: Annotated[ConversionRatio, says("What the base token is worth in ether.")] = (
        ConversionRatio()
    )


class FeeParams(msgspec.Struct, frozen=True, kw_only=True):
    """The inputs of the fee formula, by its version."""

    V2: Annotated[FeeParamsV2, says("The parameters, in their second version.")]


class BatchFeeInput(msgspec.Struct, frozen=True, kw_only=True):
    """The prices for the next batch."""

    fair_l2_gas_price: Annotated[int, says("What gas costs on L2, in units of the base token.")]
    fair_pubdata_price: Annotated[
        int, says("What a byte of pubdata costs, in units of the base token.")
    ]
    l1_gas_price: Annotated[int, says("The price of gas on L1, in wei.")]


class ZksFees:
    """`zks_` methods about fees."""

    prefix = "zks"

    def __init__(self, resolver: BlockResolver, runner: CallRunner, model: FeeModel) -> None:
        self._resolver = resolver
        self._is_short = runner.is_short
        self._run_with_overrides = runner.run_with_overrides
        self._model = model

    @method(ExecutionFailed, InvalidTransaction, UnserializableCall)
    def estimate_fee(
        self, req: CallObject, state_override: StateOverrides | None = None
    ) -> Fee | Offload[Fee]:
        """Return gas limit and fees with which a transaction is included and succeeds."""
        prices = self._model.quoted()
        return self._run_with_overrides(
            self._resolver.evm_env(_PENDING),
            state_override,
            None,
            lambda evm_env, limits: _fee(estimate_gas(evm_env, req.request(), limits).gas, prices),
            is_short=self._is_short(req),
        )

    @method(
        *(ExecutionFailed, InvalidTransaction, UnserializableCall),
        name="zks_estimateGasL1ToL2",
        served_by=ServedBy.ESTIMATE,
    )
    def estimate_gas_l1_to_l2(
        self, req: CallObject, state_override: StateOverrides | None = None
    ) -> Quantity | Offload[Quantity]:
        """Return a gas limit with which L1 accepts a priority transaction and with which it succeeds on L2.

        The sender is used as given: for a contract on L1, pass its alias. It needs no funds on L2. The limit
        assumes 800 gas per pubdata byte, whatever the call says, because L1 accepts no other value.
        """
        price = self._model.quoted().base_fee
        return self._run_with_overrides(
            self._resolver.evm_env(_PENDING),
            state_override,
            None,
            lambda evm_env, limits: Quantity(
                estimate_l1_to_l2_gas(evm_env, req.priority_transaction(price), limits)
            ),
            is_short=self._is_short(req),
        )

    @method(getter=True, served_by=ServedBy.QUOTE)
    def gas_per_pubdata(self) -> Quantity:
        """Return the gas per pubdata byte."""
        return Quantity(self._model.quoted().gas_per_pubdata)

    @method(getter=True, served_by=ServedBy.QUOTE)
    def get_l1_gas_price(self) -> Quantity:
        """Return the L1 gas price that fees are computed from, in wei."""
        return Quantity(self._model.quoted().l1_gas_price)

    @method(served_by=ServedBy.QUOTE)
    def get_batch_fee_input(self) -> BatchFeeInput:
        """Return the prices for the next batch: those of L2 in units of its base token, that of L1 in wei."""
        prices = self._model.quoted()
        return BatchFeeInput(**msgspec.structs.asdict(prices))

    @method(served_by=ServedBy.QUOTE)
    def get_fee_params(self) -> FeeParams:
        """Return the inputs of the fee formula, in wei, and by what it multiplies to get units of the base token."""
        model = self._model
        price = model.ether_price
        ratio = Ratio(numerator=price.nominator, denominator=price.denominator)
        return FeeParams(
            V2=FeeParamsV2(
                config=_config(model.constants),
                l1_gas_price=model.l1_gas_price,
                l1_pubdata_price=model.l1_pubdata_price,
                conversion_ratio=ConversionRatio(
                    numerator=ratio.numerator, denominator=ratio.denominator, l1=ratio, sl=ratio
                ),
            )
        )


def _config(constants: FeeConstants) -> FeeConfig:
    """Return the constants as the network shows them, with parts as numbers around 1."""
    parts = {
        name: getattr(constants, name) / PARTS
        for name in ("compute_overhead_part", "pubdata_overhead_part")
    }
    return FeeConfig(**(msgspec.structs.asdict(constants) | parts))


def _fee(gas: int, prices: FeeInput) -> Fee:
    pubdata = prices.gas_per_pubdata * (100 + _PUBDATA_MARGIN_PERCENT) // 100
    return Fee(
        gas_limit=Quantity(gas),
        max_fee_per_gas=Quantity(prices.base_fee),
        max_priority_fee_per_gas=Quantity(0),
        gas_per_pubdata_limit=Quantity(min(pubdata, MAX_GAS_PER_PUBDATA)),
    )
