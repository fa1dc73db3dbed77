"""viem and zksync-ethers between two layers that are forks: the checks are those of any pair, in the files of `js/`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.clients.javascript import run_checks
from tests.support.fork.remote_anvil import remote_pair
from tests.support.inprocess_node import inprocess_anvil

pytestmark = pytest.mark.clients

# The files know these ids.
IDS = ("--chain-id", "270", "--l1-chain-id", "31337")


@pytest.fixture(scope="module")
def urls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Return the URLs of a pair of forks."""
    written: Path = tmp_path_factory.mktemp("forks") / "config.json"
    with remote_pair() as remotes:
        forks = ("--fork-url", remotes.l2.url, "--l1-fork-url", remotes.l1.url)
        others = ("--no-storage-caching", "--l1-port", "0", "--config-out", str(written))
        with inprocess_anvil(*forks, *others, *IDS) as node:
            yield node.url, json.loads(written.read_text())["l1"]["http_url"]


@pytest.mark.parametrize("file", ["bridge-zksync-ethers.mjs", "bridge-viem.mjs"])
def test_a_client_works_between_two_forks(urls: tuple[str, str], file: str) -> None:
    results = run_checks(file, *urls)
    assert results
    assert {check: it for check, it in results.items() if it is not None} == {}
