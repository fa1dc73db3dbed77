"""Fixtures of the development chain."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol.chain.chain import Chain
from tests.support.chain.dev_chain import open_chain


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
