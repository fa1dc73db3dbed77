"""Blocks and batches: details, prices and finality."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Raw

from entresol.cache_limits import CACHES
from entresol.chain.fees import FeeModel
from entresol.errors import UnknownBlock
from entresol.l1.deployment import PROTOCOL_VERSION
from entresol.primitives.batches import DataScheme, SettlementStep
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.records import LAYOUT
from entresol.primitives.transactions.priority import PRIORITY_TYPES
from entresol.primitives.values import Address, Hash32, Quantity
from entresol.rpc.jsonrpc.codec import encode
from entresol.rpc.jsonrpc.method import Past, ServedBy, method
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.services.batch_status import (
    BatchSettlement,
    BatchStatus,
    SettlementFields,
    SettlementTransactions,
)
from entresol.rpc.types.block_id import BlockHeight
from entresol.rpc.types.number import Number
from entresol.storage.block_rows import Prices

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from entresol.chain.chain import Chain
    from entresol.primitives.batches import Batch
    from entresol.primitives.records import BlockRecord

DataAvailability: TypeAlias = Literal["none", "calldata"]

_SCHEMES: Final[Mapping[DataScheme, DataAvailability]] = {
    DataScheme.NONE: "none",
    DataScheme.CALLDATA: "calldata",
}
"""The names of `--data-availability`."""


class BaseSystemContractsHashes(msgspec.Struct, frozen=True, kw_only=True):
    """Hashes of system code, which an EVM chain does not have; zksync-era uses snake case here."""

    bootloader: Annotated[Hash32, says("0: there is no bootloader.")]
    default_aa: Annotated[Hash32, says("0: accounts without code have no default one.")]
    evm_emulator: Annotated[Hash32 | None, says("Null: the EVM is not emulated.")] = None


class BlockDetailsBase(SettlementFields, frozen=True, kw_only=True):
    """The fields that block and batch details share."""

    number: Annotated[int, says("The number of the block, or of the batch.")]
    timestamp: Annotated[int, says("In seconds since 1970.")]
    l1_tx_count: Annotated[int, says("How many transactions of it L1 requested.")]
    l2_tx_count: Annotated[int, says("How many transactions of it were sent to L2.")]
    root_hash: Annotated[
        Hash32 | None, says("The hash of the block, or the state root after the batch.")
    ]
    l1_gas_price: Annotated[int, says("The price of gas on L1, in wei.")]
    l2_fair_gas_price: Annotated[int, says("The price of gas on L2, in units of the base token.")]
    fair_pubdata_price: Annotated[
        int | None, says("What a byte of pubdata costs, in units of the base token.")
    ]
    base_system_contracts_hashes: Annotated[
        BaseSystemContractsHashes, says("The hashes of the system contracts' code.")
    ]


NO_SYSTEM_CODE: Final = BaseSystemContractsHashes(
    bootloader=Hash32.zero(), default_aa=Hash32.zero()
)
_NO_SYSTEM_CODE: Final = encode(NO_SYSTEM_CODE).decode()
_PRIORITY: Final = bytes(PRIORITY_TYPES)


class BlockDetails(BlockDetailsBase, frozen=True, kw_only=True):
    """A block and the settlement of its batch."""

    l1_batch_number: Annotated[int, says("The batch, or the next one if it is not sealed.")]
    operator_address: Annotated[Address, says("The operator that sealed the block.")]
    protocol_version: Annotated[str, says("The version of the protocol.")]


class L1BatchDetails(BlockDetailsBase, frozen=True, kw_only=True):
    """A batch and its settlement; the root is the state root after it."""

    commitment: Annotated[Hash32 | None, says("Its commitment; null before L1 has it.")]
    data_availability: Annotated[
        DataAvailability,
        says(
            "Where the data of the batch is: `calldata` if the commit publishes it on L1, `none` if the operator alone has it."
        ),
    ]
    pubdata_bytes: Annotated[int, says("How many bytes the batch publishes on L1, compressed.")]
    commit_gas_used: Annotated[
        int | None,
        says(
            "The gas that L1 took for the transaction that committed the batch; null if that is not known."
        ),
    ]
    prove_gas_used: Annotated[
        int | None,
        says(
            "The gas that L1 took for the transaction that proved the batch, others in it included; null if that is not known."
        ),
    ]
    execute_gas_used: Annotated[
        int | None,
        says(
            "The gas that L1 took for the transaction that executed the batch, others in it included; null if that is not known."
        ),
    ]


class FinalityStatus(JsonModel, frozen=True, kw_only=True):
    """The last blocks and batches at each stage of settlement."""

    last_sealed_block: Annotated[int, says("The latest block.")]
    last_committed_block: Annotated[int, says("The last block of that batch.")]
    last_committed_batch: Annotated[int, says("The last batch that L1 has.")]
    last_executed_block: Annotated[int, says("The last block of that batch.")]
    last_executed_batch: Annotated[int, says("The last batch that L1 has executed.")]
    last_finalized_block: Annotated[int, says("The last block of that batch.")]
    last_finalized_batch: Annotated[int, says("The last batch whose execution is final on L1.")]


class BlockMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """The prices of a block; zksync-os uses snake case here."""

    pubdata_price_per_byte: Annotated[
        Quantity, says("What a byte of pubdata costs, in units of the base token.")
    ]
    native_price: Annotated[Quantity, says("Its base fee, in units of the base token.")]
    execution_version: Annotated[int, says("The version of the execution.")] = 1


class ZksBatches:
    """`zks_` methods about blocks, batches and their settlement.

    Remembers: details of sealed batches and of their blocks, until their settlement changes.
    """

    prefix = "zks"

    def __init__(
        self,
        chain: Chain,
        batch_status: BatchStatus,
        fees: FeeModel,
        commitment_of: Callable[[Batch], Hash32],
    ) -> None:
        self._chain = chain
        self._batch_status = batch_status
        self._fees = fees
        self._commitment_of = commitment_of
        self._version = f"Version{PROTOCOL_VERSION[1]}"
        self._details: BoundedMap[int, tuple[BatchSettlement, Raw]] = BoundedMap(CACHES.details)
        self._blocks: BoundedMap[int, tuple[BatchSettlement, Raw]] = BoundedMap(CACHES.details)

    @method(name="zks_L1BatchNumber", getter=True, served_by=ServedBy.REPLICA)
    def l1_batch_number(self) -> Quantity:
        """Return the number of the last sealed batch."""
        return Quantity(self._batch_status.last_batch)

    @method(served_by=ServedBy.REPLICA)
    def get_l1_batch_block_range(self, batch: Number) -> tuple[Quantity, Quantity] | None:
        """Return the numbers of the first and the last block of a batch."""
        found = self._batch_status.batches.get(batch)
        if found is None:
            return None
        return Quantity(found.first_block), Quantity(found.last_block)

    @method(getter=True, served_by=ServedBy.REPLICA)
    def get_l1_batch_details(self, batch: Number) -> Annotated[Raw, L1BatchDetails] | None:
        """Return a sealed batch: state root, prices and settlement, with the commitment once it is on L1."""
        settlement = self._batch_status.of_batch(batch)
        if settlement is None or settlement.batch is None:
            return None
        known = self._details.get(batch)
        if known is not None and known[0] is settlement:
            return known[1]
        prices = self._chain.prices.at(settlement.batch.last_block)
        details = self._batch_details(settlement, settlement.batch, prices or self._fees.prices())
        if prices is not None:
            self._details.put(int(batch), (settlement, details))
        return details

    @method(getter=True, served_by=ServedBy.REPLICA, past=Past.REMOTE)
    def get_block_details(self, block: BlockHeight) -> Annotated[Raw, BlockDetails] | None:
        """Return a block: prices and the settlement of its batch; `rootHash` is the hash of the block."""
        settlement = self._batch_status.of_block(block)
        known = self._blocks.get(block)
        if known is not None and known[0] is settlement:
            return known[1]
        summary = self._summary(block)
        if summary is None:
            return None
        prices = self._chain.prices.at(block)
        details = self._block_details(block, summary, settlement, prices or self._fees.prices())
        # Another block may be reverted, and prices that are not stored change, while the settlement is the same.
        if settlement.batch is not None and prices is not None:
            self._blocks.put(int(block), (settlement, details))
        return details

    @method(served_by=ServedBy.REPLICA, past=Past.REMOTE)
    def get_block_metadata_by_number(self, block: BlockHeight) -> BlockMetadata | None:
        """Return the prices that a block was sealed with."""
        summary = self._summary(block)
        if summary is None:
            return None
        return BlockMetadata(
            pubdata_price_per_byte=Quantity(self._prices_of(block).fair_pubdata_price),
            native_price=Quantity(summary.base_fee),
        )

    @method(served_by=ServedBy.REPLICA)
    def get_finality_status(self) -> FinalityStatus:
        """Return the last sealed, committed, executed and finalized blocks and batches."""
        finality, first = self._chain.finality, self._chain.ledger.first
        batches = self._batch_status.batches
        executed = batches.get(batches.last_settled(SettlementStep.EXECUTE))
        return FinalityStatus(
            last_sealed_block=self._chain.number,
            last_committed_block=max(finality.safe, first),
            last_committed_batch=self._batch_number(finality.safe),
            last_executed_block=first if executed is None else executed.last_block,
            last_executed_batch=0 if executed is None else executed.number,
            last_finalized_block=max(finality.finalized, first),
            last_finalized_batch=self._batch_number(finality.finalized),
        )

    def _prices_of(self, block: int) -> Prices:
        return self._chain.prices.at(block) or self._fees.prices()

    def _block_details(
        self, block: int, summary: _BlockSummary, settlement: BatchSettlement, prices: Prices
    ) -> Raw:
        batch = settlement.batch
        number = self._batch_status.last_batch + 1 if batch is None else batch.number
        members = _members(
            settlement.fields,
            number=block,
            timestamp=summary.timestamp,
            from_l1=summary.from_l1,
            from_l2=summary.transactions - summary.from_l1,
            root_hash=summary.hash,
            base_fee=summary.base_fee,
            prices=prices,
        )
        return Raw(
            f'{{{members},"l1BatchNumber":{number},"operatorAddress":"0x{summary.beneficiary.hex()}",'
            f'"protocolVersion":"{self._version}"}}'.encode()
        )

    def _batch_details(self, settlement: BatchSettlement, batch: Batch, prices: Prices) -> Raw:
        last = self._summary(batch.last_block)
        if last is None:
            raise UnknownBlock(batch.last_block)
        members = _members(
            settlement.fields,
            number=batch.number,
            timestamp=batch.first_timestamp,
            from_l1=batch.l1_transactions,
            from_l2=batch.transactions - batch.l1_transactions,
            root_hash=batch.state_root,
            base_fee=last.base_fee,
            prices=prices,
        )
        # That of genesis is on L1 from registration on.
        is_on_l1 = settlement.steps.commit is not None or not batch.number
        commitment = f'"{self._commitment_of(batch)}"' if is_on_l1 else "null"
        published = (
            f'"dataAvailability":"{_SCHEMES[batch.data_scheme]}","pubdataBytes":{batch.data_size}'
        )
        return Raw(
            f'{{{members},"commitment":{commitment},{published},{_gas(settlement.steps)}}}'.encode()
        )

    def _batch_number(self, block: int) -> int:
        position = self._batch_status.batches.position_of_block(block)
        return 0 if position is None else position.batch

    def _summary(self, block: int) -> _BlockSummary | None:
        stored = self._chain.blocks.get_encoded_record(block)
        if stored is None:
            return None
        summary = LAYOUT.block_summary(stored, _PRIORITY)
        # What the crate cannot read, Python reports.
        return _BlockSummary(*summary) if summary else _read(self._chain.blocks.record(block))


class _BlockSummary(NamedTuple):
    timestamp: int
    transactions: int
    from_l1: int
    hash: bytes
    base_fee: int
    beneficiary: bytes


def _read(record: BlockRecord) -> _BlockSummary:
    header = record.header()
    return _BlockSummary(
        header.timestamp,
        len(record.transactions),
        record.priority_count(),
        header.hash(),
        header.base_fee_per_gas,
        header.beneficiary,
    )


def _members(  # noqa: PLR0913 - members of an object
    settlement: str,
    *,
    number: int,
    timestamp: int,
    from_l1: int,
    from_l2: int,
    root_hash: bytes,
    base_fee: int,
    prices: Prices,
) -> str:
    return (
        f'{settlement},"number":{number:d},"timestamp":{timestamp},"l1TxCount":{from_l1},'
        f'"l2TxCount":{from_l2},"rootHash":"0x{root_hash.hex()}",'
        f'"l1GasPrice":{prices.l1_gas_price},"l2FairGasPrice":{base_fee},'
        f'"fairPubdataPrice":{prices.fair_pubdata_price},'
        f'"baseSystemContractsHashes":{_NO_SYSTEM_CODE}'
    )


def _gas(steps: SettlementTransactions) -> str:
    """Return the members of what L1 took for each step, as JSON; of the whole transaction, not the batch's share."""
    taken = (("commit", steps.commit), ("prove", steps.prove), ("execute", steps.execute))
    known = ((name, None if step is None else step.gas_used) for name, step in taken)
    return ",".join(f'"{name}GasUsed":{"null" if gas is None else int(gas)}' for name, gas in known)
