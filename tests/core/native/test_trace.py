"""Tracers and their options."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from entresol import errors
from entresol._native import Account, Snapshot, Tracer, execute, keccak256, reject
from tests.support.evm.in_memory_state import (
    ALICE,
    BLOCK,
    BOB,
    CONTRACT,
    RULES,
    InMemoryState,
    to_contract,
)
from tests.support.hex_data import hexed, word

# Calls Bob's contract with the selector 0x11223344 and 3 wei.
CALL_BOB = "6311223344 5f 52 5f 5f 6004 601c 6003 73" + BOB.hex() + "61ffff f1"
STORE = "6007 6001 55"
LOG = "6009 5f 52 6002 6020 5f a1"
RETURN = "6020 5f f3"


def trace(code: str, options: dict[str, Any], **position: Any) -> Any:
    world = InMemoryState.with_contract(code)
    world.deploy(BOB, STORE + LOG + RETURN)
    world.accounts[CONTRACT] = Account(1, 100, world.accounts[CONTRACT].code_hash)
    tracer = Tracer(json.dumps(options).encode(), **position)
    result = execute(Snapshot(world), RULES, BLOCK, to_contract(), tracer=tracer)
    assert result.trace is not None
    return json.loads(result.trace)


def test_struct_logs_name_what_failed() -> None:
    *_, last = trace("5f 5f 01 01", {})["structLogs"]
    assert (last["op"], last["error"]) == ("ADD", "stack underflow")
    *_, last = trace("0c", {})["structLogs"]
    assert (last["op"], last["error"]) == ("opcode 0xc not defined", "invalid opcode")


def test_struct_logs_count_the_refund_of_all_frames() -> None:
    clear = "5f 6001 55"
    steps = trace(STORE + clear + CALL_BOB, {})["structLogs"]
    assert {step.get("refund") for step in steps if step["depth"] == 2} == {19_900}


def test_the_preimage_tracer_lists_what_was_hashed() -> None:
    traced = trace("6005 5f 52 6020 5f 20", {"tracer": "keccak256PreimageTracer"})
    assert traced == {hexed(keccak256(word(5))): hexed(word(5))}


def test_a_transaction_that_cannot_start_has_one_failed_frame() -> None:
    state = Snapshot(InMemoryState.with_contract(""))
    tracer = Tracer(b'{"tracer": "callTracer"}')
    refused = reject(state, RULES, BLOCK, to_contract(), gas_used=7, tracer=tracer)
    assert refused.status == "halt"
    assert refused.trace is not None
    frame = json.loads(refused.trace)
    assert (frame["to"], frame["gasUsed"], frame["error"]) == (
        hexed(CONTRACT), "0x7", "out of gas",
    )  # fmt: skip


def test_the_flat_tracer_reports_the_position_of_the_transaction() -> None:
    position = {"transaction_hash": word(5), "transaction_index": 3, "block_hash": word(6)}
    top, inner = trace(CALL_BOB, {"tracer": "flatCallTracer"}, **position)
    assert (top["subtraces"], top["traceAddress"]) == (1, [])
    assert inner["traceAddress"] == [0]
    assert (top["transactionHash"], top["transactionPosition"]) == (hexed(word(5)), 3)
    assert (top["blockHash"], top["blockNumber"]) == (hexed(word(6)), 10)


@pytest.mark.parametrize(
    ("code", "converted", "plain"),
    [
        ("5f 5f fd", "Reverted", "execution reverted"),
        ("fe", "Bad instruction", "invalid opcode: INVALID"),
        ("5f 56", "Bad jump destination", "invalid jump destination"),
    ],
)
def test_the_flat_tracer_names_errors_as_geth_unless_it_converts_them(
    code: str, converted: str, plain: str
) -> None:
    for converts, expected in ((None, plain), (False, plain), (True, converted)):
        config = {} if converts is None else {"convertParityErrors": converts}
        (frame,) = trace(code, {"tracer": "flatCallTracer", "tracerConfig": config})
        assert frame["error"] == expected


def test_the_transfer_tracer_lists_value_moved() -> None:
    world = InMemoryState.with_contract(CALL_BOB)
    tracer = Tracer(b'{"ownTracer": "transferTracer"}')
    result = execute(Snapshot(world), RULES, BLOCK, to_contract(value=5), tracer=tracer)
    assert result.trace is not None
    assert json.loads(result.trace) == [
        {"type": "call", "from": hexed(ALICE), "to": hexed(CONTRACT), "value": "0x5"},
        {"type": "call", "from": hexed(CONTRACT), "to": hexed(BOB), "value": "0x3"},
    ]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (b'{"tracer": "magicTracer"}', "tracer not found: magicTracer; there are 4byteTracer, "),
        (b'{"tracer": "replayTracer", "tracerConfig": []}', "tracer not found: replayTracer; "),
        (
            b'{"tracer": "muxTracer", "tracerConfig": {"otterscanTracer": null}}',
            "tracer not found: otterscanTracer; ",
        ),
        (b'{"tracer": 7}', "invalid type: integer `7`"),
        (b'{"tracer": "callTracer", "tracerConfig": 7}', "tracerConfig: invalid type: integer `7`"),
        (b'{"tracer": "muxTracer", "tracerConfig": {"magic": {}}}', "tracer not found: magic; "),
        (b"[]", "invalid length 0"),
        (b"not json", "expected ident"),
    ],
)
def test_unknown_tracers_and_options_are_rejected(options: bytes, reason: str) -> None:
    with pytest.raises(errors.UnknownTracer, match=reason):
        Tracer(options)


PROGRAMS = {
    "a deep stack": "5f" * 900 + "5b 5f 50 610384 56",
    "storage that grows": "5f 5b 6001 01 80 80 55 6001 56",
    "large memory": "6001 620fffff 52 5b 5f 50 6007 56",
    "calls with large data": "6001 620fffff 52 5b 5f 5f 620fffff 5f 5f 6004 5a f1 50 6007 56",
}
FILL = """
import resource, sys
from entresol import errors
from entresol._native import Limits, Snapshot, Tracer, call
from tests.support.evm.in_memory_state import BLOCK, RULES, InMemoryState, to_contract
limit, code, options = int(sys.argv[1]), sys.argv[2], sys.argv[3].encode()
state = Snapshot(InMemoryState.with_contract(code))
def fits(gas):
    try:
        limits = Limits(trace_bytes=limit)
        call(state, RULES, BLOCK, to_contract(gas_limit=gas), limits=limits, tracer=Tracer(options))
    except errors.TraceTooLarge:
        return False
    return True
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
gas = 30_000
while fits(gas):
    gas = gas * 5 // 4
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


STRUCT_LOGS, WITH_MEMORY, CALLS = "{}", '{"enableMemory": true}', '{"tracer": "callTracer"}'


@pytest.mark.parametrize(
    ("program", "options"),
    [
        ("a deep stack", STRUCT_LOGS),
        ("storage that grows", STRUCT_LOGS),
        ("large memory", WITH_MEMORY),
        ("calls with large data", WITH_MEMORY),
        ("calls with large data", CALLS),
    ],
)
def test_a_trace_stays_within_its_memory_limit(program: str, options: str) -> None:
    limit = 100_000_000
    arguments = [sys.executable, "-c", FILL, str(limit), PROGRAMS[program], options]
    used = int(subprocess.run(arguments, capture_output=True, check=True, text=True).stdout)
    assert used < limit
