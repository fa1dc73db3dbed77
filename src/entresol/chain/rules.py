"""The rules of a chain: chain id, fork, fees and accepted transaction types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from entresol import _native
from entresol.chain.base_fee import ConstantBaseFee, Eip1559BaseFee, FeePolicy, L2BaseFee
from entresol.chain.blob_fees import BlobFees
from entresol.chain.fees import FeeConstants
from entresol.chain.mempool.validation import SCHEDULES, ValidationRules
from entresol.execution.block_rules import RecordRules
from entresol.execution.limits import MAX_PUBLISHED_TRANSACTION
from entresol.primitives.interop_bundles import MAX_BUNDLE_BYTES
from entresol.primitives.published.rules import BlockRules
from entresol.primitives.transactions.system import SYSTEM_SENDER
from entresol.primitives.transactions.zk import ZK_TYPE
from entresol.primitives.values import Address

if TYPE_CHECKING:
    from entresol.primitives.headers import Header
    from entresol.storage.block_rows import Prices

FORKS: Final = (
    "byzantium", "petersburg", "istanbul", "berlin", "london", "paris", "shanghai", "cancun",
    "prague", "osaka",
)  # fmt: skip
"""The forks that a chain may have, in order."""

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


_PUBLISHED: Final = (
    "chain_id",
    "is_development",
    "fork",
    "code_size_limit",
    "caps_gas",
    "gas_limit",
    "beneficiary",
)
"""The fields that rules of a chain and those of its blocks have in common."""


class ChainRules(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of one chain."""

    chain_id: int
    fork: str = "osaka"
    gas_limit: int = 30_000_000
    code_size_limit: int | None = MAX_CODE_SIZE
    """The maximum size of deployed code, half of that of init code; None for no limit."""
    caps_gas: bool = False
    """Whether the gas limit of a transaction has a cap from Osaka on (EIP-7825); by default as in anvil."""
    rejects_foreign_code: bool = False
    """Whether calls of EraVM code end an execution; the chain is a fork of one that may have it."""
    fees: FeePolicy
    accepted_types: frozenset[int] = ETHEREUM_TYPES
    beneficiary: Address = Address.zero()
    suggested_tip: int = 0
    """The priority fee that `eth_maxPriorityFeePerGas` suggests."""
    epoch_slots: int | None = None
    """How many blocks the safe block is behind the head, and half of what the finalized one is; None on an L2."""
    max_transactions: int | None = None
    """The maximum number of transactions of the pool in a block; None if gas alone limits it."""
    is_development: bool = True
    """Whether blocks may have edits, unsigned transactions, and settings of developers."""
    publishes: bool = False
    """Whether the data of blocks is on L1, so that others derive them, and every byte has a price."""
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
            self.chain_id,
            self.fork,
            code_size_limit=self.code_size_limit,
            caps_gas=self.caps_gas,
            charges_published=self.publishes,
            rejects_foreign_code=self.rejects_foreign_code,
        )

    def record_rules(self, parent: Header, prices: Prices | None) -> RecordRules:
        """Return what the record of the block after `parent`, which was sealed at these prices, has to follow."""
        is_free = self.is_development
        return RecordRules(
            is_development=self.is_development,
            publishes=self.publishes,
            accepted_types=self.accepted_types,
            base_fee=None if is_free else self.fees.base_fee_at(parent, prices),
        )

    def at(self, published: BlockRules | None) -> ChainRules:
        """Return these rules with what was published of those of a block; None if nothing was."""
        if published is None:
            return self
        fees = self.fees
        if isinstance(fees, L2BaseFee):
            fees = L2BaseFee(fees.model, fee_constants_of(published))
        return msgspec.structs.replace(
            self, fees=fees, **{name: getattr(published, name) for name in _PUBLISHED}
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
            published_limit_bytes=MAX_PUBLISHED_TRANSACTION if self.publishes else None,
            # Init code has a limit where it has a price (EIP-3860).
            init_code_limit_bytes=init_code if schedule.init_code_word else None,
            schedule=schedule,
            charges_published=self.publishes,
            accepts_below_base_fee=isinstance(self.fees, Eip1559BaseFee),
            # On an L1 it is an address like any other.
            reserved_sender=SYSTEM_SENDER if is_layer_2 else None,
        )


def block_rules_of(rules: ChainRules) -> BlockRules:
    """Return what a chain publishes of its rules; raises `ValueError` for those of an L1."""
    fees = rules.fees
    if isinstance(fees, L2BaseFee):
        constants = fees.constants
    elif isinstance(fees, ConstantBaseFee):
        constants = FeeConstants(minimal_l2_gas_price=fees.wei)
    else:
        raise ValueError("blocks of an L1 are not published")  # noqa: TRY004 - of the chain, not of a type
    return BlockRules(
        **{name: getattr(rules, name) for name in _PUBLISHED}, **msgspec.structs.asdict(constants)
    )


def fee_constants_of(published: BlockRules) -> FeeConstants:
    """Return the constants of the fee rule that were published."""
    return FeeConstants(
        **{name: getattr(published, name) for name in FeeConstants.__struct_fields__}
    )
