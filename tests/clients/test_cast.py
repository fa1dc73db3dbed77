"""cast: one process and one connection for each command."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pytest

from entresol.l1.contracts import NEW_PRIORITY_REQUEST
from tests.support.anvil import find_program
from tests.support.clients.accounts import ALICE, CONTRACTS, NOBODY
from tests.support.clients.layers import Layers, running_layers
from tests.support.inprocess_node import InprocessNode
from tests.support.polling import PATIENCE_SECONDS, eventually
from tests.support.run.environment import tool_environment

pytestmark = pytest.mark.clients

KEY = "0x" + bytes(ALICE.key).hex()
DEPOSITED = "0x00000000000000000000000000000000000ca571"
BASE_COST = "l2TransactionBaseCost(uint256,uint256,uint256,uint256)(uint256)"
REQUEST = "requestL2TransactionDirect((uint256,uint256,address,uint256,bytes,uint256,uint256,bytes[],address))"
GAS = 1_000_000

Cast: TypeAlias = Callable[..., str]


class CastError(Exception):
    """The command failed, with this output."""


def run_cast(*arguments: str) -> str:
    ran = subprocess.run(
        [find_program("cast"), *arguments],
        env=tool_environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    if ran.returncode:
        raise CastError(ran.stderr)
    return ran.stdout.strip()


@pytest.fixture(scope="module")
def cast(node: InprocessNode) -> Cast:
    on(node.url)("rpc", "evm_mine")
    return on(node.url)


@pytest.fixture(scope="module")
def send(cast: Cast) -> Callable[..., Any]:
    return lambda *arguments: json.loads(cast("send", "--private-key", KEY, "--json", *arguments))


@pytest.fixture(scope="module")
def deploy(send: Callable[..., Any]) -> Callable[[str], str]:
    return lambda name: str(send("--create", CONTRACTS[name]["bytecode"])["contractAddress"])


@pytest.fixture(scope="module")
def emitter(deploy: Callable[[str], str]) -> str:
    return deploy("emitter")


@pytest.fixture(scope="module")
def reverts(deploy: Callable[[str], str]) -> str:
    return deploy("reverts")


@pytest.mark.parametrize(
    ("command", "response"),
    [
        (["storage", NOBODY, "0"], "0x" + "0" * 64),
        (["estimate", NOBODY, "--value", "1", "--from", ALICE.address], "21000"),
        (["find-block", "1"], "1"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_query_has_its_result(cast: Cast, command: list[str], response: str) -> None:
    assert cast(*command) == response


@pytest.mark.parametrize(
    ("flags", "kind"),
    [([], "0x2"), (["--auth", NOBODY], "0x4")],
    ids=["dynamic fees", "delegation"],
)
def test_a_transaction_is_sent_and_its_receipt_awaited(
    cast: Cast, send: Callable[..., Any], flags: list[str], kind: str
) -> None:
    receipt = send(NOBODY, "--value", "5", *flags)
    assert (receipt["status"], receipt["type"]) == ("0x1", kind)
    found = json.loads(cast("tx", receipt["transactionHash"], "--json"))
    assert int(found["value"], 16) == 5


def test_a_transaction_is_signed_first_and_published_later(cast: Cast) -> None:
    raw = cast("mktx", NOBODY, "--value", "7", "--private-key", KEY)
    assert json.loads(cast("publish", raw))["status"] == "0x1"


def test_the_node_signs_for_an_unlocked_account(cast: Cast) -> None:
    sent = cast("send", NOBODY, "--value", "1", "--unlocked", "--from", ALICE.address, "--json")
    assert json.loads(sent)["from"] == ALICE.address.lower()


def test_a_contract_is_deployed_written_and_read(
    cast: Cast, send: Callable[..., Any], deploy: Callable[[str], str]
) -> None:
    address = deploy("math")
    assert cast("call", address, "counter()(uint256)") == "0"
    send(address, "incrementCounter(uint256)", "7")
    assert cast("call", address, "counter()(uint256)") == "7"
    assert cast("call", address, "multiply7(int256)(int256)", "6") == "42"
    assert cast("code", address) == CONTRACTS["math"]["runtime"]


def test_the_reason_of_a_revert_is_printed(cast: Cast, reverts: str) -> None:
    with pytest.raises(CastError, match=r"execution reverted: Function has been reverted\."):
        cast("call", reverts, "revertWithMessage()")


def test_logs_are_found_by_signature_and_topic(
    cast: Cast, send: Callable[..., Any], emitter: str
) -> None:
    receipt = send(emitter, "logSingle(uint8,uint256)", "7", "9")
    arguments = ["--from-block", "0", "--address", emitter, "--json"]
    (log,) = json.loads(cast("logs", *arguments, "LogSingleWithIndex(uint256)"))
    assert log["transactionHash"] == receipt["transactionHash"]
    assert int(log["topics"][1], 16) == 9


def test_a_call_may_assume_another_state(cast: Cast) -> None:
    code = f"{NOBODY}:{CONTRACTS['math']['runtime']}"
    slot = f"{NOBODY}:0x{0:064x}:0x{42:064x}"
    arguments = ["--override-code", code, "--override-state-diff", slot]
    assert cast("call", NOBODY, "counter()(uint256)", *arguments) == "42"


@pytest.fixture(scope="module")
def layers() -> Iterator[Layers]:
    with running_layers("embedded") as running:
        yield running


def on(url: str) -> Cast:
    """Return cast on a layer."""
    return lambda command, *given: run_cast(command, "--rpc-url", url, *given)


def test_a_deposit_sent_to_the_bridgehub_arrives(layers: Layers) -> None:
    l1, l2, bridgehub = on(layers.l1_url), on(layers.url), layers.contracts["bridgehub"]
    price = str(2 * int(l1("gas-price")))
    cost = int(l1("call", bridgehub, BASE_COST, "270", price, str(GAS), "800").split()[0])
    request = f"(270,{cost + 7},{DEPOSITED},7,0x,{GAS},800,[],{ALICE.address})"
    sent = ("--value", str(cost + 7), "--gas-price", price, "--private-key", KEY, "--json")
    receipt = json.loads(l1("send", *sent, bridgehub, REQUEST, request))
    (event,) = [log for log in receipt["logs"] if log["topics"][0] == str(NEW_PRIORITY_REQUEST)]
    requested = "0x" + event["data"][66:130]
    eventually(lambda: l2("rpc", "eth_getTransactionReceipt", requested) != "null")
    assert l2("balance", DEPOSITED) == "7"


def test_what_is_sent_without_waiting_is_in_a_block_of_the_l1_for_the_next_command(
    layers: Layers,
) -> None:
    l1 = on(layers.l1_url)
    sent = l1("send", "--async", "--private-key", KEY, NOBODY, "--value", "5")
    assert json.loads(l1("rpc", "eth_getTransactionReceipt", sent))["status"] == "0x1"
