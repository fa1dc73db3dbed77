"""The fork of each layer in `/health`, `/metrics` and the explorer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from entresol import devnet
from entresol.errors import MethodFailed
from entresol.inprocess.devnet import Devnet
from tests.support.fork.remote_anvil import L1_CHAIN_ID, L2_CHAIN_ID, RemotePair, remote_pair
from tests.support.rpc_client import get, health_of

STRANGER = "0x" + "99" * 20


@pytest.fixture(scope="module")
def remotes() -> Iterator[RemotePair]:
    with remote_pair() as found:
        yield found


def metrics(url: str) -> dict[str, float]:
    lines = get(f"{url}/metrics").decode().splitlines()
    return {
        line.split(" ")[0]: float(line.split(" ")[1]) for line in lines if not line.startswith("#")
    }


def test_each_layer_names_its_own_fork(remotes: RemotePair) -> None:
    urls = {
        "fork_url": f"{remotes.l2.url}?key=secret",
        "l1_fork_url": f"{remotes.l1.url}?key=secret",
    }
    with devnet(**urls, no_storage_caching=True) as net:
        l1, l2 = health_of(net.l1.url)[1], health_of(net.l2.url)[1]
        assert (l1["status"], l2["status"]) == ("ready", "ready")
        number, _ = remotes.l1.latest
        assert l1["fork"] == l2["l1Fork"] | {
            "remote": remotes.l1.url,
            "chainId": L1_CHAIN_ID,
            "blockNumber": number,
            "reachable": True,
            "unreachableSeconds": 0.0,
        }
        assert re.fullmatch("0x[0-9a-f]{64}", l1["fork"]["blockHash"])
        assert (l2["fork"]["chainId"], l2["fork"]["remote"]) == (L2_CHAIN_ID, remotes.l2.url)
        assert "l1Fork" not in l1


def test_the_metrics_of_each_layer_count_what_its_fork_asks(remotes: RemotePair) -> None:
    with devnet(
        fork_url=remotes.l2.url, l1_fork_url=remotes.l1.url, no_storage_caching=True
    ) as net:
        before = [metrics(layer.url) for layer in (net.l1, net.l2)]
        net.l2.request("eth_getBalance", STRANGER, "latest")
        after = [metrics(layer.url) for layer in (net.l1, net.l2)]
        grown = [
            now["entresol_fork_misses_total"] - was["entresol_fork_misses_total"]
            for was, now in zip(before, after, strict=True)
        ]
        assert grown == [0, 1]
        for found in after:
            assert found["entresol_fork_requests_total"] > 0
            assert found["entresol_fork_waited_seconds_total"] > 0
            assert found["entresol_fork_waiting_executions"] == 0
            assert found["entresol_fork_unreachable_seconds"] == 0


def test_a_fork_whose_remote_is_gone_says_how_long() -> None:
    with ExitStack() as running:
        remotes = running.enter_context(remote_pair())
        url = remotes.l1.url
        with devnet(l1_fork_url=url, no_storage_caching=True, l1_fork_retries=0) as net:
            running.close()
            _check_away(net)


def _check_away(net: Devnet) -> None:
    with pytest.raises(MethodFailed, match=r"127\.0\.0\.1"):
        net.l1.request("eth_getBalance", STRANGER, "latest")
    found = health_of(net.l1.url)[1]["fork"]
    assert (found["reachable"], found["unreachableSeconds"] > 0) == (False, True)
    counted = metrics(net.l1.url)
    assert counted['entresol_fork_errors_total{kind="remote_unreachable"}'] == 1


def test_the_explorer_is_told_what_was_read_and_no_url(remotes: RemotePair) -> None:
    with devnet(
        fork_url=remotes.l2.url, l1_fork_url=remotes.l1.url, no_storage_caching=True, explorer=True
    ) as net:
        net.l2.request("eth_getBalance", STRANGER, "latest")
        text = get(f"{net.l2.url}/explorer/fork.json").decode()
        assert "127.0.0.1" not in text
        found = json.loads(text)
        assert [entry["chainId"] for entry in found.values()] == [L2_CHAIN_ID, L1_CHAIN_ID]
        newest = found["fork"]["reads"][0]
        assert (newest["what"], newest["which"], newest["kept"]) == ("account", STRANGER, True)
        assert json.loads(get(f"{net.l1.url}/explorer/fork.json"))["fork"]["chainId"] == L1_CHAIN_ID
        names = json.loads(get(f"{net.l2.url}/explorer/node.json"))["l1"].values()
        assert "ForkVerifier" in names
        assert "DevelopmentVerifier" not in names
