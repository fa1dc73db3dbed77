"""A devnet of three chains, one of which is paid in a token."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol import Devnet, devnet


@pytest.fixture(scope="module")
def running() -> Iterator[Devnet]:
    """Return a devnet that settles on request; the gas of its last chain is paid in ZOO."""
    last: dict[str, int | str] = {"chain_id": 272, "base_token": "ZOO"}
    with devnet(settle=False, chains=[{"chain_id": 270}, {"chain_id": 271}, last]) as net:
        yield net
