"""Resolve block identifiers (number, tag, hash) to block numbers, states and EVM environments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.chain.finality import BlockTag
from entresol.errors import BlockNotFound, UnknownBlock
from entresol.execution.evm_env import BlockEnv, EvmEnv

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.chain.chain import Chain
    from entresol.execution.block_executor import BlockExecutor
    from entresol.execution.evm_env import State
    from entresol.primitives.headers import Header
    from entresol.primitives.values import Hash32
    from entresol.rpc.services.open_past import OpenPast, PastEnv
    from entresol.rpc.types.block_id import BlockNumber


class BlockResolver:
    """Resolves block identifiers on one chain.

    Remembers: the EVM environments of the latest block, where most calls run, and of the pending one. Fails: with
    `UnknownBlock`.
    """

    def __init__(
        self,
        chain: Chain,
        pending: Callable[[], BlockExecutor] | None = None,
        past: OpenPast | None = None,
    ) -> None:
        """Resolve on a chain; `pending` returns its pending block, by default built at once.

        A fork has `past`, where a block below it is while a call is about it.
        """
        self._chain = chain
        self._past = past
        self._pending = pending or chain.builder.pending
        self._rules = chain.rules.evm_rules()
        self._latest: tuple[Header, EvmEnv] | None = None
        self._next: EvmEnv | None = None

    def number(self, block: BlockNumber) -> int | None:
        """Return the number of a block, or None if there is none; the pending one follows the head."""
        if block.tag is not None:
            return self._chain.resolve(block.tag)
        if block.block_hash is not None:
            return self._chain.blocks.block_number(block.block_hash)
        return block.number

    def sealed(self, block: BlockNumber) -> int:
        """Return the number of a sealed block; the latest for `pending`."""
        if block.tag is BlockTag.PENDING:
            return self._chain.number
        number = self.number(block)
        if number is None or not self._chain.ledger.first <= number <= self._chain.number:
            raise UnknownBlock(number if block.block_hash is None else block.block_hash)  # type: ignore[arg-type]
        return number

    def inspected(self, block: BlockNumber) -> int:
        """Return the number of a sealed block, as `debug_` does: raise `BlockNotFound` if there is none."""
        try:
            return self.sealed(block)
        except UnknownBlock as error:
            raise BlockNotFound(error.block) from None

    def past(self, block: BlockNumber) -> PastEnv | None:
        """Return the block of the past that a call is about, if this is it."""
        return None if self._past is None else self._past.named(block)

    def state(self, block: BlockNumber) -> State:
        """Return the state after a block."""
        if self._past is not None and (past := self._past.named(block)) is not None:
            return past.env.state
        if block.tag is BlockTag.PENDING and self._chain.filler.has_work:
            return self._pending().overlay
        return self._chain.state_after(self.sealed(block))

    def evm_env(self, block: BlockNumber) -> EvmEnv:
        """Return the EVM environment of a call on a block."""
        if block.tag is BlockTag.LATEST:
            return self.latest_env()
        if block.tag is BlockTag.PENDING:
            return self.pending_env()
        if self._past is not None and (past := self._past.named(block)) is not None:
            return past.env
        number = self.sealed(block)
        if number == self._chain.number:
            return self.latest_env()
        header = self._chain.blocks.header(number)
        return EvmEnv(self._chain.state_after(number), self._rules, BlockEnv.of(header))

    def state_after(self, number: int | None) -> State:
        """Return the state after a sealed block by number, or after the last one."""
        if number is None:
            return self._chain.latest
        if number > self._chain.number:
            raise UnknownBlock(number)
        return self._chain.state_after(number)

    def state_root(self, number: int | None = None) -> Hash32:
        """Return the root of the state after a sealed block by number, or after the last one, in the state trie."""
        header = self._chain.head if number is None else self._chain.blocks.header(number)
        return self._chain.state_trie.root(header.state_root)

    def latest_env(self) -> EvmEnv:
        """Return the EVM environment of the last block: the same object until the head or its state changes."""
        header, state = self._chain.ledger.head, self._chain.latest
        cached = self._latest
        if cached is not None and cached[0] is header and cached[1].state is state:
            return cached[1]
        evm_env = EvmEnv(state, self._rules, BlockEnv.of(header))
        self._latest = header, evm_env
        return evm_env

    def pending_env(self) -> EvmEnv:
        """Return the EVM environment of the pending block: the same object until that is built again."""
        pending, cached = self._pending(), self._next
        if cached is None or cached.state is not pending.overlay or cached.block is not pending.env:
            self._next = cached = EvmEnv(pending.overlay, self._rules, pending.env)
        return cached
