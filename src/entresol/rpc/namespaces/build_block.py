"""`testing_buildBlockV1`: build a block of given transactions on any block, and seal nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import UNSET

from entresol.chain.sealing.block_filler import begin_block
from entresol.errors import (
    BlockFull,
    BlockNotFound,
    DeadlinePassed,
    HistoryNotLoaded,
    InvalidTransaction,
    MalformedValue,
    MissingSidecar,
    TooManyCalls,
)
from entresol.execution.block_executor import BlockExecutor, ParentBlock
from entresol.execution.evm_env import MAX_GAS_LIMIT, BlockEnv
from entresol.execution.work_budget import TimedBudget
from entresol.offload import Offload
from entresol.primitives.transactions import BlobTransaction, Transaction, decode
from entresol.primitives.values import Address, Data, Hash32, Quantity
from entresol.rpc.jsonrpc.gil_turns import cooperatively
from entresol.rpc.jsonrpc.method import Past, ServedBy, method
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.models.execution_payload import BlobsBundle, BuiltPayload, ExecutionPayload
from entresol.rpc.namespaces.dev.mining import sliced
from entresol.rpc.types.block_id import BlockHash, BlockId
from entresol.rpc.types.number import Number

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.execution.block_executor import ExecutedBlock
    from entresol.execution.call.limits import CallLimits
    from entresol.primitives.headers import Header
    from entresol.rpc.services.block_resolver import BlockResolver
    from entresol.rpc.services.call_runner import CallRunner

MAX_EXTRA_BYTES: Final = 32
"""How much data a header may have."""


class PayloadAttributes(JsonModel, frozen=True, kw_only=True):
    """What a consensus client decides of a block."""

    timestamp: Annotated[Number, says("The time of the block, later than its parent's.")]
    prev_randao: Annotated[Hash32, says("Its PREVRANDAO.")]
    suggested_fee_recipient: Annotated[Address, says("Who gets the fees.")]
    withdrawals: Annotated[list[dict[str, str]] | None, says("None: it has no validators.")] = None
    parent_beacon_block_root: Annotated[
        Hash32 | None, says("The root of the beacon block before, on a chain that has one.")
    ] = None
    target_gas_limit: Annotated[
        Number | None, says("Its gas limit, by default that of the next block.")
    ] = None


class BlockBuilding:
    """Blocks that are built and not sealed."""

    prefix = "testing"

    def __init__(self, chain: Chain, resolver: BlockResolver, runner: CallRunner) -> None:
        self._chain = chain
        self._resolver = resolver
        self._runner = runner

    @method(
        BlockNotFound,
        HistoryNotLoaded,
        MalformedValue,
        InvalidTransaction,
        BlockFull,
        TooManyCalls,
        DeadlinePassed,
        name="testing_buildBlockV1",
        served_by=ServedBy.PRODUCER,
        past=Past.LOCAL,
    )
    async def build_block_v1(
        self,
        parent_block_hash: BlockHash,
        payload_attributes: PayloadAttributes,
        transactions: list[Data] | None,
        extra_data: Data | None = None,
    ) -> Offload[BuiltPayload]:
        """Build the block after another one, of exactly these transactions, and change nothing.

        One that is not valid there is an error. With null for transactions those of the pool are taken, without what is not
        valid, or whose conditions do not hold. All together may take the time of a call. On the last block, edits since
        then are part of it; neither deposits nor roots of L1 are. On a fork the parent is its anchor or a block above.
        """
        self._runner.check_calls(0 if transactions is None else len(transactions))
        pooled = await self._pooled() if transactions is None else None
        number = self._resolver.inspected(BlockId(block_hash=parent_block_hash))
        parent = self._chain.ledger.header(number)
        opened = self._opened(parent, payload_attributes, bytes(extra_data or b""))
        edits = self._chain.edits.stored() if number == self._chain.number else ((), ())

        def run(limits: CallLimits) -> BuiltPayload:
            # On a fork it may begin again.
            executor = opened()
            executor.budget = TimedBudget(limits)
            begin_block(executor, *edits)
            if pooled is None:
                _include(executor, (decode(bytes(it)) for it in cooperatively(transactions or ())))
            else:
                _include_valid(executor, pooled)
            return _payload(executor.finish(self._chain.state_trie))

        return self._runner.offload(run)

    def _opened(
        self, parent: Header, attributes: PayloadAttributes, extra_data: bytes
    ) -> Callable[[], BlockExecutor]:
        """Return a function that opens the block without transactions; any thread may call it."""
        if attributes.timestamp <= parent.timestamp:
            problem = f"{attributes.timestamp:d} is not later than {parent.timestamp} of the parent"
            raise MalformedValue(problem, field="timestamp")
        if attributes.withdrawals:
            raise MalformedValue("there are no validators", field="withdrawals")
        if len(extra_data) > MAX_EXTRA_BYTES:
            problem = f"at most {MAX_EXTRA_BYTES} bytes are expected, got {len(extra_data)}"
            raise MalformedValue(problem, field="extraData")
        chain, rules = self._chain, self._chain.rules
        return partial(
            BlockExecutor,
            rules.evm_rules(),
            chain.ledger.state_after(parent.number),
            self._env(parent, attributes),
            ParentBlock(parent.hash(), parent.state_root),
            extra_data=extra_data,
            limits=chain.pool.config.validation,
            accepts_unsigned=rules.is_development,
        )

    def _env(self, parent: Header, attributes: PayloadAttributes) -> BlockEnv:
        chain, rules = self._chain, self._chain.rules
        fields = chain.ledger.blob_fees.fork_fields(parent)
        beacon_root = attributes.parent_beacon_block_root
        if beacon_root is not None and fields.parent_beacon_block_root is not None:
            fields = msgspec.structs.replace(fields, parent_beacon_block_root=beacon_root)
        given = attributes.target_gas_limit
        gas_limit = (
            chain.settings.gas_limit or rules.gas_limit
            if given is None
            else min(int(given), MAX_GAS_LIMIT)
        )
        return BlockEnv(
            number=parent.number + 1,
            timestamp=int(attributes.timestamp),
            gas_limit=gas_limit,
            beneficiary=attributes.suggested_fee_recipient,
            base_fee=rules.fees.next(parent),
            prevrandao=attributes.prev_randao,
            fork_fields=fields,
        )

    async def _pooled(self) -> list[Transaction]:
        """Return the best transactions of the pool, which others may change meanwhile."""
        best, found = self._chain.pool.best(), []
        async for _ in sliced(self._runner.max_calls):
            if (following := next(best, None)) is None:
                break
            found.append(following)
        return found


def _include(executor: BlockExecutor, transactions: Iterable[Transaction]) -> None:
    for transaction in transactions:
        if isinstance(transaction.payload, BlobTransaction) and transaction.sidecar is None:
            raise MissingSidecar
        executor.run(transaction)


def _include_valid(executor: BlockExecutor, transactions: Iterable[Transaction]) -> None:
    """Execute transactions, without those that are not valid after the ones before them, or do not fit."""
    for transaction in cooperatively(transactions):
        try:
            if transaction.conditions is not None:
                block, slot_of = executor.env, executor.overlay.slot
                transaction.conditions.check(block.number, block.timestamp, slot_of)
            executor.run(transaction)
        except (InvalidTransaction, BlockFull):
            continue


def _payload(built: ExecutedBlock) -> BuiltPayload:
    header = built.header
    has_blobs = header.blob_gas_used is not None
    value = sum(
        result.gas_used * _tip(sent, header)
        for sent, result in zip(built.transactions, built.record.results, strict=True)
    )
    return BuiltPayload(
        execution_payload=ExecutionPayload(
            parent_hash=header.parent_hash,
            fee_recipient=header.beneficiary,
            state_root=header.state_root,
            receipts_root=header.receipts_root,
            logs_bloom=Data(header.logs_bloom),
            prev_randao=header.mix_hash,
            block_number=Quantity(header.number),
            gas_limit=Quantity(header.gas_limit),
            gas_used=Quantity(header.gas_used),
            timestamp=Quantity(header.timestamp),
            extra_data=Data(header.extra_data),
            base_fee_per_gas=Quantity(header.base_fee_per_gas),
            block_hash=header.hash(),
            transactions=[Data(transaction.raw) for transaction in built.transactions],
            withdrawals=UNSET if header.withdrawals_root is None else [],
            blob_gas_used=Quantity(header.blob_gas_used or 0) if has_blobs else UNSET,
            excess_blob_gas=Quantity(header.excess_blob_gas or 0) if has_blobs else UNSET,
        ),
        block_value=Quantity(value),
        blobs_bundle=_blobs(built.transactions),
        should_override_builder=False,
        execution_requests=UNSET
        if header.requests_hash is None
        else [Data(request) for request in built.requests],
    )


def _tip(transaction: Transaction, header: Header) -> int:
    """Return what a transaction pays the beneficiary for a unit of gas."""
    payload = transaction.payload
    return min(payload.fee_cap - header.base_fee_per_gas, payload.tip)


def _blobs(transactions: Iterable[Transaction]) -> BlobsBundle:
    sidecars = [
        transaction.sidecar for transaction in transactions if transaction.sidecar is not None
    ]
    return BlobsBundle(
        commitments=[Data(commitment) for one in sidecars for commitment in one.commitments],
        proofs=[Data(proof) for one in sidecars for proof in one.proofs],
        blobs=[Data(blob) for one in sidecars for blob in one.blobs],
    )
