"""Fixture of the chain below the forks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.fork.past import PastBlocks, past_blocks


@pytest.fixture(scope="module")
def past() -> Iterator[PastBlocks]:
    """Return the chain below the fork, with a log in each block from 2 to 7."""
    with past_blocks() as blocks:
        yield blocks
