"""Transactions and receipts, and how transactions come in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Raw

from entresol.errors import InvalidTransaction, PoolRejection
from entresol.primitives.values import Address, Data, Hash32, Quantity64
from entresol.rpc.jsonrpc.method import method
from entresol.rpc.types.block_id import BlockNumber

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.rpc.services.block_resolver import BlockResolver
    from entresol.rpc.services.rendered_chain import RenderedChain


class EthTransactions:
    """Transactions of the chain."""

    prefix = "eth"

    def __init__(self, chain: Chain, resolver: BlockResolver, rendered: RenderedChain) -> None:
        self._chain = chain
        self._resolver = resolver
        self._rendered = rendered

    @method(InvalidTransaction, PoolRejection)
    def send_raw_transaction(self, tx_bytes: Data) -> Hash32:
        """Take a signed transaction and return its hash."""
        return self._chain.submit(bytes(tx_bytes))

    @method()
    def get_transaction_by_hash(self, hash: Hash32) -> Raw | None:
        """Return a transaction that is in a block or waits for one."""
        return self._rendered.transaction(hash)

    @method()
    def get_transaction_by_block_number_and_index(
        self, block_number: BlockNumber, index: Quantity64
    ) -> Raw | None:
        """Return a transaction by its place."""
        number = self._resolver.number(block_number)
        return None if number is None else self._rendered.transaction_at(number, index)

    @method()
    def get_transaction_by_block_hash_and_index(
        self, block_hash: Hash32, index: Quantity64
    ) -> Raw | None:
        """Return a transaction by its place."""
        number = self._chain.blocks.block_number(block_hash)
        return None if number is None else self._rendered.transaction_at(number, index)

    @method(cached=True)
    def get_transaction_receipt(self, hash: Hash32) -> Raw | None:
        """Return how a transaction ended, or null until it is in a block."""
        return self._rendered.receipt(hash)

    @method()
    def get_raw_transaction_by_hash(self, hash: Hash32) -> Raw | None:
        """Return the bytes of a transaction."""
        return self._rendered.raw_transaction(hash)

    @method()
    def get_raw_transaction_by_block_number_and_index(
        self, block_number: BlockNumber, index: Quantity64
    ) -> Raw | None:
        """Return the bytes of a transaction by its place."""
        number = self._resolver.number(block_number)
        return None if number is None else self._rendered.raw_transaction_at(number, index)

    @method()
    def get_raw_transaction_by_block_hash_and_index(
        self, block_hash: Hash32, index: Quantity64
    ) -> Raw | None:
        """Return the bytes of a transaction by its place."""
        number = self._chain.blocks.block_number(block_hash)
        return None if number is None else self._rendered.raw_transaction_at(number, index)

    @method()
    def get_transaction_by_sender_and_nonce(self, sender: Address, nonce: Quantity64) -> Raw | None:
        """Return the transaction by which an account used a nonce, or will."""
        sent = self._chain.blocks.hash_by_nonce(sender, nonce)
        if sent is not None:
            return self._rendered.transaction(sent)
        waiting = self._chain.pool.find(sender, nonce)
        return None if waiting is None else self._rendered.pending_transaction(waiting)
