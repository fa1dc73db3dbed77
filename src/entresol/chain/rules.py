"""What makes a chain the one it is: the difference between the two layers, as a value."""

from __future__ import annotations

from typing import Final

import msgspec

from entresol import _native
from entresol.chain.fees.base_fee import ConstantBaseFee, Eip1559BaseFee, FeePolicy
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
    """What wallets are told to offer to the producer."""

    @classmethod
    def layer_1(cls, chain_id: int = 31337) -> ChainRules:
        """Return the rules of the development L1."""
        return cls(chain_id=chain_id, fees=Eip1559BaseFee(), suggested_tip=10**9)

    @classmethod
    def layer_2(cls, chain_id: int = 270, base_fee: int = 100_000_000) -> ChainRules:
        """Return the rules of an L2 that settles to it."""
        return cls(
            chain_id=chain_id,
            fees=ConstantBaseFee(base_fee),
            accepted_types=ETHEREUM_TYPES | {ZK_TYPE},
        )

    def evm_rules(self) -> _native.Rules:
        """Return the part of the rules that executions follow."""
        return _native.Rules(self.chain_id, self.fork)
