"""The chain that the shapes are looked at on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.chain.sample_chain import World


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """Return a world to read from."""
    world = World()
    yield world
    world.chain.close()


@pytest.fixture
def own_world() -> Iterator[World]:
    """Return a world to change."""
    world = World()
    yield world
    world.chain.close()
