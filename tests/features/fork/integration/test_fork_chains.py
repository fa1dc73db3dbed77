"""Several L2s on one L1, of which each may be a fork."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from entresol import devnet
from entresol.errors import InvalidConfig, StoreForeign
from tests.support.fork.remote_anvil import (
    HELD,
    HOLDER,
    L1_CHAIN_ID,
    L2_CHAIN_ID,
    RemotePair,
    remote_pair,
)
from tests.support.rpc_client import HttpRpcClient

ETHER = 10**18


@pytest.fixture(scope="module")
def remotes() -> Iterator[RemotePair]:
    with remote_pair() as found:
        yield found


def test_a_fork_and_a_fresh_chain_stand_on_one_forked_l1(remotes: RemotePair) -> None:
    chains: Any = [{"fork_url": [remotes.l2.url], "port": 0}, {"chain_id": 6565, "port": 0}]
    with devnet(chains=chains, l1_fork_url=remotes.l1.url, no_storage_caching=True) as net:
        copy, fresh = net.l2s
        assert [layer.chain_id for layer in (net.l1, copy, fresh)] == [
            L1_CHAIN_ID,
            L2_CHAIN_ID,
            6565,
        ]
        number, _ = remotes.l2.latest
        assert (copy.w3.eth.block_number, fresh.w3.eth.block_number) == (number, 0)
        net.l1.request("anvil_impersonateAccount", HOLDER)
        net.l1.request("anvil_setBalance", HOLDER, hex(100 * ETHER))
        for layer in (copy, fresh):
            layer.request("anvil_impersonateAccount", HOLDER)
            layer.request("anvil_setBalance", HOLDER, hex(100 * ETHER))
            bridge, token = net.bridge.beside(layer), remotes.l1.token
            assert bridge.deposit(1_000, token=token, sender=HOLDER).l2["status"] == 1
            assert bridge.finalize(bridge.withdraw(400, token=token, sender=HOLDER))["status"] == 1
        assert net.bridge.l1_token(token).functions.balanceOf(HOLDER).call() == HELD - 1_200


def test_two_chains_are_copies_of_one_with_ids_of_their_own_and_stay_so_on_disk(
    remotes: RemotePair, tmp_path: Path
) -> None:
    url = [remotes.l2.url]
    chains: Any = [{"fork_url": url, "chain_id": number, "port": 0} for number in (71, 72)]
    settings: dict[str, Any] = {"chains": chains, "data_dir": tmp_path / "data"}
    with devnet(**settings) as net:
        first, second = net.l2s
        first.request("anvil_setBalance", HOLDER, "0x7")
        first.request("anvil_mine", 1)
        number, _ = remotes.l2.latest
        assert (first.w3.eth.block_number, second.w3.eth.block_number) == (number + 1, number)
        assert second.request("eth_getBalance", HOLDER, "latest") == "0x0"
    with devnet(**settings) as net:
        first, second = net.l2s
        assert first.request("eth_getBalance", HOLDER, "latest") == "0x7"
        assert second.w3.eth.block_number == number


def test_a_fork_among_several_chains_on_disk_names_its_folder(tmp_path: Path) -> None:
    chains: Any = [{"fork_url": ["http://127.0.0.1:1"]}, {"chain_id": 6565}]
    with pytest.raises(InvalidConfig, match=r"--data-dir: .* needs its chain_id"):
        devnet(chains=chains, data_dir=tmp_path / "data").start()


@pytest.mark.parametrize("flag", ["fork_url", "l1_fork_url"])
def test_a_fork_writes_nothing_to_a_directory_that_holds_something_else(
    remotes: RemotePair, tmp_path: Path, flag: str
) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    settings: Any = {flag: remotes.l1.url, "data_dir": tmp_path}
    with pytest.raises(StoreForeign):
        devnet(**settings).start()
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_chain_that_is_added_to_a_pair_of_forks_is_none_and_begins_at_their_time(
    remotes: RemotePair,
) -> None:
    urls: Any = {"fork_url": remotes.l2.url, "l1_fork_url": remotes.l1.url}
    with devnet(no_storage_caching=True, **urls) as net:
        added = HttpRpcClient(net.l2.request("entresol_addChain", {"chainId": 6565})["http_url"])
        with closing(added):
            assert added("anvil_nodeInfo")["forkConfig"]["forkBlockNumber"] is None
            begun = int(added("eth_getBlockByNumber", "0x0", False)["timestamp"], 16)
        assert 0 <= begun - remotes.l1.latest[1] < 1_000
        assert net.l1.w3.eth.get_block("latest")["timestamp"] < begun + 1_000
