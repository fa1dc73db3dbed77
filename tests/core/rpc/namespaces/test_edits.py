"""The edits of a block, as derivation needs them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from entresol.offload import Offload
from entresol.primitives.published.edits import PublishedEdits
from entresol.rpc.namespaces.edits import EntresolEdits
from entresol.rpc.services.block_resolver import BlockResolver
from entresol.rpc.types.block_id import BlockId
from entresol.rpc.types.number import Number
from tests.support.chain.api_client import ApiClient, send
from tests.support.chain.dev_chain import NOBODY


def reader_of(client: ApiClient) -> Callable[[int, int], str | None]:
    """Return what reads a piece of the edits of a block."""
    edits = EntresolEdits(BlockResolver(client.chain), client.chain.blocks)

    def read(block: int, offset: int) -> str | None:
        found = edits.get_edits(BlockId(number=block), Number(offset))
        return bytes(found.work()).decode().strip('"') if isinstance(found, Offload) else None

    return read


def test_edits_are_read_by_pieces_and_encoded_once(
    client: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    client("anvil_setCode", str(NOBODY), "0x" + "5b" * 3_000)
    send(client)
    encoded: list[bytes] = []
    encode = PublishedEdits.encode

    def counted(edits: PublishedEdits) -> bytes:
        encoded.append(encode(edits))
        return encoded[-1]

    monkeypatch.setattr(PublishedEdits, "encode", counted)
    read = reader_of(client)
    pieces = [read(1, offset) for offset in (0, 1_000, 2**60)]
    (whole,) = encoded
    assert pieces == [f"0x{whole.hex()}", f"0x{whole[1_000:].hex()}", "0x"]


def test_blocks_have_edits_of_their_own(client: ApiClient) -> None:
    for nonce in (0, 1):
        client("anvil_setBalance", str(NOBODY), hex(10**18 + nonce))
        send(client, nonce)
    read = reader_of(client)
    assert read(1, 0) != read(2, 0)
    assert read(0, 0) is None
