"""Which settings ask for a relay, and where there can be none."""

from __future__ import annotations

import pytest

from entresol.errors import InvalidConfig
from entresol.features.relay.settings import relays
from entresol.node.config.schema import SETTINGS


def test_nothing_is_relayed_by_default() -> None:
    assert not relays(SETTINGS.load({}, {}, None))


@pytest.mark.parametrize(
    "given", [{"relay": "0"}, {"relay": "2.5"}, {"finalize_withdrawals": True}]
)
def test_either_setting_asks_for_a_relay(given: dict[str, object]) -> None:
    assert relays(SETTINGS.load(given, {}, None))


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"relay": "0", "l1": False}, "--relay: without an L1"),
        ({"finalize_withdrawals": True, "l1": False}, "--finalize-withdrawals: without an L1"),
    ],
)
def test_where_there_can_be_no_relay_the_flag_is_rejected(
    given: dict[str, object], problem: str
) -> None:
    with pytest.raises(InvalidConfig, match=problem):
        relays(SETTINGS.load(given, {}, None))
