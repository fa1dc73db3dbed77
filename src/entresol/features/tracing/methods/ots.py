"""`ots_` methods, which the block explorer Otterscan calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec
from msgspec import Raw

from entresol._native import TraceWriter
from entresol.errors import (
    BlockNotFound,
    DeadlinePassed,
    MalformedValue,
    NotInspectable,
    TransactionNotFound,
)
from entresol.execution.tracing import trace_block, trace_transaction
from entresol.offload import Offload
from entresol.primitives.bytecode import EMPTY_CODE_HASH
from entresol.primitives.values import Address, Data, Hash32, Quantity
from entresol.rpc.jsonrpc.gil_turns import cooperatively
from entresol.rpc.jsonrpc.method import Past, ServedBy, method
from entresol.rpc.jsonrpc.model import JsonModel, ResultModel, says
from entresol.rpc.models.chain_objects import (
    BlockSummary,
    HeaderInfo,
    ReceiptBase,
    ReceiptInfo,
    TransactionInfo,
)
from entresol.rpc.render.chain_json import effective_gas_price
from entresol.rpc.types.block_id import (
    LATEST,
    BlockHash,
    BlockHeight,
    BlockId,
    BlockNumber,
    TransactionHash,
)
from entresol.rpc.types.number import Number
from entresol.rpc.types.trace_request import frame_options

if TYPE_CHECKING:
    from entresol.chain.ledger import Ledger
    from entresol.execution.tracing import TraceBudget
    from entresol.primitives.records import BlockRecord
    from entresol.rpc.services.address_search import AddressPage, AddressSearch
    from entresol.rpc.services.block_resolver import BlockResolver
    from entresol.rpc.services.rendered_chain import RenderedObjects
    from entresol.rpc.services.trace_runner import TraceRunner
    from entresol.storage.store_view import StoreView


class InternalOperation(ResultModel, frozen=True, kw_only=True):
    """A transfer, a self-destruct or a creation within a transaction."""

    type: Annotated[
        Literal[0, 1, 2, 3], says("0 is a transfer, 1 a self-destruct, 2 a CREATE, 3 a CREATE2.")
    ]
    from_: Annotated[Address, says("Who paid or created.")]
    to: Annotated[Address, says("Who was paid or created.")]
    value: Annotated[Quantity, says("The ether that moved.")]


class OtterscanFrame(ResultModel, frozen=True, kw_only=True):
    """A call, a creation or a self-destruct of a transaction."""

    type: Annotated[Literal["CALL", "CALLCODE", "DELEGATECALL", "STATICCALL", "CREATE", "CREATE2", "SELFDESTRUCT"], says("The instruction that opened it.")]  # fmt: skip
    depth: Annotated[int, says("0 for the transaction itself.")]
    from_: Annotated[Address, says("Who called, or who is destroyed.")]
    to: Annotated[Address, says("Who is called, created or paid.")]
    value: Annotated[
        Quantity | None, says("The ether that moves; null where none can, as in a STATICCALL.")
    ]
    input: Annotated[Data, says("Call data, or the code that creates a contract.")]
    output: Annotated[Data, says("What it returned or reverted with.")]


class CountedBlock(BlockSummary, frozen=True, kw_only=True):
    """A block with the number of its transactions in place of them."""

    transaction_count: Annotated[int, says("How many transactions it has.")]


class PagedBlock(CountedBlock, frozen=True, kw_only=True):
    """A block with a page of its transactions."""

    transactions: Annotated[
        list[TransactionInfo], says("Those of the page; of their input only the selector.")
    ]


class Issuance(ResultModel, frozen=True, kw_only=True):
    """The ether that a block created: none."""

    block_reward: Annotated[Quantity, says("Always 0.")]
    uncle_reward: Annotated[Quantity, says("Always 0.")]
    issuance: Annotated[Quantity, says("Always 0.")]


class OtterscanBlock(ResultModel, frozen=True, kw_only=True):
    """A block without its transactions, and what it earned."""

    block: Annotated[CountedBlock, says("The block.")]
    issuance: Annotated[Issuance, says("The ether that it created.")]
    total_fees: Annotated[Quantity, says("What its transactions paid.")]


class ReceiptWithoutLogs(ReceiptBase, frozen=True, kw_only=True):
    """A receipt without its logs."""

    logs: Annotated[None, says("Always null.")]
    logs_bloom: Annotated[None, says("Always null.")]


class BlockPage(ResultModel, frozen=True, kw_only=True):
    """A page of the transactions of a block."""

    fullblock: Annotated[PagedBlock, says("The block, with the transactions of the page.")]
    receipts: Annotated[list[ReceiptWithoutLogs], says("Their receipts, in the same order.")]


class DatedReceipt(ReceiptInfo, frozen=True, kw_only=True):
    """A receipt with the time of its block."""

    timestamp: Annotated[int, says("In seconds since 1970.")]


class TransactionPage(ResultModel, frozen=True, kw_only=True):
    """Transactions and their receipts, the newest first; the first page has the newest of all."""

    txs: Annotated[list[TransactionInfo], says("The transactions.")]
    receipts: Annotated[list[DatedReceipt], says("Their receipts, in the same order.")]
    first_page: Annotated[bool, says("Whether none are newer.")]
    last_page: Annotated[bool, says("Whether none are older.")]


API_LEVEL: Final = 8
"""The version of the interface, which Otterscan checks."""
MAX_PAGE: Final = 1_000
"""How many transactions a page has at most."""


def check_page(size: int) -> None:
    """Reject a page that is too long."""
    if size > MAX_PAGE:
        raise MalformedValue(f"a page has at most {MAX_PAGE} transactions, got {size}")


class OtsBlocks:
    """Blocks with what Otterscan shows of them."""

    prefix = "ots"

    def __init__(
        self, blocks: StoreView, resolver: BlockResolver, objects: RenderedObjects
    ) -> None:
        self._blocks = blocks
        self._resolver = resolver
        self._objects = objects

    @method(name="erigon_getHeaderByNumber", served_by=ServedBy.BLOCK, past=Past.REMOTE)
    def get_header_by_number(
        self, block: BlockNumber
    ) -> Annotated[Raw, HeaderInfo] | Offload[Raw] | None:
        """Return the header of a block by number or tag; Otterscan recognizes a node by it."""
        number = self._resolver.number(block)
        return None if number is None else self._objects.rendered.header(number)

    @method(served_by=ServedBy.REPLICA)
    def get_api_level(self) -> int:
        """Return the version of the interface."""
        return API_LEVEL

    @method(BlockNotFound, served_by=ServedBy.BLOCK, past=Past.EXECUTE)
    def has_code(self, address: Address, block: BlockId = LATEST) -> bool:
        """Return whether an account has code after a block."""
        account = self._resolver.state(block).account(address)
        return account is not None and account.code_hash != EMPTY_CODE_HASH

    @method(served_by=ServedBy.BLOCK, past=Past.REMOTE)
    def get_block_details(
        self, block: BlockNumber
    ) -> Offload[Annotated[dict[str, Any], OtterscanBlock]] | None:
        """Return a block by number without its transactions, with issuance and fees."""
        return self._details(self._resolver.number(block))

    @method(served_by=ServedBy.REPLICA, past=Past.REMOTE)
    def get_block_details_by_hash(
        self, hash: BlockHash
    ) -> Offload[Annotated[dict[str, Any], OtterscanBlock]] | None:
        """Return a block by hash without its transactions, with issuance and fees."""
        return self._details(self._blocks.block_number(hash))

    @method(served_by=ServedBy.BLOCK, past=Past.REMOTE)
    def get_block_transactions(
        self, block: BlockNumber, page: Number, size: Number
    ) -> Offload[Annotated[dict[str, Any], BlockPage]] | None:
        """Return a page of the transactions of a block with their receipts; page 0 has the last ones.

        Of their input only the selector is returned, and receipts have no logs.
        """
        check_page(int(size))
        number = self._sealed(self._resolver.number(block))
        if number is None:
            return None
        return Offload(lambda: self._page(number, int(page), int(size)))

    def _sealed(self, number: int | None) -> int | None:
        record = None if number is None else self._objects.rendered.transaction_count(number)
        return None if record is None else number

    def _details(self, number: int | None) -> Offload[dict[str, Any]] | None:
        sealed = self._sealed(number)
        return None if sealed is None else Offload(lambda: self._detailed(sealed))

    def _detailed(self, number: int) -> dict[str, Any]:
        record = self._blocks.record(number)
        return {
            "block": self._block(number, record),
            "issuance": {"blockReward": "0x0", "uncleReward": "0x0", "issuance": "0x0"},
            "totalFees": hex(_fees(record)),
        }

    def _block(self, number: int, record: BlockRecord) -> dict[str, Any]:
        block = self._objects.block(number)
        del block["transactions"]
        return block | {"transactionCount": len(record.transactions)}

    def _page(self, number: int, page: int, size: int) -> dict[str, Any]:
        record = self._blocks.record(number)
        end = max(len(record.transactions) - page * size, 0)
        positions = range(max(end - size, 0), end)
        pairs = [
            self._objects.transaction(record, position) for position in cooperatively(positions)
        ]
        transactions = [shown | {"input": shown["input"][:10]} for shown, _ in pairs]
        return {
            "fullblock": self._block(number, record) | {"transactions": transactions},
            "receipts": [receipt | {"logs": None, "logsBloom": None} for _, receipt in pairs],
        }


def _fees(record: BlockRecord) -> int:
    base_fee = record.header().base_fee_per_gas
    return sum(
        result.gas_used * effective_gas_price(record.transaction(position).payload, base_fee)
        for position, result in enumerate(cooperatively(record.results))
    )


_OPERATIONS: Final = b'{"ownTracer":"internalOperationsTracer"}'
_FRAMES: Final = b'{"ownTracer":"otterscanTracer"}'
_NOTHING: Final = b'{"tracer":"noopTracer"}'


class ContractCreator(JsonModel, frozen=True, kw_only=True):
    """The transaction that created a contract, and the account that did."""

    hash: Annotated[Hash32, says("The hash of the transaction.")]
    creator: Annotated[Address, says("The account that created it.")]


class _CreationAction(msgspec.Struct):
    from_: str = msgspec.field(name="from", default="")


class _Creation(msgspec.Struct):
    """A frame; only a creation is of interest."""

    type: str
    action: _CreationAction
    error: str | None = None


_creations: Final = msgspec.json.Decoder(list[_Creation]).decode


class OtsTransactions:
    """Operations, frames and errors of sealed transactions."""

    prefix = "ots"

    def __init__(self, ledger: Ledger, traces: TraceRunner) -> None:
        self._ledger = ledger
        self._traces = traces

    @method(TransactionNotFound, served_by=ServedBy.REPLICA, past=Past.REPLAY)
    def get_internal_operations(
        self, hash: TransactionHash
    ) -> Offload[Annotated[TraceWriter, list[InternalOperation]]]:
        """Return the transfers, creations and self-destructs within a transaction."""
        return self._trace(hash, _OPERATIONS)

    @method(TransactionNotFound, served_by=ServedBy.REPLICA, past=Past.REPLAY)
    def trace_transaction(
        self, hash: TransactionHash
    ) -> Offload[Annotated[TraceWriter, list[OtterscanFrame]]]:
        """Return the frames of a transaction in order, each with its depth."""
        return self._trace(hash, _FRAMES)

    @method(TransactionNotFound, served_by=ServedBy.REPLICA, past=Past.REPLAY)
    def get_transaction_error(self, hash: TransactionHash) -> Offload[Data]:
        """Return the data that a transaction reverted with; `0x` if it did not."""
        block, index = self._traces.transaction(hash)

        def work() -> Data:
            ran = trace_transaction(block, index, _NOTHING, self._traces.budget())
            return Data(ran.output if ran.status == "revert" else b"")

        return Offload(work)

    @method(served_by=ServedBy.REPLICA, past=Past.LOCAL)
    def get_transaction_by_sender_and_nonce(self, address: Address, nonce: Number) -> Hash32 | None:
        """Return the hash of the transaction of an account with this nonce."""
        return self._ledger.store.hash_by_nonce(address, int(nonce))

    @method(served_by=ServedBy.BLOCK, past=Past.LOCAL)
    def get_contract_creator(self, address: Address) -> Offload[ContractCreator | None]:
        """Return the creator of a contract, and the transaction; null for a contract of the genesis or of an edit."""
        return Offload(lambda: self._creator(address))

    def _trace(self, transaction_hash: Hash32, options: bytes) -> Offload[TraceWriter]:
        block, index = self._traces.transaction(transaction_hash)

        def work(budget: TraceBudget) -> None:
            budget.writer.write_trace(trace_transaction(block, index, options, budget))

        return self._traces.run(work)

    def _creator(self, address: Address) -> ContractCreator | None:
        number = self._first_block_with_code(address)
        if number is None or self._traces.is_genesis(number):
            return None
        options, budget = frame_options(to_address=[address]), self._traces.budget()
        for traced in trace_block(self._traces.block(number), options, budget):
            if isinstance(traced.outcome, Exception):
                continue
            for frame in _creations(traced.outcome.trace or b"[]"):
                if frame.type == "create" and frame.error is None:
                    return ContractCreator(
                        hash=traced.hash, creator=Address.parse(frame.action.from_)
                    )
        return None

    def _first_block_with_code(self, address: Address) -> int | None:
        """Return the block since which the account has had its code; None if it has none."""
        low, high = self._ledger.first, self._ledger.number
        if not self._has_code(address, high):
            return None
        while low < high:
            middle = (low + high) // 2
            if self._has_code(address, middle):
                high = middle
            else:
                low = middle + 1
        return high

    def _has_code(self, address: Address, number: int) -> bool:
        account = self._ledger.state_after(number).account(address)
        return account is not None and account.code_hash != EMPTY_CODE_HASH


class OtsSearch:
    """Pages of the transactions that an address takes part in; those of a block are on one page."""

    prefix = "ots"

    def __init__(self, ledger: Ledger, search: AddressSearch, objects: RenderedObjects) -> None:
        self._ledger = ledger
        self._search = search
        self._objects = objects

    @method(NotInspectable, DeadlinePassed, served_by=ServedBy.REPLICA, past=Past.LOCAL)
    def search_transactions_before(
        self, address: Address, block: BlockHeight, size: Number
    ) -> Offload[Annotated[dict[str, Any], TransactionPage]]:
        """Return transactions of an address in blocks before `block`; 0 stands for the end of the chain.

        On a fork, those above its anchor.
        """
        check_page(int(size))
        head = self._ledger.number
        newest = head if block == 0 else min(int(block) - 1, head)

        def work() -> dict[str, Any]:
            page = self._search.page(address, range(newest, self._ledger.first, -1), int(size))
            return self._rendered(page, first_page=block == 0, last_page=not page.has_more)

        return Offload(work)

    @method(NotInspectable, DeadlinePassed, served_by=ServedBy.REPLICA, past=Past.LOCAL)
    def search_transactions_after(
        self, address: Address, block: BlockHeight, size: Number
    ) -> Offload[Annotated[dict[str, Any], TransactionPage]]:
        """Return transactions of an address in blocks after `block`; 0 stands for the start of the chain.

        On a fork, those above its anchor.
        """
        check_page(int(size))
        head = self._ledger.number

        def work() -> dict[str, Any]:
            page = self._search.page(
                address, range(max(int(block), self._ledger.first) + 1, head + 1), int(size)
            )
            return self._rendered(page, first_page=not page.has_more, last_page=block == 0)

        return Offload(work)

    def _rendered(self, page: AddressPage, *, first_page: bool, last_page: bool) -> dict[str, Any]:
        pairs = []
        for found in sorted(page.blocks, reverse=True):
            record = self._ledger.record(found.number)
            timestamp = {"timestamp": record.header().timestamp}
            for position in cooperatively(reversed(found.positions)):
                shown, receipt = self._objects.transaction(record, position)
                pairs.append((shown, receipt | timestamp))
        return {
            "txs": [shown for shown, _ in pairs],
            "receipts": [receipt for _, receipt in pairs],
            "firstPage": first_page,
            "lastPage": last_page,
        }
