"""The fixtures of the plugin, also where the package is not installed with its entry point, and a token."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from web3 import Web3

from entresol import Devnet
from entresol import devnet as new_devnet
from entresol.contracts import artifact
from entresol.testing.fixtures import (  # noqa: F401 - fixtures are found by name
    accounts,
    bridge,
    chain_time,
    devnet_settings,
    isolated_devnet,
    l1,
    l2,
    l2s,
)


@pytest.fixture(scope="module")
def devnet() -> Iterator[Devnet]:
    """Return the devnet of the plugin, whose threads end with the tests of a file."""
    with new_devnet(settle=False) as net:
        yield net


@pytest.fixture
def token(l2: Web3) -> Any:  # noqa: F811 - the fixture
    """Return a token of which the first account has 100."""
    compiled = artifact("TestERC20")
    contract = l2.eth.contract(abi=compiled.abi, bytecode=str(compiled.bytecode))
    deployed = l2.eth.get_transaction_receipt(contract.constructor("Token", "TOK", 18).transact())
    address = deployed["contractAddress"]
    found = l2.eth.contract(address, abi=compiled.abi)
    found.functions.mint(l2.eth.accounts[0], 100).transact()
    return found
