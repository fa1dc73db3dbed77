"""Blocks of the remote that follow from the hash of the anchor, and the logs and fees of ranges of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import msgspec

from entresol._native import keccak256
from entresol.cache_limits import CACHES
from entresol.counted import counted
from entresol.errors import MalformedValue
from entresol.features.fork import remote_values
from entresol.features.fork.anchoring import BY_HASH, BY_NUMBER
from entresol.features.fork.errors import RemoteMalformed, RemoteRejected, Unprovable
from entresol.features.fork.past_blocks import PastBlocks
from entresol.features.fork.remote_values import DescribedBlock
from entresol.features.fork.transport.client import ForkClient, Outcome, result_of
from entresol.features.fork.transport.envelopes import Call
from entresol.features.fork.verify.proven_block import (
    ProvenBlock,
    ProvenReceipt,
    hashed_header,
    proven_block,
    proven_receipts,
    uncle_count,
)
from entresol.features.fork.verify.proven_header import HashedHeader, Told, check_header, hashed
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.values import Address, Hash32

BLOCK_RECEIPTS: Final = "eth_getBlockReceipts"
RECEIPT: Final = "eth_getTransactionReceipt"
UNCLE: Final = "eth_getUncleByBlockHashAndIndex"
MAX_HEADERS: Final = 1_024
MAX_BODIES: Final = 128
"""How many blocks with all that is in them one answer is proven by."""
AT_ONCE: Final = 16
"""How many of them are in memory at the same time: a block of mainnet with its receipts takes a megabyte or two."""

HashesOf: TypeAlias = Callable[[Sequence[int]], Awaitable[dict[int, bytes]]]
"""Returns the hashes of blocks below the anchor, as its state or linked headers prove them."""

_HASHES_ONLY: Final = False
_WITH_TRANSACTIONS: Final = True

LOGS: Final = "eth_getLogs"

FEES: Final = "eth_feeHistory"
_LOWEST: Final = "0x1"


class ProvenBlocks:
    """Reads blocks and receipts that follow from the anchor.

    Assumes: the loop of the client. Fails: with `RemoteLied` for what is false, with `Unprovable` for what nothing
    shows, and with other kinds of `RemoteFailed`.
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
        missing = [header for header in headers if header.hash not in self._blocks]
        calls = [Call(BY_HASH, (str(header.hash), _WITH_TRANSACTIONS)) for header in missing]
        found = {
            header.hash: block for header in headers if (block := self._blocks.touch(header.hash))
        }
        told = Told(self.host, BY_HASH)
        for header, outcome in zip(missing, await self._client.ask(calls), strict=True):
            fields = self._object(BY_HASH, result_of(outcome))
            if fields is None:
                self._past.check_lost(header.hash)
                raise RemoteMalformed(self.host, BY_HASH, f"there is no block {header.number}")
            if hashed_header(told, fields).hash != header.hash:
                raise told.lied(f"it is another block than {header.hash}")
            found[header.hash] = await self._proven(told, header, fields)
        return [found[header.hash] for header in headers]

    async def all_receipts(self, blocks: Sequence[ProvenBlock]) -> list[list[ProvenReceipt]]:
        """Return the receipts of several blocks, in as few requests as the remote takes."""
        found = {
            block.hash: known for block in blocks if (known := self._receipts.touch(block.hash))
        }
        missing = [block for block in blocks if block.hash not in found]
        asked = [block for block in missing if block.transactions]
        calls = [Call(BLOCK_RECEIPTS, (str(block.hash),)) for block in asked]
        outcomes = dict(
            zip([block.hash for block in asked], await self._client.ask(calls), strict=True)
        )
        for block in missing:
            given = await self._given(block, outcomes.get(block.hash))
            told = Told(self.host, BLOCK_RECEIPTS)
            receipts = proven_receipts(told, block.header, block.transactions, given)
            weight = 256 + sum(4_096 + 8 * len(receipt.raw) for receipt in receipts)
            self._receipts.put(block.hash, receipts, weight)
            found[block.hash] = receipts
        return [found[block.hash] for block in blocks]

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
            return remote_values.json_of(self.host, BLOCK_RECEIPTS, result_of(outcome))
        calls = [Call(RECEIPT, (str(transaction.hash),)) for transaction in block.transactions]
        outcomes = await self._client.ask(calls)
        return [remote_values.json_of(self.host, RECEIPT, result_of(each)) for each in outcomes]

    def _header(self, number: int, outcome: Outcome) -> HashedHeader:
        block = remote_values.described_block(
            self.host, BY_NUMBER, result_of(outcome), number_is=number
        )
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
        found = remote_values.json_of(self.host, method, raw)
        return (
            None
            if found is None
            else Told(self.host, method).read(lambda: remote_values.mapping(found))
        )


async def read_uncles(
    client: ForkClient, told: Told, header: HashedHeader, fields: dict[str, Any]
) -> list[HashedHeader]:
    """Return the headers of a block's uncles, which their hash in the header shows; most blocks have none."""
    count = uncle_count(told, header, fields)
    calls = [Call(UNCLE, (str(header.hash), hex(index))) for index in range(count)]
    found = [
        remote_values.json_of(told.host, UNCLE, result_of(outcome))
        for outcome in await client.ask(calls)
    ]
    told = Told(told.host, UNCLE)
    return [
        told.read(partial(lambda uncle: HashedHeader.of(remote_values.mapping(uncle)), uncle))
        for uncle in found
    ]


async def proven_anchor(client: ForkClient, block: DescribedBlock) -> DescribedBlock:
    """Return the anchor with what is proven of it, and nothing else; raise `RemoteFailed` if its hash is not its own."""
    check_header(client.host, block)
    raw = await client.request(BY_HASH, str(block.hash), _WITH_TRANSACTIONS)
    told = Told(client.host, BY_HASH)
    fields = remote_values.decoded(client.host, BY_HASH, raw, remote_values.mapping)
    header = hashed_header(told, fields)
    if header.hash != block.hash:
        raise told.lied(f"it is block {header.hash}, and not {block.hash}")
    uncles = await read_uncles(client, told, header, fields)
    try:
        members = proven_block(told, header, fields, uncles).json(with_transactions=False)
    except Unprovable:
        # States can be proven all the same: a chain may have transactions that only it can encode in every block.
        members = header.json()
    found = remote_values.described_block(client.host, BY_HASH, msgspec.json.encode(members))
    assert found is not None
    return found


class LogCriteria(msgspec.Struct, frozen=True):
    """The logs that are wanted: of any of the addresses, and with any of the topics at each position."""

    addresses: frozenset[bytes]
    topics: tuple[frozenset[bytes], ...]

    @classmethod
    def of(cls, wanted: dict[str, Any]) -> LogCriteria:
        """Read the object of a request."""
        topics = wanted.get("topics") or []
        return cls(
            frozenset(bytes(Address.parse(address)) for address in _any_of(wanted.get("address"))),
            tuple(
                frozenset(bytes(Hash32.parse(topic)) for topic in _any_of(each)) for each in topics
            ),
        )

    def may_be_in(self, bloom: bytes) -> bool:
        """Say whether a block with a bloom filter may have such a log."""
        if not any(bloom):
            return False
        return all(
            any(_has(bloom, choice) for choice in choices)
            for choices in (self.addresses, *self.topics)
            if choices
        )

    def matches(self, log: dict[str, Any]) -> bool:
        """Say whether a log is wanted."""
        if self.addresses and bytes.fromhex(log["address"][2:]) not in self.addresses:
            return False
        found = [bytes.fromhex(topic[2:]) for topic in log["topics"]]
        return len(found) >= len(self.topics) and all(
            not choices or topic in choices
            for choices, topic in zip(self.topics, found, strict=False)
        )


async def proven_logs(blocks: ProvenBlocks, wanted: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the logs of a filter object, in order."""
    criteria = LogCriteria.of(wanted)
    if wanted.get("blockHash") is not None:
        block = await blocks.block(Hash32.parse(wanted["blockHash"]))
        headers = [] if block is None else [block.header]
    else:
        first = remote_values.member(wanted, "fromBlock", remote_values.number)
        last = remote_values.member(wanted, "toBlock", remote_values.number)
        headers = await blocks.headers(LOGS, first, last) if first <= last else []
    positive = [header for header in headers if criteria.may_be_in(header.data("logsBloom"))]
    if len(positive) > MAX_BODIES:
        raise Unprovable(
            LOGS,
            f"{counted(len(positive), 'block')} may have such logs, and the receipts of at most {MAX_BODIES} are read: "
            "ask for fewer blocks at a time",
        )
    found: list[dict[str, Any]] = []
    async for _, receipts in blocks.with_receipts(positive):
        for receipt in receipts:
            found += filter(criteria.matches, receipt.logs)
    return found


def _any_of(value: object) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, list):
        return value
    if isinstance(value, str):
        return [value]
    raise MalformedValue("a filter has hex strings")


def _has(bloom: bytes, value: bytes) -> bool:
    digest = keccak256(value)
    for at in (0, 2, 4):
        bit = int.from_bytes(digest[at : at + 2]) & 2_047
        if not bloom[-1 - bit // 8] >> (bit % 8) & 1:
            return False
    return True


async def proven_fees(
    blocks: ProvenBlocks, count: int, last: int, percentiles: Sequence[float], anchor: int
) -> dict[str, Any]:
    """Return the fees of `count` blocks up to `last`, which is at most the anchor.

    They end with the base fee of the next block, unless that is the fork's own: then they end before it.
    """
    first = max(last - count + 1, 0)
    following = min(last + 1, anchor)
    headers = await blocks.headers(FEES, first, following)
    base_fees = [hex(header.quantity("baseFeePerGas")) for header in headers]
    headers = headers[: last - first + 1]
    history: dict[str, Any] = {
        "oldestBlock": hex(first),
        "baseFeePerGas": base_fees,
        "gasUsedRatio": [_ratio(header) for header in headers],
    }
    if not any(
        header.quantity("excessBlobGas") or header.quantity("blobGasUsed") for header in headers
    ):
        # Other prices follow from the schedule of the chain's blobs, which no header has.
        history["baseFeePerBlobGas"] = [_LOWEST] * (len(headers) + 1)
        history["blobGasUsedRatio"] = [0.0] * len(headers)
    history["reward"] = [[] for _ in headers]
    if percentiles:
        history["reward"] = await _rewards(blocks, headers, percentiles)
    return history


def rewards_of(
    block: ProvenBlock, receipts: Sequence[ProvenReceipt], percentiles: Sequence[float]
) -> list[str]:
    """Return the tips at percentiles of the gas that a block used."""
    tips = sorted(
        (transaction.tip, receipt.gas_used)
        for transaction, receipt in zip(block.transactions, receipts, strict=True)
    )
    if not tips:
        return ["0x0"] * len(percentiles)
    found, at, used = [], 0, tips[0][1]
    for percentile in percentiles:
        wanted = int(block.header.quantity("gasUsed") * percentile / 100)
        while used < wanted and at < len(tips) - 1:
            at += 1
            used += tips[at][1]
        found.append(hex(tips[at][0]))
    return found


async def _rewards(
    blocks: ProvenBlocks, headers: Sequence[HashedHeader], percentiles: Sequence[float]
) -> list[list[str]]:
    if len(headers) > MAX_BODIES:
        raise Unprovable(
            FEES,
            f"rewards are proven by the receipts of at most {MAX_BODIES} blocks: ask for fewer blocks, or no percentiles",
        )
    return [
        rewards_of(block, receipts, percentiles)
        async for block, receipts in blocks.with_receipts(headers)
    ]


def _ratio(header: HashedHeader) -> float:
    limit = header.quantity("gasLimit")
    return header.quantity("gasUsed") / limit if limit else 0.0
