"""The vectors of docs/availability.md: the page, the file and the codec agree."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from entresol.errors import UnreadableData
from entresol.primitives.published.body import decode_body, encode_body
from entresol.primitives.published.compression import decompress
from entresol.primitives.published.edits import PublishedEdits
from entresol.primitives.published.genesis import PublishedGenesis
from entresol.primitives.published.rules import BlockRules
from tests.support.published.rejected import PATH, encoded
from tests.support.published.values import (
    DEVELOPMENT_RULES,
    EVERYTHING,
    GIVEN_EDITS,
    PUBLISHED_SMALL,
    SMALL_BATCH,
    SMALL_GENESIS,
    check_mutations,
    read,
)

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
    assert PATH.read_bytes() == encoded(), "python -m tests.support.published.rejected writes it"


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
