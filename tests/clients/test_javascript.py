"""ethers, viem, zksync-ethers and zksync-js, unmodified: the checks are in the files of `js/`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.support.blobs import sample_sidecar
from tests.support.clients.javascript import FOLDER, Results, checks_of, run_checks
from tests.support.clients.layers import KINDS, run_on_each, running_layers
from tests.support.fork.remote_anvil import remote_pair
from tests.support.hex_data import hexed
from tests.support.inprocess_node import inprocess_anvil, inprocess_node
from tests.support.run.examples import tries_many

pytestmark = pytest.mark.clients

FILES: Final = (
    "ethers.mjs",
    "viem.mjs",
    "zksync-ethers.mjs",
    "zk-transactions.mjs",
    "zk-transactions-viem.mjs",
    "accounts-zksync-ethers.mjs",
    "accounts-viem.mjs",
)
BLOBS: Final = "blobs.mjs"
BRIDGES: Final = ("bridge-viem.mjs", "bridge-zksync-ethers.mjs", "bridge-zksync-js.mjs")
DEFAULTS: Final = "ethers-defaults.mjs"


def test_every_file_is_run_or_imported() -> None:
    places = [*FOLDER.parent.glob("*.py"), *FOLDER.iterdir()]
    texts = "".join(path.read_text(encoding="utf-8") for path in places if path.is_file())
    assert [path.name for path in FOLDER.glob("*.mjs") if path.name not in texts] == []


@cache
def results(file: str) -> Results:
    """Run a file on a node of its own, once."""
    with inprocess_node() as node:
        return run_checks(file, node.url)


@pytest.mark.parametrize(
    ("file", "check"), [(file, check) for file in FILES for check in checks_of(file)]
)
def test_a_client_works(file: str, check: str) -> None:
    problem = results(file)[check]
    assert problem is None, problem


@cache
def results_of_blobs() -> Results:
    """Run the checks of blobs on an L1, once."""
    sidecar = sample_sidecar(1)
    blob = {
        "commitment": hexed(sidecar.commitments[0]),
        "proof": hexed(sidecar.proofs[0]),
        "hash": hexed(sidecar.hashes[0]),
    }
    with inprocess_anvil("anvil") as node:
        return run_checks(BLOBS, node.url, BLOB=json.dumps(blob))


@pytest.mark.parametrize("check", checks_of(BLOBS))
def test_a_client_sends_blobs(check: str) -> None:
    problem = results_of_blobs()[check]
    assert problem is None, problem


# Between two layers


def kinds_of(file: str) -> tuple[str, ...]:
    """Return the kinds of L1 that a file runs on: one client finds what differs between them."""
    return KINDS if tries_many() or file == BRIDGES[0] else KINDS[:1]


@cache
def results_of_bridge(file: str) -> Mapping[str, Results]:
    """Run a file on its kinds of L1, once."""
    return run_on_each(file, kinds_of(file))


@pytest.mark.parametrize(
    ("file", "check", "l1"),
    [(file, check, l1) for file in BRIDGES for check in checks_of(file) for l1 in kinds_of(file)],
)
def test_a_client_works_between_two_layers(file: str, check: str, l1: str) -> None:
    problem = results_of_bridge(file)[l1][check]
    assert problem is None, problem


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Return the URLs of a pair of forks, with the ids that the files know."""
    written: Path = tmp_path_factory.mktemp("forks") / "config.json"
    with remote_pair() as remotes:
        forks = ("--fork-url", remotes.l2.url, "--l1-fork-url", remotes.l1.url)
        others = ("--no-storage-caching", "--l1-port", "0", "--config-out", str(written))
        ids = ("--chain-id", "270", "--l1-chain-id", "31337")
        with inprocess_anvil(*forks, *others, *ids) as node:
            yield node.url, json.loads(written.read_text())["l1"]["http_url"]


@pytest.mark.parametrize("file", [BRIDGES[1], BRIDGES[0]])
def test_a_client_works_between_two_forks(forks: tuple[str, str], file: str) -> None:
    results = run_checks(file, *forks)
    assert results
    assert {check: it for check, it in results.items() if it is not None} == {}


# ethers with the batches and caches that it has by itself

CHAINS: Final = ("L2", "L1", *(("entresol anvil",) if tries_many() else ()))
LOOP: Final = "sends one after another with the nonces that it reads"
"""On a chain that seals at once and responds at once, as anvil does, the nonce that it has cached is too low."""


@contextmanager
def running_chain(name: str) -> Iterator[str]:
    """Start a chain with default flags, and return its URL."""
    if name == "entresol anvil":
        with inprocess_anvil("anvil") as node:
            yield node.url
    else:
        with running_layers("embedded") as layers:
            yield layers.url if name == "L2" else layers.l1_url


@cache
def results_of_defaults(name: str) -> Results:
    """Run the checks on a chain, once."""
    with running_chain(name) as url:
        return run_checks(DEFAULTS, url)


def test_ethers_sends_one_after_another_on_the_l1() -> None:
    problem = results_of_defaults("L1")[LOOP]
    assert problem is None, problem


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("check", [check for check in checks_of(DEFAULTS) if check != LOOP])
def test_ethers_works_without_options(check: str, name: str) -> None:
    problem = results_of_defaults(name)[check]
    assert problem is None, problem
