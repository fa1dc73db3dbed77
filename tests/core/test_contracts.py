"""Compiled contracts as package data."""

from __future__ import annotations

import pytest

from entresol import contracts

MAX_CODE = 24_000
"""Less than the 24,576 bytes that a chain accepts, so that a mend always fits; a larger one has to be divided."""
MAX_INIT_CODE = 49_152


NEVER_DEPLOYED = {"ForkVerifier"}
"""Its constructor reverts, so that it is on a fork alone, where the node writes its code."""


@pytest.mark.parametrize("name", sorted(set(contracts.names()) - NEVER_DEPLOYED))
def test_every_contract_can_be_loaded_and_deployed(name: str) -> None:
    it = contracts.artifact(name)
    assert it.name == name
    assert it.source.endswith(".sol")
    assert 0 < len(it.runtime) <= MAX_CODE
    assert len(it.runtime) < len(it.bytecode) <= MAX_INIT_CODE
    assert all(
        it.runtime[start : start + 32] == bytes(32) for at in it.immutables.values() for start in at
    )


def test_the_storage_layout_names_each_variable_and_its_slot() -> None:
    layout = {it.label: (it.slot, it.type) for it in contracts.artifact("TestERC20").storage_layout}
    assert layout["totalSupply"] == (0, "uint256")
    assert layout["balanceOf"] == (1, "mapping(address => uint256)")
