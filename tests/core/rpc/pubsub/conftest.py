"""Fixture of a chain whose contracts emit logs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.chain.log_emitter import EmittingChain


@pytest.fixture
def chain() -> Iterator[EmittingChain]:
    """Return a chain that seals on request."""
    chain = EmittingChain.begin()
    yield chain
    chain.close()
