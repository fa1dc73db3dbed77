"""The calls of zksync-js from one L2 to another, on the chains of `--preset zksync-os` and one with another base token."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.clients.javascript import Results, checks_of, run_checks, token_checks_of
from tests.support.inprocess_node import inprocess_node
from tests.support.run.examples import tries_many

pytestmark = pytest.mark.clients

FILE: Final = "interop-zksync-js.mjs"
DEFAULTS: Final = "viem-defaults.mjs"
CONFIG: Final = """
[api]
preset = "zksync-os"
[settlement]
settle_interval = 0.05
[[chains]]
chain_id = 6565
[[chains]]
chain_id = 6566
[[chains]]
chain_id = 6567
base_token = "GOLD"
base_token_ratio = 3000
"""
PAIRS: Final = {"ether to a token": (0, 2)} | (
    {"a token to ether": (2, 1), "ether to ether": (0, 1)} if tries_many() else {}
)
"""Source and destination, by their place."""
CHECKS: Final = [f"{check} [{pair}]" for pair in PAIRS for check in checks_of(FILE)] + [
    f"{check} [{pair}]" for pair in PAIRS if "token" in pair for check in token_checks_of(FILE)
]


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Start the chains, and return what the node says of them."""
    folder = tmp_path_factory.mktemp("interop")
    info, config = folder / "info.json", folder / "node.toml"
    config.write_text(CONFIG, encoding="utf-8")
    flags = ("--config", str(config), "--config-out", str(info), "--l1-extra-port", "0")
    with inprocess_node(*flags, "--l1-delay", "0", info=info):
        yield json.loads(Path(info).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def results(known: dict[str, Any]) -> Results:
    """Run the checks of all pairs, each with an account of its own."""
    chains, keys = known["chains"], known["private_keys"]
    pairs = [
        {
            "name": name,
            "source_url": chains[source]["http_url"],
            "destination_url": chains[destination]["http_url"],
            "key": key,
            # What differs is checked only where it does.
            "base_token": None if 2 not in (source, destination) else {},
        }
        for (name, (source, destination)), key in zip(PAIRS.items(), keys, strict=False)
    ]
    l1 = known["l1"]
    return run_checks(
        FILE,
        pairs[0]["source_url"],
        l1["http_url"],
        checks=CHECKS,
        CHAINS=json.dumps(pairs),
        GW_RPC=l1["extra_http_url"],
    )


@pytest.mark.parametrize("check", checks_of(DEFAULTS))
def test_viem_with_its_default_caches_works(known: dict[str, Any], check: str) -> None:
    chain, key = known["chains"][0], known["private_keys"][9]
    variables = {"CHAIN_ID": str(chain["chain_id"]), "KEY": key}
    problem = run_checks(DEFAULTS, chain["http_url"], **variables)[check]
    assert problem is None, problem


@pytest.mark.parametrize("check", CHECKS)
def test_the_calls_of_zksync_js_work_between_chains(results: Results, check: str) -> None:
    problem = results[check]
    assert problem is None, problem
