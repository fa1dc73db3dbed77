"""Fixtures of the JSON-RPC tests: a chain with every type of transaction, and the whole API of another."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.chain.api_client import ApiClient, running_api
from tests.support.chain.sample_chain import SampleChain, sample_chain


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
