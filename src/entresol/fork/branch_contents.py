"""Whether a response that names no block is of the branch below the fork, by what it says.

A remote that takes no batches is asked for the block before and after, and may have changed its branch twice meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, Final

import msgspec

from entresol._native import keccak256, rlp_decode, rlp_encode
from entresol.errors import EntresolError, MalformedValue, RemoteRejected
from entresol.fork import remote_values
from entresol.fork.past_blocks import PastBlocks
from entresol.fork.remote_values import DescribedBlock
from entresol.fork.transport.client import ForkClient
from entresol.fork.verify.proven_chain import LOGS, LogCriteria
from entresol.primitives.values import Data

RAW_HEADER: Final = "debug_getRawHeader"
RAW_BLOCK: Final = "debug_getRawBlock"
BOUND: Final = frozenset({LOGS, RAW_HEADER, RAW_BLOCK})
"""Methods whose results show the branch wholly: of them the block is asked for only once."""
ATTEMPTS: Final = 3
"""How often something is read before a remote that changes its branch is an error."""
_TOLERANCE: Final = 1e-6


class Branch(Enum):
    """Which branch a response is of."""

    OURS = "ours"
    OTHER = "other"
    UNKNOWN = "unknown"
    """It does not fit, but the remote may have a notion of its own: the same response once more is believed."""


class BranchContents:
    """Compares responses with headers that are known by their hashes.

    Remembers: nothing; `PastBlocks` has headers. Assumes: the loop of the client. Fails: with `RemoteFailed`.
    """

    def __init__(self, client: ForkClient, past: PastBlocks) -> None:
        self._client = client
        self._past = past

    async def branch_of(self, method: str, params: Sequence[Any], raw: msgspec.Raw) -> Branch:
        """Return which branch a response is of, as far as it shows one."""
        try:
            result = msgspec.json.decode(raw)
            match method:
                case "eth_feeHistory":
                    return await self._of_fees(result)
                case "eth_getLogs":
                    return await self._of_logs(dict(params[0]), result)
                case "debug_getRawHeader" | "debug_getRawBlock":
                    return self._of_raw(params[0], result, is_block=method == RAW_BLOCK)
                case _:
                    return self._of_members(result)
        except (
            *(msgspec.DecodeError, RecursionError, KeyError, TypeError, ValueError),
            *(IndexError, AttributeError, MalformedValue),
        ):
            # Not what the method returns: whoever reads it says so.
            return Branch.OURS

    async def _of_fees(self, fees: dict[str, Any]) -> Branch:
        first, ratios, base_fees = int(fees["oldestBlock"], 16), fees["gasUsedRatio"], _fees(fees)
        found = Branch.OURS
        for at in range(max(self._past.first_recent - first, 0), len(ratios)):
            block = await self._recent(first + at)
            if block is None:
                continue
            members = remote_values.mapping(msgspec.json.decode(block.json))
            if base_fees and int(members.get("baseFeePerGas") or "0x0", 16) != base_fees[at]:
                return Branch.OTHER
            limit = block.header.gas_limit
            expected = block.header.gas_used / limit if limit else 0.0
            if abs(expected - ratios[at]) > _TOLERANCE:
                found = Branch.UNKNOWN
        return found

    async def _of_logs(self, wanted: dict[str, Any], logs: list[dict[str, Any]]) -> Branch:
        if self._of_members(logs) is Branch.OTHER:
            return Branch.OTHER
        if wanted.get("blockHash") is not None:
            return Branch.OURS
        criteria, last = LogCriteria.of(wanted), int(wanted["toBlock"], 16)
        there = {int(log["blockNumber"], 16) for log in logs}
        first = max(int(wanted["fromBlock"], 16), self._past.first_recent)
        for number in range(first, last + 1):
            block = None if number in there else await self._recent(number)
            if block is None or not criteria.may_be_in(block.header.logs_bloom):
                continue
            # Others may have the same bits: the block itself says whether one was left out.
            branch = await self._of_block(block, wanted)
            if branch is not Branch.OURS:
                return branch
        return Branch.OURS

    async def _of_block(self, block: DescribedBlock, wanted: dict[str, Any]) -> Branch:
        asked: dict[str, Any] = {
            name: wanted[name] for name in ("address", "topics") if name in wanted
        }
        asked["blockHash"] = str(block.hash)
        try:
            raw = await self._client.request(LOGS, asked)
        except RemoteRejected:
            return Branch.UNKNOWN
        return Branch.OTHER if msgspec.json.decode(raw) else Branch.OURS

    def _of_raw(self, named: str, result: object, *, is_block: bool) -> Branch:
        expected = self._past.hash_at(int(named, 16))
        encoded = bytes(Data.parse(result))
        try:
            item: Any = rlp_decode(encoded)
            header = rlp_encode(item[0]) if is_block else encoded
        except EntresolError:
            return Branch.UNKNOWN
        if expected is None or keccak256(header) == expected:
            return Branch.OURS
        # Other chains hash their headers in other ways.
        return Branch.UNKNOWN

    def _of_members(self, result: object) -> Branch:
        """Compare the hashes of blocks that objects name."""
        for item in result if isinstance(result, list) else [result]:
            if not isinstance(item, dict) or item.get("blockHash") is None:
                continue
            number = item.get("blockNumber")
            number = int(number, 16) if isinstance(number, str) else number
            expected = None if number is None else self._past.hash_at(number)
            if expected is not None and item["blockHash"].lower() != str(expected):
                return Branch.OTHER
        return Branch.OURS

    async def _recent(self, number: int) -> DescribedBlock | None:
        """Return a block that the remote may still replace, by its hash."""
        expected = self._past.hash_at(number)
        return None if expected is None else await self._past.block(expected)


def _fees(fees: dict[str, Any]) -> list[int]:
    return [int(fee, 16) for fee in fees.get("baseFeePerGas") or ()]
