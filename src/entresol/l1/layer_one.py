"""What the rollup asks of a layer 1, whichever it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

import msgspec

from entresol.primitives.values import Address, Hash32

NOBODY: Final = Address.zero()


class L1Block(msgspec.Struct, frozen=True, kw_only=True):
    """What is looked at of a block."""

    number: int
    hash: Hash32
    parent_hash: Hash32
    timestamp: int
    base_fee: int


class L1Log(msgspec.Struct, frozen=True, kw_only=True):
    """An event, and where it stands."""

    address: Address
    topics: tuple[Hash32, ...]
    data: bytes
    block_number: int
    block_hash: Hash32
    transaction_hash: Hash32
    index: int


class L1Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """How a transaction ended."""

    transaction_hash: Hash32
    block_number: int
    block_hash: Hash32
    succeeded: bool
    gas_used: int


class L1Fees(msgspec.Struct, frozen=True):
    """What gas costs in the next block: the base fee, and the tip that is usual."""

    base_fee: int
    tip: int

    @property
    def gas_price(self) -> int:
        """The price of a unit of gas."""
        return self.base_fee + self.tip


class LayerOne(Protocol):
    """A layer 1.

    Every call may raise `LayerOneUnreachable`, which waiting may help, or `LayerOneRejected`. A call or an estimate
    that fails raises the `ExecutionFailed` that says why.
    """

    @property
    def name(self) -> str:
        """How people know it: what may be shown of its URL."""

    async def chain_id(self) -> int:
        """Return the chain id."""

    async def block_number(self) -> int:
        """Return the number of the last block."""

    async def block(self, number: int) -> L1Block | None:
        """Return a block by its number."""

    async def logs(
        self, address: Address, topics: Sequence[Hash32], first: int, last: int
    ) -> list[L1Log]:
        """Return the logs of a contract in a range of blocks, in order, by their first topics."""

    async def call(
        self, to: Address, data: bytes, *, sender: Address = NOBODY, block: int | None = None
    ) -> bytes:
        """Return the output of a call on the last block, or on an older one."""

    async def estimate_gas(self, sender: Address, to: Address | None, data: bytes) -> int:
        """Return the gas that a transaction needs."""

    async def send(self, raw: bytes) -> Hash32:
        """Send a signed transaction; one that is known already is fine."""

    async def receipt(self, transaction_hash: Hash32) -> L1Receipt | None:
        """Return how a transaction ended, or None if it is in no block."""

    async def nonce(self, address: Address) -> int:
        """Return how many transactions of an account are in blocks."""

    async def balance(self, address: Address) -> int:
        """Return what an account has."""

    async def code(self, address: Address) -> bytes:
        """Return the code of an account."""

    async def fees(self) -> L1Fees:
        """Return what gas costs."""

    async def wait_for_block(self, seconds: float) -> None:
        """Wait until there may be a new block, so many seconds at most."""

    async def close(self) -> None:
        """Let go of connections."""
