"""Simulations beside those of a real anvil.

Anvil 1.7.1 gives blocks that do not follow its own: other numbers, times, parents and roots, and neither checks
their order nor names a revert. What it does right is compared: how each call ends, what it gives back, uses and logs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from entresol.chain.chain import Chain
from entresol.chain.genesis.genesis import Genesis
from entresol.chain.rules import ChainRules
from entresol.node.api.api import Api
from entresol.primitives.values import Address
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.anvil import Anvil, fresh_anvil
from tests.support.evm.programs import call_to, create, program, store, work
from tests.support.rpc_client import DispatcherClient

pytestmark = pytest.mark.peer

SENDER = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
FIRST, SECOND, THIRD = ("0x" + f"{number:02x}" * 20 for number in (0xC0, 0xC1, 0xC2))
COUNT = "5f54600101805f555f5260205ff3"
ECHO_REVERT = "365f5f37365ffd"
FORWARD = f"5f5fa05f5f5f5f3473{THIRD[2:]}5af15060075f5fa1"
COMPARED = ("status", "returnData", "gasUsed")


@pytest.fixture(scope="module")
def peer() -> Iterator[Anvil]:
    with fresh_anvil() as anvil:
        yield anvil


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    genesis = Genesis.development(31337, [Address.parse(SENDER)], 10_000 * 10**18)
    chain = Chain.open(None, ChainRules.layer_1(), genesis)
    api = Api(chain, InlineSequencer(chain), wake=lambda: None)
    yield api
    api.close()
    chain.close()


def ours(api: Api, payload: dict[str, Any]) -> Any:
    return DispatcherClient(api.dispatcher)("eth_simulateV1", payload)


def comparable(call: dict[str, Any]) -> dict[str, Any]:
    """Return what is compared of a call."""
    compared = {key: call[key] for key in COMPARED}
    if call["status"] == "0x0":
        # Anvil returns the data of a revert; the specification puts it into the error.
        compared["returnData"] = call.get("error", {}).get("data", call["returnData"])
    logs = [(log["address"], log["topics"], log["data"], log["logIndex"]) for log in call["logs"]]
    return {**compared, "logs": logs}


def code(address: str, program: str) -> dict[str, Any]:
    return {address: {"code": "0x" + bytes.fromhex(program).hex()}}


def to(address: str, **fields: str) -> dict[str, Any]:
    return {"from": SENDER, "to": address, **fields}


CASES: dict[str, list[dict[str, Any]]] = {
    "a transfer": [{"calls": [to(FIRST, value="0x5")]}],
    "state that goes on in the next block": [
        {"stateOverrides": code(FIRST, COUNT), "calls": [to(FIRST), to(FIRST)]},
        {"calls": [to(FIRST)]},
    ],
    "a revert between successes": [
        {
            "stateOverrides": {**code(FIRST, COUNT), **code(SECOND, ECHO_REVERT)},
            "calls": [to(FIRST), to(SECOND, data="0x1234"), to(FIRST)],
        }
    ],
    "a halt": [{"stateOverrides": code(FIRST, "fe"), "calls": [to(FIRST, gas="0x186a0")]}],
    "logs and transfers": [
        {"stateOverrides": code(FIRST, FORWARD), "calls": [to(FIRST, value="0x9")] * 2}
    ],
    "an override of storage": [
        {
            "stateOverrides": {
                FIRST: {**code(FIRST, COUNT)[FIRST], "stateDiff": {"0x" + "00" * 32: "0x" + "07" * 32}}
            },
            "calls": [to(FIRST)],
        }
    ],
    "work, storage and creation": [
        {
            "stateOverrides": code(
                FIRST,
                program([work(100), store(1, 1), create(30), call_to(Address.parse(SECOND))]),
            ),
            "calls": [to(FIRST), to(FIRST)],
        }
    ],
    "a sender with an overridden balance": [
        {
            "stateOverrides": {SECOND: {"balance": "0x64"}},
            "calls": [{"from": SECOND, "to": THIRD, "value": "0x64"}, to(THIRD)],
        }
    ],
}  # fmt: skip


@pytest.mark.parametrize("transfers", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_calls_end_alike(peer: Anvil, api: Api, name: str, transfers: bool) -> None:
    payload = {"blockStateCalls": CASES[name], "traceTransfers": transfers}
    theirs = peer("eth_simulateV1", payload, "latest")
    mine = ours(api, payload)
    assert len(mine) == len(theirs)
    for block, other in zip(mine, theirs, strict=True):
        assert list(map(comparable, block["calls"])) == list(map(comparable, other["calls"]))
        assert block["gasUsed"] == other["gasUsed"]
