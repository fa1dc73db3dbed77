"""cast: one process and one connection for each command."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from web3 import Web3

from tests.support.anvil import find_program
from tests.support.clients.accounts import ALICE, NOBODY
from tests.support.clients.contracts import CONTRACTS
from tests.support.clients.layers import running_layers
from tests.support.inprocess_node import InprocessNode
from tests.support.polling import PATIENCE_SECONDS
from tests.support.run.tool_home import tool_environment

pytestmark = pytest.mark.clients

KEY = "0x" + bytes(ALICE.key).hex()

Cast: TypeAlias = Callable[..., str]


class CastError(Exception):
    """The command failed, with this output."""


@pytest.fixture(scope="module")
def cast(node: InprocessNode) -> Cast:
    program = find_program("cast")

    def run(*arguments: str) -> str:
        ran = subprocess.run(
            [program, *arguments],
            env=tool_environment(ETH_RPC_URL=node.url),
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        if ran.returncode:
            raise CastError(ran.stderr)
        return ran.stdout.strip()

    return run


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
        (["chain-id"], "270"),
        (["gas-price"], "100000000"),
        (["base-fee"], "100000000"),
        (["balance", NOBODY, "--block", "earliest"], "0"),
        (["nonce", NOBODY], "0"),
        (["code", NOBODY], "0x"),
        (["storage", NOBODY, "0"], "0x" + "0" * 64),
        (["estimate", NOBODY, "--value", "1", "--from", ALICE.address], "21000"),
        (["rpc", "net_version"], '"270"'),
        (["find-block", "1"], "1"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_query_has_its_result(cast: Cast, command: list[str], response: str) -> None:
    cast("rpc", "evm_mine")
    assert cast(*command) == response


def test_the_client_is_named(cast: Cast) -> None:
    assert cast("client").startswith("zkSync/v2.0 entresol/v")


@pytest.mark.parametrize(
    ("flags", "kind"),
    [
        ([], "0x2"),
        (["--legacy"], "0x0"),
        (["--access-list", "[]", "--legacy"], "0x1"),
        (["--auth", NOBODY], "0x4"),
    ],
    ids=["dynamic fees", "legacy", "access list", "delegation"],
)
def test_a_transaction_is_sent_and_its_receipt_awaited(
    cast: Cast, send: Callable[..., Any], flags: list[str], kind: str
) -> None:
    receipt = send(NOBODY, "--value", "5", *flags)
    assert (receipt["status"], receipt["type"]) == ("0x1", kind)
    found = json.loads(cast("tx", receipt["transactionHash"], "--json"))
    assert int(found["value"], 16) == 5
    again = json.loads(cast("receipt", receipt["transactionHash"], "--json"))
    assert again["blockHash"] == receipt["blockHash"]


def test_a_transaction_is_signed_first_and_published_later(cast: Cast) -> None:
    raw = cast("mktx", NOBODY, "--value", "7", "--private-key", KEY)
    assert json.loads(cast("publish", raw))["status"] == "0x1"


def test_the_node_signs_for_an_unlocked_account(cast: Cast) -> None:
    sent = cast("send", NOBODY, "--value", "1", "--unlocked", "--from", ALICE.address, "--json")
    assert json.loads(sent)["from"] == ALICE.address.lower()


def test_the_content_of_the_pool_is_read(cast: Cast) -> None:
    assert json.loads(cast("tx-pool", "status", "--json")) == {"pending": "0x0", "queued": "0x0"}


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


def test_the_data_of_a_custom_error_is_printed(cast: Cast, reverts: str) -> None:
    selector = "0x82b42900"  # Unauthorized()
    with pytest.raises(CastError, match=selector):
        cast("call", reverts, "customErrorWithoutMessage()")


def test_an_estimate_that_reverts_stops_a_transaction(
    send: Callable[..., Any], reverts: str
) -> None:
    with pytest.raises(CastError, match=r"Function has been reverted\."):
        send(reverts, "revertWithMessage()")


def test_logs_are_found_by_signature_and_topic(
    cast: Cast, send: Callable[..., Any], emitter: str
) -> None:
    receipt = send(emitter, "logSingle(uint8,uint256)", "7", "9")
    arguments = ["--from-block", "0", "--address", emitter, "--json"]
    (log,) = json.loads(cast("logs", *arguments, "LogSingleWithIndex(uint256)"))
    assert log["transactionHash"] == receipt["transactionHash"]
    assert int(log["topics"][1], 16) == 9


@pytest.mark.parametrize("tag", ["latest", "earliest", "safe", "finalized", "pending"])
def test_a_block_is_found_by_tag(cast: Cast, tag: str) -> None:
    block = json.loads(cast("block", tag, "--json"))
    assert int(block["number"], 16) >= 0


def test_a_proof_leads_to_the_root_of_the_state(cast: Cast) -> None:
    proof = json.loads(cast("proof", ALICE.address, "--json"))
    root = json.loads(cast("block", "latest", "--json"))["stateRoot"]
    assert Web3.keccak(hexstr=proof["accountProof"][0]).to_0x_hex() == root


def test_an_access_list_is_made(cast: Cast, deploy: Callable[[str], str]) -> None:
    address = deploy("math")
    made = json.loads(cast("access-list", address, "counter()", "--json"))
    assert made["accessList"][0]["address"] == address.lower()


def test_a_call_may_assume_another_state(cast: Cast) -> None:
    code = f"{NOBODY}:{CONTRACTS['math']['runtime']}"
    slot = f"{NOBODY}:0x{0:064x}:0x{42:064x}"
    arguments = ["--override-code", code, "--override-state-diff", slot]
    assert cast("call", NOBODY, "counter()(uint256)", *arguments) == "42"


def test_a_used_nonce_is_rejected_in_geths_words(send: Callable[..., Any]) -> None:
    with pytest.raises(CastError, match="nonce too low"):
        send(NOBODY, "--nonce", "0", "--gas-limit", "21000")


def test_a_lack_of_funds_is_rejected_in_geths_words(cast: Cast) -> None:
    with pytest.raises(CastError, match="insufficient funds for gas"):
        cast(
            "send",
            NOBODY,
            "--value",
            "1",
            "--gas-limit",
            "21000",
            "--private-key",
            "0x" + "77" * 32,
        )


@pytest.mark.parametrize("number", ["16", '"16"', "0x10"])
def test_developer_methods_take_bare_and_quoted_numbers(cast: Cast, number: str) -> None:
    cast("rpc", "anvil_setBalance", NOBODY, number)
    assert cast("balance", NOBODY) == "16"
    assert int(cast("rpc", "evm_increaseTime", number)) >= 16
    cast("rpc", "anvil_mine", number)


def test_what_is_sent_without_waiting_is_in_a_block_of_the_l1_for_the_next_command() -> None:
    program = find_program("cast")

    def run(url: str, *arguments: str) -> str:
        command: list[str] = [str(program), *arguments, "--rpc-url", url]
        return subprocess.run(
            command,
            env=tool_environment(),
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=True,
        ).stdout.strip()

    with running_layers("embedded") as layers:
        url, before = layers.l1_url, int(run(layers.l1_url, "balance", NOBODY))
        for _ in range(2):
            sent = run(url, "send", "--async", "--private-key", KEY, NOBODY, "--value", "5")
            assert json.loads(run(url, "rpc", "eth_getTransactionReceipt", sent))["status"] == "0x1"
        assert int(run(url, "balance", NOBODY)) == before + 10
