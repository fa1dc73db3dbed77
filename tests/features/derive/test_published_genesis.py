"""The genesis of a chain that is derived: from L1 or from a file, and only the one that L1 has registered."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path
from typing import cast

import msgspec
import pytest

from entresol.errors import InvalidConfig, LayerOneMismatch
from entresol.features.derive.opening import open_derived
from entresol.features.derive.published_genesis import RegisteredGenesis, find_genesis
from entresol.l1.availability.chain_finder import FoundChain, L1ChainSettings
from entresol.l1.availability.genesis_parts import GENESIS_DATA
from entresol.l1.contracts import ZkChain
from entresol.l1.deployment import addresses_of
from entresol.l1.layer_one import LayerOne
from entresol.primitives import abi
from entresol.primitives.published.compression import compress
from entresol.rollup.batches import genesis_batch_hash
from tests.support.features.derive.scripted_l1 import CONTRACT, GENESIS, ScriptedLayerOne, word
from tests.support.published.rejected import uncompressed

PUBLISHED = GENESIS.publish()
assert PUBLISHED is not None
OTHER = msgspec.structs.replace(GENESIS, timestamp=GENESIS.timestamp + 1)
FOUND = FoundChain(
    chain_id=GENESIS.rules.chain_id,
    contracts=addresses_of(CONTRACT),
    settings=L1ChainSettings(is_development=True, data_scheme=3),
    first_block=0,
)


@pytest.fixture(scope="module")
def registered() -> bytes:
    with closing(open_derived(None, GENESIS)) as chain:
        return genesis_batch_hash(chain)


@pytest.fixture
def l1(registered: bytes) -> ScriptedLayerOne:
    found = ScriptedLayerOne()
    found.genesis_hash = type(found.genesis_hash)(registered)
    return found


def publish(l1: ScriptedLayerOne, data: bytes, parts: int = 1) -> None:
    size = -(-len(data) // parts)
    for part in range(parts):
        piece = data[part * size : (part + 1) * size]
        l1.mine(((GENESIS_DATA, word(part)), abi.encode("(uint256,bytes)", (parts, piece))))


def find(l1: ScriptedLayerOne, file: Path | None = None) -> RegisteredGenesis:
    return asyncio.run(find_genesis(FOUND, ZkChain(cast("LayerOne", l1), CONTRACT), file))


@pytest.mark.parametrize("parts", [1, 3])
def test_a_genesis_is_read_from_l1_with_the_bytes_that_it_has(
    l1: ScriptedLayerOne, parts: int
) -> None:
    # Compressed otherwise, it is the same genesis, and its bytes stay.
    published = uncompressed(GENESIS.encode())
    publish(l1, published, parts)
    assert find(l1) == RegisteredGenesis(GENESIS, published)


def test_another_genesis_garbage_and_a_bomb_before_it_are_left_out(l1: ScriptedLayerOne) -> None:
    assert PUBLISHED is not None
    for data in (OTHER.publish() or b"", b"", b"garbage", compress(bytes(1 << 16)), PUBLISHED[:-1]):
        publish(l1, data)
    publish(l1, PUBLISHED)
    assert find(l1).genesis == GENESIS


def test_before_the_first_batch_there_is_nothing_to_derive_yet(l1: ScriptedLayerOne) -> None:
    with pytest.raises(LayerOneMismatch, match="Derive it once there is a batch"):
        find(l1)


def test_a_genesis_is_read_from_a_file_compressed_or_not(
    l1: ScriptedLayerOne, tmp_path: Path
) -> None:
    assert PUBLISHED is not None
    for content, data in ((PUBLISHED, PUBLISHED), (GENESIS.encode(), None)):
        file = tmp_path / "genesis"
        file.write_bytes(content)
        assert find(l1, file) == RegisteredGenesis(GENESIS, data)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (OTHER.encode(), "it is not the genesis that the scripted L1 has registered"),
        (OTHER.publish(), "it is not the genesis that the scripted L1 has registered"),
        (b"{}", "has no published genesis"),
        (b"", "has no published genesis"),
        (None, "No such file"),
    ],
    ids=["other", "other, compressed", "JSON", "empty", "missing"],
)
def test_a_file_with_anything_else_is_named(
    l1: ScriptedLayerOne, tmp_path: Path, content: bytes | None, problem: str
) -> None:
    file = tmp_path / "genesis"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InvalidConfig, match=f"--genesis: .*{problem}"):
        find(l1, file)
