"""viem, zksync-ethers and the calls of zksync-js between two layers: the checks are in the files of `js/`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

import pytest

from tests.support.clients.javascript import Results, checks_of
from tests.support.clients.layers import KINDS, run_on_each
from tests.support.run.examples import tries_many

pytestmark = pytest.mark.clients

FILES: Final = ("bridge-viem.mjs", "bridge-zksync-ethers.mjs", "bridge-zksync-js.mjs")


def kinds_of(file: str) -> tuple[str, ...]:
    """Return the kinds of L1 that a file runs on: one client finds what differs between them."""
    return KINDS if tries_many() or file == "bridge-viem.mjs" else KINDS[:1]


@cache
def results(file: str) -> Mapping[str, Results]:
    """Run a file on its kinds of L1, once."""
    return run_on_each(file, kinds_of(file))


@pytest.mark.parametrize(
    ("file", "check", "l1"),
    [(file, check, l1) for file in FILES for check in checks_of(file) for l1 in kinds_of(file)],
)
def test_a_client_works_between_two_layers(file: str, check: str, l1: str) -> None:
    problem = results(file)[l1][check]
    assert problem is None, problem
