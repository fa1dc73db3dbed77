"""The `entresol_` namespace: what is on its way between the layers, or waits to be claimed on L1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal, Protocol

from entresol.errors import LayerOneFailed, MalformedValue
from entresol.primitives.values import Data, Hash32, Quantity
from entresol.rpc.jsonrpc.method import method
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.types.number import Number

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

MAX_LIMIT: Final = 100
MAX_CURSOR_BYTES: Final = 12


class TransferLike(Protocol):
    """A transfer, as an index has it."""

    @property
    def kind(self) -> Literal["withdrawal", "message", "deposit", "failedDeposit"]:
        """Its kind."""

    @property
    def status(self) -> Literal["pending", "claimable"]:
        """How far it is."""

    @property
    def transaction(self) -> Hash32:
        """The transaction on the L2."""

    @property
    def index(self) -> int:
        """The index among the L2-to-L1 logs of the transaction."""

    @property
    def block(self) -> int | None:
        """The block on the L2."""

    @property
    def batch(self) -> int | None:
        """The batch, once it is sealed."""

    @property
    def problem(self) -> str | None:
        """Why the relay has not completed it."""


class TransferPageLike(Protocol):
    """Some transfers, and where the next ones begin."""

    @property
    def transfers(self) -> Sequence[TransferLike]:
        """The transfers."""

    @property
    def following(self) -> bytes | None:
        """Where the next ones begin; None after the last."""


class TransferIndex(Protocol):
    """Lists the transfers that are not completed."""

    @property
    def bundle_problem(self) -> Callable[[Hash32], str | None]:
        """Return why the relay has not executed a bundle."""

    def page(self, after: bytes, limit: int) -> Awaitable[TransferPageLike]:
        """Return up to `limit` transfers that follow a place; an empty one is the beginning."""


class OpenTransfer(JsonModel, frozen=True, kw_only=True):
    """A deposit, message or withdrawal that is not completed on both layers."""

    kind: Annotated[
        Literal["withdrawal", "message", "deposit", "failedDeposit"],
        says("What moves between the layers."),
    ]
    status: Annotated[
        Literal["pending", "claimable"], says("Whether it can be claimed now, or has to wait.")
    ]
    transaction_hash: Annotated[Hash32, says("The hash of the transaction.")]
    index: Annotated[Quantity, says("Which of the transaction's transfers it is.")]
    block_number: Annotated[Quantity | None, says("The number of its block.")]
    l1_batch_number: Annotated[Quantity | None, says("The batch; null before it is sealed.")]
    problem: Annotated[
        str | None,
        says(
            "Why the relay of the node could not complete it when it last tried; null if it has not tried."
        ),
    ]


class OpenTransferList(JsonModel, frozen=True, kw_only=True):
    """Some open transfers, the oldest first, and the cursor of those that follow."""

    transfers: Annotated[list[OpenTransfer], says("The transfers of the page.")]
    next: Annotated[Data | None, says("Where the next page begins; null on the last one.")]


class EntresolTransfers:
    """`entresol_` methods about transfers between the layers."""

    prefix = "entresol"

    def __init__(self, index: TransferIndex | None) -> None:
        """Without an index the producer serves them."""
        self._index = index

    @method(LayerOneFailed, MalformedValue)
    async def get_open_transfers(
        self, cursor: Data | None = None, limit: Number | None = None
    ) -> OpenTransferList:
        """Return what is not completed on both layers, the oldest first, however old it is.

        A `withdrawal` is `claimable` once L1 has executed its batch, and leaves the list when it is claimed there. A
        `message` leaves it once it can be proven. A `deposit` is in no block yet. A `failedDeposit` is one whose tokens
        can be claimed back. `index` counts the `l2ToL1Logs` of the receipt, as for `zks_getL2ToL1LogProof`. `limit` is
        at most 100; `next` is the cursor of what follows, null after the last. A page may be empty and have a next one.
        `problem` says why the relay of the node could not complete a withdrawal when it last tried.
        """
        if cursor is not None and len(cursor) > MAX_CURSOR_BYTES:
            raise MalformedValue(f"at most {MAX_CURSOR_BYTES} bytes", field="cursor")
        wanted = MAX_LIMIT if limit is None else int(limit)
        if not 1 <= wanted <= MAX_LIMIT:
            raise MalformedValue(f"from 1 to {MAX_LIMIT}, got {wanted}", field="limit")
        found = await self._produced().page(bytes(cursor or b""), wanted)
        following = found.following
        return OpenTransferList(
            transfers=[_transfer(transfer) for transfer in found.transfers],
            next=None if following is None else Data(following),
        )

    @method(LayerOneFailed)
    def get_bundle_problem(self, bundle: Hash32) -> str | None:
        """Return why the relay of the node could not execute a bundle that another chain has sent to this one.

        Null if there is no relay, if it has not tried, and once the bundle is executed. It tries again, later each time.
        """
        return self._produced().bundle_problem(bundle)

    def _produced(self) -> TransferIndex:
        if self._index is None:
            raise LayerOneFailed("a worker has no connection to L1")
        return self._index


def _transfer(found: TransferLike) -> OpenTransfer:
    return OpenTransfer(
        kind=found.kind,
        status=found.status,
        transaction_hash=found.transaction,
        index=Quantity(found.index),
        block_number=None if found.block is None else Quantity(found.block),
        l1_batch_number=None if found.batch is None else Quantity(found.batch),
        problem=found.problem,
    )
