"""`LayerOne`, the interface of a layer 1 that the rollup settles on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias, TypeVar

import msgspec

from entresol.errors import LayerOneMismatch
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

DEFAULT_SENDER: Final = Address.zero()

L1Finality: TypeAlias = Literal["latest", "safe", "finalized"]
"""The last block of an L1 that counts: any, one that is unlikely to be reorged, or one that cannot be."""

MAX_REORG_DEPTH: Final = 64
"""Deeper reorgs are not expected: two epochs of Ethereum, after which blocks are final."""

T = TypeVar("T")
MAX_READINGS: Final = 5
"""More blocks than an L1 makes between as many requests."""


class L1Block(msgspec.Struct, frozen=True, kw_only=True):
    """A block of L1."""

    number: int
    hash: Hash32
    parent_hash: Hash32
    timestamp: int
    base_fee: int


class L1Log(msgspec.Struct, frozen=True, kw_only=True):
    """A log of L1, with its block, transaction and index."""

    address: Address
    topics: tuple[Hash32, ...]
    data: bytes
    block_number: int
    block_hash: Hash32
    transaction_hash: Hash32
    index: int


class L1Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """A receipt of L1."""

    transaction_hash: Hash32
    block_number: int
    block_hash: Hash32
    succeeded: bool
    gas_used: int


class L1Fees(msgspec.Struct, frozen=True):
    """Gas prices for the next block: its base fee, and the suggested tip."""

    base_fee: int
    tip: int

    @property
    def gas_price(self) -> int:
        """The gas price of a legacy transaction."""
        return self.base_fee + self.tip


class LayerOne(Protocol):
    """A layer 1.

    Every method may raise `LayerOneUnreachable`, which is temporary, or `LayerOneRejected`. A call or an estimate
    that reverts raises `ExecutionFailed` with the reason.
    """

    @property
    def name(self) -> str:
        """Its name in messages: its URL without secrets."""

    @property
    def reorg_level(self) -> int:
        """The log level of its reorgs: a warning, unless they only happen on request."""

    async def chain_id(self) -> int:
        """Return the chain id."""

    async def block_number(self, tag: L1Finality = "latest") -> int:
        """Return the number of the latest block, or of the last safe or finalized one."""

    async def block(self, number: int) -> L1Block | None:
        """Return a block by its number."""

    async def head(self) -> L1Block:
        """Return the latest block."""

    async def logs(
        self, address: Address, topics: Sequence[Hash32], first: int, last: int
    ) -> list[L1Log]:
        """Return the logs of a contract in a range of blocks, in order, by their first topics."""

    async def call(
        self,
        to: Address,
        data: bytes,
        *,
        sender: Address = DEFAULT_SENDER,
        block: int | Hash32 | None = None,
    ) -> bytes:
        """Return the output of a call on the latest block, or on another one by its number or hash."""

    async def estimate_gas(
        self, sender: Address, to: Address | None, data: bytes, *, block: Hash32 | None = None
    ) -> int:
        """Return the gas that a transaction needs after the latest block, or after another one."""

    async def send(self, raw: bytes) -> Hash32:
        """Send a signed transaction; succeeds if L1 has it already."""

    async def receipt(self, transaction_hash: Hash32) -> L1Receipt | None:
        """Return the receipt of a transaction, or None if it is in no block."""

    async def nonce(self, address: Address, block: Hash32 | None = None) -> int:
        """Return the nonce of an account after the latest block, or after another one."""

    async def balance(self, address: Address) -> int:
        """Return the balance of an account in wei."""

    async def code(self, address: Address, block: int | None = None) -> bytes:
        """Return the code of an account after the latest block, or after an older one."""

    async def fees(self) -> L1Fees:
        """Return the current gas prices."""

    async def wait_for_block(self, seconds: float) -> None:
        """Wait for the next block, up to so many seconds."""

    async def close(self) -> None:
        """Close the connections."""


async def agreed(l1: LayerOne, what: str, read: Callable[[], Awaitable[T]]) -> T:
    """Return what L1 says twice in a row; raise `LayerOneMismatch` if it says something else each time."""
    last = await read()
    for _ in range(MAX_READINGS - 1):
        found = await read()
        if found == last:
            return found
        last = found
    raise LayerOneMismatch(f"{l1.name} says something else each time that it is asked for {what}")


async def existing_block(l1: LayerOne, number: int) -> L1Block:
    """Return a block of L1; raise `LayerOneMismatch` if it is not there, as of a node that lags."""
    found = await l1.block(number)
    if found is None:
        raise LayerOneMismatch(f"{l1.name} has no block {number} at the moment")
    return found


async def is_canonical(l1: LayerOne, number: int, block_hash: Hash32) -> bool:
    """Return whether L1 has this block."""
    block = await l1.block(number)
    return block is not None and block.hash == block_hash


def inconsistent(l1: LayerOne, block: int) -> LayerOneMismatch:
    """Return the error for responses of L1 about different versions of a block."""
    return LayerOneMismatch(
        f"{l1.name} gives different versions of block {block}: a reorg, or nodes that disagree"
    )


async def check_blocks(
    l1: LayerOne, first: int, last: L1Block, found: Sequence[tuple[int, Hash32]]
) -> None:
    """Raise `LayerOneMismatch` if what was found is outside of a range, or in a block that L1 does not have."""
    blocks = {last.number: last.hash} | dict(found)
    for number, block_hash in found:
        if not first <= number <= last.number or block_hash != blocks[number]:
            raise inconsistent(l1, number)
    if blocks[last.number] != last.hash:
        raise inconsistent(l1, last.number)
    # The last block is compared last: it was read before the logs.
    for number in sorted(blocks):
        is_recent = last.number - number <= MAX_REORG_DEPTH
        if is_recent and not await is_canonical(l1, number, blocks[number]):
            raise inconsistent(l1, number)
