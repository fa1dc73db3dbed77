"""The rules of a chain: chain id, fork, fees and accepted transaction types."""

from __future__ import annotations

from typing import Final

import msgspec

from entresol import _native
from entresol.chain.fees import BlobFees, ConstantBaseFee, Eip1559BaseFee, FeePolicy
from entresol.chain.mempool.validation import SCHEDULES, ValidationRules
from entresol.primitives.interop.bundles import MAX_BUNDLE_BYTES
from entresol.primitives.transactions.system import SYSTEM_SENDER
from entresol.primitives.transactions.zk import ZK_TYPE
from entresol.primitives.values import Address

MAX_CODE_SIZE: Final = 24_576
"""The maximum size of deployed code (EIP-170)."""

SUGGESTED_TIP: Final = 10**9
"""The priority fee that an L1 suggests, as anvil does."""

EPOCH_SLOTS: Final = 32

_SIZE_LIMIT: Final = 128 * 1024
_BUNDLE_LIMIT: Final = 2 * (MAX_BUNDLE_BYTES + 16 * 1024)
"""A transaction that executes a bundle has it twice: alone, and in the message that is proven."""
_UNLIMITED_SIZE: Final = 4 * 1024 * 1024
"""The size limit of a transaction where init code has none."""

ETHEREUM_TYPES: Final = frozenset({0, 1, 2, 4})
BLOB_TYPE: Final = 3


class ChainRules(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of one chain."""

    chain_id: int
    fork: str = "osaka"
    gas_limit: int = 30_000_000
    code_size_limit: int | None = MAX_CODE_SIZE
    """The maximum size of deployed code, half of that of init code; None for no limit."""
    caps_gas: bool = False
    """Whether the gas limit of a transaction has a cap from Osaka on (EIP-7825); by default as in anvil."""
    fees: FeePolicy
    accepted_types: frozenset[int] = ETHEREUM_TYPES
    beneficiary: Address = Address.zero()
    suggested_tip: int = 0
    """The priority fee that `eth_maxPriorityFeePerGas` suggests."""
    epoch_slots: int | None = None
    """How many blocks the safe block is behind the head, and half of what the finalized one is; None on an L2."""
    max_transactions: int | None = None
    """The maximum number of transactions of the pool in a block; None if gas alone limits it."""
    has_fork_fields: bool = False
    """Whether headers have the fields that Shanghai, Cancun and Prague added; those of an L2 have not."""

    @classmethod
    def layer_1(cls, chain_id: int = 31337) -> ChainRules:
        """Return the rules of the development L1."""
        return cls(
            chain_id=chain_id,
            fees=Eip1559BaseFee(),
            suggested_tip=SUGGESTED_TIP,
            epoch_slots=EPOCH_SLOTS,
            accepted_types=ETHEREUM_TYPES | {BLOB_TYPE},
            has_fork_fields=True,
        )

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
        return _native.Rules(
            self.chain_id, self.fork, code_size_limit=self.code_size_limit, caps_gas=self.caps_gas
        )

    def blob_fees(self) -> BlobFees:
        """Return the price of blob gas, and the fields of headers that come with it."""
        return BlobFees(self.evm_rules(), has_fork_fields=self.has_fork_fields)

    def validation_rules(self) -> ValidationRules:
        """Return which transactions the mempool accepts."""
        schedule = SCHEDULES[self.fork]
        init_code = None if self.code_size_limit is None else 2 * self.code_size_limit
        evm_rules = self.evm_rules()
        is_layer_2 = ZK_TYPE in self.accepted_types
        # A fork without blobs has no transactions with them.
        excluded = frozenset() if evm_rules.max_blobs else {BLOB_TYPE}
        return ValidationRules(
            chain_id=self.chain_id,
            gas_limit=self.gas_limit,
            accepted_types=self.accepted_types - excluded,
            transaction_gas_limit=evm_rules.transaction_gas_limit,
            max_blobs=evm_rules.max_blobs_per_transaction,
            # A larger contract needs a larger transaction.
            size_limit_bytes=_UNLIMITED_SIZE
            if init_code is None
            else max(_SIZE_LIMIT, init_code + _SIZE_LIMIT // 2),
            bundle_limit_bytes=_BUNDLE_LIMIT if is_layer_2 else 0,
            # Init code has a limit where it has a price (EIP-3860).
            init_code_limit_bytes=init_code if schedule.init_code_word else None,
            schedule=schedule,
            accepts_below_base_fee=isinstance(self.fees, Eip1559BaseFee),
            # On an L1 it is an address like any other.
            reserved_sender=SYSTEM_SENDER if is_layer_2 else None,
        )
