"""The output of a node for transactions: console.log, failures, call trees."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from entresol.primitives import abi
from tests.support.anvil import running_anvil
from tests.support.evm.assembler import initcode
from tests.support.evm.console import CONSOLE, PRINTED, console_call, logging, logging_code
from tests.support.inprocess_node import InprocessNode, inprocess_node
from tests.support.polling import eventually
from tests.support.rpc_client import HttpRpcClient, RpcError

SENDER = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
BURNER = "0x000000000000000000000000000000000000800A"
HELLO = console_call("log(string,uint256)", "hello %d", 42)
END = "the end of the test"


class Terminal:
    """A node, and what it prints."""

    def __init__(self, node: InprocessNode, client: HttpRpcClient) -> None:
        self.client = client
        self._node = node

    def send(self, **fields: str) -> dict[str, Any]:
        sent = self.client("eth_sendTransaction", {"from": SENDER, **fields})
        return self.client.receipt(sent)

    def deploy(self, runtime: bytes, constructor: str = "") -> str:
        receipt = self.send(data="0x" + initcode(runtime, constructor).hex())
        address: str = receipt["contractAddress"]
        return address

    def printed(self) -> str:
        """Return what it has printed, once it has printed everything so far."""
        with pytest.raises(RpcError):
            self.client(END)
        lines = eventually(lambda: self._node.printed() if END in self._node.printed() else "")
        return lines.removeprefix(self._node.output)


@contextmanager
def terminal(*flags: str) -> Iterator[Terminal]:
    with inprocess_node(*flags) as node, closing(HttpRpcClient(node.url)) as client:
        yield Terminal(node, client)


def test_console_log_is_printed_once_with_its_transaction() -> None:
    with terminal("--no-l1") as node:
        address = node.deploy(logging_code(HELLO), logging(HELLO, then=""))
        node.send(to=address)
        printed = node.printed()
    assert printed.count("    console.log       hello 42") == 2


def test_calls_and_estimates_print_once_each() -> None:
    with terminal("--no-l1") as node:
        address = node.deploy(logging_code(HELLO))
        for _ in range(2):
            node.client("eth_call", {"to": address}, "latest")
        node.client("eth_estimateGas", {"to": address})
        printed = node.printed()
    assert printed.count("    console.log       hello 42\neth_call ") == 2
    assert printed.count("    console.log       hello 42\neth_estimateGas ") == 1
    assert printed.count("hello 42") == 3


@pytest.mark.parametrize("flag", ["--disable-console-log", "--no-console-log"])
def test_a_flag_disables_console_log(flag: str) -> None:
    with terminal("--no-l1", flag) as node:
        node.client("eth_call", {"to": "0x" + CONSOLE.hex(), "data": "0x" + HELLO.hex()}, "latest")
        assert "hello" not in node.printed()


def test_console_log_is_not_printed_for_strangers() -> None:
    with terminal("--no-l1", "--no-dev-methods") as node:
        node.client("eth_call", {"to": "0x" + CONSOLE.hex(), "data": "0x" + HELLO.hex()}, "latest")
        assert "hello" not in node.printed()


def test_a_call_tree_has_decoded_calls_events_and_results() -> None:
    data = abi.encode_call("withdraw(address)", bytes(19) + b"\x07")
    with terminal("--no-settle", "-vvvv") as node:
        node.send(to=BURNER, value="0x5", data="0x" + data.hex())
        printed = node.printed()
    seven = "0x0000000000000000000000000000000000000007"
    assert f"    Call              withdraw({seven})\n" in printed
    assert f"{BURNER}::withdraw{{value: 5}}({seven})\n        ├─ [" in printed
    assert "\n        │   ├─ emit L1MessageSent(sender: 0x" in printed
    assert "\n        │   └─ ← [Return] 0x" in printed
    assert (
        f"\n        ├─ emit Withdrawal(l2Sender: 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266, l1Receiver: {seven}, amount: 5)\n"
        in printed
    )
    assert "\n        └─ ← [Stop]\n" in printed


def both_transactions(printed: str) -> list[dict[str, Any]]:
    """Return the lines of the log, or none while they have fewer than two transactions."""
    entries = [json.loads(line) for line in printed.splitlines()]
    transactions = [entry for entry in entries if entry["message"] == "transaction"]
    return entries if len(transactions) == 2 else []


def test_json_logs_have_the_same_as_fields() -> None:
    with terminal("--no-l1", "--json-logs", "-vvvv") as node:
        address = node.deploy(logging_code(HELLO))
        node.client("eth_call", {"to": address}, "latest")
        node.send(to=address)
        # Each is printed once it is traced.
        entries = eventually(lambda: both_transactions(node.printed()))
    (called,) = [entry["fields"] for entry in entries if entry["message"] == "console.log"]
    assert called == {"method": "eth_call", "lines": ["hello 42"]}
    fields = [entry["fields"] for entry in entries if entry["message"] == "transaction"][-1]
    assert fields["console"] == ["hello 42"]
    assert fields["trace"][1:] == [
        "  ├─ [0] console::log('hello 42') [staticcall]",
        "  │   └─ ← [Stop]",
        "  └─ ← [Stop]",
    ]
    assert isinstance(fields["blockTime"], int)


@pytest.mark.peer
def test_anvil_prints_the_same(tmp_path: Path) -> None:
    path = tmp_path / "anvil.log"
    with running_anvil(output=path) as anvil:
        for printed in PRINTED:
            anvil(
                "eth_call",
                {"to": "0x" + CONSOLE.hex(), "data": "0x" + printed.data.hex()},
                "latest",
            )
        lines = path.read_text().splitlines()
    lines = lines[next(n for n, line in enumerate(lines) if "Listening on" in line) + 1 :]
    expected = "\n".join(block.text for block in PRINTED).splitlines()
    assert [line for line in lines if line and line != "eth_call"] == [
        line for line in expected if line
    ]
