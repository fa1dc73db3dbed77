"""The ecosystem that the ZK Stack's guides and SDK expect on a developer's machine: `--preset zksync-os`.

Ports are free ones here; `tests/core/node/config/test_api.py` has those of the preset.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account
from web3 import Web3

from entresol.primitives.base_token import ETH_TOKEN, asset_id
from entresol.primitives.values import Address
from tests.support.contracts.engine import Contract
from tests.support.hex_data import hexed
from tests.support.inprocess_node import inprocess_node
from tests.support.rollup.pair import ETHER, FEE, GAS_LIMIT, GAS_PER_PUBDATA, Pair
from tests.support.rpc_client import HttpRpcClient, RpcClient

KEY = "0x7726827caac94a7f9e1b160f7ea819f172f7b6f9d2a97f992c38edeab82d4110"
RICH = Account.from_key(KEY)
CHAINS = (6565, 6566)
FLAGS = ("--preset", "zksync-os", "--l1-extra-port", "0", "--settle-interval", "0.05")


@pytest.fixture(scope="module")
def info(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("preset") / "info.json"
    with inprocess_node(*FLAGS, "--l1-delay", "0", "--config-out", str(path), info=path):
        yield path


@pytest.fixture(params=CHAINS)
def pair(info: Path, request: pytest.FixtureRequest) -> Iterator[Pair]:
    pairs = Pair.connect_all(info)
    yield pairs[CHAINS.index(request.param)]
    for found in pairs:
        found.close()


def l1_urls(info: Path) -> list[str]:
    l1 = json.loads(info.read_text(encoding="utf-8"))["l1"]
    return [l1["http_url"], l1["extra_http_url"]]


def chain_id_at(url: str) -> int:
    with closing(HttpRpcClient(url)) as client:
        return int(client("eth_chainId"), 16)


def signed(layer: RpcClient, contract: Contract, value: int, function: str, *args: object) -> str:
    """Send a transaction that a client signs with the key of the guides."""
    call = {"from": RICH.address, "to": Web3.to_checksum_address(str(contract.address))}
    call |= {"data": hexed(contract.encode(function, *args)), "value": hex(value)}
    whole: dict[str, Any] = {
        **{name: it for name, it in call.items() if name != "from"},
        "chainId": int(layer("eth_chainId"), 16),
        "nonce": int(layer("eth_getTransactionCount", RICH.address, "pending"), 16),
        "gas": int(layer("eth_estimateGas", call), 16),
        "gasPrice": 2 * int(layer("eth_gasPrice"), 16),
    }
    raw = Web3.to_hex(RICH.sign_transaction(whole).raw_transaction)
    sent: str = layer("eth_sendRawTransaction", raw)
    assert layer.receipt(sent)["status"] == "0x1"
    return sent


def test_the_l1_is_one_chain_at_both_urls(info: Path) -> None:
    first, second = l1_urls(info)
    assert first != second
    assert [chain_id_at(first), chain_id_at(second)] == [31337, 31337]
    with urllib.request.urlopen(f"{second}/health") as response:
        ports = json.load(response)["ports"]
    assert [f"http://127.0.0.1:{port}" for port in ports] == [first, second]


def test_the_bridgehub_knows_every_chain_and_what_pays_for_its_gas(pair: Pair) -> None:
    assert int(pair.l2("eth_chainId"), 16) == pair.chain_id
    bridgehub = Address.parse(pair.l2("zks_getBridgehubContract"))
    assert bridgehub == pair.bridgehub.address

    def ask(function: str) -> Any:
        return pair.call_l1(pair.bridgehub, function, pair.chain_id)

    assert pair.call_l1(pair.bridgehub, "getAllZKChainChainIDs") == CHAINS
    assert Address.parse(ask("getZKChain")) == pair.chain.address
    assert Address.parse(pair.l2("zks_getMainContract")) == pair.chain.address
    assert ask("chainTypeManager") == pair.call_l1(pair.chain, "getChainTypeManager")
    assert Address.parse(ask("baseToken")) == ETH_TOKEN
    assert ask("baseTokenAssetId") == bytes(asset_id(31337, ETH_TOKEN))


def test_the_key_of_the_guides_deposits_to_each_chain_and_withdraws_from_it(pair: Pair) -> None:
    balances = [
        int(layer("eth_getBalance", RICH.address, "latest"), 16) for layer in (pair.l1, pair.l2)
    ]
    assert min(balances) > 1_000 * ETHER
    receiver, me = Address(bytes([pair.chain_id % 256]) * 20), Address.parse(RICH.address)
    request = (pair.chain_id, ETHER + FEE, receiver, ETHER, b"", GAS_LIMIT, GAS_PER_PUBDATA, (), me)
    function = "requestL2TransactionDirect"
    deposit = signed(pair.l1, pair.bridgehub, ETHER + FEE, function, request)
    assert pair.arrived(deposit)["status"] == "0x1"
    assert int(pair.l2("eth_getBalance", str(receiver), "latest"), 16) == ETHER

    withdrawal = signed(pair.l2, pair.base_token, ETHER, "withdraw", receiver)
    assert pair.l1.receipt(pair.claim(withdrawal))["status"] == "0x1"
    assert int(pair.l1("eth_getBalance", str(receiver), "latest"), 16) == ETHER
