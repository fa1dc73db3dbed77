"""Stores for the tests of the storage."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol.storage.store import Store


@pytest.fixture
def store() -> Iterator[Store]:
    """Return an empty store that is deleted after the test."""
    store = Store.temporary()
    yield store
    store.close()
