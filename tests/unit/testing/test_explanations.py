"""Stack traces in tests of contracts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import entresol
from entresol import Devnet
from entresol.errors import MethodFailed
from entresol.testing.explanations import stack_trace_of, stack_trace_of_failure
from tests.support.contracts.stack_trace_cases import FOLDER, FailingContracts, cases_of

OUTPUT = str(FOLDER / "plain-output.json")
LINES = [
    "execution reverted: second",
    "  at Failures.callsInternal (contracts/Failures.sol:125)",
    "  at Failures._first (contracts/Failures.sol:130)",
    "  at Failures._second (contracts/Failures.sol:134)",
]


@pytest.fixture(scope="module")
def net() -> Iterator[Devnet]:
    with entresol.devnet(sources=[OUTPUT]) as running:
        yield running


@pytest.fixture(scope="module")
def failing(net: Devnet) -> dict[str, str]:
    contracts = FailingContracts(net.l2.request)
    return contracts.transaction(next(it for it in cases_of("plain") if it.name == CASE))


CASE = "internal functions"


def test_calls_and_transactions_have_stack_traces(net: Devnet, failing: dict[str, str]) -> None:
    assert stack_trace_of(net.l2, failing) == LINES
    assert stack_trace_of(net.l2, failing, "latest") == LINES
    sent = net.l2.request("eth_sendTransaction", failing)
    assert stack_trace_of(net.l2, sent) == LINES


def test_a_failure_that_the_devnet_has_recorded_has_a_stack_trace(
    net: Devnet, failing: dict[str, str]
) -> None:
    with pytest.raises(MethodFailed):
        net.l2.request("eth_call", failing, "latest")
    assert stack_trace_of_failure(net, net.failures.requests()[0]) == LINES
    before = net.failures.total
    net.l2.request("eth_sendTransaction", {**failing, "gas": "0xf4240"})
    (failed,) = net.failures.transactions_since(before)
    assert stack_trace_of_failure(net, failed) == LINES
    assert stack_trace_of_failure(net, failed._replace(position=-1)) == []
    with pytest.raises(MethodFailed):
        net.l2.request("eth_unknown")
    assert stack_trace_of_failure(net, net.failures.requests()[0]) == []
