"""A PostgreSQL for the tests of a cluster's parts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.cluster.postgres import Postgres, running_postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server
