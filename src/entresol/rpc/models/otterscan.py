"""Results of the `ots_` methods, for Otterscan."""

from __future__ import annotations

from typing import Annotated, Literal

from entresol.primitives.values import Address, Data, Quantity
from entresol.rpc.jsonrpc.model import ResultModel, says
from entresol.rpc.models.chain_objects import (
    BlockSummary,
    ReceiptBase,
    ReceiptInfo,
    TransactionInfo,
)


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
