"""The block of the past that a call is about, while it is called."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entresol.execution.evm_env import EvmEnv
    from entresol.execution.tracing import SealedBlock
    from entresol.primitives.headers import Header
    from entresol.primitives.values import Hash32
    from entresol.rpc.types.block_id import BlockNumber


class PastEnv(NamedTuple):
    """A block of the past, the state after it, and if it is to be executed again, its transactions."""

    number: int
    hash: Hash32
    header: Header
    env: EvmEnv
    sealed: SealedBlock | None = None

    def is_named_by(self, block: BlockNumber) -> bool:
        """Say whether a client means it."""
        return block.number == self.number or block.block_hash == self.hash


class OpenPast(msgspec.Struct):
    """Where the resolver and the traces of a fork find a block that is not in its store.

    Remembers: the block, only while a call runs on the event loop; so nothing else sees it.
    """

    current: PastEnv | None = None

    @contextmanager
    def at(self, block: PastEnv) -> Iterator[None]:
        """Show a block meanwhile."""
        before, self.current = self.current, block
        try:
            yield
        finally:
            self.current = before

    def named(self, block: BlockNumber) -> PastEnv | None:
        """Return the block if a client names it."""
        found = self.current
        return found if found is not None and found.is_named_by(block) else None

    def numbered(self, number: int) -> PastEnv | None:
        """Return the block if it has this number."""
        found = self.current
        return found if found is not None and found.number == number else None
