"""The rules of a chain: chain id, fork, fees and accepted transaction types."""

from __future__ import annotations

from typing import Final

import msgspec

from entresol import _native
from entresol.chain.fees.base_fee import ConstantBaseFee, Eip1559BaseFee, FeePolicy
from entresol.chain.mempool.intrinsic_gas import SCHEDULES
from entresol.chain.mempool.validation import ValidationRules
from entresol.primitives.transactions.zk import ZK_TYPE
from entresol.primitives.values import Address

ETHEREUM_TYPES: Final = frozenset({0, 1, 2, 4})


class ChainRules(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of one chain."""

    chain_id: int
    fork: str = "osaka"
    gas_limit: int = 30_000_000
    fees: FeePolicy
    accepted_types: frozenset[int] = ETHEREUM_TYPES
    beneficiary: Address = Address.zero()
    suggested_tip: int = 0
    """The priority fee that `eth_maxPriorityFeePerGas` suggests."""

    @classmethod
    def layer_1(cls, chain_id: int = 31337) -> ChainRules:
        """Return the rules of the development L1."""
        return cls(chain_id=chain_id, fees=Eip1559BaseFee(), suggested_tip=10**9)

    @classmethod
    def layer_2(cls, chain_id: int = 270, base_fee: int = 100_000_000) -> ChainRules:
        """Return the rules of an L2."""
        return cls(
            chain_id=chain_id,
            fees=ConstantBaseFee(base_fee),
            accepted_types=ETHEREUM_TYPES | {ZK_TYPE},
        )

    def evm_rules(self) -> _native.Rules:
        """Return the rules that the EVM follows."""
        return _native.Rules(self.chain_id, self.fork)

    def validation_rules(self) -> ValidationRules:
        """Return which transactions the mempool accepts."""
        return ValidationRules(
            chain_id=self.chain_id,
            gas_limit=self.gas_limit,
            accepted_types=self.accepted_types,
            schedule=SCHEDULES[self.fork],
            accepts_below_base_fee=isinstance(self.fees, Eip1559BaseFee),
        )
