"""The reports of tests that fail: short, decoded, and complete if that is asked for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest
from web3 import Web3

from entresol.primitives.abi import encode_call
from tests.support.clients.tools import PytestRuns
from tests.support.evm.console import console_call, logging_code

PRINTS: Final = Web3.to_hex(logging_code(console_call("log(string)", "before")))
FAILS: Final = Web3.to_hex(
    logging_code(console_call("log(string)", "while it fails"), then="0 0 revert")
)
REASON: Final = encode_call("Error(string)", "\x1b[2J\x07hi")
REVERTS: Final = f"0x60{len(REASON):02x}600c60003960{len(REASON):02x}6000fd{REASON.hex()}"
"""Reverts with a reason that clears a terminal."""

CONFTEST: Final = """
import pytest

from entresol.contracts import artifact

@pytest.fixture
def token(l2):
    compiled = artifact("TestERC20")
    contract = l2.eth.contract(abi=compiled.abi, bytecode=str(compiled.bytecode))
    sent = contract.constructor("Token", "TOK", 18).transact()
    return l2.eth.contract(l2.eth.get_transaction_receipt(sent)["contractAddress"], abi=compiled.abi)
"""
TESTS: Final = f"""
import asyncio

import pytest
from web3.exceptions import ContractLogicError

from entresol.testing import reverted

BOB = "0x" + "22" * 20

def test_reverts(token):
    token.functions.transfer(BOB, 101).transact()

def test_prints(l2):
    l2.eth.call({{"data": "{PRINTS}"}})
    l2.eth.call({{"data": "{FAILS}"}})

def test_controls(l2):
    l2.eth.call({{"data": "{REVERTS}"}})

def test_controls_of_a_method(isolated_devnet):
    isolated_devnet.l2.request("eth_call", {{"data": "{REVERTS}"}})

def test_controls_of_an_assertion(l2):
    with reverted(l2, "Other"):
        l2.eth.call({{"data": "{REVERTS}"}})

def test_asynchronous(async_l2):
    async def call():
        await async_l2.eth.call({{"data": "{FAILS}"}})

    asyncio.run(call())

def test_fails_in_its_block(l2, token):
    sent = token.functions.transfer(BOB, 5).transact({{"gas": 100_000}})
    assert l2.eth.get_transaction_receipt(sent)["status"] == 1

def test_another_error(token):
    with reverted(token, "InsufficientAllowance"):
        token.functions.transfer(BOB, 101).transact()

@pytest.fixture(scope="session")
def broken(devnet):
    devnet.l2.w3.eth.call({{"data": "0x63010203045f526004601cfd"}})

@pytest.mark.parametrize("time", [1, 2])
def test_a_fixture_fails(broken, time):
    pass

def test_a_method_fails(isolated_devnet):
    isolated_devnet.l2.request("eth_call", {{"data": "{FAILS}"}})

class Proxy:
    @property
    def __class__(self):
        raise RuntimeError("there is nothing behind the proxy")

def test_wrapped(l2):
    proxy = Proxy()
    try:
        l2.eth.call({{"data": "{FAILS}"}})
    except Exception as error:
        raise RuntimeError("the call failed") from error

class Unreadable(ContractLogicError):
    @property
    def data(self):
        raise RuntimeError("there is\\x1b[2J no data")

    @data.setter
    def data(self, value):
        pass

def test_unreadable(l2):
    raise Unreadable("the reason")

def test_of_others():
    try:
        raise ValueError(5)
    except ValueError:
        assert 1 == 2
"""


class Reports:
    """What a run has printed, by the names of its tests."""

    def __init__(self, output: str) -> None:
        self.output = output
        parts = re.split(
            r"^_+ (?:ERROR at setup of )?(test_\w+)(?:\[\d\])? _+$", output, flags=re.MULTILINE
        )
        self._parts = dict(zip(parts[1::2], parts[2::2], strict=True))

    def of(self, name: str) -> list[str]:
        """Return the lines of the report of a test, without empty ones."""
        text = self._parts[f"test_{name}"].partition("\nframes of ")[0].partition("\n====")[0]
        return [line for line in text.splitlines() if line.strip()]

    def problem_of(self, name: str) -> list[str]:
        return [it.removeprefix("E").strip() for it in self.of(name) if it.startswith("E ")]


def reports(folder: Path, *arguments: str) -> Reports:
    runs = PytestRuns(folder)
    runs.write(conftest=CONFTEST, test_failing=TESTS)
    return Reports(runs.run("-q", *arguments).stdout)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Reports:
    return reports(tmp_path_factory.mktemp("short"))


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Reports:
    return reports(
        tmp_path_factory.mktemp("full"), "--entresol-full-traceback", "-k", "reverts or another"
    )


def test_an_unexpected_revert_takes_ten_lines_and_is_decoded(ran: Reports) -> None:
    lines = ran.of("reverts")
    assert len(lines) <= 10, lines
    (problem,) = ran.problem_of("reverts")
    error, _, reason = problem.partition(": ")
    assert error == "web3.exceptions.ContractCustomError"
    assert re.fullmatch(r"InsufficientBalance\(owner: 0x\w{40}, balance: 0, needed: 101\)", reason)


def test_what_the_failing_call_printed_follows_the_reason(ran: Reports) -> None:
    assert ran.problem_of("prints") == [
        "web3.exceptions.ContractLogicError: execution reverted without a reason",
        *("console.log:", "while it fails"),
    ]


@pytest.mark.parametrize("name", ["", "_of_a_method", "_of_an_assertion"])
def test_a_reason_does_not_control_the_terminal(ran: Reports, name: str) -> None:
    assert "\\x1b[2J\\x07hi" in ran.problem_of(f"controls{name}")[0]
    assert "\x1b" not in ran.output


def test_a_transaction_that_has_failed_in_its_block_is_explained(ran: Reports) -> None:
    lines = "\n".join(ran.of("fails_in_its_block"))
    assert "Captured failed transactions call" in lines
    assert re.search(r"\[L2 block 2, transaction 0\] InsufficientBalance\(owner: 0x", lines)


def test_an_error_in_a_fixture_is_explained_once(ran: Reports) -> None:
    assert ran.problem_of("a_fixture_fails") == [
        "web3.exceptions.ContractCustomError: custom error 0x01020304",
        "no contract of the test has this error; the setting abi names files with others",
    ]


def test_a_request_of_the_devnet_is_explained(ran: Reports) -> None:
    problem, *printed = ran.problem_of("a_method_fails")
    assert problem.endswith("MethodFailed: eth_call: execution reverted (3)")
    assert printed == ["console.log:", "while it fails"]
    assert len(ran.of("a_method_fails")) <= 10


def test_a_failure_that_is_the_cause_of_another_is_explained(ran: Reports) -> None:
    assert ran.problem_of("wrapped") == [
        "web3.exceptions.ContractLogicError: execution reverted without a reason",
        *("console.log:", "while it fails"),
        "RuntimeError: the call failed",
    ]


def test_a_failure_that_cannot_be_read_is_reported_all_the_same(ran: Reports) -> None:
    lines = "\n".join(ran.of("unreadable"))
    assert "the reason" in lines
    assert "the report could not be made: RuntimeError: there is\\x1b[2J no data" in lines


def test_the_run_says_how_to_see_all_frames(ran: Reports, full: Reports) -> None:
    assert ran.output.count("--entresol-full-traceback shows them") == 1
    assert "--entresol-full-traceback shows them" not in full.output
