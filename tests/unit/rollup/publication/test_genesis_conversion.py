"""The genesis of a chain as it is published: the same block comes of it."""

from __future__ import annotations

import msgspec
import pytest

from entresol.chain.genesis.stored_genesis import genesis_block
from entresol.errors import NotPublishable
from entresol.primitives.anchor import Anchor
from entresol.primitives.published.genesis import read_genesis_data
from entresol.primitives.values import Hash32
from entresol.rollup.publication.genesis_conversion import genesis_of, published_genesis
from entresol.state.state_trie import StateTrie
from entresol.storage.store import Store
from tests.support.derivation.operated_chain import publishing_genesis
from tests.support.known import known
from tests.support.published.values import DEVELOPMENT_RULES


def test_the_same_block_comes_of_a_published_genesis(store: Store) -> None:
    genesis = publishing_genesis()
    published = published_genesis(genesis, DEVELOPMENT_RULES)
    data = known(published.publish())
    found = genesis_of(read_genesis_data([data], published.hash()))
    trie = StateTrie(store)
    assert genesis_block(found, store, trie)[0] == genesis_block(genesis, store, trie)[0]
    assert published_genesis(found, DEVELOPMENT_RULES) == published


def test_a_slot_that_is_zero_is_not_published() -> None:
    genesis = publishing_genesis()
    address, account = next(iter(genesis.alloc.items()))
    zero = msgspec.structs.replace(account, storage={Hash32.zero(): Hash32.zero()})
    other = msgspec.structs.replace(genesis, alloc={**genesis.alloc, address: zero})
    found = published_genesis(other, DEVELOPMENT_RULES)
    assert found.hash() == published_genesis(genesis, DEVELOPMENT_RULES).hash()


def test_a_fork_cannot_be_published() -> None:
    anchor = Anchor.of_json(1, b'{"number":"0x5","hash":"0x' + b"11" * 32 + b'"}')
    forked = msgspec.structs.replace(publishing_genesis(), anchor=anchor)
    with pytest.raises(NotPublishable, match=r"genesis\.anchor: its state is that of block 5"):
        published_genesis(forked, DEVELOPMENT_RULES)


def test_a_genesis_has_the_chain_id_of_its_rules() -> None:
    with pytest.raises(NotPublishable, match=r"genesis\.chain_id: 271 expected, got 270"):
        published_genesis(
            publishing_genesis(), msgspec.structs.replace(DEVELOPMENT_RULES, chain_id=271)
        )
