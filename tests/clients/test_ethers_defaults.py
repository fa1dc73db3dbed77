"""ethers with the batches and caches that it has by itself, on each layer and on `entresol anvil`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cache
from typing import Final

import pytest

from tests.support.clients.javascript import Results, checks_of, run_checks
from tests.support.clients.layers import running_layers
from tests.support.inprocess_node import inprocess_anvil
from tests.support.run.examples import tries_many

pytestmark = pytest.mark.clients

FILE: Final = "ethers-defaults.mjs"
CHAINS: Final = ("L2", "L1", *(("entresol anvil",) if tries_many() else ()))


@contextlib.contextmanager
def running_chain(name: str) -> Iterator[str]:
    """Start a chain with default flags, and return its URL."""
    if name == "entresol anvil":
        with inprocess_anvil("anvil") as node:
            yield node.url
    else:
        with running_layers("embedded") as layers:
            yield layers.url if name == "L2" else layers.l1_url


@cache
def results(name: str) -> Results:
    """Run the checks on a chain, once."""
    with running_chain(name) as url:
        return run_checks(FILE, url)


LOOP: Final = "sends one after another with the nonces that it reads"
"""On a chain that seals at once and responds at once, as anvil does, the nonce that it has cached is too low."""


def test_ethers_sends_one_after_another_on_the_l1() -> None:
    problem = results("L1")[LOOP]
    assert problem is None, problem


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("check", [check for check in checks_of(FILE) if check != LOOP])
def test_ethers_works_without_options(check: str, name: str) -> None:
    problem = results(name)[check]
    assert problem is None, problem
