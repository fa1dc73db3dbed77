"""What is read of the past."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from entresol.errors import AnchorLost, NotRecorded, RemoteMalformed, RemoteRejected
from entresol.features.fork.cache.cache_files import FilePlace
from entresol.features.fork.cache.fork_cache import ForkCache
from entresol.features.fork.config.fork_settings import ForkSettings
from entresol.features.fork.remote_chain import RemoteChain
from entresol.primitives.values import Hash32
from tests.support.fork.faults import Reorganisation
from tests.support.fork.remote_node import (
    BALANCE,
    BLOCKS,
    CHAIN_ID,
    HOLDER,
    OTHER_HASH,
    RemoteNode,
    block_hash,
    read,
)

UNKNOWN = "0x" + "01" * 32


def test_any_method_is_read_as_it_came(remote: RemoteChain) -> None:
    assert read(remote, "eth_chainId") == hex(CHAIN_ID)
    with pytest.raises(RemoteRejected, match="eth_nothing"):
        read(remote, "eth_nothing")


def test_a_result_that_is_final_is_read_once(node: RemoteNode) -> None:
    def final(raw: msgspec.Raw) -> bool:
        return bytes(raw) != b"null"

    with node.fork() as remote:
        for _ in range(2):
            asyncio.run(remote.read("eth_getBlockByNumber", ["0x3", True], is_final=final))
            asyncio.run(remote.read("eth_getBlockByNumber", ["0xffff", True], is_final=final))
        assert node.proxy.methods["eth_getBlockByNumber"] == 3


def test_a_past_block_is_known_by_number_and_hash_and_none_is_above(node: RemoteNode) -> None:
    with node.fork(block_number=BLOCKS - 10) as remote:
        for number in (0, 5, BLOCKS - 11, BLOCKS - 10):
            by_number = asyncio.run(remote.past_block(number))
            by_hash = asyncio.run(remote.past_block(block_hash(node, number)))
            assert by_number is not None
            assert by_number == by_hash
            assert (by_number.number, by_number.hash) == (number, block_hash(node, number))
        assert asyncio.run(remote.past_block(BLOCKS - 9)) is None
        assert asyncio.run(remote.past_block(block_hash(node, BLOCKS - 9))) is None
        assert asyncio.run(remote.past_block(Hash32(b"\x01" * 32))) is None
        assert asyncio.run(remote.past_block(-1)) is None


def test_what_follows_from_a_block_by_its_number_is_taken_only_while_the_remote_has_it(
    node: RemoteNode,
) -> None:
    number = BLOCKS - 3
    params = [str(HOLDER), hex(number)]

    async def balance() -> object:
        raw = await remote.read("eth_getBalance", params, is_final=lambda _: True, at=number)
        return msgspec.json.decode(raw)

    with node.fork() as remote:
        node.proxy.reorganisation = Reorganisation(
            number, str(block_hash(node, number)), OTHER_HASH
        )
        with pytest.raises(AnchorLost, match=OTHER_HASH):
            asyncio.run(balance())
        node.proxy.reorganisation = None
        node.proxy.forget()
        assert asyncio.run(balance()) == hex(BALANCE)
        assert node.proxy.batches == [2]
        assert asyncio.run(balance()) == hex(BALANCE)
        assert node.proxy.posts == 1


def test_a_block_below_the_fork_that_is_gone_is_an_error_that_says_so(node: RemoteNode) -> None:
    number = BLOCKS - 3
    with node.fork() as remote:
        old = block_hash(node, number)
        node.proxy.reorganisation = Reorganisation(number, str(old), OTHER_HASH)
        for name in (number, old):
            with pytest.raises(AnchorLost, match=f"block {number} of the fork"):
                asyncio.run(remote.past_block(name))
        assert asyncio.run(remote.past_block(Hash32(b"\x01" * 32))) is None


def test_a_final_block_that_the_remote_has_not_is_an_error(
    node: RemoteNode, remote: RemoteChain
) -> None:
    node.proxy.lies["eth_getBlockByNumber"] = lambda _, it: None  # noqa: ARG005
    with pytest.raises(RemoteMalformed, match="there is no block 3"):
        asyncio.run(remote.past_block(3))


def test_the_anchor_is_served_while_the_remote_is_away(
    node: RemoteNode, remote: RemoteChain
) -> None:
    node.proxy.posts = 0
    found = read(remote, "eth_getBlockByHash", str(remote.anchor.hash), False)
    assert found["hash"] == str(remote.anchor.hash)
    assert node.proxy.posts == 0


def is_null(raw: msgspec.Raw) -> bool:
    return bytes(raw) == b"null"


def is_never(_raw: msgspec.Raw) -> bool:
    return False


def cache_of(path: Path, *, is_offline: bool = False) -> ForkCache:
    return ForkCache(FilePlace(path / "fork.sqlite"), is_offline=is_offline)


def found(remote: RemoteChain, hash_: str, at: int | None = BLOCKS) -> Any:
    work = remote.read(
        "eth_getTransactionByHash", [hash_], is_final=is_never, is_absent=is_null, at=at
    )
    return msgspec.json.decode(asyncio.run(work))


@contextmanager
def offline(path: Path) -> Iterator[RemoteChain]:
    """Open what was recorded, without the remote."""
    with closing(
        RemoteChain.open(ForkSettings(is_offline=True), cache_of(path, is_offline=True))
    ) as remote:
        yield remote


def test_what_is_absent_beside_the_anchor_is_null_without_the_remote(
    node: RemoteNode, tmp_path: Path
) -> None:
    with node.fork(cache_of(tmp_path)) as remote:
        assert found(remote, UNKNOWN) is None
        # Without the anchor beside it, a node may only lag behind.
        assert found(remote, OTHER_HASH, at=None) is None
        assert asyncio.run(remote.past_block(Hash32.parse(UNKNOWN))) is None
    with offline(tmp_path) as remote:
        assert found(remote, UNKNOWN) is None
        assert asyncio.run(remote.past_block(Hash32.parse(UNKNOWN))) is None
        with pytest.raises(NotRecorded, match=OTHER_HASH):
            found(remote, OTHER_HASH)
        with pytest.raises(NotRecorded, match=OTHER_HASH):
            asyncio.run(remote.past_block(Hash32.parse(OTHER_HASH)))


def test_a_block_above_the_anchor_is_none_without_the_remote_either(
    node: RemoteNode, tmp_path: Path
) -> None:
    above = block_hash(node, BLOCKS)
    with node.fork(cache_of(tmp_path), block_number=BLOCKS - 10) as remote:
        assert asyncio.run(remote.past_block(above)) is None
    with offline(tmp_path) as remote:
        assert asyncio.run(remote.past_block(above)) is None


def test_what_was_absent_is_asked_for_again_while_the_remote_is_there(
    node: RemoteNode, tmp_path: Path
) -> None:
    with node.fork(cache_of(tmp_path)) as remote:
        assert found(remote, UNKNOWN) is None
        node.proxy.lies["eth_getTransactionByHash"] = lambda *_: {"blockNumber": "0x1"}
        work = remote.read("eth_getTransactionByHash", [UNKNOWN], is_final=lambda _: True)
        asyncio.run(work)
    with offline(tmp_path) as remote:
        assert found(remote, UNKNOWN) == {"blockNumber": "0x1"}


def test_nothing_is_recorded_as_absent_by_a_remote_that_has_replaced_the_anchor(
    node: RemoteNode, tmp_path: Path
) -> None:
    with node.fork(cache_of(tmp_path)) as remote:
        old = str(block_hash(node, BLOCKS))
        node.proxy.reorganisation = Reorganisation(BLOCKS, old, OTHER_HASH)
        with pytest.raises(AnchorLost):
            found(remote, UNKNOWN)
        with pytest.raises(AnchorLost):
            asyncio.run(remote.past_block(Hash32.parse(UNKNOWN)))
    with offline(tmp_path) as remote, pytest.raises(NotRecorded):
        found(remote, UNKNOWN)
