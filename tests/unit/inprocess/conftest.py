"""A devnet for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol import Devnet, devnet


@pytest.fixture(scope="module")
def running() -> Iterator[Devnet]:
    """Return a devnet that settles on request; its threads end with the tests of a file."""
    with devnet(settle=False) as net:
        yield net


@pytest.fixture
def net(running: Devnet) -> Iterator[Devnet]:
    """Return a devnet whose chains are reverted after the test."""
    with running.isolated():
        yield running
