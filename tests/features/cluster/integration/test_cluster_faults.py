"""Faults in a cluster under load: nothing that was acknowledged is lost, nothing happens twice, the chain goes on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.robustness.cluster.run import run_faults
from tests.support.cluster.postgres import VARIABLE

# ENTRESOL_CLUSTER_FAULTS=200 for the long run.
FAULTS = int(os.environ.get("ENTRESOL_CLUSTER_FAULTS", "40"))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(VARIABLE in os.environ, reason="it restarts PostgreSQL, so needs its own"),
]


def test_no_fault_loses_doubles_or_blocks_anything(tmp_path: Path) -> None:
    injected = run_faults(tmp_path, FAULTS, seed=1)
    assert len(injected) == FAULTS
