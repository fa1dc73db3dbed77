"""`entresol_` methods about transfers of tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from entresol.errors import MalformedValue
from entresol.offload import Offload
from entresol.primitives.values import Address, Data, Hash32, Quantity
from entresol.rpc.jsonrpc.method import ServedBy, method
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.namespaces.entresol.paging import page_size
from entresol.rpc.namespaces.entresol.tokens import STANDARDS, StandardName
from entresol.rpc.services.accounts.cursors import Before
from entresol.rpc.types.number import Number

if TYPE_CHECKING:
    from entresol.chain.ledger import Ledger
    from entresol.rpc.services.accounts.transfer_search import (
        FoundTransfer,
        TokenTransferPage,
        TransferSearch,
    )


class TokenMovement(JsonModel, frozen=True, kw_only=True):
    """A transfer of a token, as its contract has logged it."""

    token: Annotated[Address, says("The contract.")]
    standard: Annotated[StandardName, says("By the form of the log.")]
    from_: Annotated[Address, says("Who gives; the zero address for what is minted.")]
    to: Annotated[Address, says("Who receives; the zero address for what is burnt.")]
    values: Annotated[list[Quantity], says("The amount, or how many of each item.")]
    ids: Annotated[list[Quantity], says("The items; none of an ERC-20.")]
    transaction_hash: Annotated[Hash32, says("The transaction.")]
    block_number: Annotated[Quantity, says("Its block.")]
    timestamp: Annotated[Quantity, says("When that was sealed.")]
    log_index: Annotated[Quantity, says("The index of the log in the block.")]


class TokenMovementList(JsonModel, frozen=True, kw_only=True):
    """Some transfers of tokens, the newest first, and the cursor of those before."""

    transfers: Annotated[list[TokenMovement], says("The transfers.")]
    next: Annotated[Data | None, says("The cursor of those before.")]


class EntresolTokenTransfers:
    """Transfers by the index of logs, which every node has."""

    prefix = "entresol"

    def __init__(self, ledger: Ledger, search: TransferSearch) -> None:
        self._ledger = ledger
        self._search = search

    @method(MalformedValue, served_by=ServedBy.REPLICA)
    def get_token_transfers(
        self, token: Address, cursor: Data | None = None, limit: Number | None = None
    ) -> Offload[TokenMovementList]:
        """Return the transfers of a token, the newest first.

        They are what its contract has logged by `Transfer`, `TransferSingle` and `TransferBatch`, and nothing checks
        that it is true. `values` are one amount of an ERC-20, or how many of each of the `ids`, at most 256. `limit` is
        at most 100. A page reads at most 1,000 blocks, for two seconds, so it may be shorter and have a next
        one. On a fork, those above
        its anchor.
        """
        size, before = page_size(limit), Before.parse(cursor, self._ledger.number)
        return Offload(lambda: self._shown(self._search.of_token(token, before, size)))

    @method(MalformedValue, served_by=ServedBy.REPLICA)
    def get_account_transfers(
        self, account: Address, cursor: Data | None = None, limit: Number | None = None
    ) -> Offload[TokenMovementList]:
        """Return the transfers of tokens from and to an account, the newest first.

        They are as those of `entresol_getTokenTransfers`, with its limits.
        """
        size, before = page_size(limit), Before.parse(cursor, self._ledger.number)
        return Offload(lambda: self._shown(self._search.of_account(account, before, size)))

    def _shown(self, page: TokenTransferPage) -> TokenMovementList:
        return TokenMovementList(
            transfers=[self._movement(transfer) for transfer in page.transfers],
            next=None if page.following is None else Data(page.following.pack()),
        )

    def _movement(self, found: FoundTransfer) -> TokenMovement:
        it, record = found.transfer, found.record
        return TokenMovement(
            token=it.token,
            standard=STANDARDS[it.standard],
            from_=it.sender,
            to=it.recipient,
            values=[Quantity(value) for value in it.values],
            ids=[Quantity(item) for item in it.ids],
            transaction_hash=record.transaction_hash(found.transaction),
            block_number=Quantity(found.block),
            timestamp=Quantity(record.header().timestamp),
            log_index=Quantity(found.log),
        )
