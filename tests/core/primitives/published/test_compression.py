"""Frames of published data: one of zstd within bounds, and everything else is rejected before it is unpacked."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from entresol.errors import NotPublishable, UnknownPublishedVersion, UnreadableData
from entresol.primitives.published.body import encode_body
from entresol.primitives.published.compression import compress, decompress
from entresol.primitives.published.limits import (
    MAX_BODY_BYTES,
    MAX_DECODED_BYTES,
    MAX_PUBLISHED_BYTES,
    MAX_RATIO,
)
from tests.support.published.rejected import (
    LONG_MATCH,
    MAGIC,
    REJECTED_FRAMES,
    block,
    single_segment,
)
from tests.support.published.values import EVERYTHING, read

BODY = encode_body(EVERYTHING)


@given(st.binary(min_size=1, max_size=3_000), st.integers(1, 40))
def test_data_is_unpacked_as_it_was(data: bytes, times: int) -> None:
    assert decompress(compress(data * times)) == data * times


def test_a_body_of_the_node_fits_whatever_it_compresses_to() -> None:
    assert len(compress(os.urandom(MAX_BODY_BYTES))) <= MAX_PUBLISHED_BYTES
    bound = MAX_BODY_BYTES + MAX_BODY_BYTES // 256 + (128 * 1024 - MAX_BODY_BYTES) // 2048
    assert 1 + bound <= MAX_PUBLISHED_BYTES


@pytest.mark.parametrize("size", [MAX_BODY_BYTES, MAX_DECODED_BYTES])
def test_what_compresses_too_well_is_still_readable(size: int) -> None:
    published = compress(bytes(size))
    assert size <= MAX_RATIO * (len(published) - 1)
    assert len(published) < size // 100
    assert decompress(published) == bytes(size)


@pytest.mark.parametrize(("field", "published"), REJECTED_FRAMES)
def test_what_no_frame_has_is_rejected_by_name(field: str, published: bytes) -> None:
    with pytest.raises(UnreadableData) as rejected:
        decompress(published)
    assert rejected.value.field == f"published.{field}"


def test_literals_are_not_compressed_whatever_they_are() -> None:
    text = b" ".join(str(number**3).encode() for number in range(9_000))
    assert decompress(compress(text)) == text
    with pytest.raises(UnreadableData, match="literals"):
        decompress(b"\x01" + zstandard.ZstdCompressor(level=1).compress(text))


def test_another_version_is_rejected_by_name() -> None:
    with pytest.raises(UnknownPublishedVersion, match=r"published\.version.*version 2"):
        decompress(b"\x02" + compress(BODY)[1:])


@pytest.mark.parametrize(
    "said", [MAX_DECODED_BYTES, MAX_DECODED_BYTES + 1, 2**32 - 1, 2**60, 2**64 - 1]
)
def test_a_size_that_is_only_said_allocates_nothing(said: int) -> None:
    bomb = MAGIC + b"\xe0" + said.to_bytes(8, "little") + b"\x03\xff\x07\0" * 100
    read(bomb, decompress)
    tracemalloc.start()
    try:
        assert isinstance(read(bomb, decompress), UnreadableData)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000


@pytest.mark.parametrize(("repeated", "field"), [(1_000, "frame"), (131_071, "block")])
def test_a_frame_that_holds_more_than_it_says_is_rejected(repeated: int, field: str) -> None:
    # Blocks that repeat one byte; each takes four bytes.
    blocks = [block(1, b"\0", repeated)] * 30_000
    with pytest.raises(UnreadableData, match=rf"published\.{field}"):
        decompress(single_segment(1_000, *blocks, block(1, b"\0", repeated, is_last=True)))


def test_unpacking_stops_with_the_first_block_too_many() -> None:
    blocks = [block(1, b"\0", 131_072)] * 30_000
    bomb = single_segment(8 * 131_072, *blocks, block(0, b"", is_last=True))
    read(bomb, decompress)
    tracemalloc.start()
    try:
        assert isinstance(read(bomb, decompress), UnreadableData)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10 * 1024 * 1024


@pytest.mark.parametrize("body", [b"", bytes(MAX_DECODED_BYTES + 1)])
def test_what_nobody_would_read_is_not_compressed(body: bytes) -> None:
    with pytest.raises(NotPublishable, match="body"):
        compress(body)


@pytest.mark.parametrize(
    "published",
    [
        single_segment(133_074, block(0, bytes(2_000)), block(2, LONG_MATCH, is_last=True)),
        compress(os.urandom(MAX_PUBLISHED_BYTES)),
    ],
    ids=["a match that is too long", "too many bytes"],
)
def test_what_is_just_beyond_a_limit_is_rejected(published: bytes) -> None:
    assert isinstance(read(published, decompress), UnreadableData)


def test_the_library_is_loaded_only_when_something_is_published() -> None:
    code = (
        "import sys; import entresol.cli.main, entresol.primitives.published.genesis;"
        "print('zstandard' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert found.stdout == "False\n"


@pytest.mark.parametrize(
    "published",
    [
        single_segment(1, *[block(0, b"")] * 30_000, block(0, b"a", is_last=True)),
        single_segment(4_000 + 7 * 131_072, block(0, b"a" * 4_000), *[block(1, b"a", 131_072)] * 6, block(1, b"a", 131_072, is_last=True)),
    ],
    ids=["empty blocks", "full blocks"],
)  # fmt: skip
def test_a_frame_that_is_just_within_the_limits_is_unpacked(published: bytes) -> None:
    assert set(decompress(published)) == {*b"a"}
