"""What is read of the remote at or below the anchor: states, hashes, blocks, and results of any method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from entresol.cache_limits import CACHES
from entresol.errors import RemoteLied, RemoteMalformed
from entresol.fork.anchoring import BY_HASH, BY_NUMBER
from entresol.fork.results import DescribedBlock, described_block
from entresol.fork.state_fetch import FetchedAccount, StateFetch, StateKey
from entresol.fork.verify import has_hash
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.values import Hash32

if TYPE_CHECKING:
    from entresol.errors import RemoteFailed
    from entresol.fork.block_names import RemoteBlock
    from entresol.fork.cache.cache import ForkCache
    from entresol.fork.starting import OpenedRemote
    from entresol.fork.transport.client import ForkClient

_HASHES_ONLY: Final = False


class ReadCheck(Protocol):
    """Checks results of some methods (`--fork-verify`)."""

    async def checked(self, method: str, params: Sequence[object], raw: msgspec.Raw) -> None:
        """Raise `RemoteLied` if a result is false."""


class BlockReads:
    """Reads of one remote chain, with its cache in front. On the loop of the client.

    Remembers: how the states of blocks are read. Fails: with `RemoteFailed`; without a remote, with `NotRecorded`.
    """

    def __init__(self, client: ForkClient | None, cache: ForkCache, opened: OpenedRemote) -> None:
        self._client = client
        self._cache = cache
        self._opened = opened
        self._past = opened.past
        self._fetches: BoundedMap[int, StateFetch] = BoundedMap(CACHES.past_fetches)

    def forget_remote(self) -> None:
        """Learn anew how states are read: another remote is asked from now on."""
        self._fetches.clear()
        if self._opened.names is not None:
            self._opened.names.forget()

    async def hash_of(self, number: int) -> bytes:
        """Return the hash of a block at or below the anchor."""
        known = self._past.known_hash(number)
        if known is not None:
            return bytes(known)
        block = await self.past_block(number)
        if block is None:
            raise RemoteMalformed(self._host, BY_NUMBER, f"there is no block {number}")
        return bytes(block.hash)

    async def fetch(self, number: int) -> StateFetch | None:
        """Return how the state after a block is read; None without a remote."""
        opened = self._opened
        if self._client is None or opened.names is None:
            return None
        known = self._fetches.touch(number)
        if known is not None:
            return known
        if number == opened.anchor.number:
            block = opened.block
        else:
            block = await self._past.remote_block(number)
            if opened.verify:
                await self._check_in_chain(block)
        served = await opened.names.served()
        fetch = StateFetch(
            self._client, block, naming=served.naming, proofs=served.proofs, verify=opened.verify
        )
        self._fetches.put(number, fetch)
        return fetch

    async def block_hashes(self, numbers: Sequence[int]) -> dict[int, bytes]:
        """Return hashes of blocks: those that are known, by the contract of EIP-2935, and by linked headers."""
        found: dict[int, bytes] = {
            it: known for it in numbers if (known := self._past.known_hash(it)) is not None
        }
        left = [it for it in numbers if it not in found]
        if left and self._client is None:
            raise self._cache.missing_hash(left[0])
        if left and self._opened.has_history:
            found |= await self._by_history(left)
            left = [it for it in left if it not in found]
        return found | (await self._past.hashes(left) if left else {})

    async def past_block(self, wanted: int | Hash32) -> DescribedBlock | None:
        """Return a block at or below the anchor; those that were read before come from the cache."""
        anchor = self._opened.anchor
        if wanted in (anchor.number, anchor.hash):
            return self._past.anchor
        if isinstance(wanted, int) and not 0 <= wanted <= anchor.number:
            return None
        method, params = self._block_call(wanted)
        key = msgspec.json.encode(params)
        cached = self._cache.response(method, key)
        if cached is not None:
            return described_block("", method, cached)
        if self._client is None:
            raise self._cache.missing_response(method, key)
        block = await self._past.block(wanted)
        if block is not None:
            if self._opened.verify:
                await self._check_proven(method, block)
            self._cache.put_response(method, key, block.json)
        return block

    async def read(
        self,
        method: str,
        params: Sequence[object],
        is_final: Callable[[msgspec.Raw], bool] | None,
        check: ReadCheck | None = None,
        *,
        at: int | None = None,
    ) -> msgspec.Raw:
        """Return the result of a method; one that is final may come from the cache, and goes there.

        It follows from the block `at`, if that is given: unless the remote has it still, raise `AnchorLost`.
        """
        if method == BY_HASH and tuple(params) == (str(self._past.anchor.hash), _HASHES_ONLY):
            # Every client asks for the latest block, also while nobody can be asked.
            return msgspec.Raw(self._past.anchor.json)
        key = msgspec.json.encode(params)
        cached = None if is_final is None else self._cache.response(method, key)
        if cached is not None:
            return msgspec.Raw(cached)
        if self._client is None:
            raise self._cache.missing_response(method, key)
        guard = None if at is None else self._past.guard(at)
        raw = await self._client.request(method, *params, guard=guard)
        if check is not None:
            await check.checked(method, params, raw)
        if is_final is not None and is_final(raw):
            self._cache.put_response(method, key, bytes(raw))
        return raw

    async def _check_in_chain(self, block: RemoteBlock) -> None:
        """Check that a block is an ancestor of the anchor, whose state proves that of the 8,191 blocks before it.

        Of an earlier one it is only known that its header has its hash.
        """
        described = await self._past.block(block.hash)
        if described is None or not has_hash(described):
            problem = f"the header of block {block.number} does not have the hash {block.hash}"
            raise RemoteLied(self._host, BY_NUMBER, problem)
        proven = (await self.block_hashes([block.number])).get(block.number)
        if proven != block.hash:
            problem = f"block {block.number} is not an ancestor of the anchor"
            raise RemoteLied(self._host, BY_NUMBER, problem)

    async def _check_proven(self, method: str, block: DescribedBlock) -> None:
        problem = ""
        if not has_hash(block):
            problem = f"the header does not have the hash {block.hash}"
        elif (await self.block_hashes([block.number])).get(block.number) != block.hash:
            problem = f"block {block.number} is not an ancestor of the anchor"
        if problem:
            raise RemoteLied(self._host, method, problem)

    @property
    def _host(self) -> str:
        return "" if self._client is None else self._client.host

    def _block_call(self, wanted: int | Hash32) -> tuple[str, list[object]]:
        if isinstance(wanted, int):
            known = self._past.hash_at(wanted)
            if known is None:
                return BY_NUMBER, [hex(wanted), _HASHES_ONLY]
            wanted = known
        return BY_HASH, [str(wanted), _HASHES_ONLY]

    async def _by_history(self, numbers: Sequence[int]) -> dict[int, bytes]:
        """Return hashes by the contract of EIP-2935 in the state after the anchor; others are left out.

        All are, if it does not have the hash of the anchor's parent: a chain may never write to its contract, or to
        other slots.
        """
        parent = self._opened.anchor.number - 1
        slots = {
            slot: number
            for number in (*numbers, parent)
            if (slot := self._past.history_slot(number)) is not None
        }
        fetch = await self.fetch(self._opened.anchor.number)
        if set(slots.values()) <= {parent} or fetch is None:
            return {}
        values = _Values()
        await fetch.read([("slot", *slot) for slot in slots], values)
        found = {
            slots[slot]: value.rjust(32, b"\0") for slot, value in values.slots.items() if value
        }
        return found if found.pop(parent, None) == self._past.known_hash(parent) else {}


class _Values:
    """Collects what is read; what fails is left out."""

    def __init__(self) -> None:
        self.slots: dict[tuple[bytes, bytes], bytes] = {}

    def put_accounts(self, accounts: dict[bytes, FetchedAccount]) -> None:
        """Nobody asks for accounts."""

    def put_slots(self, slots: dict[tuple[bytes, bytes], bytes]) -> None:
        """Take slots."""
        self.slots |= slots

    def fail(self, keys: Sequence[StateKey], error: RemoteFailed) -> None:
        """Headers have it, too."""
