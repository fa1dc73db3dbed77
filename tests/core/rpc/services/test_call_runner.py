"""Calls that take too long for the event loop, whatever their gas says."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from entresol.offload import POLICY
from tests.support.chain.api_client import ApiClient
from tests.support.chain.dev_chain import ALICE

BLAKE2F = "0x" + "9".rjust(40, "0")
CODE = "0x" + "c1" * 20
ROUNDS = 200_000


def blake2f(rounds: int) -> str:
    """Return the input of 0x09 for so many rounds, each of which costs one gas."""
    return "0x" + (rounds.to_bytes(4) + bytes(64 + 128 + 16) + b"\1").hex()


def forwarded(rounds: int) -> str:
    """Return init code that passes the input on to 0x09, and creates nothing."""
    data = bytes.fromhex(blake2f(rounds)[2:])
    # It copies the input behind it to memory.
    code = f"60{len(data):02x} 6013 5f 39 5f 5f 60{len(data):02x} 5f 6009 5a fa 50 00 00"
    return "0x" + bytes.fromhex(code).ljust(0x13, b"\0").hex() + data.hex()


CALLS: dict[str, Callable[[object], list[object]]] = {
    "eth_call": lambda call: [call, "latest"],
    "eth_estimateGas": lambda call: [call],
    "eth_createAccessList": lambda call: [call, "latest"],
    "eth_simulateV1": lambda call: [{"blockStateCalls": [{"calls": [call]}]}, "latest"],
    "eth_fillTransaction": lambda call: [call],
    "eth_callMany": lambda call: [[{"transactions": [call]}], {"blockNumber": "latest"}],
    "debug_traceCall": lambda call: [call, "latest", {"tracer": "callTracer"}],
}


@pytest.mark.parametrize("method", CALLS)
@pytest.mark.parametrize(
    "to", [BLAKE2F, CODE, None], ids=["itself", "by a contract", "by init code"]
)
def test_a_precompile_that_takes_long_leaves_the_event_loop(
    client: ApiClient, method: str, to: str | None
) -> None:
    # It passes its call data on.
    client("anvil_setCode", CODE, "0x365f5f375f5f365f60095afa5000")
    data = forwarded if to is None else blake2f
    threads = client.api.services.threads
    for rounds, offloads in (
        (1_000, method in {"eth_callMany", "debug_traceCall"}),
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
