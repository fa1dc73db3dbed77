"""Blocks of the remote at or below the anchor: which are known by hash, and the hashes that `BLOCKHASH` needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import dropwhile
from typing import Final

from entresol.cache_limits import CACHES
from entresol.execution.block_executor import HISTORY_STORAGE
from entresol.features.fork import remote_values
from entresol.features.fork.anchoring import BY_HASH, BY_NUMBER, is_missing
from entresol.features.fork.errors import AnchorLost, RemoteLied, RemoteMalformed, Unprovable
from entresol.features.fork.remote_values import DescribedBlock
from entresol.features.fork.state_fetch import Naming, RemoteBlock
from entresol.features.fork.transport.client import ForkClient, Guard, Outcome, result_of
from entresol.features.fork.transport.envelopes import Call
from entresol.features.fork.verify.proven_header import has_hash
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.values import Hash32

MAX_RECENT: Final = 256
"""How many blocks below the anchor are known by hash at most; a chain may be far from its last final block."""
DEFAULT_RECENT: Final = 64
"""How many if the remote does not say which block is final."""
HISTORY_WINDOW: Final = 8_191
"""How many hashes the contract of EIP-2935 has."""
MAX_LINKED: Final = 1_024
"""How many headers are read at once to link a block to those that are known."""
MAX_WALKED: Final = 8_192
"""How far below the anchor blocks are linked to it by headers, if each has to be proven (`--fork-verify`)."""

_HASHES_ONLY: Final = False
_METHOD: Final = BY_NUMBER


class PastBlocks:
    """The blocks of the remote at or below the anchor.

    Assumes: the loop of the client; `hash_at` may be called from any thread. Fails: with `RemoteFailed`;
    `RemoteMalformed` for headers that are not linked. With `verify` each header has to have its hash, and a block that
    is too far from the anchor to be linked to it is `Unprovable`.
    """

    def __init__(
        self,
        client: ForkClient | None,
        anchor: DescribedBlock,
        finalized: int | None,
        *,
        verify: bool = False,
    ) -> None:
        self._given = client
        self._verify = verify
        self.anchor = anchor
        lowest = anchor.number - (DEFAULT_RECENT if finalized is None else MAX_RECENT)
        if finalized is not None:
            lowest = max(lowest, min(finalized, anchor.number))
        self.first_recent = max(lowest, 0)
        """Blocks from here on are asked for by hash; earlier ones are final."""
        self._first = 0
        """The first block of the chain; `anvil --number` begins above 0."""
        self._hashes = {anchor.number: anchor.hash}
        self._take_parent(anchor)
        self._blocks: BoundedMap[Hash32, DescribedBlock] = BoundedMap(max_weight=CACHES.past_blocks)
        self._blocks.put(anchor.hash, anchor, len(anchor.json))

    @property
    def _client(self) -> ForkClient:
        assert self._given is not None, "without a remote only what is known is asked for"
        return self._given

    def hash_at(self, number: int) -> Hash32 | None:
        """Return the hash of a block that the remote may still replace; None for one that is final."""
        return self._hashes.get(number) if number >= self.first_recent else None

    def known_hash(self, number: int) -> Hash32 | None:
        """Return the hash of a block, if it is known."""
        return self._hashes.get(number)

    def recent_hashes(self) -> dict[int, Hash32]:
        """Return what is known of recent blocks, for the cache."""
        return {
            number: known for number, known in self._hashes.items() if number >= self.first_recent
        }

    def take_hashes(self, hashes: Mapping[int, bytes]) -> None:
        """Take hashes that an earlier start has read, as far as they join those that are known."""
        while (number := self._low - 1) >= 0 and number in hashes:
            self._hashes[number] = Hash32(hashes[number])

    def recent_calls(self) -> list[Call]:
        """Return the calls that read the headers between the last final block and the anchor."""
        numbers = range(self.first_recent + 1, self.anchor.number)
        return [Call(_METHOD, (hex(number), _HASHES_ONLY)) for number in numbers]

    def take_recent(self, outcomes: Sequence[Outcome]) -> None:
        """Take the outcomes of `recent_calls`; a chain may begin above the first of them (`anvil --number`)."""
        numbers = range(self.first_recent + 1, self.anchor.number)
        found = list(zip(numbers, outcomes, strict=True))
        self._extend(
            [self._described(*pair) for pair in dropwhile(lambda pair: is_missing(pair[1]), found)]
        )

    def guard(self, number: int) -> Guard | None:
        """Return what shows that the remote still has a block below the fork; None for one that is final."""
        expected = self._hashes.get(number)
        if expected is None or number <= self.first_recent:
            return None
        return RemoteBlock(number, expected, Hash32.zero()).guard(Naming.NUMBER, self._client.host)

    async def block(self, wanted: int | Hash32) -> DescribedBlock | None:
        """Return a block; None if the remote has none of a hash, or only above the anchor.

        Each number up to the anchor has a block: the remote that has none, or another one, gets an error.
        """
        if isinstance(wanted, int):
            if not 0 <= wanted <= self.anchor.number:
                return None
            known = self.hash_at(wanted)
            if known is None:
                return await self._by_number(wanted)
            wanted = known
        cached = self._blocks.touch(wanted)
        if cached is None:
            cached = await self._by_hash(wanted)
        if cached is None:
            self.check_lost(wanted)
        return cached

    async def remote_block(self, number: int) -> RemoteBlock:
        """Return the block whose state is to be read."""
        block = await self.block(number)
        assert block is not None, "it is not above the anchor"
        return RemoteBlock(
            block.number, block.hash, block.header.state_root, is_final=number < self.first_recent
        )

    def history_slot(self, number: int) -> tuple[bytes, bytes] | None:
        """Return the slot of EIP-2935 that has the hash of a block after the anchor, if it has."""
        if not self.anchor.number - HISTORY_WINDOW <= number < self.anchor.number:
            return None
        return bytes(HISTORY_STORAGE), (number % HISTORY_WINDOW).to_bytes(32, "big")

    async def hashes(self, numbers: Sequence[int]) -> dict[int, Hash32]:
        """Return the hashes of blocks by their headers, linked to those that are known if they are near.

        Below the first block of a chain that begins later there is none: zero, as `BLOCKHASH` has it.
        """
        if self._verify:
            return await self._linked(numbers)
        below = {number: Hash32.zero() for number in numbers if number < self._first}
        numbers, low = [number for number in numbers if number not in below], self._low
        if any(low - MAX_LINKED <= number < low for number in numbers):
            lowest = min(number for number in numbers if number >= low - MAX_LINKED)
            self._extend(await self._headers(range(lowest + 1, low + 1)))
        found = {number: self._hashes[number] for number in numbers if number in self._hashes}
        far = [number for number in numbers if number not in found and number >= self._first]
        found |= {header.number: header.hash for header in await self._headers(far)}
        # Only what is below the first block is in none of them.
        return below | {number: found.get(number, Hash32.zero()) for number in numbers}

    async def _linked(self, numbers: Sequence[int]) -> dict[int, Hash32]:
        """Return the hashes of blocks by the headers between them and the anchor, each named by the next."""
        lowest = min(numbers)
        if lowest < self.anchor.number - MAX_WALKED:
            raise Unprovable(
                f"block {lowest}",
                f"it is more than {MAX_WALKED} blocks before the anchor, and neither the anchor's state nor headers that "
                "are read to link it show its hash",
            )
        while (low := self._low) > lowest:
            first = max(lowest, low - MAX_LINKED)
            self._extend(await self._headers(range(first + 1, low + 1)))
            if self._low == low:
                problem = f"block {low} does not name its parent"
                raise RemoteMalformed(self._client.host, _METHOD, problem)
        return {number: self._hashes[number] for number in numbers}

    @property
    def _low(self) -> int:
        """The lowest number of those whose hashes are known; they have no gap below the anchor."""
        return self.anchor.number - len(self._hashes) + 1

    def _extend(self, blocks: list[DescribedBlock]) -> None:
        """Take headers in ascending order, up to the lowest that is known: each has to be the parent that the next names."""
        for block in reversed(blocks):
            expected = self._hashes.setdefault(block.number, block.hash)
            if block.hash != expected:
                problem = f"block {block.number} is {block.hash}, and its child names {expected}"
                raise RemoteMalformed(self._client.host, _METHOD, problem)
            self._take_parent(block)

    def _take_parent(self, block: DescribedBlock) -> None:
        """Take the hash that a block says its parent has; Hardhat's say none after many that it mines at once."""
        if block.number and any(block.header.parent_hash):
            self._hashes[block.number - 1] = block.header.parent_hash

    async def _headers(self, numbers: Sequence[int]) -> list[DescribedBlock]:
        """Return headers, without those below the first block."""
        found = await self._read_headers(numbers)
        missing = max((number for number, outcome in found if is_missing(outcome)), default=None)
        if missing is not None:
            await self._find_first(missing)
        return [self._described(*pair) for pair in found if pair[0] >= self._first]

    async def _read_headers(self, numbers: Sequence[int]) -> list[tuple[int, Outcome]]:
        calls = [Call(_METHOD, (hex(number), _HASHES_ONLY)) for number in numbers]
        return list(zip(numbers, await self._client.ask(calls), strict=True))

    async def _find_first(self, missing: int) -> None:
        """Look for the first block of the chain above a number that has none: it names no parent.

        A node that has dropped old blocks has one that does.
        """
        above = range(missing + 1, min(missing + MAX_RECENT, self.anchor.number) + 1)
        for number, outcome in await self._read_headers(above):
            if is_missing(outcome):
                continue
            if not any(self._described(number, outcome).header.parent_hash):
                self._first = number
            return

    def _described(self, number: int, outcome: Outcome) -> DescribedBlock:
        block = remote_values.described_block(
            self._client.host, _METHOD, result_of(outcome), number_is=number
        )
        if block is None:
            raise RemoteMalformed(self._client.host, _METHOD, f"there is no block {number}")
        return self._hashed(_METHOD, block)

    def _hashed(self, method: str, block: DescribedBlock) -> DescribedBlock:
        if self._verify and not has_hash(block):
            problem = f"the header of block {block.number} does not have the hash {block.hash}"
            raise RemoteLied(self._client.host, method, problem)
        return block

    async def _by_number(self, number: int) -> DescribedBlock:
        block = self._described(
            number, await self._client.request(_METHOD, hex(number), _HASHES_ONLY)
        )
        self._blocks.put(block.hash, block, len(block.json))
        return block

    def check_lost(self, block_hash: Hash32) -> None:
        """Raise `AnchorLost` if a block that the remote does not know is one below the fork."""
        for number, known in self._hashes.items():
            if known == block_hash:
                raise AnchorLost(self._client.host, number, block_hash)

    async def _by_hash(self, wanted: Hash32) -> DescribedBlock | None:
        raw = await self._client.request(BY_HASH, str(wanted), _HASHES_ONLY)
        block = remote_values.described_block(self._client.host, BY_HASH, raw, hash_is=wanted)
        if block is None and self._verify:
            self.check_lost(wanted)
            raise Unprovable(BY_HASH, f"nothing shows that no block has the hash {wanted}")
        if block is None or self._hashed(BY_HASH, block).number > self.anchor.number:
            return None
        if self.hash_at(block.number) not in (None, block.hash):
            return None
        self._blocks.put(block.hash, block, len(block.json))
        return block
