"""viem, zksync-ethers and the calls of zksync-js between two layers: the checks are in the files of `js/`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

import pytest

from tests.support.clients.javascript import Results, checks_of
from tests.support.clients.layers import KINDS, run_on_each

pytestmark = pytest.mark.clients

FILES: Final = ("bridge-viem.mjs", "bridge-zksync-ethers.mjs", "bridge-zksync-js.mjs")


@cache
def results(file: str) -> Mapping[str, Results]:
    """Run a file on every kind of L1, once."""
    return run_on_each(file)


@pytest.mark.parametrize("l1", KINDS)
@pytest.mark.parametrize(
    ("file", "check"), [(file, check) for file in FILES for check in checks_of(file)]
)
def test_a_client_works_between_two_layers(file: str, check: str, l1: str) -> None:
    problem = results(file)[l1][check]
    assert problem is None, problem
