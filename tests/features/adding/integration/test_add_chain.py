"""An L2 that is added to a running node by `entresol_addChain`."""

from __future__ import annotations

import asyncio
import gc
import json
import shutil
import socket
import threading
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from entresol.chain.chain import Chain
from entresol.chain.events import BlockSealed
from entresol.errors import InvalidConfig
from entresol.node.config.schema import SETTINGS
from entresol.node.node import Node
from entresol.node.open_node import open_node
from entresol.node.opening.development_keys import MAX_CHAINS, operator_of
from entresol.primitives.base_token import ETH_TOKEN
from entresol.primitives.values import Address
from tests.support.ecosystem.ecosystem import Resident
from tests.support.ecosystem.several_chains import SeveralChains, several_chains, several_config
from tests.support.inprocess_node import run_command
from tests.support.polling import eventually
from tests.support.rollup.layer_consistency import bookkeepers, check_stored_books, opened
from tests.support.rollup.pair import ETHER, L1_CHAIN_ID, RECEIVER, Pair
from tests.support.rollup.supply import check_books
from tests.support.rpc_client import HttpRpcClient, RpcError, get

METHOD = "entresol_addChain"
ADDED = 300
TABLES = """
[[chains]]
chain_id = 270

[[chains]]
chain_id = 271
base_token = "ZOO"
base_token_ratio = "3000"
"""


@pytest.fixture
def one() -> Iterator[SeveralChains]:
    with several_chains(several_config(1)) as running:
        yield running


def ids_on_l1(pair: Pair) -> list[int]:
    return list(pair.call_l1(pair.bridgehub, "getAllZKChainChainIDs"))


def ids_of(node: Node) -> list[int]:
    return [layer_two.chain.rules.chain_id for layer_two in node.layer_twos]


def settled(pair: Pair) -> None:
    head = int(pair.l2("eth_blockNumber"), 16)
    finalized = "eth_getBlockByNumber", "finalized", False
    eventually(lambda: int(pair.l2(*finalized)["number"], 16) >= head)


def test_an_added_chain_takes_deposits_pays_withdrawals_and_keeps_the_books(
    one: SeveralChains,
) -> None:
    with one.added(chainId=ADDED) as pair:
        resident = Resident(pair)
        assert resident.balance(ETH_TOKEN) == 0
        resident.deposit(ETH_TOKEN, ETHER)
        withdrawal = resident.withdraw(ETH_TOKEN, ETHER // 2)
        settled(pair)
        resident.claim(withdrawal)
        keepers = bookkeepers(one.node)
        assert len(keepers) == 2
        one.loop.run(check_books(keepers))
    one.goes_on(0)


def test_an_added_chain_is_in_health_metrics_and_explorer_of_every_port(one: SeveralChains) -> None:
    added = one.pairs[0].l2(METHOD, {"chainId": ADDED})["http_url"]
    first = f"http://{one.node.address}"
    for url in (first, added):
        assert json.loads(get(f"{url}/health"))["chains"].keys() == {"270", "300", "31337"}
        listed = json.loads(get(f"{url}/explorer/node.json"))["chains"]
        assert [chain["id"] for chain in listed] == [270, ADDED]
        assert json.loads(get(f"{url}/explorer/{ADDED}/health"))["status"] == "ready"
    assert f'entresol_head_block{{chain="{ADDED}"}} ' in get(f"{added}/metrics").decode()


def test_an_added_chain_may_be_paid_in_the_token_of_another_or_in_one_of_l1(tmp_path: Path) -> None:
    file = tmp_path / "entresol.toml"
    file.write_text(TABLES)
    quick = {"port": 0, "l1_port": 0, "l1_delay": 0, "settle_interval": 0.05}
    with several_chains(SETTINGS.load(quick, {}, file)) as two:
        zoo = Address.parse(two.pairs[1].l2("zks_getBaseTokenL1Address"))
        for chain_id, token in ((300, "ZOO"), (301, str(zoo))):
            with two.added(chainId=chain_id, baseToken=token, baseTokenRatio="2500") as pair:
                assert pair.l2("zks_getBaseTokenL1Address") == str(zoo)
                resident = Resident(pair)
                resident.approve(zoo)
                resident.deposit(zoo, ETHER)
                resident.deposit(ETH_TOKEN, ETHER)
                pair.l2("entresol_setBaseTokenRatio", 2)
                settled(pair)
        two.loop.run(check_books(bookkeepers(two.node), [zoo]))


def _taken(running: SeveralChains) -> Iterator[tuple[dict[str, Any], int, str]]:
    ports = [service.port for service in running.node.services]
    yield {"chainId": 270}, -32602, "has chain 270"
    yield {"chainId": L1_CHAIN_ID}, -32602, "the L1 has the id"
    yield {"chainId": 0}, -32602, "from 1"
    yield {"chainId": 2**64}, -32602, "chainId"
    yield {"chainId": "x"}, -32602, "chainId"
    yield {}, -32602, "missing"
    yield {"chainId": ADDED, "port": ports[0]}, -32602, "chain 270 has the port"
    yield {"chainId": ADDED, "port": ports[1]}, -32602, "the L1 has the port"
    yield {"chainId": ADDED, "port": 65_536}, -32602, "ports are"
    yield {"chainId": ADDED, "colour": 1}, -32602, "'colour' is not one of"
    yield {"chainId": ADDED, "baseToken": "ZOO"}, -32602, "baseToken: no chain of the node"
    yield {"chainId": ADDED, "baseToken": str(RECEIVER)}, -32602, "baseToken: there is no contract"
    yield {"chainId": ADDED, "baseToken": "0x12"}, -32602, "baseToken"
    yield {"chainId": ADDED, "baseTokenRatio": "2"}, -32602, "baseTokenRatio: it needs"
    yield {"chainId": ADDED, "baseTokenDecimals": 6}, -32602, "baseTokenDecimals"
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield {"chainId": ADDED, "port": other.getsockname()[1]}, -32000, "in use"


def test_what_cannot_be_added_is_rejected_by_name_and_leaves_nothing(tmp_path: Path) -> None:
    with several_chains(several_config(1, tmp_path / "chains")) as one:
        (pair,) = one.pairs
        before = pair.l1("eth_blockNumber")
        for request, code, text in _taken(one):
            with pytest.raises(RpcError, match=text) as caught:
                pair.l2(METHOD, request)
            assert caught.value.code == code
        assert pair.l1("eth_blockNumber") == before
        assert ids_of(one.node) == ids_on_l1(pair) == [270]
        assert not (tmp_path / "chains" / str(ADDED)).exists()
        with one.added(chainId=ADDED):
            assert ids_on_l1(pair) == [270, ADDED]


def test_a_chain_is_not_added_while_l1_seals_on_request_only(one: SeveralChains) -> None:
    one.pairs[0].l1("evm_setAutomine", False)
    with pytest.raises(RpcError, match="on request only"):
        one.pairs[0].l2(METHOD, {"chainId": ADDED})


def test_a_snapshot_from_before_a_chain_was_added_is_rejected_and_one_from_after_restores_it(
    one: SeveralChains,
) -> None:
    before = one.pairs[0].l2("evm_snapshot")
    with one.added(chainId=ADDED) as pair:
        # Each chain is told of the other one.
        eventually(
            lambda: all(layer.l2("eth_blockNumber") == "0x1" for layer in (pair, one.pairs[0]))
        )
        after = one.pairs[0].l2("evm_snapshot")
        pair.arrived(pair.deposit(ETHER))
        for client in (pair.l1, pair.l2, one.pairs[0].l2):
            with pytest.raises(RpcError, match=f"chain {ADDED} was added after this snapshot"):
                client("evm_revert", before)
        assert int(pair.l2("eth_getBalance", str(RECEIVER), "latest"), 16) == ETHER
        assert one.pairs[0].l2("evm_revert", after)
        assert pair.l2("eth_blockNumber") == "0x1"
        assert pair.arrived(pair.deposit(ETHER))["status"] == "0x1"
        settled(pair)


def test_a_reset_to_a_genesis_that_does_not_know_an_added_chain_is_rejected(
    one: SeveralChains,
) -> None:
    with one.added(chainId=ADDED) as pair:
        for method in ("anvil_reset", "hardhat_reset"):
            with pytest.raises(RpcError, match=f"chain {ADDED} was added"):
                pair.l1(method)


def test_a_reset_with_forking_is_rejected_on_each_chain_once_one_was_added(
    one: SeveralChains,
) -> None:
    with one.added(chainId=ADDED) as pair:
        options = {"forking": {"jsonRpcUrl": "http://127.0.0.1:1"}}
        for client in (pair.l1, pair.l2, one.pairs[0].l2):
            for method in ("anvil_reset", "hardhat_reset"):
                with pytest.raises(RpcError, match=r"added|the node cannot replace this chain"):
                    client(method, options)
            assert client("eth_chainId")


def test_a_chain_that_could_not_be_added_is_not_kept(one: SeveralChains) -> None:
    def open_chains() -> int:
        gc.collect()
        return sum(isinstance(held, Chain) for held in gc.get_objects())

    before = open_chains()
    with socket.create_server(("127.0.0.1", 0)) as other:
        chain = {"chainId": hex(ADDED), "port": hex(other.getsockname()[1])}
        for _ in range(3):
            with pytest.raises(RpcError):
                one.pairs[0].l2("entresol_addChain", chain)
    assert open_chains() <= before


def test_a_dump_has_an_added_chain_and_one_from_before_it_is_rejected(one: SeveralChains) -> None:
    earlier = one.pairs[0].l2("anvil_dumpState")
    with one.added(chainId=ADDED) as pair:
        pair.arrived(pair.deposit(ETHER))
        dump = one.pairs[0].l2("anvil_dumpState")
        pair.arrived(pair.deposit(ETHER))
        with pytest.raises(RpcError, match=f"chain {ADDED} was added"):
            one.pairs[0].l2("anvil_loadState", earlier)
        assert one.pairs[0].l2("anvil_loadState", dump)
        assert int(pair.l2("eth_getBalance", str(RECEIVER), "latest"), 16) == ETHER
        assert pair.arrived(pair.deposit(ETHER))["status"] == "0x1"


def test_chains_that_are_added_at_once_are_all_added_up_to_the_most_that_a_node_has(
    one: SeveralChains,
) -> None:
    rejected: list[str] = []

    def add(chain_id: int) -> None:
        client = HttpRpcClient(f"http://{one.node.address}")
        try:
            client(METHOD, {"chainId": chain_id})
        except RpcError as error:
            rejected.append(error.message)
        finally:
            client.close()

    threads = [threading.Thread(target=add, args=(ADDED + number,)) for number in range(MAX_CHAINS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert rejected == [f"a node has at most {MAX_CHAINS} chains"]
    assert sorted(ids_of(one.node)) == sorted(ids_on_l1(one.pairs[0]))
    assert len(ids_of(one.node)) == MAX_CHAINS


@pytest.mark.parametrize("count", [1, 2])
def test_a_restart_with_the_same_flags_knows_an_added_chain(tmp_path: Path, count: int) -> None:
    config = several_config(count, tmp_path / "chains")
    with several_chains(config) as running, running.added(chainId=ADDED) as pair:
        assert running.node.info().to_json()["chains"][-1]["data_dir"].endswith(f"/{ADDED}")
        pair.arrived(pair.deposit(ETHER))
        settled(pair)
    with several_chains(config) as running:
        assert ids_of(running.node) == [*range(270, 270 + count), ADDED]
        pair = running.pairs[-1]
        assert int(pair.l2("eth_getBalance", str(RECEIVER), "latest"), 16) == ETHER
        assert pair.arrived(pair.deposit(ETHER))["status"] == "0x1"
        settled(pair)
        with running.added(chainId=ADDED + 1) as second:
            second.arrived(second.deposit(ETHER))
            settled(second)
    asyncio.run(check_stored_books(config, []))


def test_verify_rebuild_and_backup_include_an_added_chain(tmp_path: Path) -> None:
    source, copy = tmp_path / "chains", tmp_path / "copy"
    config = several_config(1, source)
    with several_chains(config) as running, running.added(chainId=ADDED) as pair:
        pair.arrived(pair.deposit(ETHER))
        backup = run_command("backup", "--data-dir", str(source), str(copy))
        assert backup.returncode == 0, backup.stderr
    for command in ("rebuild", "verify"):
        done = run_command(command, "--data-dir", str(copy))
        assert done.returncode == 0, done.stderr
        assert f"chain {ADDED}: " in done.stdout + done.stderr
    asyncio.run(check_stored_books(several_config(1, copy), []))
    rejected = run_command("verify", "--chain-id", str(ADDED), "--data-dir", str(copy / "300"))
    assert "is a chain that was added" in rejected.stderr


def test_the_folder_of_an_added_chain_that_was_moved_away_is_not_created_anew(
    tmp_path: Path,
) -> None:
    config = several_config(1, tmp_path / "chains")
    with several_chains(config) as running, running.added(chainId=ADDED):
        pass
    shutil.rmtree(tmp_path / "chains" / str(ADDED))
    with pytest.raises(InvalidConfig, match="300 is missing"):
        asyncio.run(open_node(config))
    assert not (tmp_path / "chains" / str(ADDED)).exists()


def _adding(url: str, errors: list[Exception]) -> threading.Thread:
    """Add a chain in another thread."""

    def add() -> None:
        client = HttpRpcClient(url)
        try:
            client(METHOD, {"chainId": ADDED})
        except (RpcError, OSError, HTTPException) as error:
            errors.append(error)
        finally:
            client.close()

    thread = threading.Thread(target=add)
    thread.start()
    return thread


@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_a_revert_during_an_addition_leaves_nothing_of_it(blocks: int) -> None:
    with several_chains(several_config(1, l1_delay=None, l1_block_time=0.2, settle=False)) as one:
        (pair,) = one.pairs
        layer_one = one.node.layer_one
        assert layer_one is not None
        snapshot, number = pair.l2("evm_snapshot"), layer_one.chain.number
        errors: list[Exception] = []
        thread = _adding(f"http://{one.node.address}", errors)
        eventually(lambda: sum(_nonces(layer_one.chain)) >= blocks)
        assert layer_one.chain.number > number
        assert pair.l1("evm_revert", snapshot)
        thread.join()
        assert len(errors) == 1
        assert ids_of(one.node) == ids_on_l1(pair) == [270]
        with one.added(chainId=ADDED):
            assert ids_on_l1(pair) == [270, ADDED]


def _nonces(l1: Chain) -> list[int]:
    """Return how many transactions the owner and the new operator have sent."""
    accounts = [l1.latest.account(operator_of(number).address) for number in range(2)]
    first = l1.state_after(0).account(operator_of(0).address)
    owner, operator = [0 if account is None else account.nonce for account in accounts]
    return [owner - (0 if first is None else first.nonce), operator]


def test_a_node_that_is_stopped_during_an_addition_starts_again_with_all_or_nothing_of_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "chains"
    slow = several_config(1, path, l1_delay=None, l1_block_time=0.2, settle=False)
    errors: list[Exception] = []
    with several_chains(slow) as one:
        layer_one = one.node.layer_one
        assert layer_one is not None
        thread = _adding(f"http://{one.node.address}", errors)
        eventually(lambda: sum(_nonces(layer_one.chain)) >= 2)
    thread.join()
    assert len(errors) == 1
    assert (path / str(ADDED)).exists()
    asyncio.run(_check_whole(path, is_added=False))


@pytest.mark.parametrize("blocks", range(5))
def test_an_addition_that_ends_after_any_block_of_l1_is_completed_or_undone_by_the_next_start(
    tmp_path: Path, blocks: int
) -> None:
    path, copy = tmp_path / "chains", tmp_path / "copy"
    config = several_config(1, path, settle=False)
    with several_chains(config) as running:
        layer_one = running.node.layer_one
        assert layer_one is not None
        number = layer_one.chain.number

        def on_block(_event: object) -> None:
            # What a process has on disk that is killed now.
            if layer_one.chain.number == number + blocks:
                layer_one.chain.flush()
                shutil.copytree(path, copy)

        if blocks:
            layer_one.chain.events.listen(on_block, BlockSealed)
        else:
            shutil.copytree(path, copy)
        with running.added(chainId=ADDED):
            assert (copy / "added.json").exists() == (blocks > 0)
    asyncio.run(_check_whole(copy, is_added=blocks == 4))


async def _check_whole(path: Path, *, is_added: bool) -> None:
    async with opened(several_config(1, path)) as node:
        assert ids_of(node) == ([270, ADDED] if is_added else [270])
        assert (path / str(ADDED)).exists() == is_added
    # And once more, with what the first start has left.
    again = await open_node(several_config(1, path))
    await again.stop()
