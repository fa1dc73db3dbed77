"""What happened in a transaction, as Otterscan shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from entresol._native import TraceWriter
from entresol.errors import TransactionNotFound
from entresol.execution.trace.block_trace import trace_block, trace_transaction
from entresol.offload import Offload
from entresol.primitives.bytecode import EMPTY_CODE_HASH
from entresol.primitives.values import Address, Data, Hash32
from entresol.rpc.jsonrpc.method import Past, ServedBy, method
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.models.otterscan import InternalOperation, OtterscanFrame
from entresol.rpc.types.block_id import TransactionHash
from entresol.rpc.types.number import Number
from entresol.rpc.types.trace_request import frame_options

if TYPE_CHECKING:
    from entresol.chain.ledger import Ledger
    from entresol.execution.trace.budget import TraceBudget
    from entresol.rpc.services.trace_runner import TraceRunner

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
