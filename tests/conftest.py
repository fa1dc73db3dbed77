"""Fixtures and settings for all tests."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterator

import hypothesis
import pytest

from tests.support.anvil import Anvil, running_anvil
from tests.support.cluster.postgres import Postgres, running_postgres
from tests.support.default_ports import held_ports

# Tests run beside each other on machines of any speed, so time says nothing about one example. CI tries the
# same examples every time, so that it judges the change and not its luck; who looks for new ones runs elsewhere.
hypothesis.settings.register_profile(
    "entresol",
    hypothesis.settings.get_profile("ci" if os.environ.get("CI") == "true" else "default"),
    deadline=None,
    print_blob=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("entresol")


def pytest_configure(config: pytest.Config) -> None:
    """Take the default ports while CI runs the tests, so that one that binds them fails.

    Elsewhere they are left to whoever works beside the tests.
    """
    if os.environ.get("CI") == "true" and not hasattr(config, "workerinput"):
        held = contextlib.ExitStack()
        held.enter_context(held_ports())
        config.add_cleanup(held.close)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Start what takes minutes first where tests run beside each other, then the files with the most tests."""
    if not hasattr(config, "workerinput"):
        return
    tests = Counter(it.path for it in items)
    long = {it.path for it in items if it.get_closest_marker("long") is not None}
    items.sort(key=lambda it: (it.path not in long, -tests[it.path]))


@pytest.fixture
def anvil() -> Iterator[Anvil]:
    """Return an anvil with a fresh chain; mark the test `peer`."""
    with running_anvil() as running:
        yield running


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """Return a PostgreSQL, on which each test makes databases of its own."""
    with running_postgres() as server:
        yield server
