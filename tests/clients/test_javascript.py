"""ethers, viem and zksync-ethers on a layer 2: what is checked stands in the files of `js/`."""

from __future__ import annotations

from functools import cache
from typing import Final

import pytest

from tests.clients.javascript import Results, checks_of, run_checks
from tests.integration.nodes import running_node

pytestmark = pytest.mark.clients

FILES: Final = (
    "ethers.mjs",
    "viem.mjs",
    "zksync-ethers.mjs",
    "zk-transactions.mjs",
    "zk-transactions-viem.mjs",
)


@cache
def results(file: str) -> Results:
    """Run a file on a node of its own, once."""
    with running_node() as node:
        return run_checks(file, node.url)


@pytest.mark.parametrize(
    ("file", "check"), [(file, check) for file in FILES for check in checks_of(file)]
)
def test_a_client_works(file: str, check: str) -> None:
    problem = results(file)[check]
    assert problem is None, problem
