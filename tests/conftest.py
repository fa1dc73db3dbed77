"""Fixtures and settings for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import hypothesis
import pytest

from tests.peers.anvil import Anvil, running_anvil

# Tests run beside each other on machines of any speed, so time says nothing about one example.
hypothesis.settings.register_profile("entresol", deadline=None, print_blob=True)
hypothesis.settings.load_profile("entresol")


@pytest.fixture
def anvil() -> Iterator[Anvil]:
    """Return an anvil with a fresh chain; mark the test `peer`."""
    with running_anvil() as running:
        yield running
