"""From the configuration to settings of forks, and the combinations that are rejected by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from entresol.errors import InvalidConfig
from entresol.features.fork.config.resolving import PlannedForks, planned_forks
from entresol.node.config.anvil import ANVIL_SETTINGS, node_config
from entresol.node.config.flags import Parser, add_flags
from entresol.node.config.schema import SETTINGS
from entresol.storage.database.directory import FORK_FOLDER, FORMAT_FILE

URL = "http://127.0.0.1:8545"
HASH = "0x" + "ab" * 32


def plan(**given: Any) -> PlannedForks:
    return planned_forks(SETTINGS.load(given, {}), {}, Path("/nonexistent"))


def test_each_layer_has_settings_of_its_own() -> None:
    forks = plan(
        fork_url=[f"{URL}@5"],
        fork_header=["a: b, c"],
        l1_fork_url=[URL, "http://other"],
        l1_fork_block_number=-2,
        l1_fork_timeout=3,
    )
    assert forks.l2 is not None
    assert forks.l1 is not None
    l2, l1 = forks.l2.settings, forks.l1.settings
    assert (l2.urls, l2.block_number, l2.headers) == ((URL,), 5, (("a", "b, c"),))
    assert (l1.urls, l1.block_number, l1.headers) == ((URL, "http://other"), -2, ())
    assert (l2.timeout, l1.timeout) == (45.0, 3.0)
    assert l1.flag("fork-url") == "--l1-fork-url"


def test_the_l1_is_asked_as_the_l2_is_unless_flags_say_otherwise() -> None:
    forks = plan(l1_fork_url=[URL], fork_retries=9, fork_cache="/cache", compute_units_per_second=7)
    assert forks.l2 is None
    assert forks.l1 is not None
    assert (forks.l1.settings.retries, forks.l1.settings.compute_units_per_second) == (9, 7)
    assert forks.l1.cache.path == Path("/cache")


def test_no_rate_limit_is_no_limit() -> None:
    forks = plan(fork_url=[URL], no_rate_limit=True)
    assert forks.l2 is not None
    assert forks.l2.settings.compute_units_per_second is None


def test_offline_needs_no_url() -> None:
    forks = plan(offline=True, fork_cache="fork.sqlite")
    assert forks.l2 is not None
    assert forks.l2.settings.is_offline
    assert not forks.l2.settings.urls
    assert forks.l1 is None


@pytest.mark.parametrize("folder", ["", "l1"])
def test_offline_a_chain_on_disk_that_is_a_fork_needs_no_other_flag(
    tmp_path: Path, folder: str
) -> None:
    cache = tmp_path / folder / FORK_FOLDER
    cache.mkdir(parents=True)
    (cache / "1-5-abababababab.sqlite").touch()
    (tmp_path / folder / FORMAT_FILE).touch()
    forks = plan(offline=True, data_dir=str(tmp_path))
    planned, other = (forks.l1, forks.l2) if folder else (forks.l2, forks.l1)
    assert planned is not None
    assert planned.settings.is_offline
    assert other is None


def test_offline_no_name_has_to_be_known_and_its_block_counts() -> None:
    forks = plan(offline=True, fork_url=["mainnet@5"])
    assert forks.l2 is not None
    assert (forks.l2.settings.urls, forks.l2.settings.block_number) == ((), 5)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"fork_block_number": 0}, "--fork-block-number: it needs --fork-url"),
        ({"l1_fork_header": ["a: b"]}, "--l1-fork-header: it needs --l1-fork-url"),
        ({"fork_cache": "dir"}, "--fork-cache: it needs --fork-url"),
        ({"offline": True}, "--offline: it needs a fork"),
        (
            {"fork_url": [URL], "offline": True, "no_storage_caching": True},
            "--offline: it needs the cache",
        ),
        (
            {"fork_url": [URL], "fork_block_number": 0, "fork_block_hash": HASH},
            "--fork-block-number: it cannot be combined with --fork-block-hash",
        ),
        (
            {"fork_url": [f"{URL}@3"], "fork_transaction_hash": HASH},
            "--fork-transaction-hash: it cannot be combined with --fork-url with @3",
        ),
        ({"fork_url": [URL], "fork_chain_id": 1}, "--fork-chain-id: it needs --fork-block-number"),
        (
            {"fork_url": [URL], "fork_chain_id": 1, "fork_block_number": -1},
            "--fork-chain-id: it needs --fork-block-number, which may not be negative",
        ),
        ({"fork_url": [URL], "fork_block_hash": "0x12"}, "--fork-block-hash: "),
        ({"fork_url": [URL], "cluster": "postgresql://db"}, "--cluster: "),
        ({"fork_url": [URL], "chains": ["2"]}, "--chains: give each chain its own fork_url"),
        (
            {"fork_url": [URL], "chains": [{"chain_id": 5}, {"chain_id": 6}]},
            "--fork-url: the configuration file has",
        ),
        ({"fork_url": [URL], "genesis": "g.json"}, "--genesis: a fork starts"),
        ({"l1_fork_url": [URL], "l1_url": URL}, "--l1-url: "),
        ({"l1_fork_url": [URL], "l1": False}, "--no-l1: "),
    ],
)
def test_an_impossible_combination_names_the_flag(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidConfig, match=problem):
        plan(**given)


def test_anvils_flags_have_its_units() -> None:
    parser = Parser()
    add_flags(parser, ANVIL_SETTINGS.all, ANVIL_SETTINGS.titles())
    words = ["-f", URL, "--fork-header", "a: b, c", "--timeout", "2000", "--retries", "2"]
    words += ["--fork-retry-backoff", "500", "--fork-block-number", "-4", "--chain-id", "1"]
    config = node_config(ANVIL_SETTINGS.load(parser.parse(words), {}))
    forks = planned_forks(config, {}, Path("/nonexistent"))
    assert forks.l2 is not None
    settings = forks.l2.settings
    assert (settings.timeout, settings.backoff, settings.retries) == (2.0, 0.5, 2)
    assert (settings.block_number, settings.headers) == (-4, (("a", "b, c"),))
    assert config.given == {"chain_id"}


def test_a_wrong_value_of_anvils_flag_is_named_in_its_unit() -> None:
    with pytest.raises(InvalidConfig, match=r"--fork-timeout: .* at most 3600000, got 4000000"):
        ANVIL_SETTINGS.load({"fork_timeout": "4000000"}, {})
