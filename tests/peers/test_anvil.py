from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys

import pytest

from tests.support.anvil import Anvil, running_anvil
from tests.support.polling import PATIENCE_SECONDS, eventually
from tests.support.rpc_client import RpcError

pytestmark = pytest.mark.peer

RICH = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
OTHER = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"


def test_a_transfer_arrives(anvil: Anvil) -> None:
    before = int(anvil("eth_getBalance", OTHER, "latest"), 16)
    sent = anvil("eth_sendTransaction", {"from": RICH, "to": OTHER, "value": "0x7"})
    assert anvil.receipt(sent)["status"] == "0x1"
    assert int(anvil("eth_getBalance", OTHER, "latest"), 16) == before + 7


def test_a_failed_call_raises_the_error_of_anvil(anvil: Anvil) -> None:
    with pytest.raises(RpcError) as caught:
        anvil("eth_noSuchMethod")
    assert caught.value.code == -32601


def test_a_batch_has_its_order_and_its_errors(anvil: Anvil) -> None:
    calls = [("eth_chainId", ()), ("eth_noSuchMethod", ()), ("eth_blockNumber", ())]
    chain, error, block = anvil.batch(calls)
    assert chain == "0x7a69"
    assert isinstance(error, RpcError)
    assert block == "0x0"


def test_arguments_reach_anvil() -> None:
    with running_anvil("--chain-id", "270") as anvil:
        assert anvil("eth_chainId") == "0x10e"


def test_a_rejected_argument_is_reported() -> None:
    with pytest.raises(RuntimeError, match="--no-such-flag"), running_anvil("--no-such-flag"):
        pass


def test_it_is_stopped_when_the_test_fails() -> None:
    with pytest.raises(ZeroDivisionError), running_anvil() as anvil:
        raise ZeroDivisionError
    with pytest.raises(ConnectionRefusedError):
        anvil("eth_chainId")


def test_it_is_stopped_when_the_test_process_is_killed() -> None:
    script = (
        "import time; from tests.support.anvil import running_anvil\n"
        "with running_anvil() as anvil: print(anvil.url, flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as victim:
        assert victim.stdout is not None
        host, port = victim.stdout.readline().decode().strip().removeprefix("http://").split(":")
        os.kill(victim.pid, signal.SIGKILL)
    eventually(lambda: not _accepts(host, int(port)))


def _accepts(host: str, port: int) -> bool:
    connection = http.client.HTTPConnection(host, port, timeout=PATIENCE_SECONDS)
    try:
        connection.connect()
    except ConnectionRefusedError:
        return False
    finally:
        connection.close()
    return True
