"""The earliest web3.py that `entresol[testing]` allows, and with it an earlier websockets, which the node uses, too."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.support.packages.distribution import built, newcomer_environment, run_shell

EARLIEST: Final = "web3==7.16.0"
INSTALL: Final = f"""
python3 -m venv tour
tour/bin/python -m pip install --quiet 'entresol[testing]' {EARLIEST} pytest
"""
TEST: Final = """
import json

from websockets.sync.client import connect

ETHER = 10**18


def test_a_deposit_and_a_withdrawal(bridge, l1, l2, accounts):
    bob = accounts[1].address
    bridge.deposit(ETHER, to=bob)
    assert l2.eth.get_balance(bob) == 10_001 * ETHER
    bridge.finalize(bridge.withdraw(ETHER, to=bob))
    assert l1.eth.get_balance(bob) == 10_001 * ETHER


def test_a_websocket(devnet):
    with connect(devnet.l2.ws_url) as client:
        client.send('{"jsonrpc": "2.0", "id": 1, "method": "eth_chainId"}')
        assert json.loads(client.recv())["result"] == hex(devnet.l2.w3.eth.chain_id)
"""


@pytest.mark.slow
@pytest.mark.clients
def test_the_plugin_and_websockets_work_with_the_earliest_web3(tmp_path: Path) -> None:
    environment = newcomer_environment(tmp_path, built("*.whl"))
    # It names the versions of the newest web3.
    del environment["PIP_CONSTRAINT"]
    run_shell(INSTALL, tmp_path, environment)
    (tmp_path / "test_own.py").write_text(TEST, encoding="utf-8")
    assert "2 passed" in run_shell("tour/bin/python -m pytest -q", tmp_path, environment)
