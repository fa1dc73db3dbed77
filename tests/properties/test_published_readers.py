"""Two readers of published data, of which one was written from the page alone: they accept and reject the same bytes."""

from __future__ import annotations

import os
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entresol.primitives.published.body import encode_body
from entresol.primitives.published.compression import compress
from entresol.primitives.published.limits import (
    MAX_DECODED_BYTES,
    MAX_GENESIS_BYTES,
    MAX_PUBLISHED_BYTES,
)
from tests.support.published import values
from tests.support.published.agreement import READERS, agreed
from tests.support.published.chain import PublishingChain
from tests.support.published.rejected import (
    HEAD,
    LAST,
    LONG_MATCH,
    PRICED,
    REJECTED_BODIES,
    REJECTED_EDITS,
    REJECTED_FRAMES,
    block,
    single_segment,
)
from tests.support.published.vectors import PATH

SEEDS = {
    "rules": values.DEVELOPMENT_RULES.encode(),
    "edits": values.GIVEN_EDITS.encode(),
    "body": encode_body(values.EVERYTHING),
    "genesis": values.SMALL_GENESIS.encode(),
    "published": values.PUBLISHED_SMALL,
}
REJECTED = [
    *(("body", data) for _, data in REJECTED_BODIES if len(data) <= MAX_DECODED_BYTES),
    *(("edits", data) for _, data in REJECTED_EDITS),
    *(("published", data) for _, data in REJECTED_FRAMES),
]


@st.composite
def encodings(draw: st.DrawFn) -> tuple[str, bytes]:
    """Draw a value, encoded: the kind of it, and its bytes."""
    kind = draw(st.sampled_from(["rules", "edits", "body", "genesis", "published"]))
    if kind == "rules":
        return kind, draw(values.rules).encode()
    if kind == "edits":
        return kind, draw(values.edits()).encode()
    if kind == "genesis":
        return kind, draw(values.geneses).encode()
    body = encode_body(draw(values.batches()))
    return kind, body if kind == "body" else compress(body)


@st.composite
def broken(draw: st.DrawFn) -> tuple[str, bytes]:
    """Draw an encoding with bytes that are others, that are missing, or that are there in addition."""
    kind, data = draw(encodings())
    at = draw(st.integers(0, len(data) - 1))
    match draw(st.sampled_from(["change", "cut", "append", "insert", "delete", "repeat"])):
        case "change":
            return kind, data[:at] + draw(st.binary(min_size=1, max_size=3)) + data[at + 1 :]
        case "cut":
            return kind, data[:at]
        case "append":
            return kind, data + draw(st.binary(min_size=1, max_size=40))
        case "insert":
            return kind, data[:at] + draw(st.binary(min_size=1, max_size=3)) + data[at:]
        case "delete":
            return kind, data[:at] + data[at + 1 :]
        case _:
            end = draw(st.integers(at, min(len(data), at + 60)))
            return kind, data[:end] + data[at:end] + data[end:]


def test_both_readers_agree_on_the_vectors() -> None:
    vectors: dict[str, Any] = msgspec.json.decode(PATH.read_bytes())
    for vector in vectors["accepted"]:
        assert agreed(vector["kind"], bytes.fromhex(vector["hex"])) is not None
    for vector in vectors["rejected"]:
        assert agreed(vector["kind"], bytes.fromhex(vector["hex"])) is None


@pytest.mark.parametrize(("kind", "data"), REJECTED)
def test_both_readers_reject_what_no_reader_accepts(kind: str, data: bytes) -> None:
    assert agreed(kind, data) is None


@given(encodings())
def test_both_readers_give_the_value_that_was_encoded(encoding: tuple[str, bytes]) -> None:
    assert agreed(*encoding) is not None


@given(broken())
def test_both_readers_agree_on_what_is_broken(encoding: tuple[str, bytes]) -> None:
    agreed(*encoding)


@pytest.mark.parametrize("kind", SEEDS)
def test_both_readers_agree_on_every_mutation(kind: str) -> None:
    for data in values.mutations(SEEDS[kind]):
        agreed(kind, data)


@given(st.sampled_from([*READERS]), st.binary(max_size=300))
def test_both_readers_agree_on_noise(kind: str, noise: bytes) -> None:
    agreed(kind, b"\x01" + noise)


def test_both_readers_agree_on_the_bodies_of_a_chain() -> None:
    chain = PublishingChain()
    try:
        chain.seal_everything()
        last = chain.chain.number
        for first in range(1, last + 1):
            body = chain.body(first, last)
            found = agreed("body", body)
            assert len(found["blocks"]) == last + 1 - first
            assert agreed("published", compress(body)) == body
    finally:
        chain.close()


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        # Counts of what cannot follow.
        ("body", HEAD + b"\x80\x08" + PRICED + b"\x80\x00" + b"\xff\xff\x03" + LAST),
        ("edits", b"\xff" * 9 + b"\x01" + bytes(100)),
        ("genesis", SEEDS["genesis"][:-200] + b"\xff" * 9 + b"\x01"),
        # Sums that are one too large.
        ("body", HEAD + b"\x03" + PRICED + b"\x40\x00\x80\x08" + b"\x40\x00\x01" + LAST),
        ("body", HEAD + b"\x05" + PRICED + (b"\x20\x00\x58" + (bytes(3) + LAST) * 88) * 4 + LAST),
        ("body", HEAD + b"\x03" + PRICED + b"\x80\x00\xff\xff\x03" + b"\x01\x02" * 65_535 + b"\x40\0\1" + LAST),
        # Frames that say too much, hold too much, or are too long.
        ("published", single_segment(MAX_DECODED_BYTES, *[block(1, b"\0", 131_071)] * 30_000)),
        ("published", single_segment(131_072, *[block(1, b"\0", 131_072)] * 200, block(0, b"", is_last=True))),
        ("published", single_segment(133_074, block(0, bytes(2_000)), block(2, LONG_MATCH, is_last=True))),
        ("published", compress(os.urandom(MAX_PUBLISHED_BYTES))),
        ("published genesis", compress(os.urandom(MAX_GENESIS_BYTES))),
    ],
    ids=range(11),
)  # fmt: skip
def test_both_readers_reject_bombs(kind: str, data: bytes) -> None:
    assert agreed(kind, data) is None


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("body", HEAD + b"\x80\x08" + PRICED + b"\x00\x00\xff\x07" + LAST),
        ("body", HEAD + b"\x02" + PRICED + b"\x40\x00\x80\x08" + LAST),
        ("body", HEAD + b"\x05" + PRICED + (b"\x20\x00\x57" + (bytes(3) + LAST) * 87) * 4 + LAST),
        ("body", HEAD + b"\x02" + PRICED + b"\x80\x00\xff\xff\x03" + b"\x01\x02" * 65_535 + LAST),
        ("published", single_segment(1, *[block(0, b"")] * 30_000, block(0, b"a", is_last=True))),
        ("published", single_segment(4_000 + 7 * 131_072, block(0, bytes(4_000)), *[block(1, b"a", 131_072)] * 6, block(1, b"a", 131_072, is_last=True))),
        ("published", compress(bytes(MAX_DECODED_BYTES))),
        ("published genesis", compress(os.urandom(MAX_GENESIS_BYTES - 1_000))),
    ],
    ids=range(8),
)  # fmt: skip
def test_both_readers_accept_what_is_just_within_the_limits(kind: str, data: bytes) -> None:
    assert agreed(kind, data) is not None
