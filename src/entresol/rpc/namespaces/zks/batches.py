"""Blocks and batches: details, prices and finality."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

import msgspec

from entresol.chain.fees import FeeModel
from entresol.errors import UnknownBlock
from entresol.primitives.batches import SettlementStep
from entresol.primitives.values import Address, Hash32, Quantity
from entresol.rpc.jsonrpc.codec import JsonModel
from entresol.rpc.jsonrpc.method import ServedBy, method
from entresol.rpc.services.batch_status import PROTOCOL_VERSION, BatchStatus, SettlementFields
from entresol.rpc.types.number import Number
from entresol.storage.block_rows import Prices

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.primitives.batches import Batch
    from entresol.primitives.records import BlockRecord

Stage: TypeAlias = Literal["pending", "committed", "executed", "finalized"]


class BaseSystemContractsHashes(msgspec.Struct, frozen=True, kw_only=True):
    """Hashes of system code, which an EVM chain does not have; zksync-era uses snake case here."""

    bootloader: Hash32
    default_aa: Hash32
    evm_emulator: Hash32 | None = None


class BlockDetailsBase(SettlementFields, frozen=True, kw_only=True):
    """The fields that block and batch details share."""

    number: int
    timestamp: int
    l1_tx_count: int
    l2_tx_count: int
    root_hash: Hash32 | None
    l1_gas_price: int
    l2_fair_gas_price: int
    fair_pubdata_price: int | None
    base_system_contracts_hashes: BaseSystemContractsHashes


NO_SYSTEM_CODE: Final = BaseSystemContractsHashes(
    bootloader=Hash32.zero(), default_aa=Hash32.zero()
)


class BlockDetails(BlockDetailsBase, frozen=True, kw_only=True):
    """A block and the settlement of its batch."""

    l1_batch_number: int
    operator_address: Address
    protocol_version: str = PROTOCOL_VERSION


class L1BatchDetails(BlockDetailsBase, frozen=True, kw_only=True):
    """A batch and its settlement; the root is the state root after it."""

    commitment: Hash32 | None


class CommitmentReader(Protocol):
    """The commitments of batches."""

    def commitment_of(self, batch: Batch) -> Hash32:
        """Return the commitment of a batch, its hash on L1."""


class BlockFinality(JsonModel, frozen=True, kw_only=True):
    """The settlement stage of a block."""

    stage: Stage
    block_number: int
    batch_number: int | None


class FinalityStatus(JsonModel, frozen=True, kw_only=True):
    """The last blocks and batches at each stage of settlement."""

    last_sealed_block: int
    last_committed_block: int
    last_committed_batch: int
    last_executed_block: int
    last_executed_batch: int
    last_finalized_block: int
    last_finalized_batch: int


class BlockMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """The prices of a block; zksync-os uses snake case here."""

    pubdata_price_per_byte: Quantity
    native_price: Quantity
    execution_version: int = 1


class ZksBatches:
    """`zks_` methods about blocks, batches and their settlement."""

    prefix = "zks"

    def __init__(
        self, chain: Chain, batch_status: BatchStatus, fees: FeeModel, commitments: CommitmentReader
    ) -> None:
        self._chain = chain
        self._batch_status = batch_status
        self._fees = fees
        self._commitments = commitments

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

    @method(served_by=ServedBy.REPLICA)
    def get_l1_batch_details(self, batch: Number) -> L1BatchDetails | None:
        """Return a sealed batch: state root, prices and settlement, with the commitment once it is on L1."""
        found = self._batch_status.batches.get(batch)
        if found is None:
            return None
        prices = self._prices_of(found.last_block)
        last = self._chain.blocks.header(found.last_block)
        return L1BatchDetails(
            number=found.number,
            timestamp=found.first_timestamp,
            l1_tx_count=found.l1_transactions,
            l2_tx_count=found.transactions - found.l1_transactions,
            root_hash=Hash32(found.state_root),
            l1_gas_price=prices.l1_gas_price,
            l2_fair_gas_price=last.base_fee_per_gas,
            fair_pubdata_price=prices.fair_pubdata_price,
            base_system_contracts_hashes=NO_SYSTEM_CODE,
            commitment=self._commitment_of(found),
            **self._batch_status.fields_of(found),
        )

    @method(served_by=ServedBy.REPLICA)
    def get_block_details(self, block: Number) -> BlockDetails | None:
        """Return a block: prices and the settlement of its batch; `rootHash` is the hash of the block."""
        record = self._record(block)
        if record is None:
            return None
        header, prices = record.header(), self._prices_of(block)
        batch = self._batch_status.batch_of(block)
        from_l1 = record.priority_count()
        return BlockDetails(
            number=header.number,
            timestamp=header.timestamp,
            l1_tx_count=from_l1,
            l2_tx_count=len(record.transactions) - from_l1,
            root_hash=header.hash(),
            l1_gas_price=prices.l1_gas_price,
            l2_fair_gas_price=header.base_fee_per_gas,
            fair_pubdata_price=prices.fair_pubdata_price,
            base_system_contracts_hashes=NO_SYSTEM_CODE,
            l1_batch_number=self._batch_status.last_batch + 1 if batch is None else batch.number,
            operator_address=header.beneficiary,
            **self._batch_status.fields_of(batch),
        )

    @method(served_by=ServedBy.REPLICA)
    def get_block_metadata_by_number(self, block: Number) -> BlockMetadata | None:
        """Return the prices that a block was sealed with."""
        record = self._record(block)
        if record is None:
            return None
        return BlockMetadata(
            pubdata_price_per_byte=Quantity(self._prices_of(block).fair_pubdata_price),
            native_price=Quantity(record.header().base_fee_per_gas),
        )

    # Finality

    @method(served_by=ServedBy.REPLICA)
    def get_block_finality(self, block: Number) -> BlockFinality | None:
        """Return the settlement stage of a block."""
        if not self._chain.ledger.first <= block <= self._chain.number:
            return None
        return self._finality(block, self._batch_status.batch_of(block))

    @method(served_by=ServedBy.REPLICA)
    def get_transaction_finality(self, hash: Hash32) -> BlockFinality | None:
        """Return the settlement stage of a transaction's block."""
        location = self._chain.blocks.locate_transaction(hash)
        if location is None:
            return None
        block = location.block_number
        return self._finality(block, self._batch_status.batch_of(block))

    @method(served_by=ServedBy.REPLICA)
    def get_batch_finality(self, batch: Number) -> BlockFinality | None:
        """Return the settlement stage of a batch, and its last block."""
        found = self._batch_status.batches.get(batch)
        return None if found is None else self._finality(found.last_block, found)

    @method(served_by=ServedBy.REPLICA)
    def get_finality_status(self) -> FinalityStatus:
        """Return the last sealed, committed, executed and finalized blocks and batches."""
        finality = self._chain.finality
        batches = self._batch_status.batches
        executed = batches.get(batches.last_settled(SettlementStep.EXECUTE))
        return FinalityStatus(
            last_sealed_block=self._chain.number,
            last_committed_block=finality.safe,
            last_committed_batch=self._batch_number(finality.safe),
            last_executed_block=0 if executed is None else executed.last_block,
            last_executed_batch=0 if executed is None else executed.number,
            last_finalized_block=finality.finalized,
            last_finalized_batch=self._batch_number(finality.finalized),
        )

    def _finality(self, block: int, batch: Batch | None) -> BlockFinality:
        steps, finality = self._batch_status.steps_of(batch), self._chain.finality
        stage: Stage = "pending"
        if block <= finality.finalized:
            stage = "finalized"
        elif steps.execute is not None:
            stage = "executed"
        elif steps.commit is not None:
            stage = "committed"
        executed = stage in {"executed", "finalized"}
        number = batch.number if batch is not None and executed else None
        return BlockFinality(stage=stage, block_number=int(block), batch_number=number)

    def _prices_of(self, block: int) -> Prices:
        """Return the prices of a block; those of the next one if none are stored."""
        return self._chain.prices.at(block) or self._fees.prices()

    def _commitment_of(self, batch: Batch) -> Hash32 | None:
        """Return the commitment of a batch that is on L1; that of genesis is there from registration on."""
        committed = self._batch_status.steps_of(batch).commit is not None
        return self._commitments.commitment_of(batch) if committed or not batch.number else None

    def _batch_number(self, block: int) -> int:
        batch = self._batch_status.batch_of(block)
        return 0 if batch is None else batch.number

    def _record(self, block: int) -> BlockRecord | None:
        try:
            return self._chain.blocks.record(block) if block <= self._chain.number else None
        except UnknownBlock:
            return None
