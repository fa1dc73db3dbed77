"""Reads of the remote at or below the anchor: states, hashes, blocks, and results of any method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from entresol.cache_limits import CACHES
from entresol.features.fork.anchoring import BY_HASH, BY_NUMBER
from entresol.features.fork.errors import RemoteLied, RemoteMalformed
from entresol.features.fork.remote_use import RemoteUse
from entresol.features.fork.remote_values import DescribedBlock, described_block
from entresol.features.fork.state_fetch import CollectedState, StateFetch
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.values import Hash32

if TYPE_CHECKING:
    from entresol.errors import RemoteFailed
    from entresol.features.fork.cache.fork_cache import ForkCache
    from entresol.features.fork.starting import OpenedRemote
    from entresol.features.fork.state_fetch import RemoteBlock
    from entresol.features.fork.transport.client import ForkClient
    from entresol.features.fork.verify.verified_reads import VerifiedReads

_HASHES_ONLY: Final = False
_MAX_SHOWN: Final = 100
_NULL: Final = b"null"
_HEADER: Final = " (header)"
"""The suffix of a method in the cache, if only the header of a block is proven."""


class BlockReads:
    """Reads of one remote chain, with its cache in front. On the loop of the client.

    Fails: with `RemoteFailed`; without a remote, with `NotRecorded`.
    """

    def __init__(
        self,
        client: ForkClient | None,
        cache: ForkCache,
        opened: OpenedRemote,
        use: RemoteUse | None = None,
    ) -> None:
        self._client = client
        self._use = use or RemoteUse()
        self._cache = cache
        self._opened = opened
        self._past = opened.past
        self._fetches: BoundedMap[int, StateFetch] = BoundedMap(CACHES.past_fetches)

    @property
    def host(self) -> str:
        """Scheme, host and port of the remote; nothing without one."""
        return "" if self._client is None else self._client.host

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
            raise RemoteMalformed(self.host, BY_NUMBER, f"there is no block {number}")
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
                await self._check_ancestor(BY_NUMBER, block)
        served = await opened.names.served()
        fetch = StateFetch(
            self._client, block, naming=served.naming, proofs=served.proofs, verify=opened.verify
        )
        self._fetches.put(number, fetch)
        return fetch

    async def block_hashes(self, numbers: Sequence[int]) -> dict[int, bytes]:
        """Return hashes of blocks: those that are known, by the contract of EIP-2935, and by linked headers."""
        found: dict[int, bytes] = {
            number: known
            for number in numbers
            if (known := self._past.known_hash(number)) is not None
        }
        left = [number for number in numbers if number not in found]
        if left and self._client is None:
            raise self._cache.missing("hash", left[0])
        if left and self._opened.has_history:
            found |= await self._by_history(left)
            left = [number for number in left if number not in found]
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
        # Only the header is proven here: what clients ask for by the method has a body, too.
        name = f"{method}{_HEADER}" if self._opened.verify else method
        cached = self._cached(name, key)
        if cached is not None:
            return described_block("", method, cached)
        if self._client is None:
            if self._cache.is_absent(method, key):
                return None
            raise self._missing(method, key)
        block = await self._past.block(wanted)
        if block is None and self._opened.verify:
            # Its own header has shown that it is above the anchor, or beside it.
            self._cache.put_absent(method, key)
        elif block is None:
            await self._note_absent(method, params, key)
        else:
            if self._opened.verify:
                await self._check_ancestor(method, block)
            self._put(name, key, bytes(block.json))
        return block

    async def read(
        self,
        method: str,
        params: Sequence[object],
        is_final: Callable[[msgspec.Raw], bool] | None,
        proven: VerifiedReads | None = None,
        *,
        is_absent: Callable[[msgspec.Raw], bool] | None = None,
        at: int | None = None,
    ) -> msgspec.Raw:
        """Return the result of a method; one that is final may come from the cache, and goes there.

        It follows from the block `at`, if that is given: unless the remote has it still, raise `AnchorLost`. Then one
        that `is_absent` is kept as nothing, for a fork without a remote.
        """
        if method == BY_HASH and tuple(params) == (str(self._past.anchor.hash), _HASHES_ONLY):
            # Every client asks for the latest block, also while nobody can be asked.
            return msgspec.Raw(self._past.anchor.json)
        key = msgspec.json.encode(params)
        cached = None if is_final is None else self._cached(method, key)
        if cached is not None:
            return msgspec.Raw(cached)
        if self._client is None:
            if self._cache.is_absent(method, key):
                return msgspec.Raw(_NULL)
            raise self._missing(method, key)
        if proven is not None:
            raw = await proven.answer(method, params)
        else:
            guard = None if at is None else self._past.guard(at)
            raw = await self._client.request(method, *params, guard=guard)
        if is_final is not None and is_final(raw):
            self._put(method, key, bytes(raw))
        elif at is not None and is_absent is not None and is_absent(raw):
            self._cache.put_absent(method, key)
        return raw

    async def _note_absent(self, method: str, params: Sequence[object], key: bytes) -> None:
        """Keep that a hash is none of a block below the fork, once the remote says so beside the anchor."""
        assert self._client is not None
        anchor = self._past.anchor.number
        guard = self._past.guard(anchor)
        if guard is not None:
            raw = await self._client.request(method, *params, guard=guard)
            block = described_block(self.host, method, raw)
            if block is not None and block.number <= anchor:
                return
        self._cache.put_absent(method, key)

    def _cached(self, method: str, key: bytes) -> bytes | None:
        found = self._cache.response(method, key)
        self._use.looked_up(int(found is not None), int(found is None))
        if found is not None:
            self._use.read([(method, _shown(key), len(found))])
        return found

    def _put(self, method: str, key: bytes, result: bytes) -> None:
        self._cache.put_response(method, key, result)
        self._use.read([(method, _shown(key), len(result))])

    def _missing(self, method: str, key: bytes) -> RemoteFailed:
        self._use.read([(method, _shown(key), 0)], is_kept=False)
        return self._cache.missing("response", method, key)

    async def _check_ancestor(self, method: str, block: RemoteBlock | DescribedBlock) -> None:
        """Check that a block is an ancestor of the anchor; that its header has its hash, `PastBlocks` has checked."""
        if (await self.block_hashes([block.number])).get(block.number) != block.hash:
            problem = f"block {block.number} is not an ancestor of the anchor"
            raise RemoteLied(self.host, method, problem)

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
        values = CollectedState()
        await fetch.read([("slot", *slot) for slot in slots], values)
        found = {
            slots[slot]: value.rjust(32, b"\0") for slot, value in values.slots.items() if value
        }
        return found if found.pop(parent, None) == self._past.known_hash(parent) else {}


def _shown(params: bytes) -> str:
    """Return the parameters of a method without brackets, and not all of them if they are long."""
    return params[1:-1][:_MAX_SHOWN].decode(errors="replace").replace('"', "")
