"""cast on both layers: the bridgehub is used as what it is, a contract."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import pytest

from tests.support.anvil import find_program
from tests.support.clients.accounts import ALICE, CHAIN_ID
from tests.support.clients.layers import Layers
from tests.support.polling import PATIENCE_SECONDS, eventually
from tests.support.run.tool_home import tool_environment

pytestmark = pytest.mark.clients

KEY: Final = "0x" + bytes(ALICE.key).hex()

BASE_COST: Final = "l2TransactionBaseCost(uint256,uint256,uint256,uint256)(uint256)"
REQUEST: Final = "requestL2TransactionDirect((uint256,uint256,address,uint256,bytes,uint256,uint256,bytes[],address))"
NEW_REQUEST: Final = "0x4531cd5795773d7101c17bdeb9f5ab7f47d7056017506f937083be5d6e77a382"
GAS: Final = 1_000_000
PUBDATA: Final = 800
ETHER: Final = 10**18


class Casts(NamedTuple):
    """cast on either layer."""

    l1: Callable[..., str]
    l2: Callable[..., str]


@pytest.fixture(scope="module")
def cast(layers: Layers) -> Casts:
    return Casts(
        lambda *given: _cast(layers.l1_url, *given), lambda *given: _cast(layers.url, *given)
    )


def _cast(url: str, command: str, *arguments: str) -> str:
    started = [str(find_program("cast")), command, "--rpc-url", url, *arguments]
    return subprocess.run(
        started,
        env=tool_environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=True,
    ).stdout.strip()


def _send(cast: Callable[..., str], *arguments: str) -> Any:
    return json.loads(cast("send", "--json", "--private-key", KEY, *arguments))


def test_a_deposit_sent_to_the_bridgehub_arrives(layers: Layers, cast: Casts) -> None:
    to, amount = "0x00000000000000000000000000000000000ca571", ETHER
    bridgehub = layers.contracts["bridgehub"]
    price = str(2 * int(cast.l1("gas-price")))
    cost = cast.l1("call", bridgehub, BASE_COST, str(CHAIN_ID), price, str(GAS), str(PUBDATA))
    value = int(cost.split()[0]) + amount
    request = f"({CHAIN_ID},{value},{to},{amount},0x,{GAS},{PUBDATA},[],{ALICE.address})"
    sent = ("--value", str(value), "--gas-price", price)
    receipt = _send(cast.l1, bridgehub, REQUEST, request, *sent)
    assert receipt["status"] == "0x1"
    (event,) = [log for log in receipt["logs"] if log["topics"][0] == NEW_REQUEST]
    assert event["address"] == layers.contracts["chain"]
    l2_hash = "0x" + event["data"][66:130]
    # Where no further block comes, cast may wait for one in vain.
    eventually(lambda: cast.l2("rpc", "eth_getTransactionReceipt", l2_hash) != "null")
    on_l2 = json.loads(cast.l2("receipt", "--json", l2_hash))
    assert on_l2["status"] == "0x1"
    assert cast.l2("balance", to) == str(amount)


def test_a_message_is_proven_on_l1(layers: Layers, cast: Casts) -> None:
    messenger, message = "0x0000000000000000000000000000000000008008", "0xcafe"
    sent = _send(cast.l2, messenger, "sendToL1(bytes)", message)
    number = int(sent["blockNumber"], 16)
    eventually(lambda: int(cast.l2("block-number", "finalized")) >= number)
    hash_ = sent["transactionHash"]
    receipt = json.loads(cast.l2("rpc", "eth_getTransactionReceipt", hash_))
    proof = json.loads(cast.l2("rpc", "zks_getL2ToL1LogProof", hash_))
    leaf = f"({int(receipt['l1BatchTxIndex'], 16)},{ALICE.address},{message})"
    proven = cast.l1(
        "call",
        layers.contracts["bridgehub"],
        "proveL2MessageInclusion(uint256,uint256,uint256,(uint16,address,bytes),bytes32[])(bool)",
        str(CHAIN_ID),
        str(int(receipt["l1BatchNumber"], 16)),
        str(proof["id"]),
        leaf,
        f"[{','.join(proof['proof'])}]",
    )
    assert proven == "true"


def test_both_layers_say_which_they_are(cast: Casts) -> None:
    assert (cast.l1("chain-id"), cast.l2("chain-id")) == ("31337", str(CHAIN_ID))
    assert int(cast.l2("rpc", "zks_L1ChainId").strip('"'), 16) == 31337
    assert cast.l2("gas-price") == "100000000"
