"""What the settings of an L1 mean."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from entresol.errors import InvalidConfig, LayerOneFailed, LayerOneRejected, LayerOneUnreachable
from entresol.features.fork.config.folders import L1_FOLDER
from entresol.l1.fee_limits import GWEI, FeeLimits
from entresol.node.config.schema import SETTINGS
from entresol.node.settlement.settlement_layer import (
    MAX_REJECTIONS,
    check_development_l1,
    fee_limits,
    required_confirmations,
    retry_until_reachable,
)
from tests.support.rollup.layer_ones import Embedded


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, 0),
        ({"l1_url": "http://l1"}, 12),
        ({"l1_url": "http://l1", "l1_confirmations": "0"}, 0),
        ({"l1_confirmations": "3"}, 3),
        ({"l1_url": "http://l1", "l1_finality": "safe"}, 0),
        ({"l1_url": "http://l1", "l1_finality": "finalized"}, 0),
        ({"l1_url": "http://l1", "l1_finality": "safe", "l1_confirmations": "5"}, 5),
    ],
)
def test_blocks_of_a_remote_l1_need_confirmations(arguments: dict[str, str], expected: int) -> None:
    assert required_confirmations(SETTINGS.load(arguments, {}).l1) == expected


def test_a_new_development_l1_has_no_chain_id_of_a_public_network(tmp_path: Path) -> None:
    config = SETTINGS.load({"l1_chain_id": "1", "data_dir": str(tmp_path)}, {})
    with pytest.raises(InvalidConfig, match="--l1-chain-id: 1 is the chain id of a public network"):
        check_development_l1(config)
    (tmp_path / L1_FOLDER).mkdir()
    check_development_l1(config)


def test_a_copy_of_a_public_network_may_have_its_chain_id() -> None:
    check_development_l1(SETTINGS.load({"l1_chain_id": "1"}, {}), is_copy=True)


def test_a_new_development_l1_with_an_unknown_chain_id_takes_a_flag(tmp_path: Path) -> None:
    arguments = {"l1_chain_id": "987654", "data_dir": str(tmp_path)}
    with pytest.raises(InvalidConfig, match=r"987654 is not known .* by --l1-development"):
        check_development_l1(SETTINGS.load(arguments, {}))
    check_development_l1(SETTINGS.load(arguments | {"l1_development": "true"}, {}))


def test_fee_limits_are_set_in_gwei() -> None:
    config = SETTINGS.load({"l1_max_fee_gwei": "0.5", "l1_fee_multiplier": "3"}, {})
    assert fee_limits(config.l1) == FeeLimits(max_fee=GWEI // 2, multiplier=3.0)


REJECTED = LayerOneRejected("eth_call", -32603, "Internal error")
UNREACHABLE = LayerOneUnreachable("http://l1", "HTTP status 502")


def attempt(failures: list[LayerOneFailed], max_failures: int | None = None) -> str:
    """Retry until there are no failures left, without waiting."""
    l1 = Embedded()

    async def work() -> str:
        if failures:
            raise failures.pop()
        return "done"

    async def sleep(_seconds: float) -> None:
        pass

    try:
        return asyncio.run(retry_until_reachable(l1.l1, work, sleep, max_failures=max_failures))
    finally:
        l1.chain.close()


def test_a_start_retries_errors_of_l1_a_few_times() -> None:
    assert attempt([REJECTED] * MAX_REJECTIONS) == "done"
    with pytest.raises(LayerOneRejected):
        attempt([REJECTED] * (MAX_REJECTIONS + 1))


def test_a_start_waits_for_an_unreachable_l1_however_long_it_takes() -> None:
    assert attempt([UNREACHABLE] * 100) == "done"


def test_a_command_gives_up_an_unreachable_l1() -> None:
    assert attempt([UNREACHABLE] * 4, 5) == "done"
    with pytest.raises(LayerOneUnreachable):
        attempt([UNREACHABLE] * 5, 5)
