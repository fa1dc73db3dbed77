"""Documents over a Unix socket, and its path."""

from __future__ import annotations

import json
import socket
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entresol.errors import SocketUnavailable
from entresol.server.ipc import MAX_TOKENS, DocumentSplitter, MalformedStreamError, UnixPath

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


def test_only_the_owner_may_connect(tmp_path: Path) -> None:
    path = tmp_path / "ipc"
    with UnixPath(str(path)).listen():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_a_killed_process_left_is_replaced(tmp_path: Path) -> None:
    path = str(tmp_path / "ipc")
    UnixPath(path).listen().close()
    with UnixPath(path).listen(), socket.socket(socket.AF_UNIX) as client:
        client.connect(path)


def test_a_socket_in_use_is_left_alone(tmp_path: Path) -> None:
    path = str(tmp_path / "ipc")
    first = UnixPath(path)
    with first.listen():
        second = UnixPath(path)
        with pytest.raises(SocketUnavailable, match=r"in use by another process.*--ipc"):
            second.listen()
        second.remove()
        assert Path(path).exists()
        first.remove()
        assert not Path(path).exists()


@pytest.mark.parametrize(
    ("name", "problem"),
    [("file", "not a socket"), ("missing/ipc", "No such file"), ("x" * 200, "too long")],
)
def test_a_path_that_cannot_be_a_socket_is_named(tmp_path: Path, name: str, problem: str) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(SocketUnavailable, match=problem):
        UnixPath(str(tmp_path / name)).listen()
    assert (tmp_path / "file").read_text() == "mine"
