"""A node beside an L1 that lies about everything for some seconds: then all is settled, and the supply is exact.

`python -m tests.robustness.l1 --seconds 3600` is the long run of the same.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.robustness.l1 import running

SECONDS = float(os.environ.get("ENTRESOL_L1_LIES", "8"))
SEED = int(os.environ.get("ENTRESOL_SEED", "7"))

pytestmark = [pytest.mark.slow, pytest.mark.peer]


def test_a_node_beside_an_l1_that_lies_about_everything_goes_on_once_it_is_honest(
    tmp_path: Path,
) -> None:
    with running(tmp_path, SEED, block_seconds=0.25) as run:
        try:
            run.attack(SECONDS)
        except BaseException as failure:
            command = f"python -m tests.robustness.l1 --seconds {SECONDS} --seed {SEED}"
            failure.add_note(f"{run.report()}\n{command}")
            raise
        # Otherwise this proves nothing.
        assert sum(run.proxy.kinds().values()) > 0
