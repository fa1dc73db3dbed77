"""Recordings of transactions that have more than one outermost call: those of contract accounts."""

from __future__ import annotations

from entresol.execution.tracing import TraceBudget, TraceLimits, trace_transaction
from entresol.features.debugger.sources.recording.recorder import record
from entresol.features.debugger.sources.registry import SourceRegistry
from tests.support.contracts.accounts import EXECUTE, ScriptedWorld
from tests.support.contracts.stack_trace_cases import FOLDER, cases_of, output_of


def test_a_transaction_from_a_contract_account_has_the_steps_of_all_its_calls() -> None:
    world = ScriptedWorld()
    compiled = output_of("plain")["output"]["contracts"]["contracts/Failures.sol"]["Failures"]
    failures = world.put(compiled["evm"]["deployedBytecode"]["object"])
    call = next(it for it in cases_of("plain") if it.name == "internal functions").call
    assert call is not None
    account = world.account()
    world.script(account, EXECUTE, (failures, 0, bytes.fromhex(call["data"][2:])))
    world.include(world.from_contract(account, to=failures))
    block = world.chain.ledger.sealed_block(world.chain.number)

    def run(options: bytes) -> bytes:
        return bytes(trace_transaction(block, 0, options, TraceBudget(TraceLimits())).trace or b"")

    sources = SourceRegistry.of_paths([str(FOLDER / "plain-output.json")])
    recording = record(sources, run, block.env_before(0).state, block.codes_at(0))
    [steps] = recording.ranges
    assert len(steps.steps) == recording.total > 0
    [failed] = [frame for frame in recording.frames if frame.contract is not None]
    assert failed.function == "callsInternal"
    outer = recording.frames[failed.parent or 0]
    assert outer.first is not None
    assert failed.first is not None
    assert outer.first < failed.first
    assert recording.gas_by_line
