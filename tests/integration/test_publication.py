"""Chains that publish their data: what is on L1 is the chain, whatever happens to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from entresol import devnet
from entresol.errors import InvalidConfig, MethodFailed
from entresol.execution.limits import MAX_PUBLISHED_TRANSACTION
from entresol.inprocess.devnet import Devnet
from entresol.inprocess.layer import DevnetLayer
from entresol.node.opening.development_keys import OPERATOR
from entresol.primitives.published.body import PublishedBatch
from entresol.primitives.published.edits import EditsByHash
from entresol.rollup.publication.backlog import MAX_COMMITS
from tests.support.polling import eventually
from tests.support.published.on_layer_one import PublishedOnL1
from tests.support.rpc_client import get

ETHER = 10**18
RECEIVER = f"0x{'11' * 20}"
EDITED = f"0x{'22' * 20}"


@contextmanager
def publishing(**settings: Any) -> Iterator[Devnet]:
    with devnet(data_availability="calldata", settle_interval=0.02, **settings) as net:
        yield net


def on_l1(net: Devnet, chain: int = 0) -> PublishedOnL1:
    return PublishedOnL1(net.l1.request, net.l2s[chain].request)


def checked(net: Devnet, chain: int = 0) -> dict[int, PublishedBatch]:
    """Wait until everything is settled, and return what is published of all blocks."""
    published = on_l1(net, chain)
    published.wait()
    batches = published.check()
    head = int(net.l2s[chain].request("eth_blockNumber"), 16)
    assert sum(len(batch.blocks) for batch in batches.values()) == head
    return batches


def transfer(layer: DevnetLayer, *, data: str = "0x", **fields: Any) -> str:
    call = {"from": layer.accounts[0].address, "to": RECEIVER, "value": "0x1", "data": data}
    sent: str = layer.request("eth_sendTransaction", call | fields)
    return sent


def transfers(layer: DevnetLayer, count: int) -> None:
    for _ in range(count):
        transfer(layer)


def traffic(net: Devnet) -> None:
    """Have everything that a block publishes."""
    transfer(net.l2)
    net.bridge.deposit(ETHER)
    net.l2.request("anvil_setBalance", EDITED, hex(5 * ETHER))
    net.l2.request("anvil_mine", "0x5")
    net.l2.request("anvil_impersonateAccount", EDITED)
    transfer(net.l2, **{"from": EDITED})
    net.l2.request("anvil_stopImpersonatingAccount", EDITED)
    transfer(net.l2)


def test_a_chain_that_stopped_before_its_genesis_was_on_l1_publishes_it_later(
    tmp_path: Path,
) -> None:
    with publishing(data_dir=tmp_path, settle=False) as net:
        transfer(net.l2)
        assert on_l1(net).genesis_blocks() == []
    with publishing(data_dir=tmp_path) as net:
        checked(net)
        assert len(on_l1(net).genesis_blocks()) == 1


@pytest.mark.parametrize("is_settled", [False, True])
def test_what_is_published_after_a_revert_is_the_new_chain(is_settled: bool) -> None:
    with publishing() as net:
        traffic(net)
        snapshot = net.snapshot()
        traffic(net)
        if is_settled:
            checked(net)
        assert net.revert(snapshot)
        transfer(net.l2, value="0x7")
        traffic(net)
        checked(net)


def test_a_revert_to_before_the_first_commit_publishes_the_genesis_again() -> None:
    with publishing() as net:
        snapshot = net.snapshot()
        traffic(net)
        checked(net)
        assert net.revert(snapshot)
        assert on_l1(net).genesis_blocks() == []
        traffic(net)
        checked(net)
        assert len(on_l1(net).genesis_blocks()) == 1


def test_edits_larger_than_a_batch_are_published_by_hash_and_the_chain_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with publishing() as net:
        transfer(net.l2)
        for at in range(6):
            net.l2.request(
                "anvil_setCode", f"0x{at + 1:040x}", f"0x{(bytes([at + 1]) * 24_000).hex()}"
            )
        net.l2.request("evm_mine")
        transfer(net.l2)
        batches = checked(net)
        hashed = [
            isinstance(block.edits, EditsByHash)
            for batch in batches.values()
            for block in batch.blocks
        ]
        assert sum(hashed) == 1
        traffic(net)
        checked(net)
        health = json.loads(get(f"{net.l2.url}/health"))
        assert f"from block {1 + hashed.index(True)} on" in health["publication"]
        assert health["status"] == "ready"
        warnings = [
            record.message for record in caplog.records if "larger than a batch" in record.message
        ]
        assert len(warnings) == 1


@pytest.mark.parametrize(
    "method", ["eth_estimateGas", "eth_sendTransaction", "eth_sendRawTransaction"]
)
def test_a_transaction_too_large_alone_is_rejected_by_name(method: str) -> None:
    with publishing() as net:
        data = f"0x{'01' * (MAX_PUBLISHED_TRANSACTION + 1)}"
        call: Any = {"from": net.accounts[0].address, "to": RECEIVER, "data": data}
        if method == "eth_sendRawTransaction":
            fields: Any = {
                "to": RECEIVER,
                "data": data,
                "nonce": 0,
                "chainId": net.l2.chain_id,
                "gas": 16_000_000,
                "gasPrice": 10**10,
                "value": 0,
            }
            call = net.accounts[0].signer.sign_transaction(fields).raw_transaction.to_0x_hex()
        with pytest.raises(MethodFailed, match="no batch has room"):
            net.l2.request(method, call)


def test_several_chains_publish_each_its_own_and_the_roots_of_bundles() -> None:
    chains: Any = [
        {"chain_id": 270, "data_availability": "calldata"},
        {"chain_id": 271, "data_availability": "calldata", "base_token": "ZOO"},
        {"chain_id": 272},
    ]
    with devnet(chains=chains, settle_interval=0.02) as net:
        for bridge in net.bridges:
            bridge.deposit(ETHER)
        net.bridges[0].send(ETHER // 4, chain=net.l2s[1])
        net.bridges[1].send(ETHER // 4, chain=net.l2s[0])
        assert len(net.relay().executed) == 2
        for chain in (0, 1):
            batches = checked(net, chain)
            assert any(block.roots for batch in batches.values() for block in batch.blocks)
        assert on_l1(net, 2).batches() == {}
        assert on_l1(net, 2).genesis_blocks() == []


@pytest.mark.parametrize("publishes", [False, True])
def test_a_state_of_a_chain_that_publishes_otherwise_is_rejected_by_name(
    publishes: bool,
) -> None:
    settings: Any = ({"data_availability": "calldata"}, {})
    with devnet(**settings[publishes]) as other:
        transfer(other.l2)
        state = other.l2.request("anvil_dumpState")
    with devnet(**settings[not publishes]) as net:
        with pytest.raises(MethodFailed, match="--data-availability"):
            net.l2.request("anvil_loadState", state)
        transfer(net.l2)


def test_a_chain_for_production_settles_without_what_developers_may_do() -> None:
    with devnet(production=True, settle_interval=0.02) as net:
        for nonce in range(3):
            fields: Any = {
                "to": RECEIVER,
                "nonce": nonce,
                "chainId": net.l2.chain_id,
                "value": 1,
                "gas": 100_000,
                "gasPrice": 10**10,
            }
            raw = net.accounts[0].signer.sign_transaction(fields).raw_transaction.to_0x_hex()
            net.l2.request("eth_sendRawTransaction", raw)
        for method, *params in (
            ("anvil_setBalance", EDITED, "0x1"),
            ("anvil_impersonateAccount", EDITED),
            ("evm_revert", "0x1"),
        ):
            with pytest.raises(MethodFailed):
                net.l2.request(method, *params)
        checked(net)
        assert not on_l1(net).genesis().rules.is_development


def test_changed_rules_are_published_before_the_first_block_that_has_them(tmp_path: Path) -> None:
    with publishing(data_dir=tmp_path) as net:
        transfer(net.l2)
        checked(net)
    with (
        pytest.raises(InvalidConfig, match="--change-rules"),
        publishing(data_dir=tmp_path, gas_limit=40_000_000),
    ):
        pass
    with publishing(data_dir=tmp_path, gas_limit=40_000_000, change_rules=True) as net:
        transfer(net.l2)
        batches = checked(net)
    changed = [block.rules for batch in batches.values() for block in batch.blocks if block.rules]
    assert [transaction.gas_limit for transaction in changed] == [40_000_000]


def test_the_pool_is_closed_while_l1_is_behind_and_deposits_go_on() -> None:
    operator = OPERATOR.address.checksummed()
    with publishing(batch_blocks=1) as net:
        balance = net.l1.request("eth_getBalance", operator, "latest")
        net.l1.request("anvil_setBalance", operator, "0x0")
        with pytest.raises(MethodFailed, match="batches of this chain wait for their commit"):
            transfers(net.l2, 4 * MAX_COMMITS)
        assert json.loads(get(f"{net.l2.url}/health"))["backlog"] is not None
        net.bridge.deposit(ETHER)
        net.l1.request("anvil_setBalance", operator, balance)
        eventually(lambda: json.loads(get(f"{net.l2.url}/health"))["backlog"] is None)
        transfer(net.l2)
        checked(net)
