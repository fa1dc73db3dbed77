"""Documents that follow each other in a stream."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entresol.server.ipc.document_splitter import (
    MAX_TOKENS,
    DocumentSplitter,
    MalformedStreamError,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
DOCUMENTS = st.lists(VALUES) | st.dictionaries(st.text(), VALUES)


def documents(splitter: DocumentSplitter) -> list[bytes]:
    found = []
    while splitter.has_unread:
        document = splitter.next_document()
        if document is not None:
            found.append(document)
    return found


@given(st.lists(DOCUMENTS), st.sampled_from([b"", b"\n", b" \r\n\t"]), st.integers(1, 50))
def test_documents_are_found_however_they_are_cut(sent: list[Any], space: bytes, size: int) -> None:
    encoded = [json.dumps(it).encode() for it in sent]
    stream = space.join(encoded) + space
    splitter = DocumentSplitter()
    found = []
    for at in range(0, len(stream), size):
        splitter.receive(stream[at : at + size])
        found += documents(splitter)
    assert found == encoded
    assert len(splitter) <= len(space)


@pytest.mark.parametrize("stream", [b"1", b"null", b'"{}"', b"}", b"{}x", b"\xff"])
def test_what_has_no_end_is_malformed(stream: bytes) -> None:
    splitter = DocumentSplitter()
    splitter.receive(stream)
    with pytest.raises(MalformedStreamError):
        documents(splitter)


def test_a_few_tokens_are_read_at_once() -> None:
    splitter = DocumentSplitter()
    splitter.receive(b"[" * MAX_TOKENS * 2)
    assert splitter.next_document() is None
    assert splitter.has_unread
    splitter.receive(b"]" * MAX_TOKENS * 2)
    assert [len(document) for document in documents(splitter)] == [MAX_TOKENS * 4]


def test_nothing_is_left_after_clearing() -> None:
    splitter = DocumentSplitter()
    splitter.receive(b'{"a": "')
    documents(splitter)
    splitter.clear()
    splitter.receive(b"{}")
    assert documents(splitter) == [b"{}"]
