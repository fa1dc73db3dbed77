"""Calls that take too long for the event loop, whatever their gas says."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from entresol.offload import POLICY
from entresol.primitives.values import Address
from tests.support.chain.api_client import ApiClient
from tests.support.chain.dev_chain import ALICE
from tests.support.chain.steering import set_code
from tests.support.evm.long_programs import BLAKE2F, PASSES_ON, blake2f, forwarded

CODE = "0x" + "c1" * 20
ROUNDS = 200_000


CALLS: dict[str, Callable[[object], list[object]]] = {
    "eth_call": lambda call: [call, "latest"],
    "eth_estimateGas": lambda call: [call],
    "eth_createAccessList": lambda call: [call, "latest"],
    "eth_simulateV1": lambda call: [{"blockStateCalls": [{"calls": [call]}]}, "latest"],
    "eth_fillTransaction": lambda call: [call],
    "eth_callMany": lambda call: [[{"transactions": [call]}], {"blockNumber": "latest"}],
}


@pytest.mark.parametrize("method", CALLS)
@pytest.mark.parametrize(
    "to", [BLAKE2F, CODE, None], ids=["itself", "by a contract", "by init code"]
)
def test_a_precompile_that_takes_long_leaves_the_event_loop(
    client: ApiClient, method: str, to: str | None
) -> None:
    set_code(client.chain, Address.parse(CODE), PASSES_ON)
    data = forwarded if to is None else blake2f
    threads = client.api.services.threads
    for rounds, offloads in (
        (1_000, method == "eth_callMany"),
        (ROUNDS, True),
    ):
        call = {"from": str(ALICE), "data": data(rounds)} | ({} if to is None else {"to": to})
        before = threads.started
        assert client(method, *CALLS[method](call))
        assert (threads.started > before) == offloads


def test_a_call_on_a_thread_has_the_result_that_it_would_have_on_the_event_loop(
    client: ApiClient,
) -> None:
    rounds = POLICY.call_gas // 5 - 1
    short = client("eth_call", {"to": BLAKE2F, "data": blake2f(rounds)}, "latest")
    assert client.api.services.threads.started == 0
    before = client("eth_call", {"to": BLAKE2F, "data": blake2f(rounds + 1)}, "latest")
    again = client("eth_call", {"to": BLAKE2F, "data": blake2f(rounds + 2)}, "latest")
    assert client.api.services.threads.started == 1
    assert len({short, before, again}) == 3
    assert {len(response) for response in (short, before, again)} == {130}


def test_long_code_of_an_override_leaves_the_event_loop(client: ApiClient) -> None:
    threads = client.api.services.threads
    # The parameters of the second are decoded on a thread, too.
    for size, started in ((1_000, 0), (POLICY.data_bytes, 2)):
        override = {CODE: {"code": "0x" + "5b" * size}}
        assert client("eth_call", {"to": CODE}, "latest", override) == "0x"
        assert threads.started == started
