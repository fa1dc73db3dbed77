"""viem and ethers send blobs to an L1: the checks are in `js/blobs.mjs`."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.support.blobs import sample_sidecar
from tests.support.clients.javascript import Results, checks_of, run_checks
from tests.support.hex_data import hexed
from tests.support.inprocess_node import inprocess_anvil

pytestmark = pytest.mark.clients

FILE = "blobs.mjs"


@pytest.fixture(scope="module")
def results() -> Iterator[Results]:
    sidecar = sample_sidecar(1)
    blob = {
        "commitment": hexed(sidecar.commitments[0]),
        "proof": hexed(sidecar.proofs[0]),
        "hash": hexed(sidecar.hashes[0]),
    }
    with (
        pytest.MonkeyPatch.context() as environment,
        inprocess_anvil("anvil") as node,
    ):
        environment.setenv("BLOB", json.dumps(blob))
        yield run_checks(FILE, node.url)


@pytest.mark.parametrize("check", checks_of(FILE))
def test_a_client_sends_blobs(results: Results, check: str) -> None:
    problem = results[check]
    assert problem is None, problem
