"""A node whose L2 is a fork on disk is killed while it reads, caches and seals: the next start goes on with all of it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.support.anvil import Anvil, running_anvil
from tests.support.evm.assembler import assemble, initcode
from tests.support.fork.proxy import FaultyProxy, faulty_proxy
from tests.support.fork.remote_anvil import CHAIN_ID
from tests.support.fork.soak import FILL, SLOTS, STORE, words
from tests.support.node_process import RunningNode, running_node
from tests.support.rollup.node_crashes import DISCONNECTED
from tests.support.rpc_client import HttpRpcClient, RpcError

LIFE_SECONDS = (0.05, 1.5)
NAMED = r"cannot be asked for|did not respond"


class Remote:
    """A chain with a contract of many slots, and the proxy before it."""

    def __init__(self, node: Anvil, proxy: FaultyProxy) -> None:
        self.proxy = proxy
        self.accounts: list[str] = node("eth_accounts")
        code = "0x" + initcode(assemble(STORE), FILL).hex()
        given = {"from": self.accounts[0], "data": code, "gas": hex(16_000_000)}
        self.store: str = node.receipt(node("eth_sendTransaction", given))["contractAddress"]


@pytest.fixture
def remote() -> Iterator[Remote]:
    with running_anvil("--chain-id", str(CHAIN_ID)) as node, faulty_proxy(node.url) as proxy:
        yield Remote(node, proxy)


@contextlib.contextmanager
def forked(remote: Remote, place: Path) -> Iterator[tuple[RunningNode, HttpRpcClient]]:
    """Run a node whose L2 is a fork in a directory, and connect to it."""
    flags = ("--fork-timeout", "2", "--fork-retries", "0", "--silent")
    info = place / "info.json"
    info.unlink(missing_ok=True)
    data = ("--data-dir", str(place / "node"), "--config-out", str(info))
    running = running_node("--fork-url", remote.proxy.url, *data, *flags, info=info)
    with running as node, contextlib.closing(HttpRpcClient(node.url)) as client:
        yield node, client


def use(
    client: HttpRpcClient,
    remote: Remote,
    random: Random,
    written: dict[int, int],
    unsure: dict[int, int],
) -> None:
    """Read slots that nobody has read, and write into one; remember what was confirmed, and what was sent last."""
    start = random.randrange(SLOTS)
    call = {"to": remote.store, "data": words(start, 20, 0)}
    client("eth_call", call, "latest")
    client("eth_getBalance", f"0x{random.getrandbits(64) + (1 << 70):040x}", "latest")
    value = random.getrandbits(32) + 1
    data = words(SLOTS + start, 0, value)
    fields = {"from": remote.accounts[1], "to": remote.store, "data": data, "gas": hex(200_000)}
    unsure[SLOTS + start] = value
    assert client.receipt(client("eth_sendTransaction", fields))["status"] == "0x1"
    written[SLOTS + start] = value


def check(client: HttpRpcClient, remote: Remote, written: dict[int, int]) -> None:
    """Check what the fork has written, and what the remote has."""
    for slot, value in written.items():
        found = client("eth_getStorageAt", remote.store, f"0x{slot:064x}", "latest")
        assert int(found, 16) == value, slot
    for slot in (1, SLOTS - 1):
        found = client("eth_getStorageAt", remote.store, f"0x{slot:064x}", "latest")
        assert int(found, 16) == 3 * slot + 1


def kill(remote: Remote, place: Path, times: int, seed: int) -> None:
    """Kill the node again and again while it works, then start it without the remote."""
    random, written = Random(seed), dict[int, int]()
    unsure: dict[int, int] = {}
    for _ in range(times):
        with forked(remote, place) as (node, client):
            check(client, remote, written)
            killer = threading.Timer(random.uniform(*LIFE_SECONDS), node.process.kill)
            killer.start()
            # What was sent last may be in a block or not.
            with contextlib.suppress(*DISCONNECTED):
                while True:
                    use(client, remote, random, written, unsure)
            killer.join()
        with forked(remote, place) as (_, client):
            # The one whose response was lost may have written over another.
            for slot in written:
                found = client("eth_getStorageAt", remote.store, f"0x{slot:064x}", "latest")
                assert int(found, 16) in {written[slot], unsure.get(slot)}
                written[slot] = int(found, 16)
    remote.proxy.stop_listening()
    with forked(remote, place) as (_, client):
        check(client, remote, written)
        with pytest.raises(RpcError, match=NAMED):
            client("eth_getBalance", "0x" + "77" * 20, "latest")


@pytest.mark.peer
@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 10])
def test_kills_while_reading_and_caching_lose_nothing(
    remote: Remote, tmp_path: Path, times: int
) -> None:
    kill(remote, tmp_path, times, times)
