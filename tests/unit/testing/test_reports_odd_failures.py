"""Reports of exceptions and contracts that raise when they are read: the failure is reported all the same."""

from __future__ import annotations

from typing import Final

import pytest

from tests.support.clients.pytest_runs import PytestRuns

CONFTEST: Final = """
import pytest

@pytest.fixture
def devnet_of_test():
    return None

def pytest_exception_interact(call, report):
    error = call.excinfo.value
    if isinstance(error, AssertionError):
        found = (error.__cause__, error.__suppress_context__, len(call.excinfo.traceback))
        report.sections.append(("Restored", repr(found)))
"""
TESTS: Final = """
from dataclasses import dataclass

import pytest
from web3 import Web3
from web3.contract import Contract
from web3.exceptions import ContractLogicError, Web3RPCError

pytestmark = pytest.mark.usefixtures("devnet_of_test")

@dataclass(frozen=True)
class Failed(Exception):
    code: int

class Unreadable(ContractLogicError):
    @property
    def data(self):
        raise RuntimeError("there is\\x1b[2J no data")

    @data.setter
    def data(self, value):
        pass

class Failing(Unreadable):
    @property
    def data(self):
        pytest.fail("nobody reads this")

    @data.setter
    def data(self, value):
        pass

class Namespace(dict):
    def values(self):
        raise RuntimeError("no values")

class Name:
    def __str__(self):
        raise RuntimeError("no name")

class Meta(type):
    @classmethod
    def __prepare__(cls, name, bases):
        return Namespace()

def test_frozen():
    raise Failed(17)

def test_frozen_cause():
    try:
        raise Failed(17)
    except Failed as error:
        raise RuntimeError("the last") from error

@pytest.mark.parametrize("response", [[1], "text", {"error": 7}, {"error": {"data": 7}}])
def test_response(response):
    raise Web3RPCError("the response", rpc_response=response)

@pytest.mark.parametrize("kind", [Unreadable, Failing])
def test_unreadable(kind):
    raise kind("the reason")

def test_notes():
    error = ContractLogicError("the reason", data="0x01020304")
    error.__notes__ = None
    raise error

@pytest.mark.parametrize("abi", [[5, None], {"a": 1}, 7, property(lambda self: 1 / 0)])
def test_abi(abi):
    kind = type("Odd", (Contract,), {"abi": abi})
    contract = kind.__new__(kind)
    raise RuntimeError("the abi")

def test_namespace():
    class Odd(metaclass=Meta):
        raise RuntimeError("the namespace")

def test_module():
    exec("raise RuntimeError('the module')", {"__name__": Name()})

def test_cause():
    exec(
        "try:\\n    1 / 0\\nexcept Exception as it:\\n    raise AssertionError('the plugin') from it",
        {"__name__": "entresol.testing.odd"},
    )

def test_passes():
    pass
"""
FAILED: Final = 16


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return what runs have printed, whose exit code is that of failed tests."""
    runs = PytestRuns(tmp_path_factory.mktemp("odd"))
    runs.write(conftest=CONFTEST, test_odd=TESTS)
    found = {}
    for name, arguments in {"one process": (), "workers": ("-n", "2")}.items():
        ran = runs.run("-q", "--color=no", *arguments)
        assert ran.returncode == pytest.ExitCode.TESTS_FAILED, ran.stdout
        found[name] = ran.stdout
    return found


@pytest.mark.parametrize("how", ["one process", "workers"])
def test_no_failure_is_hidden(outputs: dict[str, str], how: str) -> None:
    assert f"{FAILED} failed, 1 passed" in outputs[how]
    assert "INTERNALERROR" not in outputs[how]


@pytest.mark.parametrize("how", ["one process", "workers"])
def test_what_cannot_be_read_has_a_section(outputs: dict[str, str], how: str) -> None:
    problem = "the report could not be made: "
    assert outputs[how].count(problem) == 2
    assert f"{problem}RuntimeError: there is\\x1b[2J no data" in outputs[how]
    assert f"{problem}Failed: nobody reads this" in outputs[how]


def test_notes_of_another_kind_are_replaced(outputs: dict[str, str]) -> None:
    assert "no contract of the test has this error" in outputs["one process"]


def test_the_cause_of_an_assertion_is_restored(outputs: dict[str, str]) -> None:
    assert "(ZeroDivisionError('division by zero'), True, " in outputs["one process"]
