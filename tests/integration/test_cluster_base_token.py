"""A cluster that is paid in a token of its L1: every node knows what ether costs there."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from eth_abi import abi

from entresol.primitives.base_token import EtherPrice
from tests.support.clients.accounts import signed_transfer
from tests.support.cluster.nodes import OPERATOR, ClusterProcesses
from tests.support.cluster.postgres import Postgres
from tests.support.contracts.engine import Contract, find
from tests.support.hex_data import hexed
from tests.support.inprocess_node import inprocess_anvil, run_command
from tests.support.polling import eventually
from tests.support.rollup.pair import USER

pytestmark = pytest.mark.slow

GAS_PRICE = 10**8


def test_whoever_takes_over_seals_its_first_block_at_the_price_that_l1_has_by_then(
    postgres: Postgres, tmp_path: Path
) -> None:
    with inprocess_anvil("anvil") as l1:
        compiled = find("TestERC20")
        arguments = abi.encode(["string", "string", "uint8"], ["Zoo", "ZOO", 18])
        creation = {"from": str(USER), "data": hexed(compiled.bytecode + arguments)}
        token = l1.receipt(l1("eth_sendTransaction", creation))["contractAddress"]
        database = postgres.new_database()
        done = run_command(
            *("cluster", "init", "--l1-url", l1.url, "--operator-key", str(OPERATOR.secret)),
            *("--deploy-l1", "--accounts", "10", "--l1-confirmations", "0", "--no-settle"),
            *("--base-token", token, "--base-token-ratio", "2", "--cluster", database),
        )
        assert done.returncode == 0, done.stderr
        cluster = ClusterProcesses(postgres, l1.url, tmp_path, database)
        with contextlib.closing(cluster):
            cluster.add()
            producer = cluster.producer()
            other = cluster.add()
            assert int(other.client("eth_gasPrice"), 16) == 2 * GAS_PRICE
            chain = Contract(cluster.contracts()["chain"], find("ZKChain"))
            for tokens in (7, 3):
                data = hexed(chain.encode("setTokenMultiplier", tokens, 1))
                sent = {"from": str(OPERATOR.address), "to": str(chain.address), "data": data}
                assert l1.receipt(l1("eth_sendTransaction", sent))["status"] == "0x1"
                for node in cluster.nodes:
                    eventually(lambda: int(node.client("eth_gasPrice"), 16) == tokens * GAS_PRICE)  # noqa: B023
            producer.kill()
            assert cluster.producer() is other
            sent = other.client("eth_sendRawTransaction", signed_transfer(0))
            price = other.client.receipt(sent)["effectiveGasPrice"]
            assert int(price, 16) == EtherPrice(3, 1).units(GAS_PRICE)
