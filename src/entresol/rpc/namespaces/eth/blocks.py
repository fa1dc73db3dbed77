"""Blocks, headers, block receipts, transaction and uncle counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Raw

from entresol.chain.finality import BlockTag
from entresol.offload import Offload
from entresol.primitives.values import Quantity, Quantity64
from entresol.rpc.jsonrpc.method import Past, ServedBy, method
from entresol.rpc.models.chain_objects import BlockInfo, HeaderInfo, ReceiptInfo
from entresol.rpc.types.block_id import BlockHash, BlockId, BlockNumber

if TYPE_CHECKING:
    from entresol.rpc.services.block_resolver import BlockResolver
    from entresol.rpc.services.rendered_chain import RenderedChain
    from entresol.storage.store_view import StoreView


class EthBlocks:
    """`eth_` methods about blocks."""

    prefix = "eth"

    def __init__(self, blocks: StoreView, resolver: BlockResolver, rendered: RenderedChain) -> None:
        self._blocks = blocks
        self._resolver = resolver
        self._rendered = rendered

    @method(cached=True, getter=True, served_by=ServedBy.BLOCK, past=Past.REMOTE)
    def get_block_by_number(
        self, block_number: BlockNumber, full_transactions: bool
    ) -> Annotated[Raw, BlockInfo] | Offload[Raw] | None:
        """Return a block by number or tag, with full transactions or their hashes."""
        if block_number.tag is BlockTag.PENDING:
            return self._rendered.pending.block(full=full_transactions)
        number = self._resolver.number(block_number)
        return None if number is None else self._rendered.block(number, full=full_transactions)

    @method(cached=True, getter=True, served_by=ServedBy.REPLICA, past=Past.REMOTE)
    def get_block_by_hash(
        self, hash: BlockHash, full_transactions: bool
    ) -> Annotated[Raw, BlockInfo] | Offload[Raw] | None:
        """Return a block by hash, with full transactions or their hashes."""
        number = self._blocks.block_number(hash)
        return None if number is None else self._rendered.block(number, full=full_transactions)

    @method(cached=True, getter=True, served_by=ServedBy.BLOCK, past=Past.REMOTE)
    def get_header_by_number(
        self, block_number: BlockNumber
    ) -> Annotated[Raw, HeaderInfo] | Offload[Raw] | None:
        """Return the header of a block by number or tag."""
        if block_number.tag is BlockTag.PENDING:
            return self._rendered.pending.header()
        number = self._resolver.number(block_number)
        return None if number is None else self._rendered.header(number)

    @method(cached=True, getter=True, served_by=ServedBy.REPLICA, past=Past.REMOTE)
    def get_header_by_hash(
        self, hash: BlockHash
    ) -> Annotated[Raw, HeaderInfo] | Offload[Raw] | None:
        """Return the header of a block by hash."""
        number = self._blocks.block_number(hash)
        return None if number is None else self._rendered.header(number)

    @method(getter=True, served_by=ServedBy.BLOCK, past=Past.REMOTE)
    def get_block_transaction_count_by_number(self, block_number: BlockNumber) -> Quantity | None:
        """Return the number of transactions in a block, by number or tag."""
        if block_number.tag is BlockTag.PENDING:
            return Quantity(self._rendered.pending.transaction_count())
        return self._count(self._resolver.number(block_number))

    @method(getter=True, served_by=ServedBy.REPLICA, past=Past.REMOTE)
    def get_block_transaction_count_by_hash(self, hash: BlockHash) -> Quantity | None:
        """Return the number of transactions in a block, by hash."""
        return self._count(self._blocks.block_number(hash))

    @method(cached=True, getter=True, served_by=ServedBy.BLOCK, past=Past.REMOTE)
    def get_block_receipts(
        self, block: BlockId
    ) -> Annotated[Raw, list[ReceiptInfo]] | Offload[Raw] | None:
        """Return the receipts of a block by number, tag or hash."""
        number = self._resolver.number(block)
        return None if number is None else self._rendered.block_receipts(number)

    @method(getter=True, served_by=ServedBy.BLOCK, past=Past.REMOTE)
    def get_uncle_count_by_block_number(self, block_number: BlockNumber) -> Quantity | None:
        """Return the number of uncles of a block, by number or tag: zero."""
        number = self._resolver.number(block_number)
        return None if self._count(number) is None else Quantity(0)

    @method(getter=True, served_by=ServedBy.REPLICA, past=Past.REMOTE)
    def get_uncle_count_by_block_hash(self, hash: BlockHash) -> Quantity | None:
        """Return the number of uncles of a block, by hash: zero."""
        return None if self._blocks.block_number(hash) is None else Quantity(0)

    @method(getter=True, served_by=ServedBy.BLOCK, past=Past.REMOTE)
    def get_uncle_by_block_number_and_index(
        self, block_number: BlockNumber, index: Quantity64
    ) -> None:
        """Return an uncle of a block by number or tag: null, because no block has uncles."""

    @method(getter=True, served_by=ServedBy.REPLICA, past=Past.REMOTE)
    def get_uncle_by_block_hash_and_index(self, hash: BlockHash, index: Quantity64) -> None:
        """Return an uncle of a block by hash: null, because no block has uncles."""

    def _count(self, number: int | None) -> Quantity | None:
        count = None if number is None else self._rendered.transaction_count(number)
        return None if count is None else Quantity(count)
