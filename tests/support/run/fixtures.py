"""Fixtures of tests of parts: a store, chains, their API, an L1, and a check of codecs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import TypeAlias

import pytest
from hypothesis import strategies as st

from entresol.chain.chain import Chain
from entresol.errors import EntresolError
from entresol.features.cluster.postgres import tables
from entresol.storage.store import Store
from tests.support.chain.api_client import ApiClient, running_api
from tests.support.chain.dev_chain import open_chain
from tests.support.chain.sample_chain import SampleChain, sample_chain
from tests.support.cluster.postgres import EmptyCluster, Postgres
from tests.support.rollup.layer_ones import SteeredLayerOne, layer_one

CheckMutation: TypeAlias = Callable[[bytes, Callable[[bytes], bytes], st.DataObject], None]


@pytest.fixture
def store() -> Iterator[Store]:
    """Return an empty store that is closed and removed after the test."""
    store = Store.temporary()
    yield store
    store.close()


@pytest.fixture
def chain() -> Iterator[Chain]:
    """Return a chain that seals a block for each transaction."""
    chain = open_chain()
    yield chain
    chain.close()


@pytest.fixture
def manual() -> Iterator[Chain]:
    """Return a chain that seals blocks on request."""
    chain = open_chain()
    chain.schedule.seal_on_request()
    yield chain
    chain.close()


@pytest.fixture(scope="module")
def sample() -> Iterator[SampleChain]:
    """Return a chain to read from."""
    with sample_chain() as sample:
        yield sample


@pytest.fixture
def own_sample() -> Iterator[SampleChain]:
    """Return a chain to change."""
    with sample_chain() as sample:
        yield sample


@pytest.fixture
def client() -> Iterator[ApiClient]:
    """Return a client of the whole API of the development chain."""
    with running_api() as client:
        yield client


@pytest.fixture
def cluster(postgres: Postgres) -> EmptyCluster:
    """Return a cluster's database with its tables."""
    created = EmptyCluster(postgres.new_database())

    async def create() -> None:
        async with created.connected() as connection:
            await tables.create(connection)

    asyncio.run(create())
    return created


@pytest.fixture(params=["embedded", pytest.param("anvil", marks=pytest.mark.peer)])
def steered(request: pytest.FixtureRequest) -> Iterator[SteeredLayerOne]:
    """Return an L1 of either kind with a fresh chain."""
    with layer_one(request.param) as started:
        yield started


@pytest.fixture(scope="session")
def check_mutation() -> CheckMutation:
    """Return a check that damaged bytes are rejected, or decode to what encodes to them again."""

    def check(encoded: bytes, again: Callable[[bytes], bytes], data: st.DataObject) -> None:
        mutated = data.draw(mutations(encoded))
        try:
            result = again(mutated)
        except EntresolError:
            return
        assert result == mutated

    return check


@st.composite
def mutations(draw: st.DrawFn, encoded: bytes) -> bytes:
    """Change, insert or remove a few bytes of `encoded`."""
    mutated = bytearray(encoded)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(mutated)))
        removed = draw(st.sampled_from([0, 1, 1, 1, 2, 32]))
        inserted = draw(st.sampled_from([0, 1, 1, 1, 2, 32]))
        mutated[start : start + removed] = draw(st.binary(min_size=inserted, max_size=inserted))
    return bytes(mutated)
