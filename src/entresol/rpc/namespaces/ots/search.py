"""`ots_searchTransactions…`: the transactions of an address, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from entresol.errors import DeadlinePassed, SearchTooLong
from entresol.offload import Offload
from entresol.primitives.values import Address
from entresol.rpc.jsonrpc.gil_turns import cooperatively
from entresol.rpc.jsonrpc.method import Past, ServedBy, method
from entresol.rpc.models.otterscan import TransactionPage
from entresol.rpc.namespaces.ots.blocks import check_page
from entresol.rpc.types.block_id import BlockHeight
from entresol.rpc.types.number import Number

if TYPE_CHECKING:
    from entresol.chain.ledger import Ledger
    from entresol.rpc.services.address_search import AddressPage, AddressSearch
    from entresol.rpc.services.rendered_chain import RenderedObjects


class OtsSearch:
    """Pages of the transactions that an address takes part in; those of a block are on one page."""

    prefix = "ots"

    def __init__(self, ledger: Ledger, search: AddressSearch, objects: RenderedObjects) -> None:
        self._ledger = ledger
        self._search = search
        self._objects = objects

    @method(SearchTooLong, DeadlinePassed, served_by=ServedBy.REPLICA, past=Past.LOCAL)
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

    @method(SearchTooLong, DeadlinePassed, served_by=ServedBy.REPLICA, past=Past.LOCAL)
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
