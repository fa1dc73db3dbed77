"""The `entresol_` namespace: whether L1 has booked what batches send to other chains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from entresol.primitives.values import Hash32, Quantity
from entresol.rpc.jsonrpc.method import ServedBy, method
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.types.number import Number

if TYPE_CHECKING:
    from entresol.primitives.batches import Batch
    from entresol.storage.batch_table import BatchTable


class BatchBooks(JsonModel, frozen=True, kw_only=True):
    """Whether L1 has booked what a batch sends to other chains, so that they can learn of it."""

    status: Annotated[
        Literal["none", "pending", "settled", "partial", "rejected"],
        says(
            "Whether the batch is booked, wholly or in part, is to be booked, cannot be, or has nothing to book."
        ),
    ]
    transaction_hash: Annotated[
        Hash32 | None,
        says("The transaction on L1 that booked the batch and added its root; null before it."),
    ]
    block_number: Annotated[
        Quantity | None, says("The block of L1 with that transaction; null before it.")
    ]
    timestamp: Annotated[Quantity | None, says("Its time, in seconds; null before it.")]
    problem: Annotated[
        str | None,
        says(
            "Why L1 does not book a bundle of the batch; null if it has booked all, or was not asked."
        ),
    ]


class EntresolBooks:
    """`entresol_` methods about the books of batches."""

    prefix = "entresol"

    def __init__(self, batches: BatchTable) -> None:
        self._batches = batches

    @method(served_by=ServedBy.REPLICA)
    def get_batch_books(self, batch: Number) -> BatchBooks | None:
        """Return whether L1 has booked a batch; null if there is no such batch.

        `none` is a batch without messages: no other chain asks for it. `partial` is one
        of which L1 has left out bundles; `problem` says why, of the first one, and `zks_getL2ToL1LogProof` of each.
        `rejected` is one of whose messages no other chain can learn until L1 takes its books; `problem` says why it does
        not. Withdrawals of both can be claimed, and the node tries them again.
        """
        number = int(batch)
        found = self._batches.get(number)
        if found is None:
            return None
        by, problem = self._batches.books.get(number), self._batches.books.problem_of(number)
        return BatchBooks(
            status="settled" if by is not None else self._status(found, problem),
            transaction_hash=None if by is None else by.transaction,
            block_number=None if by is None else Quantity(by.block),
            timestamp=None if by is None else Quantity(by.timestamp),
            problem=problem,
        )

    def _status(
        self, batch: Batch, problem: str | None
    ) -> Literal["none", "pending", "partial", "rejected"]:
        if problem is not None:
            return "partial" if self._batches.books.is_partial(batch.number) else "rejected"
        return "pending" if batch.has_messages else "none"
