"""Edits that a node gives which nobody trusts: the right ones, or an error that says what it gave instead."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from aiohttp import web

from entresol._native import keccak256
from entresol.errors import EditsUnavailable
from entresol.features.derive.edit_fetcher import MAX_EDITS_BYTES, EditFetcher
from entresol.features.derive.l1_events import BatchClaim
from entresol.primitives.published.body import (
    BatchHeader,
    PublishedBatch,
    PublishedBlock,
    PublishedPrices,
    encode_body,
)
from entresol.primitives.published.compression import compress
from entresol.primitives.published.edits import EditsByHash
from entresol.primitives.values import Hash32

EDITS = bytes(range(256)) * 10
"""What it is an encoding of is a matter of derivation."""
PIECE = 1_000
WANTED = EditsByHash(Hash32(keccak256(EDITS)), len(EDITS))

Response = str | dict[str, Any] | bytes | None


def claim_of(wanted: EditsByHash) -> BatchClaim:
    """Return a batch with the block 5, whose edits are published by hash."""
    header = BatchHeader(
        number=3, first_block=5, parent_hash=Hash32.zero(), rules_hash=Hash32.zero()
    )
    prices = PublishedPrices(10**9)
    block = PublishedBlock(timestamp_step=1, prices=prices, edits=wanted)
    batch = PublishedBatch(header=header, blocks=(block,), last_hash=Hash32.zero())
    return BatchClaim(
        number=3,
        state_root=Hash32.zero(),
        commitment=Hash32.zero(),
        first_block=5,
        last_block=5,
        data=compress(encode_body(batch)),
    )


def honest(block: int, offset: int) -> Response:
    assert block == 5
    return f"0x{EDITS[offset : offset + PIECE].hex()}"


def fetch(
    respond: Callable[[int, int], Response], *batches: EditsByHash, timeout: float = 60.0
) -> tuple[bytes | None, list[tuple[int, int]]]:
    """Fetch for batches from a node that responds so; return the last edits, and what it was asked for."""
    asked: list[tuple[int, int]] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        call = msgspec.json.decode(await request.read())
        assert call["method"] == "entresol_getEdits"
        asked.append((int(call["params"][0], 16), int(call["params"][1], 16)))
        found = respond(*asked[-1])
        if found == b"silence":
            await asyncio.Event().wait()
        if found == b"endless":
            response = web.StreamResponse()
            await response.prepare(request)
            while True:
                await response.write(b'"0x' + b"00" * 50_000)
        if isinstance(found, bytes):
            return web.Response(body=found)
        body = found if isinstance(found, dict) else {"result": found}
        return web.Response(body=msgspec.json.encode({"jsonrpc": "2.0", "id": 1} | body))

    async def scenario() -> bytes | None:
        app = web.Application()
        app.router.add_post("/secret-key", handle)
        runner = web.AppRunner(app, shutdown_timeout=0.01)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port = runner.addresses[0][1]
        url = f"http://127.0.0.1:{port}/secret-key"
        fetcher = EditFetcher(url, timeout=timeout, sleep=lambda _seconds: asyncio.sleep(0))
        try:
            for wanted in batches or (WANTED,):
                await fetcher.fetch(claim_of(wanted))
            return fetcher.edits(5, wanted)
        finally:
            await fetcher.close()
            await runner.cleanup()

    return asyncio.run(scenario()), asked


def test_edits_are_fetched_in_pieces_and_once() -> None:
    found, asked = fetch(honest, WANTED, WANTED)
    assert found == EDITS
    assert asked == [(5, 0), (5, 1_000), (5, 2_000)]


def test_a_batch_without_such_edits_or_that_cannot_be_read_needs_nothing() -> None:
    fetcher = EditFetcher("http://127.0.0.1:1")
    garbage = msgspec.structs.replace(claim_of(WANTED), data=b"\x01garbage")
    asyncio.run(fetcher.fetch(garbage))
    assert fetcher.edits(5, WANTED) is None


@pytest.mark.parametrize(
    ("respond", "problem"),
    [
        (lambda _block, _offset: f"0x{bytes(1_000).hex()}", "others are, which do not have"),
        (lambda _block, _offset: f"0x{EDITS.hex()}00", "others are, which do not have"),
        (lambda _block, _offset: "0x", "they have 0 bytes there, and 2560 by L1"),
        (lambda _block, _offset: None, "it has no edits there"),
        (lambda _block, _offset: "0xzz", "hex"),
        (lambda _block, _offset: {"result": {"a": [1]}}, "hex"),
        (lambda _block, _offset: {"error": {"code": -32601, "message": "gone"}}, "gone"),
        (lambda _block, _offset: {"error": "gone"}, "gone"),
        (lambda _block, _offset: b"<html>", "HTTP status 200 without JSON"),
        (lambda _block, _offset: b"\xff\xfe", "not UTF-8"),
        (lambda _block, _offset: b"endless", "the response has more than"),
    ],
)
def test_what_a_hostile_node_says_is_named(
    respond: Callable[[int, int], Response], problem: str
) -> None:
    with pytest.raises(EditsUnavailable, match=problem) as caught:
        fetch(respond)
    assert caught.value.block == 5
    assert "secret-key" not in str(caught.value)


def test_a_node_that_is_silent_is_given_up_after_several_attempts() -> None:
    with pytest.raises(EditsUnavailable, match=r"no response in 0\.05 seconds"):
        fetch(lambda _block, _offset: b"silence", timeout=0.05)


def test_edits_are_not_fetched_that_take_more_memory_than_is_given_to_them() -> None:
    with pytest.raises(EditsUnavailable, match="take more than 268435456 bytes"):
        fetch(honest, EditsByHash(WANTED.hash, MAX_EDITS_BYTES + 1))


def test_other_edits_of_the_same_block_are_not_those_that_were_fetched_before() -> None:
    other = EditsByHash(Hash32(keccak256(b"other")), 5)

    def respond(_block: int, offset: int) -> Response:
        current = EDITS if len(asked) < 3 else b"other"
        asked.append(offset)
        return f"0x{current[offset : offset + PIECE].hex()}"

    asked: list[int] = []
    found, _ = fetch(respond, WANTED, other)
    assert found == b"other"
    assert asked == [0, 1_000, 2_000, 0]
