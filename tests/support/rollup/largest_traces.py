"""The largest requests of `debug_`, `trace_` and `ots_`, as `largest_requests` has them of the others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from entresol.rpc.namespaces.debug.state import MAX_ACCOUNTS, MAX_SLOTS
from entresol.rpc.namespaces.ots import MAX_PAGE
from entresol.rpc.services.call_runner import MAX_CALLS
from entresol.rpc.types.trace_request import MAX_ADDRESSES, MAX_BLOCKS
from tests.support.rollup.full_node import LOOPER, RECEIVER, TRANSACTION_GAS, FullNode
from tests.support.rollup.largest_requests import BODY_BYTES, LONG_DATA, Request, addresses

CALL_TRACER: Final = {"tracer": "callTracer", "tracerConfig": {"withLog": True}}
PRESTATE_TRACER: Final = {"tracer": "prestateTracer", "tracerConfig": {"diffMode": True}}
TYPES: Final = ["trace", "vmTrace", "stateDiff"]


def largest_traces(full: FullNode) -> Iterator[Request]:
    """Yield at least one request of each method."""
    yield from _blocks(full)
    yield from _transactions(full)
    yield from _calls(full)
    yield from _state(full)
    yield from _otterscan(full)


def _blocks(full: FullNode) -> Iterator[Request]:
    for number in full.long_blocks:
        block, block_hash = hex(number), str(full.chain.blocks.block_hash(number))
        for name in ("Block", "Header", "Receipts", "Transactions"):
            yield f"debug_getRaw{name}", (block,)
        for options in ({}, CALL_TRACER, PRESTATE_TRACER):
            yield "debug_traceBlockByNumber", (block, options)
        yield "debug_traceBlockByHash", (block_hash, CALL_TRACER)
        yield "debug_executionWitness", (block,)
        yield "debug_storageRangeAt", (block_hash, 0, str(RECEIVER), "0x", MAX_SLOTS)
        yield "trace_block", (block,)
        yield "trace_blockOpcodeGas", (block,)
        yield "trace_replayBlockTransactions", (block, TYPES)
    yield "debug_traceBlock", (LONG_DATA, {})
    wanted = {"fromBlock": "0x1", "toBlock": hex(MAX_BLOCKS)}
    yield "trace_filter", (wanted,)
    yield "trace_filter", (wanted | {"fromAddress": addresses(MAX_ADDRESSES)},)
    yield "trace_filter", (wanted | {"toAddress": addresses(BODY_BYTES // 45)},)


def _transactions(full: FullNode) -> Iterator[Request]:
    for sent in (full.transfers, full.logs, full.factory_deps, full.message):
        sent_hash = str(sent.hash)
        for options in ({"enableMemory": True}, CALL_TRACER, PRESTATE_TRACER):
            yield "debug_traceTransaction", (sent_hash, options)
        yield "debug_getRawTransaction", (sent_hash,)
        yield "trace_transaction", (sent_hash,)
        yield "trace_transactionOpcodeGas", (sent_hash,)
        yield "trace_get", (sent_hash, ["0x0"])
        yield "trace_get", (sent_hash, ["0x0"] * (BODY_BYTES // 6))
        yield "trace_replayTransaction", (sent_hash, TYPES)


def _calls(full: FullNode) -> Iterator[Request]:
    loop = {"from": full.alice, "to": str(LOOPER), "gas": hex(TRANSACTION_GAS)}
    long_call = {"to": str(RECEIVER), "data": LONG_DATA}
    for call in (loop, long_call):
        for options in ({}, CALL_TRACER, PRESTATE_TRACER):
            yield "debug_traceCall", (call, "latest", options)
        yield "trace_call", (call, TYPES)
    yield "trace_rawTransaction", (LONG_DATA, TYPES)
    empty: dict[str, Any] = {}
    for count in (MAX_CALLS, BODY_BYTES // 16):
        yield "debug_traceCallMany", ([{"transactions": [empty] * count}], {}, CALL_TRACER)
        yield "trace_callMany", ([[empty, ["trace"]]] * count,)


def _state(full: FullNode) -> Iterator[Request]:
    yield "debug_accountRange", ("latest", "0x", MAX_ACCOUNTS)
    yield "debug_accountRange", ("0x0", "0x", MAX_ACCOUNTS, False, False)
    yield "debug_codeByHash", (str(full.dependency_hash),)
    yield "debug_dbGet", (LONG_DATA,)
    yield "debug_getBadBlocks", ()


def _otterscan(full: FullNode) -> Iterator[Request]:
    for number in full.long_blocks:
        block, block_hash = hex(number), str(full.chain.blocks.block_hash(number))
        yield "ots_getBlockDetails", (block,)
        yield "ots_getBlockDetailsByHash", (block_hash,)
        yield "ots_getBlockTransactions", (block, 0, MAX_PAGE)
        yield "erigon_getHeaderByNumber", (block,)
    for sent in (full.transfers, full.logs, full.factory_deps, full.message):
        sent_hash = str(sent.hash)
        yield "ots_getInternalOperations", (sent_hash,)
        yield "ots_getTransactionError", (sent_hash,)
        yield "ots_traceTransaction", (sent_hash,)
    yield "ots_getTransactionBySenderAndNonce", (full.alice, 1)
    for address in (full.alice, str(RECEIVER), addresses(1)[0]):
        yield "ots_getContractCreator", (address,)
        yield "ots_hasCode", (address, "pending")
        yield "ots_searchTransactionsAfter", (address, 0, 1)
        yield "ots_searchTransactionsAfter", (address, 0, MAX_PAGE)
        yield "ots_searchTransactionsBefore", (address, 0, MAX_PAGE)
    yield "ots_getApiLevel", ()
