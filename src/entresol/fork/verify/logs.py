"""Logs by receipts: of a range, those of all blocks whose bloom filter may have them, so that none is left out."""

from __future__ import annotations

from typing import Any

import msgspec

from entresol._native import keccak256
from entresol.counted import counted
from entresol.errors import MalformedValue, Unprovable
from entresol.fork import results
from entresol.fork.verify.blocks import MAX_BODIES, ProvenBlocks
from entresol.primitives.values import Address, Hash32

METHOD = "eth_getLogs"


class LogCriteria(msgspec.Struct, frozen=True):
    """Which logs are wanted: of any of the addresses, and with any of the topics at each position."""

    addresses: frozenset[bytes]
    topics: tuple[frozenset[bytes], ...]

    @classmethod
    def of(cls, wanted: dict[str, Any]) -> LogCriteria:
        """Read the object of a request."""
        topics = wanted.get("topics") or []
        return cls(
            frozenset(bytes(Address.parse(it)) for it in _any_of(wanted.get("address"))),
            tuple(frozenset(bytes(Hash32.parse(it)) for it in _any_of(each)) for each in topics),
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
        found = [bytes.fromhex(it[2:]) for it in log["topics"]]
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
        first = results.member(wanted, "fromBlock", results.number)
        last = results.member(wanted, "toBlock", results.number)
        headers = await blocks.headers(METHOD, first, last) if first <= last else []
    positive = [header for header in headers if criteria.may_be_in(header.data("logsBloom"))]
    if len(positive) > MAX_BODIES:
        raise Unprovable(
            METHOD,
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
