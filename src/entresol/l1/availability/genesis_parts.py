"""The genesis of a chain on L1: calls that publish it in parts, and the parts put together again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol._native import keccak256
from entresol.errors import GenesisNotPublished, LayerOneFailed, MalformedValue
from entresol.l1.availability.batch_data import logs_in_windows
from entresol.l1.deployment import DeploymentStep
from entresol.primitives import abi
from entresol.primitives.published.limits import MAX_GENESIS_BYTES, MAX_GENESIS_PART
from entresol.primitives.values import Hash32

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.l1.layer_one import L1Log, LayerOne
    from entresol.primitives.values import Address

GENESIS_DATA: Final = Hash32(keccak256(b"GenesisData(uint256,uint256,bytes)"))
MAX_PARTS: Final = 16
MAX_LOGS: Final = 256
"""Only the admin can publish more, and each may take a hash over everything."""

_TOPICS: Final = 2


def publication_steps(
    chain: Address, data: bytes, published: GenesisParts | None = None
) -> list[DeploymentStep]:
    """Return the calls of a chain's admin that publish its genesis, in order, without those of parts that L1 has.

    They can be repeated from the first one. Raises `LayerOneFailed` for what only a file can hold.
    """
    if len(data) > MAX_GENESIS_BYTES:
        raise LayerOneFailed(
            f"a genesis of {len(data)} bytes is not published on L1: it may have {MAX_GENESIS_BYTES}"
        )
    pieces = [data[at : at + MAX_GENESIS_PART] for at in range(0, len(data), MAX_GENESIS_PART)] or [
        b""
    ]
    count = len(pieces)
    return [
        DeploymentStep(
            f"publish part {part + 1} of {count} of the genesis",
            chain,
            abi.encode_call("publishGenesis(uint256,uint256,bytes)", part, count, piece),
        )
        for part, piece in enumerate(pieces)
        if published is None or not published.has(part, count, piece)
    ]


async def read_genesis(
    l1: LayerOne, chain: Address, first: int, last: int, is_right: Callable[[bytes], bool]
) -> bytes:
    """Return the first complete genesis that a chain published in a range of L1 blocks and that `is_right`.

    Raises `GenesisNotPublished` if there is none.
    """
    parts = await read_parts(l1, chain, first, last, is_right)
    if parts.genesis is None:
        raise GenesisNotPublished(chain.checksummed(), l1.name, parts.logs)
    return parts.genesis


async def read_parts(
    l1: LayerOne, chain: Address, first: int, last: int, is_right: Callable[[bytes], bool]
) -> GenesisParts:
    """Return the parts that a chain published in a range of L1 blocks, up to those that make the genesis."""
    parts = GenesisParts(is_right)
    async for log in logs_in_windows(l1, chain, [GENESIS_DATA], first, last):
        if parts.add(log) is not None or parts.is_full:
            break
    return parts


class GenesisParts:
    """Puts the parts of a genesis together, as their logs come.

    Assumes: logs in their order. A publication that was interrupted, or that is of another genesis, is replaced part
    by part by the one that follows.
    """

    def __init__(self, is_right: Callable[[bytes], bool]) -> None:
        """`is_right` judges complete bytes: at most once for each log, and at most 1 MiB."""
        self.logs = 0
        """How many there were."""
        self.genesis: bytes | None = None
        """The first that is complete and right."""
        self.block: int | None = None
        """The L1 block that completed it."""
        self._is_right = is_right
        self._found: dict[int, dict[int, bytes]] = {}

    @property
    def is_full(self) -> bool:
        """Whether no reader looks at what is published after this."""
        return self.logs >= MAX_LOGS

    def has(self, number: int, count: int, data: bytes) -> bool:
        """Return whether a part is published, and not replaced by another."""
        return self._found.get(count, {}).get(number) == data

    def add(self, log: L1Log) -> bytes | None:
        """Return the genesis if this part completes it."""
        self.logs += 1
        part = _decode(log)
        if part is None:
            return None
        number, count, data = part
        found = self._found.setdefault(count, {})
        if found.get(number) == data:
            # What it would complete was judged before.
            return None
        found[number] = data
        if len(found) < count or sum(map(len, found.values())) > MAX_GENESIS_BYTES:
            return None
        whole = b"".join(found[part] for part in range(count))
        if not self._is_right(whole):
            return None
        if self.genesis is None:
            self.genesis, self.block = whole, log.block_number
        return whole


def _decode(log: L1Log) -> tuple[int, int, bytes] | None:
    """Return number, count and data of a part; None for what no contract emits."""
    if len(log.topics) != _TOPICS or log.topics[0] != GENESIS_DATA:
        return None
    try:
        count, data = abi.decode("(uint256,bytes)", log.data)
    except MalformedValue:
        return None
    number = int.from_bytes(log.topics[1])
    if not 0 <= number < count <= MAX_PARTS or len(data) > MAX_GENESIS_PART:
        return None
    return number, count, data
