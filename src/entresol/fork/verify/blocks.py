"""Blocks of the remote with everything that is in them, proven by the hash of the anchor."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from entresol.cache_limits import CACHES
from entresol.errors import RemoteFailed, RemoteMalformed, RemoteRejected, Unprovable
from entresol.fork import results
from entresol.fork.anchoring import BY_HASH, BY_NUMBER
from entresol.fork.past_blocks import PastBlocks
from entresol.fork.transport.client import ForkClient, Outcome
from entresol.fork.transport.envelopes import Call
from entresol.fork.verify.body import ProvenBlock, hashed_header, proven_block, uncle_count
from entresol.fork.verify.headers import HashedHeader, hashed
from entresol.fork.verify.members import Told
from entresol.fork.verify.receipts import ProvenReceipt, proven_receipts
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.values import Hash32

BLOCK_RECEIPTS: Final = "eth_getBlockReceipts"
RECEIPT: Final = "eth_getTransactionReceipt"
UNCLE: Final = "eth_getUncleByBlockHashAndIndex"
MAX_HEADERS: Final = 1_024
"""How many headers one answer is proven by."""
MAX_BODIES: Final = 128
"""How many blocks with all that is in them one answer is proven by."""
AT_ONCE: Final = 16
"""How many of them are in memory at the same time: a block of mainnet with its receipts takes a megabyte or two."""

HashesOf: TypeAlias = Callable[[Sequence[int]], Awaitable[dict[int, bytes]]]
"""Returns the hashes of blocks below the anchor, as its state or linked headers prove them."""

_HASHES_ONLY: Final = False
_WITH_TRANSACTIONS: Final = True


class ProvenBlocks:
    """Reads blocks and receipts that follow from the anchor.

    Remembers: those that were read last. Assumes: the loop of the client. Fails: with `RemoteLied` for what is false,
    with `Unprovable` for what nothing shows, and with other kinds of `RemoteFailed`.
    """

    def __init__(self, client: ForkClient, past: PastBlocks, hashes: HashesOf) -> None:
        self._client = client
        self._past = past
        self._hashes = hashes
        weight = CACHES.past_blocks // 2
        self._blocks: BoundedMap[Hash32, ProvenBlock] = BoundedMap(max_weight=weight)
        self._receipts: BoundedMap[Hash32, list[ProvenReceipt]] = BoundedMap(max_weight=weight)

    @property
    def host(self) -> str:
        """Scheme, host and port of the remote."""
        return self._client.host

    async def block(self, wanted: int | Hash32) -> ProvenBlock | None:
        """Return a block up to the anchor, or the one after it; None for a hash that is of none of these.

        That a hash is of no block is never proven.
        """
        if isinstance(wanted, int):
            return await self._numbered(wanted)
        cached = self._blocks.touch(wanted)
        if cached is not None:
            return cached
        fields = await self._fields(BY_HASH, str(wanted))
        if fields is None:
            self._past.check_lost(wanted)
            raise Unprovable(BY_HASH, f"nothing shows that no block has the hash {wanted}")
        told = Told(self.host, BY_HASH)
        header = hashed_header(told, fields)
        if header.hash != wanted:
            raise told.lied(f"it is block {header.hash}, and not {wanted}")
        if not await self._is_ours(header):
            return None
        return await self._proven(told, header, fields)

    async def receipts(self, block: ProvenBlock) -> list[ProvenReceipt]:
        """Return the receipts of a block."""
        return (await self.all_receipts([block]))[0]

    async def with_receipts(
        self, headers: Sequence[HashedHeader]
    ) -> AsyncIterator[tuple[ProvenBlock, list[ProvenReceipt]]]:
        """Yield the blocks of proven headers with their receipts, in order; some at a time are in memory."""
        for at in range(0, len(headers), AT_ONCE):
            blocks = await self.bodies(headers[at : at + AT_ONCE])
            for found in zip(blocks, await self.all_receipts(blocks), strict=True):
                yield found

    async def bodies(self, headers: Sequence[HashedHeader]) -> list[ProvenBlock]:
        """Return the blocks of proven headers."""
        missing = [it for it in headers if it.hash not in self._blocks]
        calls = [Call(BY_HASH, (str(it.hash), _WITH_TRANSACTIONS)) for it in missing]
        found = {it.hash: block for it in headers if (block := self._blocks.touch(it.hash))}
        told = Told(self.host, BY_HASH)
        for header, outcome in zip(missing, await self._client.ask(calls), strict=True):
            fields = self._object(BY_HASH, _required(outcome))
            if fields is None:
                self._past.check_lost(header.hash)
                raise RemoteMalformed(self.host, BY_HASH, f"there is no block {header.number}")
            if hashed_header(told, fields).hash != header.hash:
                raise told.lied(f"it is another block than {header.hash}")
            found[header.hash] = await self._proven(told, header, fields)
        return [found[it.hash] for it in headers]

    async def all_receipts(self, blocks: Sequence[ProvenBlock]) -> list[list[ProvenReceipt]]:
        """Return the receipts of several blocks, in as few requests as the remote takes."""
        found = {it.hash: known for it in blocks if (known := self._receipts.touch(it.hash))}
        missing = [it for it in blocks if it.hash not in found]
        asked = [it for it in missing if it.transactions]
        calls = [Call(BLOCK_RECEIPTS, (str(it.hash),)) for it in asked]
        outcomes = dict(zip([it.hash for it in asked], await self._client.ask(calls), strict=True))
        for block in missing:
            given = await self._given(block, outcomes.get(block.hash))
            told = Told(self.host, BLOCK_RECEIPTS)
            receipts = proven_receipts(told, block.header, block.transactions, given)
            weight = 256 + sum(4_096 + 8 * len(receipt.raw) for receipt in receipts)
            self._receipts.put(block.hash, receipts, weight)
            found[block.hash] = receipts
        return [found[it.hash] for it in blocks]

    async def headers(self, method: str, first: int, last: int) -> list[HashedHeader]:
        """Return the headers of a range, in order: the last is an ancestor of the anchor, and each is the next's parent."""
        if last - first >= MAX_HEADERS:
            raise Unprovable(
                method, f"it takes more than {MAX_HEADERS} headers: ask for fewer blocks at a time"
            )
        numbers = range(first, last + 1)
        calls = [Call(BY_NUMBER, (hex(number), _HASHES_ONLY)) for number in numbers]
        found = [
            self._header(number, outcome)
            for number, outcome in zip(numbers, await self._client.ask(calls), strict=True)
        ]
        told, child = Told(self.host, BY_NUMBER), (await self._hashes([last])).get(last)
        for header in reversed(found):
            if header.hash != child:
                raise told.lied(f"block {header.number} is not an ancestor of the anchor")
            child = header.data("parentHash")
        return found

    async def is_ancestor(self, header: HashedHeader) -> bool:
        """Say whether a header is that of a block up to the anchor."""
        if header.number > self._past.anchor.number:
            return False
        return (await self._hashes([header.number])).get(header.number) == header.hash

    async def _numbered(self, number: int) -> ProvenBlock | None:
        known = self._past.known_hash(number)
        if known is not None:
            return await self.block(known)
        fields = await self._fields(BY_NUMBER, hex(number))
        if fields is None:
            raise RemoteMalformed(self.host, BY_NUMBER, f"there is no block {number}")
        told = Told(self.host, BY_NUMBER)
        header = hashed_header(told, fields)
        if header.number != number:
            raise told.lied(f"it is block {header.number}, {header.hash}, and not {number:#x}")
        if not await self._is_ours(header):
            raise told.lied(f"block {number} is not an ancestor of the anchor")
        return await self._proven(told, header, fields)

    async def _is_ours(self, header: HashedHeader) -> bool:
        """Say whether a block is an ancestor of the anchor, or its child, as far as a header can be one."""
        if header.number > self._past.anchor.number:
            return header.data("parentHash") == self._past.anchor.hash
        if not await self.is_ancestor(header):
            problem = f"block {header.number} is not an ancestor of the anchor"
            raise Told(self.host, BY_HASH).lied(problem)
        return True

    async def _proven(
        self, told: Told, header: HashedHeader, fields: dict[str, Any]
    ) -> ProvenBlock:
        uncles = await read_uncles(self._client, told, header, fields)
        block = proven_block(told, header, fields, uncles)
        self._blocks.put(header.hash, block, block.weight)
        return block

    async def _given(self, block: ProvenBlock, outcome: Outcome | None) -> Any:
        """Return the receipts as the remote has them; one that has no method for all is asked for each."""
        if outcome is None:
            return []
        if not isinstance(outcome, RemoteRejected):
            return _decoded(self.host, BLOCK_RECEIPTS, _required(outcome))
        calls = [Call(RECEIPT, (str(transaction.hash),)) for transaction in block.transactions]
        outcomes = await self._client.ask(calls)
        return [_decoded(self.host, RECEIPT, _required(it)) for it in outcomes]

    def _header(self, number: int, outcome: Outcome) -> HashedHeader:
        block = results.described_block(self.host, BY_NUMBER, _required(outcome), number_is=number)
        if block is None:
            raise RemoteMalformed(self.host, BY_NUMBER, f"there is no block {number}")
        header = hashed(block)
        if header is None:
            problem = f"the header does not have the hash {block.hash}"
            raise Told(self.host, BY_NUMBER).lied(problem)
        return header

    async def _fields(self, method: str, named: str) -> dict[str, Any] | None:
        return self._object(method, await self._client.request(method, named, _WITH_TRANSACTIONS))

    def _object(self, method: str, raw: bytes) -> dict[str, Any] | None:
        found = _decoded(self.host, method, raw)
        return (
            None if found is None else Told(self.host, method).read(lambda: results.mapping(found))
        )


async def read_uncles(
    client: ForkClient, told: Told, header: HashedHeader, fields: dict[str, Any]
) -> list[HashedHeader]:
    """Return the headers of a block's uncles, which their hash in the header shows; most blocks have none."""
    count = uncle_count(told, header, fields)
    calls = [Call(UNCLE, (str(header.hash), hex(it))) for it in range(count)]
    found = [_decoded(told.host, UNCLE, _required(it)) for it in await client.ask(calls)]
    told = Told(told.host, UNCLE)
    return [told.read(lambda it=it: HashedHeader.of(results.mapping(it))) for it in found]  # type: ignore[misc]


def _decoded(host: str, method: str, raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        raise RemoteMalformed(host, method, "the result cannot be read") from error


def _required(outcome: Outcome) -> bytes:
    if isinstance(outcome, RemoteFailed):
        raise outcome
    return outcome
