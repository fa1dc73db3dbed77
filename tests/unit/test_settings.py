"""Sections of features in the configuration of a node."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from entresol.errors import InvalidConfig
from entresol.features import FEATURES
from entresol.features.cluster.settings import ClusterConfig
from entresol.features.fork.settings import ForkConfig
from entresol.features.relay.settings import RelayConfig
from entresol.node.config.schema import SETTINGS, NodeConfig, settings_with
from entresol.node.config.secrets import without_secrets
from entresol.node.config.suggestions import unknown_key

KEY = "0x" + "11" * 32


def test_a_section_that_nothing_sets_has_its_defaults() -> None:
    config = SETTINGS.load({}, {})
    assert config.of(RelayConfig) == RelayConfig()
    assert config.of(ForkConfig, "l1_") == ForkConfig()


def test_a_section_is_changed_alone() -> None:
    config = SETTINGS.load({"relay": "2", "l1_fork_url": ["http://a"], "fork_retries": "7"}, {})
    changed = config.with_(ForkConfig, "l1_", fork_retries=1)
    assert changed.of(ForkConfig, "l1_") == ForkConfig(fork_url=("http://a",), fork_retries=1)
    assert changed.of(ForkConfig).fork_retries == 7
    assert changed.of(RelayConfig).relay == 2.0
    assert config.of(ForkConfig, "l1_").fork_retries == 7


def test_a_configuration_can_be_sent_to_another_process() -> None:
    config = SETTINGS.load({"relay": "2", "chains": [{"fork_retries": 3}]}, {})
    assert pickle.loads(pickle.dumps(config)) == config  # noqa: S301 - our own


def test_secrets_are_left_out_with_those_of_features_and_chains() -> None:
    given = {
        "cluster": "postgresql://a:b@c/d",
        "fork_header": ["Authorization: b"],
        "prove_key": KEY,
        "chains": [{"operator_key": KEY}],
    }
    config = without_secrets(SETTINGS.load(given, {}))
    (chain,) = config.chains
    assert config.of(ClusterConfig).cluster is None
    assert config.of(ForkConfig).fork_header == ()
    assert (config.l1.prove_key, chain.l1.operator_key) == (None, None)
    assert chain.of(ClusterConfig).cluster is None


@pytest.mark.parametrize("key", ["relay", "port", "operator_key", "chain_id", "fork_url"])
def test_a_chain_has_its_own_value(key: str) -> None:
    assert next(setting for setting in SETTINGS.all if setting.name == key).is_per_chain


@pytest.mark.parametrize("key", ["data_dir", "workers", "l1_fork_url", "l1_hardfork", "host"])
def test_a_setting_of_the_node_is_not_that_of_a_chain(key: str, tmp_path: Path) -> None:
    file = tmp_path / "node.toml"
    file.write_text(f"[[chains]]\n{key} = 1\n", encoding="utf-8")
    with pytest.raises(InvalidConfig, match="it is a setting of the whole node"):
        SETTINGS.load({}, {}, file)


def test_settings_without_a_feature_have_none_of_its_flags() -> None:
    others = settings_with([name for name in FEATURES if name != "fork"])
    left = {setting.name for setting in SETTINGS.all} - {setting.name for setting in others.all}
    assert {"fork_url", "l1_fork_url", "offline"} < left
    assert others.load({}, {}) == NodeConfig()


@pytest.mark.parametrize("key", ["relay.zzzzz", "relay.foo"])
def test_a_key_that_is_no_setting_is_answered_with_what_is_one(key: str) -> None:
    assert "[relay] has " in unknown_key(key, SETTINGS.all)
