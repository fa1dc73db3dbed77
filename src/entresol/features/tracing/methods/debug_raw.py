"""`debug_getRaw…`: headers, blocks, transactions and receipts as they are encoded and hashed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Raw

from entresol._native import rlp_decode, rlp_encode
from entresol.errors import BlockNotFound
from entresol.offload import POLICY, Offload
from entresol.primitives.records import transaction_type
from entresol.primitives.values import Data
from entresol.rpc.jsonrpc.gil_turns import cooperatively, within_limit
from entresol.rpc.jsonrpc.method import Past, ServedBy, method
from entresol.rpc.render.hex import array, data, raw
from entresol.rpc.types.block_id import BlockId, TransactionHash

if TYPE_CHECKING:
    from entresol._native import RlpItem
    from entresol.primitives.records import BlockRecord
    from entresol.rpc.services.block_resolver import BlockResolver
    from entresol.rpc.services.rendered_chain import RenderedChain
    from entresol.storage.store_view import StoreView


class DebugRaw:
    """Objects of sealed blocks, encoded."""

    prefix = "debug"

    def __init__(
        self, resolver: BlockResolver, blocks: StoreView, rendered: RenderedChain, max_bytes: int
    ) -> None:
        self._resolver = resolver
        self._blocks = blocks
        self._rendered = rendered
        self._max_bytes = max_bytes

    @method(BlockNotFound, served_by=ServedBy.BLOCK, past=Past.REMOTE)
    def get_raw_header(self, block: BlockId) -> Data:
        """Return the RLP of a header, whose hash is the block hash."""
        return Data(self._record(block).header_rlp)

    @method(BlockNotFound, served_by=ServedBy.BLOCK, past=Past.REMOTE)
    def get_raw_block(self, block: BlockId) -> Annotated[Raw, Data] | Offload[Annotated[Raw, Data]]:
        """Return the RLP of a block: header, transactions, no uncles, and on an L1 no withdrawals.

        Transactions are as in `debug_getRawTransaction`; the transactions root of the header commits to them.
        """
        record = self._record(block)

        def work() -> Raw:
            transactions = [
                _item(transaction) for transaction, _ in cooperatively(record.transactions)
            ]
            block: list[RlpItem] = [rlp_decode(record.header_rlp), transactions, []]
            if record.header().withdrawals_root is not None:
                block.append([])
            return raw(data(rlp_encode(block)))

        return work() if _is_short(record) else Offload(work)

    @method(served_by=ServedBy.STORE, past=Past.REMOTE)
    def get_raw_transaction(self, hash: TransactionHash) -> Annotated[Raw, Data] | None:
        """Return the bytes of a transaction, in a block or pending; null if there is none.

        Their hash is that of the transaction, but for two types of the L2: one of type 0x71 is known by the hash of
        its EIP-712 digest and its signature, and one from L1 by the hash of the first item after the type byte, the
        request as L1 encodes it.
        """
        return self._rendered.raw_transaction(hash)

    @method(BlockNotFound, served_by=ServedBy.BLOCK, past=Past.REPLAY)
    def get_raw_transactions(
        self, block: BlockId
    ) -> Annotated[Raw, list[Data]] | Offload[Annotated[Raw, list[Data]]]:
        """Return the transactions of a block, each as in `debug_getRawTransaction`.

        Those of a block that a fork's remote has are encoded again from its fields: few nodes serve this method.
        """
        past = self._resolver.past(block)
        sealed = None if past is None else past.sealed
        record = self._record(block) if sealed is None else sealed.record

        def work() -> Raw:
            encoded = (data(transaction) for transaction, _ in cooperatively(record.transactions))
            return raw(array(within_limit(encoded, self._max_bytes, len)))

        return work() if _is_short(record) else Offload(work)

    @method(BlockNotFound, served_by=ServedBy.BLOCK, past=Past.REMOTE)
    def get_raw_receipts(
        self, block: BlockId
    ) -> Annotated[Raw, list[Data]] | Offload[Annotated[Raw, list[Data]]]:
        """Return the receipts of a block, each as the receipts root commits to it."""
        record = self._record(block)

        def work() -> Raw:
            encoded = (data(receipt.encode()) for receipt in record.receipts())
            return raw(array(within_limit(encoded, self._max_bytes, len)))

        return work() if _is_short(record) else Offload(work)

    def _record(self, block: BlockId) -> BlockRecord:
        return self._blocks.record(self._resolver.inspected(block))


def _item(transaction: bytes) -> RlpItem:
    """Return a transaction as an item of a block: a list if it is a legacy one, else its bytes."""
    return rlp_decode(transaction) if transaction_type(transaction) == 0 else transaction


def _is_short(record: BlockRecord) -> bool:
    logs = sum(len(result.logs) for result in record.results)
    size = sum(len(transaction) for transaction, _ in record.transactions)
    items = len(record.transactions) + logs
    return items <= POLICY.rendered_items and size <= POLICY.data_bytes
