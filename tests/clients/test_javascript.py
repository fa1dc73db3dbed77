"""ethers, viem and zksync-ethers on a layer 2: the checks are in the files of `js/`."""

from __future__ import annotations

from functools import cache
from typing import Final

import pytest

from tests.support.clients.javascript import FOLDER, Results, checks_of, run_checks
from tests.support.inprocess_node import inprocess_node

pytestmark = pytest.mark.clients

FILES: Final = (
    "ethers.mjs",
    "viem.mjs",
    "zksync-ethers.mjs",
    "zk-transactions.mjs",
    "zk-transactions-viem.mjs",
    "accounts-zksync-ethers.mjs",
    "accounts-viem.mjs",
)


ELSEWHERE: Final = {
    "harness.mjs",
    "bridge-viem.mjs",
    "bridge-zksync-ethers.mjs",
    "bridge-zksync-js.mjs",
    "interop-zksync-js.mjs",
    "zksync-js.mjs",
    "zksync-js-interop.mjs",
    "ecosystem-viem.mjs",
    "ecosystem-zksync-ethers.mjs",
    "ecosystem-zksync-js.mjs",
    "hardhat.mjs",
    "hardhat-helpers.mjs",
    "hardhat-matchers.mjs",
    "hardhat-upgrades.mjs",
    "viem-actions.mjs",
    "viem-layers.mjs",
    "blobs.mjs",
    "development-network.mjs",
    "ethers-defaults.mjs",
    "viem-defaults.mjs",
}
"""Files that other tests of this folder run, and modules."""


def test_no_file_is_missing() -> None:
    assert {path.name for path in FOLDER.glob("*.mjs")} == {*FILES, *ELSEWHERE}


@cache
def results(file: str) -> Results:
    """Run a file on a node of its own, once."""
    with inprocess_node() as node:
        return run_checks(file, node.url)


@pytest.mark.parametrize(
    ("file", "check"), [(file, check) for file in FILES for check in checks_of(file)]
)
def test_a_client_works(file: str, check: str) -> None:
    problem = results(file)[check]
    assert problem is None, problem
