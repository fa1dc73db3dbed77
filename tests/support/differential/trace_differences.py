"""The differences between anvil's traces and ours, each with its reason and a way to compare without it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple

from entresol._native import Account, Overlay, Tracer, execute, keccak256
from tests.support.differential.comparison import RULES, Mined, Peers
from tests.support.differential.transactions import Signed
from tests.support.differential.world import BOMBS
from tests.support.hex_data import hexed, unhex, word

CALL: Options = {"tracer": "callTracer"}
TOP_CALL: Options = {"tracer": "callTracer", "tracerConfig": {"onlyTopCall": True}}
PRESTATE: Options = {"tracer": "prestateTracer"}
DIFF: Options = {"tracer": "prestateTracer", "tracerConfig": {"diffMode": True}}
PRECOMPILES = {number.to_bytes(20, "big") for number in (*range(1, 0x12), 0x100)}


class Difference(NamedTuple):
    """A difference of anvil: in which traces, why, and how to compare without it."""

    tracers: set[str]
    reason: str
    adapt: Callable[[Trace, Traced, Options], Trace]


def adapt(trace: Trace, each: Traced, options: Options, met: Counter[str]) -> Trace:
    if options.get("tracer") == "replayTracer":
        # Its state differences and programs are not compared: those of anvil's older revm-inspectors
        # show new accounts as changed, and stacks without what calls push.
        return trace | {"trace": adapt(trace["trace"], each, {"tracer": "localizedTracer"}, met)}
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


def with_indexes_of_receipts(trace: Trace, each: Traced, _: Options) -> Trace:
    trace = deepcopy(trace)
    if "error" in trace:
        trace.pop("logs", None)
    logs = [log for call in calls_of(trace) for log in call.get("logs", ())]
    logs.sort(key=lambda log: int(log["index"], 16))
    for index, log in enumerate(logs, each.logs_before):
        log["index"] = hex(index)
    return trace


def up_to_limit(trace: Trace, _: Traced, options: Options) -> Trace:
    if "limit" not in options:
        return trace
    kept: list[Trace] = []
    size = 0
    for step in trace["structLogs"]:
        if size > options["limit"]:
            break
        size += len(json.dumps(step, separators=(",", ":"))) + bool(kept)
        kept.append(step)
    return trace | {"structLogs": kept}


def with_whole_refund(trace: Trace, *_: object) -> Trace:
    totals: list[int] = []
    steps = []
    for step in trace["structLogs"]:
        refund = step["refund"] - (2**64 if step["refund"] >= 2**63 else 0)
        del totals[step["depth"] - 1 :]
        totals.append(refund + (totals[-1] if totals else 0))
        steps.append(step | {"refund": max(totals[-1], 0)})
    return trace | {"structLogs": steps}


def with_all_storage(trace: Trace, each: Traced, options: Options) -> Trace:
    """Write the slots of each contract anew: each that a step reads, or would write even if it fails."""
    if options.get("disableStorage"):
        return trace
    stacks = each.theirs({})["structLogs"] if options.get("disableStack") else trace["structLogs"]
    contracts = [str(each.signed.draft.to)]
    storage: dict[str, dict[str, str]] = {}
    steps = []
    for position, (step, with_stack) in enumerate(zip(trace["structLogs"], stacks, strict=True)):
        stack, depth, op = with_stack["stack"], step["depth"], step["op"]
        del contracts[depth:]
        slots = storage.setdefault(contracts[-1], {})
        if op == "SSTORE" and len(stack) > 1:
            slots[padded(stack[-1])] = padded(stack[-2])
        elif op == "SLOAD" and "error" not in step:
            slots[padded(stack[-1])] = padded(stacks[position + 1]["stack"][-1])
        is_shown = op in {"SSTORE", "SLOAD"} and len(stack) > (op == "SSTORE") and slots
        without = {name: value for name, value in step.items() if name != "storage"}
        steps.append(without | ({"storage": dict(slots)} if is_shown else {}))
        contracts += called(op, stack, contracts[-1], position)
    return trace | {"structLogs": steps}


def called(op: str, stack: list[str], contract: str, position: int) -> list[str]:
    """Return the contract whose storage the next frame uses, if a step opens one."""
    if op in {"CALLCODE", "DELEGATECALL"}:
        return [contract]
    if op in {"CALL", "STATICCALL"} and len(stack) > 1:
        return [str((int(stack[-2], 16) % 2**160).to_bytes(20))]
    return [f"created at {position}"] if op in {"CREATE", "CREATE2"} else []


def padded(number: str) -> str:
    return hexed(word(int(number, 16)))


def without_empty_fields(trace: Trace, *_: object) -> Trace:
    empty = {"refund": 0, "memory": [], "returnData": "0x"}
    steps = [
        {name: value for name, value in step.items() if empty.get(name, step) != value}
        for step in trace["structLogs"]
    ]
    return trace | {"structLogs": steps}


def with_named_opcodes(trace: Trace, each: Traced, _: Options) -> Trace:
    if all(step["op"] != "Unknown" for step in trace["structLogs"]):
        return trace
    number = DELEGATED if "delegat" in each.signed.kind else UNKNOWN_OPCODE
    named = f"opcode {number:#x} not defined"
    steps = [
        step | {"op": named} if step["op"] == "Unknown" else step for step in trace["structLogs"]
    ]
    return trace | {"structLogs": steps}


def with_gas_of_the_receipt(trace: Trace, each: Traced, _: Options) -> Trace:
    first = trace[0]
    if first["result"] is None:
        return trace
    gas_used = each.mined.results[each.index].gas_used
    return [first | {"result": first["result"] | {"gasUsed": hex(gas_used)}}, *trace[1:]]


def with_code_hashes(trace: Trace, _: Traced, options: Options) -> Trace:
    if options == DIFF:
        return {name: with_code_hashes(part, _, PRESTATE) for name, part in trace.items()}
    return {
        address: account
        | ({"codeHash": hexed(keccak256(unhex(account["code"])))} if "code" in account else {})
        for address, account in trace.items()
    }


def with_vain_destruction(trace: Trace, each: Traced, options: Options) -> Trace:
    draft = each.signed.draft
    if draft.to not in BOMBS or draft.data != bytes(12) + draft.to:
        return trace
    contract = "0x" + draft.to.hex()
    account = each.state.account(draft.to) or Account()
    value = hex(account.balance + draft.value)
    if options["tracer"] != "callTracer":
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
    removed = [entry["traceAddress"] for entry in trace if is_precompile_call(entry)]
    parents = [address[:-1] for address in removed]
    return [
        entry
        | {
            "subtraces": entry["subtraces"] - parents.count(entry["traceAddress"]),
            "traceAddress": renumbered(entry["traceAddress"], removed),
        }
        for entry in trace
        if not is_precompile_call(entry)
    ]


def renumbered(address: list[int], removed: list[list[int]]) -> list[int]:
    """Return the address of a frame without its removed siblings, and those of its ancestors."""
    return [
        index - sum(entry[:-1] == address[:depth] and entry[-1] < index for entry in removed)
        for depth, index in enumerate(address)
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


UNKNOWN_OPCODE = 0x0C
# The first byte of a delegation, which is not a program.
DELEGATED = 0xEF
STRUCT_ERRORS = {
    "Some(OutOfGas)": "out of gas",
    "Some(MemoryOOG)": "out of gas",
    "Some(MemoryLimitOOG)": "out of gas",
    "Some(InvalidOperandOOG)": "out of gas",
    "Some(ReentrancySentryOOG)": "out of gas",
    "Some(StackUnderflow)": "stack underflow",
    "Some(StackOverflow)": "stack limit reached 1024 (1023)",
    "Some(InvalidJump)": "invalid jump destination",
    "Some(InvalidFEOpcode)": "invalid opcode",
    "Some(OpcodeNotFound)": "invalid opcode",
    "Some(NotActivated)": "invalid opcode",
    "Some(OutOfOffset)": "return data out of bounds",
    "Some(CallNotAllowedInsideStatic)": "write protection",
    "Some(StateChangeDuringStaticCall)": "write protection",
    "Some(CreateInitCodeSizeLimit)": "max initcode size exceeded",
}
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
    "indexes of logs": Difference(
        {"callTracer"},
        "anvil counts the logs of each transaction anew, with those of failed frames, and shows those of a "
        "failed transaction; geth gives the index of the receipt",
        with_indexes_of_receipts,
    ),
    "errors of steps": Difference(
        {""},
        "anvil prints Rust's names; it also bounds the memory of an execution, and hits the bound "
        "before the gas runs out",
        with_named_errors(STRUCT_ERRORS),
    ),
    "unknown opcodes": Difference({""}, "anvil does not say which", with_named_opcodes),
    "storage": Difference(
        {""},
        "anvil leaves out slots that were warm or did not change; geth lists all that a step reads, or "
        "would write even if it fails",
        with_all_storage,
    ),
    "refunds and empty fields": Difference(
        {""},
        "anvil gives the refund of one frame, which may be below zero; geth that of the transaction, and "
        "leaves out what is empty",
        lambda trace, *_: without_empty_fields(with_whole_refund(trace)),
    ),
    "limit": Difference({""}, "anvil does not heed it; geth counts bytes", up_to_limit),
    "gas used without the intrinsic": Difference(
        {"flatCallTracer"},
        "anvil has only the traces of Parity; geth gives the gas that the transaction used",
        with_gas_of_the_receipt,
    ),
    "code hashes": Difference(
        {"prestateTracer"}, "anvil's older revm-inspectors does not give them", with_code_hashes
    ),
    "names of errors": Difference(
        {"callTracer"},
        "anvil's older revm-inspectors prints revm's names where geth has words of its own",
        with_named_errors(CALL_ERRORS),
    ),
    "names of parity's errors": Difference(
        {"flatCallTracer", "localizedTracer"},
        "the same, where parity has words of its own",
        with_named_errors(FLAT_ERRORS),
    ),
    "self-destruction in its own favour": Difference(
        {"callTracer", "flatCallTracer", "localizedTracer"},
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
        {"flatCallTracer", "localizedTracer"},
        "anvil lists calls of precompiles without value; parity and geth do not",
        without_precompile_calls,
    ),
    "reverted creations": Difference(
        {"flatCallTracer", "localizedTracer"},
        "anvil's older revm-inspectors gives the revert data as code, and an address",
        with_output_of_reverted_creations,
    ),
}


Options = dict[str, Any]
Trace = Any


@dataclass(frozen=True)
class Traced:
    """A transaction of a block, in the state that the earlier ones left."""

    both: Peers
    mined: Mined
    index: int
    state: Overlay

    @property
    def signed(self) -> Signed:
        return self.mined.transactions[self.index]

    @property
    def gas_before(self) -> int:
        return sum(outcome.gas_used for outcome in self.mined.results[: self.index])

    @property
    def logs_before(self) -> int:
        return sum(len(outcome.logs) for outcome in self.mined.results[: self.index])

    def ours(self, options: Options) -> Trace:
        tracer = Tracer(
            json.dumps(_engine_options(options)).encode(),
            transaction_hash=self.signed.hash,
            transaction_index=self.index,
            block_hash=unhex(self.mined.block["hash"]),
            first_log=self.logs_before,
        )
        env = self.mined.env
        outcome = execute(self.state, RULES, env, self.signed.message, tracer=tracer)
        assert outcome.trace is not None
        return json.loads(outcome.trace)

    def theirs(self, options: Options) -> Trace:
        transaction_hash = "0x" + self.signed.hash.hex()
        if options.get("tracer") in {"flatCallTracer", "localizedTracer"}:
            # Anvil's debug method returns {} for this tracer, which is its trace method's format.
            return self.both.anvil("trace_transaction", transaction_hash)
        if options.get("tracer") == "replayTracer":
            number, types = self.mined.block["number"], options["tracerConfig"]
            replayed = self.both.anvil("trace_replayBlockTransactions", number, types)[self.index]
            assert replayed.pop("transactionHash") == transaction_hash
            return replayed
        return self.both.anvil("debug_traceTransaction", transaction_hash, options)


def _engine_options(options: Options) -> Options:
    """Return the options as the engine takes them: what `trace_` methods use has no name for clients."""
    if options.get("tracer") not in {"localizedTracer", "replayTracer"}:
        return options
    return {"ownTracer" if key == "tracer" else key: value for key, value in options.items()}


def traced(both: Peers) -> Iterator[Traced]:
    """Run every mined block again, and stop before each transaction."""
    for mined in both.mined:
        state = mined.begin()
        for index, outcome in enumerate(mined.results):
            yield Traced(both, mined, index, state)
            state.apply(outcome)


def intrinsic_gas(signed: Signed) -> int:
    """Return what a transaction pays before its first instruction, by the rules of Osaka."""
    draft = signed.draft
    creation = 32_000 + 2 * ((len(draft.data) + 31) // 32) if draft.to is None else 0
    data = sum(16 if byte else 4 for byte in draft.data)
    access = sum(2_400 + 1_900 * len(slots) for _, slots in draft.access_list)
    return 21_000 + creation + data + access + 25_000 * len(draft.authorizations)
