"""Logs on both sides of the anchor: what the remote has up to it, and what the fork has above it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Raw

from entresol.chain.finality import BlockTag
from entresol.errors import TooManyBlocks, TooManyResults
from entresol.features.fork.errors import AnchorLost, RemoteMalformed, RemoteRejected
from entresol.features.fork.past.remote import block_of, is_null
from entresol.l1.json_rpc_client import exceeds_range_limit
from entresol.offload import Offload
from entresol.primitives.values import Hash32
from entresol.rpc.render.hex import raw_array
from entresol.rpc.services.log_search import BlockRange, LogSearch, check_range, resolve_last

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.features.fork.past.remote import PastChain
    from entresol.features.fork.past.router import Function
    from entresol.rpc.cache import LogCache
    from entresol.rpc.services.log_search import LogLimits
    from entresol.rpc.types.log_filter import BlockName, LogFilter
    from entresol.storage.log_index import LogQuery

METHOD: Final = "eth_getLogs"

MAX_REQUESTS: Final = 256
"""How often the remote is asked for the logs of one range, if it takes only a part at a time."""

_SUGGESTED: Final = re.compile(r"\[\s*(0x[0-9a-f]+)\s*,\s*(0x[0-9a-f]+)\s*\]")
"""A range that fits, as Alchemy and this node suggest it."""
_BLOCKS: Final = re.compile(r"([0-9][0-9,_]*)\s*-?blocks?\b")
"""A limit in blocks, as most others say it."""

_logs: Final = msgspec.json.Decoder(list[Raw]).decode


class _Block(msgspec.Struct, rename="camel"):
    block_hash: str | None = None


_block: Final = msgspec.json.Decoder(_Block).decode


class SplitLogs:
    """Searches for logs of a fork.

    Persists: the remote's logs, in its cache. Assumes: the event loop. Fails: with `InvalidFilter`
    by the limits that local logs have, too, and with `RemoteFailed`.
    """

    def __init__(
        self,
        remote: PastChain,
        chain: Chain,
        source: LogCache,
        limits: LogLimits,
        filter_of: Callable[[int], LogFilter],
    ) -> None:
        """Search by `limits`; `filter_of` returns an installed filter by its id."""
        self._remote = remote
        self._chain = chain
        self._source = source
        self._filter_of = filter_of
        self._limits = limits

    def get_logs(self, function: Function, arguments: Sequence[Any]) -> Any:
        """Return the logs of a filter object, in order."""
        wanted: LogFilter = arguments[0].wanted
        check_range(wanted, self._chain)
        return self._found(wanted) or function(*arguments)

    def get_filter_logs(self, function: Function, arguments: Sequence[Any]) -> Any:
        """Return all logs of an installed filter, in order."""
        wanted = self._filter_of(arguments[0])
        return self._found(wanted) or function(*arguments)

    def _found(self, wanted: LogFilter) -> Awaitable[Any] | None:
        checked = self._limits.checked(wanted, self._chain)
        if checked.block_hash is not None:
            if not self._is_foreign(checked.block_hash):
                return None
            return self._of_block(checked.block_hash, checked)
        blocks = BlockRange(self._first(checked), self._last(checked))
        if blocks.first > min(blocks.last, self._remote.anchor.number):
            return None
        limit = self._limits.blocks
        if limit is not None and blocks.last > blocks.first and blocks.last - blocks.first >= limit:
            raise TooManyBlocks(limit, blocks.first, blocks.first + max(limit, 1) - 1)
        return self._of_range(checked, blocks)

    def _is_foreign(self, block_hash: Hash32) -> bool:
        is_anchor = block_hash == self._remote.anchor.hash
        return is_anchor or self._chain.blocks.block_number(block_hash) is None

    def _first(self, wanted: LogFilter) -> int:
        return self._chain.number if wanted.from_block is None else self._number(wanted.from_block)

    def _last(self, wanted: LogFilter) -> int:
        if wanted.to_block is BlockTag.EARLIEST:
            return 0
        return resolve_last(wanted, self._chain)

    def _number(self, block: BlockName) -> int:
        return 0 if block is BlockTag.EARLIEST else self._chain.resolve(block)

    async def _of_block(self, block_hash: Hash32, wanted: LogFilter) -> Any:
        block = await self._remote.past_block(block_hash)
        if block is None:
            # The error is the one of a block that is not here.
            return raw_array(LogSearch.of(self._source, self._chain, wanted, self._limits).run())
        blocks = {"blockHash": str(block_hash)}
        return raw_array(await self._read(blocks, wanted.query, block.number))

    async def _of_range(self, wanted: LogFilter, blocks: BlockRange) -> Any:
        anchor = self._remote.anchor.number
        past = BlockRange(blocks.first, min(blocks.last, anchor))
        found = await self._of_past(wanted.query, past, blocks)
        if blocks.last <= anchor:
            return raw_array(found)
        ours = BlockRange(anchor + 1, min(blocks.last, self._chain.number))
        left = msgspec.structs.replace(self._limits, blocks=None)
        search = LogSearch(self._source, wanted.query, ours, left)

        def joined(local: list[bytes]) -> Raw:
            self._check_count(found + local, blocks)
            return raw_array(found + local)

        quick = search.run_if_quick()
        return Offload(lambda: joined(search.run())) if quick is None else joined(quick)

    async def _of_past(self, query: LogQuery, past: BlockRange, whole: BlockRange) -> list[bytes]:
        """Return the remote's logs of a range, which is cut as the remote's errors say."""
        found: list[bytes] = []
        first, width = past.first, past.last - past.first + 1
        for _ in range(MAX_REQUESTS):
            last = min(first + width - 1, past.last)
            try:
                blocks = {"fromBlock": hex(first), "toBlock": hex(last)}
                logs = await self._read(blocks, query, last)
            except RemoteRejected as error:
                if first == last or not exceeds_range_limit(error.code, error.message):
                    raise
                width = narrower(error.message, first, last)
                continue
            self._check_blocks(logs, last)
            found += logs
            self._check_count(found, whole)
            if last == past.last:
                return found
            first = last + 1
        covered = max(first - past.first, 1)
        raise TooManyBlocks(covered, past.first, past.first + covered - 1)

    async def _read(self, blocks: dict[str, str], query: LogQuery, last: int) -> list[bytes]:
        """Return the remote's logs; those of a range could be left out with a block that was replaced."""
        result = await self._remote.read(
            METHOD,
            [blocks | _criteria(query)],
            is_final=lambda result: not is_null(result),
            at=last,
        )
        try:
            return [bytes(log) for log in _logs(result)]
        except msgspec.DecodeError:
            raise RemoteMalformed(
                self._remote.host, METHOD, "an array of logs is expected"
            ) from None

    def _check_blocks(self, logs: list[bytes], last: int) -> None:
        """Reject logs of blocks that replaced those below the fork."""
        if self._remote.hash_at(last) is None:
            return
        for log in logs:
            number = block_of(Raw(log))
            expected = None if number is None else self._remote.hash_at(number)
            if expected is not None and _hash_of(log) not in {None, str(expected)}:
                assert number is not None
                raise AnchorLost(self._remote.host, number, expected, _hash_of(log))

    def _check_count(self, found: list[bytes], blocks: BlockRange) -> None:
        limit = self._limits.results
        if len(found) > limit and blocks.first < blocks.last:
            number = block_of(Raw(found[limit])) or blocks.first
            raise TooManyResults(limit, blocks.first, max(blocks.first, number - 1))


def narrower(message: str, first: int, last: int) -> int:
    """Return how many blocks to ask for after an error: what it suggests if that is less, or half as many."""
    text, width = message.lower(), last - first + 1
    for start, end in _SUGGESTED.findall(text):
        if int(start, 16) == first and first <= int(end, 16) < last:
            return int(end, 16) - first + 1
    limits = [int(digits.replace(",", "").replace("_", "")) for digits in _BLOCKS.findall(text)]
    return max((limit for limit in limits if 0 < limit < width), default=width // 2)


def _criteria(query: LogQuery) -> dict[str, Any]:
    """Return the addresses and topics of a query, in one order: it is a key of the cache."""
    criteria: dict[str, Any] = {}
    if query.addresses:
        criteria["address"] = sorted(f"0x{address.hex()}" for address in query.addresses)
    if query.topics:
        criteria["topics"] = [
            sorted(f"0x{topic.hex()}" for topic in topics) or None for topics in query.topics
        ]
    return criteria


def _hash_of(log: bytes) -> str | None:
    try:
        return _block(log).block_hash
    except msgspec.DecodeError:
        return None
