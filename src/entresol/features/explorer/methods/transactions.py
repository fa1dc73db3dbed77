"""`entresol_` methods about transactions: of an account, of the chain, and by the beginning of a hash."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from entresol.errors import DeadlinePassed, MalformedValue, NotInspectable
from entresol.features.explorer.transaction_search import Before, Part
from entresol.offload import Offload
from entresol.primitives.values import Address, Data, Hash32, Quantity
from entresol.rpc.jsonrpc.method import ServedBy, method
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.types.number import Number

if TYPE_CHECKING:
    from entresol.chain.ledger import Ledger
    from entresol.features.explorer.account_index import IndexedAccounts
    from entresol.features.explorer.transaction_search import (
        FoundTransaction,
        TransactionSearch,
        TransactionsPage,
    )


MAX_PAGE: Final = 100
DEFAULT_PAGE: Final = 25


def page_size(limit: Number | None) -> int:
    """Return how many items are wanted; reject a page that is empty or too long."""
    size = DEFAULT_PAGE if limit is None else int(limit)
    if not 1 <= size <= MAX_PAGE:
        raise MalformedValue(f"from 1 to {MAX_PAGE}, got {size}", field="limit")
    return size


def check_indexed(index: IndexedAccounts) -> None:
    """Raise `NotInspectable` if the node keeps no index."""
    if not index.is_on:
        raise NotInspectable(
            "accounts and tokens are not indexed: the node runs with --no-explorer"
        )


MIN_DIGITS: Final = 4
MAX_DIGITS: Final = 64
MAX_MATCHES: Final = 10
"""How many hashes of each kind a search returns."""

_READ: Final = 64
"""How many are read for it, since some are of reverted blocks."""


class TransactionSummary(JsonModel, frozen=True, kw_only=True):
    """A transaction, as lists show it."""

    hash: Annotated[Hash32, says("The transaction.")]
    block_number: Annotated[Quantity, says("Its block.")]
    transaction_index: Annotated[Quantity, says("Its index there.")]
    timestamp: Annotated[Quantity, says("When the block was sealed.")]
    from_: Annotated[Address, says("The sender.")]
    to: Annotated[Address | None, says("The recipient; null for a creation.")]
    value: Annotated[Quantity, says("The wei that are sent.")]
    selector: Annotated[Data, says("The first four bytes of its data.")]
    succeeded: Annotated[bool, says("Whether it did.")]
    part: Annotated[Part, says("What the account is to it; of the chain's list, `sender`.")]


class TransactionSummaryList(JsonModel, frozen=True, kw_only=True):
    """Some transactions, the newest first, and the cursor of those before."""

    transactions: Annotated[list[TransactionSummary], says("The transactions.")]
    next: Annotated[Data | None, says("The cursor of those before.")]


class HashMatches(JsonModel, frozen=True, kw_only=True):
    """Hashes that begin with some digits."""

    transactions: Annotated[list[Hash32], says("Hashes of transactions.")]
    blocks: Annotated[list[Hash32], says("Hashes of blocks.")]


class EntresolTransactions:
    """Transactions by account and by place."""

    prefix = "entresol"

    def __init__(self, ledger: Ledger, index: IndexedAccounts, search: TransactionSearch) -> None:
        self._ledger = ledger
        self._index = index
        self._search = search

    @method(MalformedValue, served_by=ServedBy.REPLICA)
    def get_transactions(
        self, cursor: Data | None = None, limit: Number | None = None
    ) -> Offload[TransactionSummaryList]:
        """Return the transactions of the chain, the newest first.

        `limit` is at most 100. A page reads at most 2,000 blocks, for two seconds, so it may be shorter and have a next
        one. On a fork, those above its anchor.
        """
        size, before = page_size(limit), Before.parse(cursor, self._ledger.number)
        return Offload(lambda: self._shown(self._search.all(before, size)))

    @method(NotInspectable, MalformedValue, DeadlinePassed, served_by=ServedBy.REPLICA)
    def get_account_transactions(
        self, account: Address, cursor: Data | None = None, limit: Number | None = None
    ) -> Offload[TransactionSummaryList]:
        """Return the transactions that an account takes part in, the newest first.

        `part` says how: it is the `sender`, the `target` or receiver of a refund, it was `created`, it `logged`, or it
        was `called` or calls within the transaction. Calls are found if they change the account or log; blocks with
        several transactions are executed again to find them, 300 million gas a page, but not for the beneficiary of the
        block. `limit` is at most 100; a page reads at most 2,000 blocks, for two seconds, so it may be shorter and have a next
        one. On a fork, those above its anchor.
        """
        check_indexed(self._index)
        size, before = page_size(limit), Before.parse(cursor, self._ledger.number)
        return Offload(lambda: self._shown(self._search.of_account(account, before, size)))

    @method(MalformedValue, served_by=ServedBy.REPLICA)
    def find_hashes(self, prefix: str) -> HashMatches:
        """Return up to 10 transactions and 10 blocks whose hashes begin with `prefix`, `0x` and 4 to 64 digits.

        On a fork, those above its anchor.
        """
        digits = prefix.lower().removeprefix("0x")
        is_hex = not digits.strip("0123456789abcdef")
        if not is_hex or not MIN_DIGITS <= len(digits) <= MAX_DIGITS:
            raise MalformedValue(f"{MIN_DIGITS} to {MAX_DIGITS} hex digits", field="prefix")
        start = bytes.fromhex(digits + "0" * (len(digits) % 2))
        whole = bytes.fromhex(digits[: len(digits) // 2 * 2])
        store = self._ledger.store

        def matching(found: list[Hash32]) -> list[Hash32]:
            return [known_hash for known_hash in found if known_hash.hex().startswith(digits)][
                :MAX_MATCHES
            ]

        return HashMatches(
            transactions=matching(store.transactions_from(start, whole, _READ)),
            blocks=matching(store.blocks_from(start, whole, _READ)),
        )

    def _shown(self, page: TransactionsPage) -> TransactionSummaryList:
        return TransactionSummaryList(
            transactions=[self._summary(transaction) for transaction in page.transactions],
            next=None if page.following is None else Data(page.following.pack()),
        )

    def _summary(self, found: FoundTransaction) -> TransactionSummary:
        record = found.record
        transaction = record.transaction(found.position)
        payload = transaction.payload
        return TransactionSummary(
            hash=transaction.hash,
            block_number=Quantity(found.block),
            transaction_index=Quantity(found.position),
            timestamp=Quantity(record.header().timestamp),
            from_=Address(transaction.sender),
            to=payload.to,
            value=Quantity(payload.value),
            selector=Data(payload.data[:4]),
            succeeded=record.results[found.position].succeeded,
            part=found.part,
        )
