"""Transfers of tokens by token or by account, from the index of logs."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.features.explorer.token_transfers import (
    TRANSFER,
    TRANSFER_BATCH,
    TRANSFER_SINGLE,
    TRANSFERS,
    TokenTransfer,
    transfer_of,
)
from entresol.features.explorer.transaction_search import Before
from entresol.rpc.jsonrpc.gil_turns import cooperatively
from entresol.state_missing import work_clock
from entresol.storage.log_index import LogQuery

if TYPE_CHECKING:
    from entresol.primitives.records import BlockRecord
    from entresol.primitives.values import Address
    from entresol.storage.store_view import StoreView

MAX_BLOCKS: Final = 1_000
"""How many blocks a page reads at most: other logs may have put them under the same keys."""

MAX_SECONDS: Final = 2.0
"""How long they are read: full ones take longer."""

_ITEMS: Final = frozenset({TRANSFER_SINGLE, TRANSFER_BATCH})
_ANY: Final[frozenset[bytes]] = frozenset()
_PADDING: Final = bytes(12)


class FoundTransfer(NamedTuple):
    """A transfer, and where its log is: the transaction in the block, the log in the block.

    `record` is that of the block, which others may replace meanwhile.
    """

    block: int
    transaction: int
    log: int
    transfer: TokenTransfer
    record: BlockRecord


class TokenTransferPage(NamedTuple):
    """Some transfers, the newest first, and where the next page begins."""

    transfers: list[FoundTransfer]
    following: Before | None


class TransferSearch:
    """Finds transfers by the addresses in their logs, block by block, from the newest on.

    Any thread may use it.
    """

    def __init__(
        self, blocks: StoreView, max_blocks: int = MAX_BLOCKS, max_seconds: float = MAX_SECONDS
    ) -> None:
        self._blocks = blocks
        self._max_blocks = max_blocks
        self._max_seconds = max_seconds

    def of_token(self, token: Address, before: Before, size: int) -> TokenTransferPage:
        """Return transfers of a token."""
        query = LogQuery(addresses=frozenset({bytes(token)}), topics=(TRANSFERS,))
        return self._page([query], before, size, lambda transfer: transfer.token == token)

    def of_account(self, account: Address, before: Before, size: int) -> TokenTransferPage:
        """Return transfers from or to an account, of any token."""
        who = frozenset({_PADDING + account})
        plain = frozenset({TRANSFER})
        queries = [
            LogQuery(topics=(plain, who)),
            LogQuery(topics=(plain, _ANY, who)),
            LogQuery(topics=(_ITEMS, _ANY, who)),
            LogQuery(topics=(_ITEMS, _ANY, _ANY, who)),
        ]
        return self._page(
            queries, before, size, lambda transfer: account in (transfer.sender, transfer.recipient)
        )

    def _page(
        self,
        queries: list[LogQuery],
        before: Before,
        size: int,
        accepts: Callable[[TokenTransfer], bool],
    ) -> TokenTransferPage:
        found: list[FoundTransfer] = []
        blocks = self._candidates(queries, before.block)
        end = work_clock() + self._max_seconds
        for read, number in enumerate(cooperatively(blocks)):
            if read >= self._max_blocks or (read and work_clock() > end):
                return TokenTransferPage(found, Before.below(number))
            record = self._blocks.get_record(number)
            for transfer in () if record is None else _backwards(record, number):
                if (number, transfer.log) < before and accepts(transfer.transfer):
                    if len(found) == size:
                        last = found[-1]
                        return TokenTransferPage(found, Before(last.block, last.log))
                    found.append(transfer)
        return TokenTransferPage(found, None)

    def _candidates(self, queries: list[LogQuery], last: int) -> Iterator[int]:
        """Yield the blocks that may have a log of any query, each once, the newest first."""
        first = self._blocks.first_number
        lists = [
            self._blocks.blocks_with_logs(query, first, last, newest_first=True)
            for query in queries
        ]
        previous = None
        for number in heapq.merge(*lists, reverse=True):
            if number != previous:
                yield number
            previous = number


def _backwards(record: BlockRecord, number: int) -> Iterator[FoundTransfer]:
    log = sum(len(result.logs) for result in record.results)
    for transaction in reversed(range(len(record.results))):
        for address, topics, data in reversed(record.results[transaction].logs):
            log -= 1
            transfer = transfer_of(address, topics, data)
            if transfer is not None:
                yield FoundTransfer(number, transaction, log, transfer, record)
