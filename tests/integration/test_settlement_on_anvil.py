"""An L1 that stops, restarts or reorgs: the node retries, goes on, and executes nothing twice."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from entresol.node.config.schema import L1Config
from tests.support.anvil import RestartableAnvil, free_port
from tests.support.inprocess_node import inprocess_node
from tests.support.node_process import DEVELOPMENT_FLAGS
from tests.support.polling import eventually
from tests.support.rollup.layer_consistency import check_agreement
from tests.support.rollup.layer_ones import ACCOUNTS
from tests.support.rollup.node_crashes import CrashingNode, Traffic, operator_nonce
from tests.support.rollup.pair import ETHER, Pair
from tests.support.rpc_client import get, health_of

pytestmark = [pytest.mark.slow, pytest.mark.peer]

OPERATOR = ACCOUNTS[1]
CONFIRMATIONS = 3


@pytest.fixture
def anvil(tmp_path: Path) -> Iterator[RestartableAnvil]:
    with free_port() as port:
        started = RestartableAnvil(tmp_path, port)
        started.start()
        yield started
        started.stop()


def arguments(anvil: RestartableAnvil, path: Path, *, confirmations: int = 0) -> list[str]:
    return [
        *("--data-dir", str(path / "data"), "--config-out", str(path / "info.json")),
        *("--l1-url", anvil.url, "--operator-key", str(OPERATOR.secret)),
        *("--l1-confirmations", str(confirmations), "--deploy-l1", *DEVELOPMENT_FLAGS),
    ]


def l1_config(anvil: RestartableAnvil) -> L1Config:
    return L1Config(l1_url=anvil.url, operator_key=str(OPERATOR.secret))


def metric(url: str, name: str) -> int:
    """Return the value of a metric, of its first sample if it has several."""
    metrics = get(f"{url}/metrics").decode()
    value, *_ = re.findall(rf"^entresol_{name}(?:{{.*}})? (\d+)$", metrics, re.MULTILINE)
    return int(value)


def test_the_node_retries_an_l1_that_is_down_and_goes_on(
    anvil: RestartableAnvil, tmp_path: Path
) -> None:
    info = tmp_path / "info.json"
    with inprocess_node(*arguments(anvil, tmp_path), info=info) as node:
        pair = Pair.connect(info)
        nonce = operator_nonce(pair, OPERATOR.address)
        token = pair.create_token()
        pair.arrived(pair.deposit(ETHER))
        pair.arrived(pair.deposit_token(token, 1_000))
        claimed = pair.withdraw(5)
        pair.l1.receipt(pair.claim(claimed))
        last_seen = pair.deposit(7)
        # What anvil has accepted but not mined is lost when it stops.
        pair.l1.receipt(last_seen)
        pair.l1.close()
        anvil.stop()
        sent = [pair.withdraw(number) for number in range(1, 4)]
        assert all(pair.l2.receipt(transaction)["status"] == "0x1" for transaction in sent)
        eventually(lambda: health_of(node.url)[1]["settlement"])
        eventually(lambda: health_of(node.url)[1]["deposits"])
        anvil.start()
        pair.arrived(last_seen)
        pair.arrived(pair.deposit(8))
        for transaction in sent:
            assert pair.l1.receipt(pair.claim(transaction))["status"] == "0x1"
        pair.settled()
        assert health_of(node.url)[1]["settlement"] is None
        pair.close()
        assert node.stop() == 0
    check_agreement(tmp_path / "data", [token], l1=l1_config(anvil), nonce=nonce)


def test_an_l1_that_is_reorganised_above_the_confirmed_blocks_doubles_nothing(
    anvil: RestartableAnvil, tmp_path: Path
) -> None:
    info = tmp_path / "info.json"
    started = arguments(anvil, tmp_path, confirmations=CONFIRMATIONS)
    with inprocess_node(*started, info=info) as node:
        pair = Pair.connect(info)
        nonce = operator_nonce(pair, OPERATOR.address)

        def mine() -> None:
            pair.l1("anvil_mine", hex(CONFIRMATIONS))

        def settled() -> bool:
            mine()
            return pair.totals()[2] == int(pair.l2("zks_L1BatchNumber"), 16)

        def final() -> bool:
            mine()
            last: str = pair.l2("eth_getBlockByNumber", "finalized", False)["number"]
            return bool(last == pair.l2("eth_blockNumber"))

        kept = pair.deposit(ETHER)
        pair.l1.receipt(kept)
        mine()
        pair.arrived(kept)
        # Nothing is left to settle, so that the next deposit is in the last block of L1 and stays there.
        eventually(final)
        lost = pair.deposit(111)
        (name,) = pair.priority_hashes(lost)
        pair.l1("anvil_reorg", 2, [])
        assert pair.l1("eth_getTransactionReceipt", lost) is None
        other = pair.deposit(222)
        pair.l1.receipt(other)
        mine()
        assert int(pair.arrived(other)["status"], 16) == 1
        assert pair.l2("eth_getTransactionReceipt", name) is None
        for _ in range(3):
            sent = pair.withdraw(3)
            assert pair.proven(sent)
            pair.l1("anvil_reorg", 2, [])
            mine()
        eventually(settled)
        mine()
        pair.settled()
        pair.close()
        assert node.stop() == 0
    check_agreement(tmp_path / "data", l1=l1_config(anvil), nonce=nonce)


def test_a_pending_deposit_that_a_reorg_removes_is_in_no_block_of_l2(
    anvil: RestartableAnvil, tmp_path: Path
) -> None:
    info = tmp_path / "info.json"
    with inprocess_node(*arguments(anvil, tmp_path), "--no-mining", info=info) as node:
        pair = Pair.connect(info)
        nonce = operator_nonce(pair, OPERATOR.address)

        def pending() -> int:
            return metric(node.url, "pool_priority_transactions")

        # The reorg must not remove the deployment.
        pair.l1("anvil_mine", "0x3")
        lost = pair.deposit(111)
        pair.l1.receipt(lost)
        eventually(lambda: pending() == 1)
        (name,) = pair.priority_hashes(lost)
        pair.l1("anvil_reorg", 2, [])
        pair.l1("anvil_mine", "0x3")
        assert pair.l1("eth_getTransactionReceipt", lost) is None
        eventually(lambda: pending() == 0)
        pair.l2("evm_mine")
        assert pair.l2("eth_getTransactionReceipt", name) is None
        other = pair.deposit(222)
        pair.l1.receipt(other)
        eventually(lambda: pending() == 1)
        pair.l2("evm_mine")
        assert int(pair.arrived(other)["status"], 16) == 1
        pair.settled()
        pair.close()
        assert node.stop() == 0
    check_agreement(tmp_path / "data", l1=l1_config(anvil), nonce=nonce)


def test_a_settlement_transaction_that_l1_does_not_include_is_reported(
    anvil: RestartableAnvil, tmp_path: Path
) -> None:
    info = tmp_path / "info.json"
    with inprocess_node(*arguments(anvil, tmp_path), info=info) as node:
        pair = Pair.connect(info)
        pair.l1("evm_setAutomine", False)
        pair.withdraw(5)
        eventually(lambda: metric(node.url, "settlement_pending_attempts") == 1)
        assert 0 < metric(node.url, "settlement_pending_fee_wei") <= 500 * 10**9
        assert metric(node.url, "settlement_fee_limited") == 0
        pair.l1("anvil_setBalance", str(OPERATOR.address), "0x1")
        eventually(lambda: "send it some" in (health_of(node.url)[1]["settlement"] or ""))
        eventually(lambda: "--operator-low-balance" in (health_of(node.url)[1]["operator"] or ""))
        assert metric(node.url, "operator_balance_wei") == 1
        pair.l1("anvil_setBalance", str(OPERATOR.address), hex(ETHER))
        pair.l1("evm_setAutomine", True)
        pair.l1("evm_mine")
        pair.settled()
        eventually(lambda: health_of(node.url)[1]["settlement"] is None)
        assert metric(node.url, "settlement_pending_attempts") == 0
        pair.close()
        assert node.stop() == 0


def test_a_reorg_of_an_executed_deposit_is_reported_also_after_a_restart(
    anvil: RestartableAnvil, tmp_path: Path
) -> None:
    info = tmp_path / "info.json"

    def reports(url: str) -> bool:
        return "a reorg" in (health_of(url)[1]["deposits"] or "")

    with inprocess_node(*arguments(anvil, tmp_path), info=info) as node:
        pair = Pair.connect(info)
        # The reorg must not remove the deployment.
        pair.l1("anvil_mine", "0x5")
        executed = pair.arrived(pair.deposit(111))["transactionHash"]
        pair.l1("anvil_reorg", 1, [])
        (replaced,) = pair.priority_hashes(pair.deposit(222, sender=ACCOUNTS[5].address))
        eventually(lambda: reports(node.url), node.printed)
        pair.close()
    info.unlink()
    with inprocess_node(*arguments(anvil, tmp_path), info=info) as node:
        pair = Pair.connect(info)
        eventually(lambda: reports(node.url), node.printed)
        assert pair.l2("eth_getTransactionReceipt", replaced) is None
        # L1 rejects a batch with the deposit that it does not have.
        eventually(lambda: "execute of" in (health_of(node.url)[1]["settlement"] or ""))
        # What was acknowledged stays, and users of the L2 are served.
        assert pair.l2("eth_getTransactionReceipt", executed)["status"] == "0x1"
        assert pair.l2.receipt(pair.send_message(b"still here"))["status"] == "0x1"
        pair.close()


def test_kills_beside_another_l1_lose_and_double_nothing(
    anvil: RestartableAnvil, tmp_path: Path
) -> None:
    node = CrashingNode(tmp_path, *arguments(anvil, tmp_path)[4:])
    traffic, nonces, randomness = Traffic(3), [], random.Random(4)

    def begin(pair: Pair) -> None:
        nonces.append(operator_nonce(pair, OPERATOR.address))
        traffic.token = pair.create_token()
        pair.arrived(pair.deposit(10**9))

    node.live(begin)
    for _ in range(4):
        node.live(traffic.go_on, 0.5 + randomness.expovariate(1))

    def finish(pair: Pair) -> None:
        pair.settled()
        traffic.check(pair)

    node.live(finish)
    assert traffic.token is not None
    check_agreement(node.data, [traffic.token], l1=l1_config(anvil), nonce=nonces[0])
