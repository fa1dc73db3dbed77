"""Examples of traces, of sources, and of what else looks into a chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from docs.tools.examples.example import RESULT, call, example

if TYPE_CHECKING:
    from docs.tools.examples.example import Example
    from docs.tools.recording import World

FAILING: Final = "0x" + "fa" * 20
COMPILATION: Final = (
    {
        "language": "Solidity",
        "sources": {
            "A.sol": {"content": "contract A {\n  fallback() external {\n    revert();\n  }\n}\n"}
        },
    },
    {
        "sources": {"A.sol": {"id": 0}},
        "contracts": {
            "A.sol": {
                "A": {
                    "abi": [{"type": "fallback", "stateMutability": "nonpayable"}],
                    "evm": {"deployedBytecode": {"object": "5f5ffd", "sourceMap": "41:8:0:-;;"}},
                }
            }
        },
    },
)
"""A contract that reverts, as a compiler returns it."""
SOURCES: Final = (
    call("hardhat_addCompilationResult", "0.8.30", *COMPILATION),
    call("anvil_setCode", FAILING, "0x5f5ffd"),
)


def debugging_examples(world: World) -> dict[str, Example]:
    """Return the examples of `debug_`, `erigon_`, `ots_` and `trace_`, and of those that need sources."""
    alice, bob, counter = world.alice, world.bob, world.counter
    increment = {"from": alice, "to": counter}
    call_tracer = {"tracer": "callTracer"}
    failing = (
        *SOURCES,
        call("eth_sendTransaction", {"from": alice, "to": FAILING, "gas": "0xc350"}),
    )
    return {
        # Sources.
        "hardhat_addCompilationResult": example("0.8.30", *COMPILATION),
        "entresol_getCallStackTrace": example({"to": FAILING}, before=SOURCES),
        "entresol_getContracts": example([FAILING, alice], before=SOURCES),
        "entresol_getStackTrace": example(RESULT, before=failing),
        "entresol_getExecution": example(RESULT, before=failing),
        "entresol_getGasReport": example("0x1", "0x1"),
        "entresol_getExecutionSteps": example(RESULT, 0, 2, before=failing),
        "entresol_getExecutionStep": example(RESULT, 2, before=failing),
        "hardhat_getStackTraceFailuresCount": example(),
        # Traces, raw objects and states.
        "debug_traceTransaction": example(world.transfer, call_tracer),
        "debug_traceBlockByNumber": example("0x1", call_tracer),
        "debug_traceBlockByHash": example(world.hash_of_block(1), call_tracer),
        "debug_traceBlock": example(
            RESULT, {"tracer": "noopTracer"}, before=(call("debug_getRawBlock", "0x1"),)
        ),
        "debug_traceCall": example(increment, "latest", {"disableStack": True, "limit": 300}),
        "debug_traceCallMany": example(
            [{"transactions": [increment, increment]}], {"blockNumber": "latest"}, call_tracer
        ),
        "trace_transaction": example(world.transfer),
        "trace_block": example("0x1"),
        "trace_get": example(world.transfer, ["0x0"]),
        "trace_filter": example(
            {"fromBlock": "0x1", "toBlock": "0x4", "toAddress": [counter], "count": 1}
        ),
        "trace_transactionOpcodeGas": example(world.increment),
        "trace_blockOpcodeGas": example("0x3"),
        "trace_call": example(increment, ["trace"], "latest"),
        "trace_callMany": example([[increment, ["trace"]], [increment, ["stateDiff"]]]),
        "trace_rawTransaction": example(world.next_transfer, ["trace"]),
        "trace_replayTransaction": example(world.transfer, ["stateDiff"]),
        "trace_replayBlockTransactions": example("0x1", ["trace"]),
        "erigon_getHeaderByNumber": example("latest"),
        "ots_getApiLevel": example(),
        "ots_hasCode": example(counter, "latest"),
        "ots_getInternalOperations": example(world.transfer),
        "ots_traceTransaction": example(world.transfer),
        "ots_getTransactionError": example(world.transfer),
        "ots_getBlockDetails": example(1),
        "ots_getBlockDetailsByHash": example(world.hash_of_block(1)),
        "ots_getBlockTransactions": example(1, 0, 25),
        "ots_searchTransactionsBefore": example(bob, 0, 1),
        "ots_searchTransactionsAfter": example(counter, 0, 1),
        "ots_getTransactionBySenderAndNonce": example(alice, 0),
        "ots_getContractCreator": example(counter),
        "debug_getRawHeader": example("0x1"),
        "debug_getRawBlock": example("0x1"),
        "debug_getRawTransaction": example(world.transfer),
        "debug_getRawTransactions": example("0x3"),
        "debug_getRawReceipts": example("0x3"),
        "debug_codeByHash": example(world.counter_code_hash),
        "debug_dbGet": example("0x63" + world.counter_code_hash.removeprefix("0x")),
        "debug_storageRangeAt": example("0x3", 0, counter, "0x", 10),
        "debug_accountRange": example("latest", "0x", 2, True, True),
        "debug_executionWitness": example("0x1"),
        "debug_getBadBlocks": example(),
    }
