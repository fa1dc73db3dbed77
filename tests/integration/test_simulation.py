"""Simulations by an unmodified viem."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.clients.javascript import node_program
from tests.support.node_process import running_node
from tests.support.polling import PATIENCE_SECONDS

SCRIPT = Path(__file__).with_name("simulate.mjs")


@pytest.mark.clients
def test_viem_simulates_blocks_and_calls() -> None:
    with running_node() as node:
        command = [node_program(), str(SCRIPT), node.url]
        ran = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
        )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {
        "number": 1,
        "calls": [["success", 21_000, 1], ["failure", 21_004, 0]],
        "failure": "ContractFunctionExecutionError",
        "simulated": ["success"],
        "spent": [["ETH", str(-15 * 10**17)]],
        "rejection": "InsufficientFundsError",
    }
