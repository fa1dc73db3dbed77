"""Bodies that grow block by block: their size is exact at any time."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given

from entresol.errors import NotPublishable
from entresol.primitives.published.block import PublishedBlock
from entresol.primitives.published.body import PublishedBatch, decode_body, encode_body
from entresol.primitives.published.limits import MAX_BODY_BYTES
from entresol.rollup.publication.body_builder import BodyBuilder
from tests.support.published.values import EVERYTHING, batches

EMPTY = PublishedBlock(timestamp_step=1)
FIRST = EVERYTHING.blocks[0]


@given(batches())
def test_the_size_is_exact_after_each_block(batch: PublishedBatch) -> None:
    builder = BodyBuilder(batch.header)
    for count, block in enumerate(batch.blocks, start=1):
        expected = builder.size_with(block)
        builder.add(block)
        assert builder.size == expected
        body = builder.finish(batch.last_hash)
        assert len(body) == expected
        assert decode_body(body).blocks == batch.blocks[:count]


def test_a_body_is_that_of_the_codec() -> None:
    builder = BodyBuilder(EVERYTHING.header)
    for block in EVERYTHING.blocks:
        builder.add(block)
    assert builder.finish(EVERYTHING.last_hash) == encode_body(EVERYTHING)
    assert builder.prices == EVERYTHING.blocks[-2].prices


def test_a_run_of_empty_blocks_grows_by_nothing_but_its_count() -> None:
    builder = BodyBuilder(EVERYTHING.header)
    builder.add(FIRST)
    before = builder.size
    builder.add(EMPTY)
    assert builder.size == before + 3
    for _ in range(126):
        builder.add(EMPTY)
    # The number of blocks and the count of the run need a second byte each at 128.
    assert builder.blocks == 128
    assert builder.size == before + 3 + 1
    builder.add(EMPTY)
    assert builder.size == before + 3 + 2


def test_a_body_has_room_for_so_many_blocks_and_bytes() -> None:
    builder = BodyBuilder(EVERYTHING.header)
    builder.add(FIRST)
    left = MAX_BODY_BYTES - builder.size
    # Flags, step, count and length take six bytes.
    fits, larger = (
        PublishedBlock(timestamp_step=1, transactions=(b"\x02" + bytes(left - 7 + more),))
        for more in (0, 1)
    )
    assert builder.has_room_for(fits)
    assert not builder.has_room_for(larger)
    for _ in range(1_023):
        assert builder.has_room_for(EMPTY)
        builder.add(EMPTY)
    assert not builder.has_room_for(EMPTY)


def test_a_block_that_cannot_follow_changes_nothing() -> None:
    builder = BodyBuilder(EVERYTHING.header)
    with pytest.raises(NotPublishable, match="prices"):
        builder.add(EMPTY)
    builder.add(FIRST)
    before = builder.size
    with pytest.raises(NotPublishable, match="deposits: a batch has"):
        builder.add(msgspec.structs.replace(EMPTY, deposits=1_023))
    assert builder.size == before
    assert decode_body(builder.finish(EVERYTHING.last_hash)).blocks == (FIRST,)
