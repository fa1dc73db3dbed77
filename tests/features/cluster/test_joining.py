"""The settings that all nodes of a cluster have in common."""

from __future__ import annotations

import msgspec
import pytest

from entresol.features.cluster.joining import shared_settings, with_shared
from entresol.features.cluster.settings import ClusterConfig
from entresol.node.config.schema import SETTINGS


def test_a_node_takes_what_all_have_in_common_and_keeps_its_own() -> None:
    given = {"gas_limit": 40_000_000, "settle": False, "cluster": "postgresql://a", "port": 1}
    shared = shared_settings(SETTINGS.load(given, {}))
    joining = SETTINGS.load({"cluster": "postgresql://b", "port": 2, "order": "fifo"}, {})
    config = with_shared(joining, shared)
    assert (config.chain.gas_limit, config.settlement.settle, config.chain.order) == (
        *(40_000_000, False),
        "fees",
    )
    assert (config.of(ClusterConfig).cluster, config.server.port) == ("postgresql://b", 2)


def test_a_setting_that_nodes_do_not_share_is_not_taken() -> None:
    shared = msgspec.json.encode({"server": {"port": 5}, "chain": {"chain_id": 5}})
    assert with_shared(SETTINGS.load({}, {}), shared) == SETTINGS.load({}, {})


def test_a_shared_value_has_to_be_valid() -> None:
    with pytest.raises(msgspec.ValidationError, match="gas_limit"):
        with_shared(SETTINGS.load({}, {}), msgspec.json.encode({"chain": {"gas_limit": 1}}))
