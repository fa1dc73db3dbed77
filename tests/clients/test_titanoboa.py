"""titanoboa's network mode on both layers, in an environment of its own: it brings 80 packages and py-evm."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.support.clients.layers import running_layers
from tests.support.clients.tools import TOOLS_PYTHON, needs_tools
from tests.support.polling import PATIENCE_SECONDS

pytestmark = [pytest.mark.clients, pytest.mark.slow]

SCRIPT: Final = Path(__file__).parent / "titanoboa_network.py"


@needs_tools
@pytest.mark.parametrize("layer", ["L1", "L2"])
def test_contracts_are_used_without_a_warning(layer: str, tmp_path: Path) -> None:
    with running_layers("embedded") as layers:
        url = layers.url if layer == "L2" else layers.l1_url
        ran = subprocess.run(
            [str(TOOLS_PYTHON), str(SCRIPT), url],
            # Not the packages of the tests, and not what titanoboa knows of another chain with the same id.
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
    assert ran.returncode == 0, ran.stderr
