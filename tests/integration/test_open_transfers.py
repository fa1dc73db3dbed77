"""The list of open transfers on a running node, with and without workers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.polling import eventually
from tests.support.rollup.pair import Pair, running_pair

pytestmark = pytest.mark.slow


def open_transfers(pair: Pair) -> list[tuple[str, str, str]]:
    found: dict[str, Any] = pair.l2("entresol_getOpenTransfers")
    assert found["next"] is None
    return [(it["kind"], it["status"], it["transactionHash"]) for it in found["transfers"]]


@pytest.mark.parametrize("flags", [(), ("--workers", "2")], ids=["one process", "workers"])
def test_a_withdrawal_is_listed_until_it_is_claimed_and_again_after_a_revert(
    flags: tuple[str, ...],
) -> None:
    with running_pair(*flags) as pair:
        name = pair.withdraw()
        claimable = [("withdrawal", "claimable", name)]
        pair.l2("anvil_mine", "0x64")
        eventually(lambda: open_transfers(pair) == claimable)
        snapshot = pair.l2("evm_snapshot")
        pair.claim(name)
        eventually(lambda: open_transfers(pair) == [])
        assert pair.l2("evm_revert", snapshot) is True
        assert open_transfers(pair) == claimable
        pair.claim(name)
        eventually(lambda: open_transfers(pair) == [])
