"""Bodies of batches: round trips, and every other encoding is rejected by name."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given, settings

from entresol.errors import NotPublishable, UnknownPublishedVersion, UnreadableData
from entresol.primitives.published.body import (
    MAX_FRAME_BYTES,
    EmptyRun,
    PublishedBatch,
    PublishedBlock,
    block_size,
    decode_body,
    encode_block,
    encode_body,
    entries,
)
from entresol.primitives.published.compression import decompress
from entresol.primitives.published.edits import PublishedEdits
from entresol.primitives.published.genesis import PublishedGenesis
from entresol.primitives.published.rules import BlockRules
from entresol.primitives.published.writer import varint
from tests.support.published.rejected import HEAD, LAST, PATH, PRICED, REJECTED_BODIES, encoded
from tests.support.published.values import (
    DEVELOPMENT_RULES,
    EVERYTHING,
    GIVEN_EDITS,
    PUBLISHED_SMALL,
    SMALL_BATCH,
    SMALL_GENESIS,
    batches,
    check_mutations,
    read,
)
from tests.support.run.examples import examples

FIRST: Final = EVERYTHING.blocks[0]
EMPTY: Final = PublishedBlock(timestamp_step=1)
LEAST: Final = msgspec.structs.replace(FIRST, deposits=0, transactions=())
"""A block with prices alone."""


def batch_of(*blocks: PublishedBlock) -> PublishedBatch:
    return msgspec.structs.replace(EVERYTHING, blocks=blocks)


@settings(max_examples=examples(300))
@given(batches())
def test_a_body_is_read_as_it_was_written(batch: PublishedBatch) -> None:
    body = encode_body(batch)
    assert decode_body(body) == batch
    assert encode_body(decode_body(body)) == body


def test_runs_of_empty_blocks_are_one_entry() -> None:
    body = encode_body(batch_of(LEAST, *(EMPTY,) * 1_023))
    assert len(body) - len(encode_body(batch_of(LEAST))) == 1 + len(EmptyRun(1, 1_023).encode())
    assert decode_body(body).blocks[1:] == (EMPTY,) * 1_023


def test_runs_with_other_steps_are_other_entries() -> None:
    two = PublishedBlock(timestamp_step=2)
    assert list(entries((EMPTY, EMPTY, two, LEAST, two, two, EMPTY))) == [
        EmptyRun(1, 2), EmptyRun(2, 1), LEAST, EmptyRun(2, 2), EmptyRun(1, 1),
    ]  # fmt: skip


@given(batches())
def test_the_size_of_a_block_is_known_before_it_is_encoded(batch: PublishedBatch) -> None:
    assert [block_size(block) for block in batch.blocks] == [
        len(encode_block(block)) for block in batch.blocks
    ]


def test_the_parts_around_the_blocks_have_a_bound() -> None:
    largest = msgspec.structs.replace(EVERYTHING.header, number=2**53 - 1, first_block=2**53 - 1)
    assert len(largest.encode()) + 2 + 32 == MAX_FRAME_BYTES


@pytest.mark.parametrize(("field", "body"), REJECTED_BODIES)
def test_what_no_body_has_is_rejected_by_name(field: str, body: bytes) -> None:
    found = read(body, decode_body)
    assert isinstance(found, UnreadableData)
    assert found.field == f"body.{field}"


@pytest.mark.parametrize("count", [2**60, 2**64 - 1])
def test_a_count_that_the_rest_cannot_hold_is_rejected_before_anything_is_made(count: int) -> None:
    encoded = varint(count, "count")
    for flags in (b"\x08", b"\x20", b"\x40", b"\x80"):
        found = read(HEAD + b"\x02" + PRICED + flags + b"\x00" + encoded + LAST, decode_body)
        assert isinstance(found, UnreadableData)
        assert found.offset == len(HEAD) + 1 + len(PRICED) + 2


def test_a_body_of_another_version_is_rejected_by_name() -> None:
    with pytest.raises(UnknownPublishedVersion, match=r"body\.version, at byte 0: version 2"):
        decode_body(b"\x02" + encode_body(EVERYTHING)[1:])


DEPOSITS: Final = msgspec.structs.replace(FIRST, prices=None, deposits=1_023)
ROOTS: Final = msgspec.structs.replace(EMPTY, roots=EVERYTHING.blocks[-2].roots * 50)
MANY: Final = msgspec.structs.replace(EMPTY, transactions=(b"\x02",) * 40_000)


@pytest.mark.parametrize(
    ("field", "blocks"),
    [
        ("deposits", (FIRST, DEPOSITS)),
        ("roots", (LEAST, *(ROOTS,) * 4)),
        ("transactions", (LEAST, MANY, MANY)),
    ],
)
def test_a_batch_has_no_more_than_can_be_settled(
    field: str, blocks: tuple[PublishedBlock, ...]
) -> None:
    with pytest.raises(NotPublishable, match=f"{field}: a batch has"):
        encode_body(batch_of(*blocks))
    body = HEAD + bytes((len(blocks),)) + b"".join(map(encode_block, blocks)) + LAST
    with pytest.raises(UnreadableData, match=f"{field}, at byte .*: a batch has"):
        decode_body(body)


@pytest.mark.parametrize(
    "batch",
    [
        batch_of(),
        batch_of(EMPTY),
        batch_of(LEAST, LEAST),
        batch_of(LEAST, msgspec.structs.replace(EMPTY, rules=DEVELOPMENT_RULES)),
        batch_of(LEAST, *(EMPTY,) * 1_024),
        batch_of(msgspec.structs.replace(LEAST, transactions=(b"",))),
        batch_of(msgspec.structs.replace(LEAST, transactions=(b"\x03",))),
        batch_of(msgspec.structs.replace(LEAST, timestamp_step=-1)),
        batch_of(msgspec.structs.replace(LEAST, gas_limit=2**64)),
        msgspec.structs.replace(EVERYTHING, last_hash=b"\x01"),
    ],
)
def test_what_cannot_be_published_is_not_encoded(batch: PublishedBatch) -> None:
    with pytest.raises(NotPublishable):
        encode_body(batch)


@pytest.mark.parametrize(
    "body",
    [
        HEAD + b"\x80\x08" + PRICED + b"\x00\x00\xff\x07" + LAST,
        HEAD + b"\x02" + PRICED + b"\x40\x00\x80\x08" + LAST,
        HEAD + b"\x05" + PRICED + (b"\x20\x00\x57" + (bytes(3) + LAST) * 87) * 4 + LAST,
        HEAD + b"\x02" + PRICED + b"\x80\x00\xff\xff\x03" + b"\x01\x02" * 65_535 + LAST,
    ],
    ids=["blocks", "deposits", "roots", "transactions"],
)
def test_a_batch_may_have_as_much_as_can_be_settled(body: bytes) -> None:
    assert isinstance(read(body, decode_body), PublishedBatch)


PAGE: Final = (Path(__file__).resolve().parents[4] / "docs" / "availability.md").read_text("utf-8")
DECODERS: Final[dict[str, Callable[[bytes], Any]]] = {
    "rules": BlockRules.decode,
    "edits": PublishedEdits.decode,
    "body": decode_body,
    "genesis": PublishedGenesis.decode,
    "published": decompress,
}
EXAMPLES: Final = {
    "rules": DEVELOPMENT_RULES.encode(),
    "body": encode_body(SMALL_BATCH),
    "published": PUBLISHED_SMALL,
    "genesis": SMALL_GENESIS.encode(),
}


def test_the_file_of_vectors_is_up_to_date() -> None:
    assert PATH.read_bytes() == encoded(), "python -m tests.support.published.vectors writes it"


@pytest.mark.parametrize("kind", EXAMPLES)
def test_the_examples_of_the_page_are_the_codecs(kind: str) -> None:
    assert page_examples()[kind] == EXAMPLES[kind]


def test_the_page_has_the_hashes_of_its_examples() -> None:
    for value in (DEVELOPMENT_RULES, SMALL_GENESIS):
        assert str(value.hash()) in PAGE


def test_the_published_example_is_the_body() -> None:
    assert decompress(PUBLISHED_SMALL) == encode_body(SMALL_BATCH)


def test_what_the_vectors_accept_is_read() -> None:
    for it in msgspec.json.decode(PATH.read_bytes())["accepted"]:
        assert not isinstance(read(bytes.fromhex(it["hex"]), DECODERS[it["kind"]]), UnreadableData)


@pytest.mark.many
@pytest.mark.parametrize("value", [DEVELOPMENT_RULES, GIVEN_EDITS, SMALL_GENESIS])
def test_every_mutation_is_rejected_or_another_value(value: Any) -> None:
    check_mutations(value.encode(), type(value).decode, type(value).encode)


@pytest.mark.many
def test_every_mutation_of_a_body_is_rejected_or_another_batch() -> None:
    check_mutations(encode_body(EVERYTHING), decode_body, encode_body)


def page_examples() -> dict[str, bytes]:
    """Return the bytes of the page's examples: the hex digits at the beginning of each line."""
    found = {}
    for kind, lines in re.findall(r"```hex\n(\w+)\n(.*?)```", PAGE, re.DOTALL):
        digits = re.findall(r"^((?:[0-9a-f]{2}| (?! ))+)(?:  |$)", lines, re.MULTILINE)
        found[kind] = bytes.fromhex("".join(digits))
    return found
