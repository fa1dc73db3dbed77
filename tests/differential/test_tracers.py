"""The engine's traces equal anvil's, except for the differences listed here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from entresol._native import Account
from tests.support.differential.comparison import Peers, peers
from tests.support.differential.generator import blocks
from tests.support.differential.kinds.calls import every_failure
from tests.support.differential.kinds.storage import vain_destructions
from tests.support.differential.traces import Options, Trace, Traced, intrinsic_gas, traced
from tests.support.differential.world import BOMBS
from tests.support.hex_data import unhex

pytestmark = pytest.mark.peer

SEED = 8
ROUNDS = 2
BLOCK_SIZE = 45
SAMPLE = 60

CALL: Options = {"tracer": "callTracer"}
TOP_CALL: Options = {"tracer": "callTracer", "tracerConfig": {"onlyTopCall": True}}
PRESTATE: Options = {"tracer": "prestateTracer"}
DIFF: Options = {"tracer": "prestateTracer", "tracerConfig": {"diffMode": True}}
OPTIONS: tuple[Options, ...] = (
    {},
    {"enableMemory": True},
    {"disableStack": True},
    {"disableStorage": True},
    {"enableReturnData": True},
    {"limit": 7},
    CALL,
    {"tracer": "callTracer", "tracerConfig": {"withLog": True}},
    TOP_CALL,
    PRESTATE,
    DIFF,
    {"tracer": "4byteTracer"},
    {"tracer": "flatCallTracer"},
    {"tracer": "noopTracer"},
)
# Within one of them the call tracer and the flat one share a recording, which has no calls of
# precompiles as soon as the flat one takes part.
MUXES: tuple[dict[str, Any], ...] = (
    {
        "callTracer": {"withLog": True},
        "prestateTracer": {"diffMode": True},
        "4byteTracer": None,
        "noopTracer": None,
    },
    {"flatCallTracer": {}, "prestateTracer": {}},
)
PRECOMPILES = {number.to_bytes(20, "big") for number in (*range(1, 0x12), 0x100)}


class Difference(NamedTuple):
    """A difference of anvil: in which traces, why, and how to compare without it."""

    tracers: set[str]
    reason: str
    adapt: Callable[[Trace, Traced, Options], Trace]


@pytest.fixture(scope="module")
def sample() -> Iterator[Peers]:
    with peers("osaka", SEED, "--steps-tracing") as both:
        for transactions in blocks(both.world, ROUNDS, BLOCK_SIZE):
            both.mine(transactions)
        drafts = [*every_failure(), *vain_destructions()]
        both.mine([both.world.sign("extra", draft) for draft in drafts])
        yield both


def test_traces_of_both_sides_are_equal_but_for_the_named_differences(sample: Peers) -> None:
    met: Counter[str] = Counter()
    kinds = set()
    for each in traced(sample):
        kinds.add(each.signed.kind)
        for options in OPTIONS:
            theirs = adapt(each.theirs(options), each, options, met)
            assert each.ours(options) == theirs, (each.signed.kind, options)
    assert len(kinds) >= SAMPLE
    assert [name for name in DIFFERENCES if not met[name]] == []


@pytest.mark.parametrize("config", MUXES)
def test_a_mux_tracer_has_the_results_of_its_tracers(sample: Peers, config: dict[str, Any]) -> None:
    """Anvil returns {} for this tracer; its parts are compared above."""
    options = {"tracer": "muxTracer", "tracerConfig": config}
    for each in traced(sample):
        parts = {
            name: each.ours({"tracer": name, "tracerConfig": part or {}})
            for name, part in config.items()
        }
        assert each.ours(options) == parts
    assert each.theirs(options) == {}


def adapt(trace: Trace, each: Traced, options: Options, met: Counter[str]) -> Trace:
    for name, difference in DIFFERENCES.items():
        if options.get("tracer", "") in difference.tracers:
            adapted = difference.adapt(trace, each, options)
            met[name] += adapted != trace
            trace = adapted
    return trace


def without_earlier_gas(trace: Trace, each: Traced, options: Options) -> Trace:
    if "tracer" not in options:
        return trace | {"gas": trace["gas"] - each.gas_before}
    return trace | {"gasUsed": hex(int(trace["gasUsed"], 16) - each.gas_before)}


def with_intrinsic_gas(trace: Trace, each: Traced, options: Options) -> Trace:
    if options["tracer"] == "flatCallTracer":
        first = trace[0] | {"action": with_intrinsic_gas(trace[0]["action"], each, CALL)}
        return [first, *trace[1:]]
    return trace | {"gas": hex(int(trace["gas"], 16) + intrinsic_gas(each.signed))}


def up_to_limit(trace: Trace, _: Traced, options: Options) -> Trace:
    return trace | {"structLogs": trace["structLogs"][: options.get("limit")]}


def with_vain_destruction(trace: Trace, each: Traced, options: Options) -> Trace:
    draft = each.signed.draft
    if draft.to not in BOMBS or draft.data != bytes(12) + draft.to:
        return trace
    contract = "0x" + draft.to.hex()
    account = each.state.account(draft.to) or Account()
    value = hex(account.balance + draft.value)
    if options["tracer"] == "flatCallTracer":
        action = {"address": contract, "balance": value, "refundAddress": contract}
        return [trace[0], trace[1] | {"action": action}]
    (call,) = trace["calls"]
    return trace | {"calls": [call | {"from": contract, "to": contract, "value": value}]}


def without_destruction(trace: Trace, _: Traced, options: Options) -> Trace:
    if options != TOP_CALL or [call["type"] for call in trace.get("calls", ())] != ["SELFDESTRUCT"]:
        return trace
    return {name: value for name, value in trace.items() if name != "calls"}


def without_absent_accounts(trace: Trace, each: Traced, options: Options) -> Trace:
    if options != PRESTATE:
        return trace
    return {
        address: account
        for address, account in trace.items()
        if account.get("balance") != "0x0" or each.state.account(unhex(address)) is not None
    }


def without_precompile_selectors(trace: Trace, each: Traced, _: Options) -> Trace:
    counts: Counter[str] = Counter(trace)
    for call in calls_of(each.ours(CALL)):
        data = unhex(call["input"])
        if unhex(call.get("to", "0x")) in PRECOMPILES and len(data) >= 4:
            counts[f"0x{data[:4].hex()}-{len(data) - 4}"] -= 1
    return dict(+counts)


def calls_of(call: Trace) -> Iterator[Trace]:
    yield call
    for inner in call.get("calls", ()):
        yield from calls_of(inner)


def without_precompile_calls(trace: Trace, *_: object) -> Trace:
    left = [entry for entry in trace if not is_precompile_call(entry)]
    removed = [entry["traceAddress"] for entry in trace if is_precompile_call(entry)]
    # The forwarder makes one call, so that no sibling has to be numbered anew.
    parents = [address[:-1] for address in removed]
    return [
        entry | {"subtraces": entry["subtraces"] - parents.count(entry["traceAddress"])}
        for entry in left
    ]


def is_precompile_call(entry: Trace) -> bool:
    action = entry["action"]
    is_precompile = unhex(action.get("to", "0x")) in PRECOMPILES
    return is_precompile and int(action["value"], 16) == 0 and entry["traceAddress"] != []


def with_output_of_reverted_creations(trace: Trace, *_: object) -> Trace:
    return [with_output(entry) if entry["type"] == "create" else entry for entry in trace]


def with_output(entry: Trace) -> Trace:
    if entry.get("error") != "Reverted":
        return entry
    result = entry["result"]
    return entry | {"result": {"gasUsed": result["gasUsed"], "output": result["code"]}}


def with_named_errors(names: dict[str, str]) -> Callable[[Trace, Traced, Options], Trace]:
    def rename(trace: Trace, *_: object) -> Trace:
        if isinstance(trace, list):
            return [rename(item) for item in trace]
        if not isinstance(trace, dict):
            return trace
        renamed = {name: rename(value) for name, value in trace.items()}
        if "error" in trace:
            renamed["error"] = names.get(trace["error"], trace["error"])
        return renamed

    return rename


STRUCT_ERRORS = {"Some(MemoryLimitOOG)": "Some(MemoryOOG)"}
CALL_ERRORS = {
    "CreateCollision": "contract address collision",
    "StackUnderflow": "stack underflow",
    "OutOfOffset": "return data out of bounds",
    "CallNotAllowedInsideStatic": "write protection",
    "StateChangeDuringStaticCall": "write protection",
    "CreateContractStartingWithEF": "invalid code: must not begin with 0xef",
    "CreateContractSizeLimit": "max code size exceeded",
    "CreateInitCodeSizeLimit": "max initcode size exceeded",
    "out of gas: reach memory limit": "out of gas: out of memory",
}
FLAT_ERRORS = {
    "CreateCollision": "Contract address collision",
    "StackUnderflow": "Stack underflow",
    "OutOfOffset": "Out of bounds",
    "CallNotAllowedInsideStatic": "Mutable Call In Static Context",
    "StateChangeDuringStaticCall": "Mutable Call In Static Context",
    "CreateContractStartingWithEF": "Invalid code",
    "CreateContractSizeLimit": "Out of gas",
    "CreateInitCodeSizeLimit": "Out of gas",
}

DIFFERENCES: dict[str, Difference] = {
    "gas of the block": Difference(
        {"", "callTracer"},
        "anvil gives the cumulative gas of the receipt for the gas that the transaction used",
        without_earlier_gas,
    ),
    "gas without the intrinsic": Difference(
        {"callTracer", "flatCallTracer"},
        "anvil gives the gas of the first frame; geth gives the gas limit of the transaction",
        with_intrinsic_gas,
    ),
    "limit": Difference({""}, "anvil does not heed it", up_to_limit),
    "memory limit": Difference(
        {""},
        "anvil bounds the memory of an execution, and hits the bound before the gas runs out",
        with_named_errors(STRUCT_ERRORS),
    ),
    "names of errors": Difference(
        {"callTracer"},
        "anvil's older revm-inspectors prints revm's names where geth has words of its own",
        with_named_errors(CALL_ERRORS),
    ),
    "names of parity's errors": Difference(
        {"flatCallTracer"},
        "the same, where parity has words of its own",
        with_named_errors(FLAT_ERRORS),
    ),
    "self-destruction in its own favour": Difference(
        {"callTracer", "flatCallTracer"},
        "it moves nothing, so anvil's older revm reports the transfer before it instead",
        with_vain_destruction,
    ),
    "self-destruction under the top call": Difference(
        {"callTracer"},
        "anvil's older revm-inspectors lists it as a call even if only the top call is requested",
        without_destruction,
    ),
    "absent accounts": Difference(
        {"prestateTracer"},
        "anvil's older revm-inspectors lists accounts that did not exist before; geth does not",
        without_absent_accounts,
    ),
    "selectors of precompiles": Difference(
        {"4byteTracer"},
        "anvil's older revm-inspectors counts calls of precompiles; geth does not",
        without_precompile_selectors,
    ),
    "calls of precompiles": Difference(
        {"flatCallTracer"},
        "anvil lists calls of precompiles without value; parity and geth do not",
        without_precompile_calls,
    ),
    "reverted creations": Difference(
        {"flatCallTracer"},
        "anvil's older revm-inspectors gives the revert data as code, and an address",
        with_output_of_reverted_creations,
    ),
}
