"""Where something is that a client names: in the fork's own blocks, or below."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from entresol.chain.finality import BlockTag
from entresol.primitives.values import Hash32
from entresol.rpc.jsonrpc.method import Named

if TYPE_CHECKING:
    from typing import Any

    from entresol.rpc.services.log_search import ChainHead
    from entresol.rpc.services.past.remote import PastChain
    from entresol.rpc.services.rendered_chain import PendingTransactions
    from entresol.storage.store_view import BlockReader


class UnknownHash(NamedTuple):
    """The hash of a block or a transaction that is not here."""

    hash: Hash32
    is_transaction: bool


Place: TypeAlias = int | UnknownHash | None
"""The number of a block of the past, a hash that may be of the past, or None for what is ours."""


class Places:
    """Tells what is of the past. Assumes: the event loop."""

    def __init__(
        self,
        remote: PastChain,
        head: ChainHead,
        blocks: BlockReader,
        pending: PendingTransactions,
    ) -> None:
        self._remote = remote
        self._head = head
        self._blocks = blocks
        self._pending = pending

    @property
    def anchor(self) -> int:
        """The number of the block that the fork stands on."""
        return self._remote.anchor.number

    def of(self, kind: Named, value: Any, last: int) -> Place:
        """Return where something is, if the past ends with the block `last`."""
        match kind:
            case Named.BLOCK:
                return self._of_block(value, last)
            case Named.CONTEXT:
                named = None if value is None else value.block_number
                return None if named is None else self._of_block(named, last)
            case Named.NUMBER:
                return self._of_number(int(value), last)
            case Named.BLOCK_HASH:
                return self._of_block_hash(Hash32(value), last)
            case Named.TRANSACTION:
                return self._of_transaction(Hash32(value))
            case _:
                raise TypeError(f"a {kind.value} is no single place")

    def _of_block(self, block: Any, last: int) -> Place:
        if block.tag is BlockTag.EARLIEST:
            # Whatever the first block here is: that of a chain is the first one of all.
            return self._of_number(0, last)
        if block.tag is not None:
            # A fork without blocks of its own has the anchor for its latest one.
            return self._of_number(self._head.resolve(block.tag), last)
        if block.block_hash is not None:
            return self._of_block_hash(block.block_hash, last)
        return self._of_number(block.number, last)

    def _of_number(self, number: int, last: int) -> int | None:
        return number if number <= last else None

    def _of_block_hash(self, block_hash: Hash32, last: int) -> Place:
        if block_hash == self._remote.anchor.hash:
            return self._of_number(self.anchor, last)
        if self._blocks.block_number(block_hash) is not None:
            return None
        return UnknownHash(block_hash, is_transaction=False)

    def _of_transaction(self, transaction_hash: Hash32) -> Place:
        if self._pending.get(transaction_hash) is not None:
            return None
        if self._blocks.locate_transaction(transaction_hash) is not None:
            return None
        return UnknownHash(transaction_hash, is_transaction=True)
