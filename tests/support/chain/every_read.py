"""Calls of all methods that read blocks, transactions and states, with all their options."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

Call: TypeAlias = tuple[str, Sequence[object]]

TRACERS: Final[Sequence[dict[str, Any]]] = (
    {},
    {"enableMemory": True, "enableReturnData": True, "limit": 40_000},
    {"disableStack": True, "disableStorage": True},
    {"tracer": "4byteTracer"},
    {"tracer": "callTracer"},
    {"tracer": "callTracer", "tracerConfig": {"withLog": True}},
    {"tracer": "callTracer", "tracerConfig": {"onlyTopCall": True, "withLog": True}},
    {"tracer": "erc7562Tracer", "tracerConfig": {"withLog": True}},
    {"tracer": "flatCallTracer"},
    {"tracer": "flatCallTracer", "tracerConfig": {"convertParityErrors": True, "includePrecompiles": True}},
    {"tracer": "keccak256PreimageTracer"},
    {"tracer": "noopTracer"},
    {"tracer": "prestateTracer"},
    {"tracer": "prestateTracer", "tracerConfig": {"includeEmpty": True, "disableCode": True}},
    {"tracer": "prestateTracer", "tracerConfig": {"diffMode": True}},
    {
        "tracer": "muxTracer",
        "tracerConfig": {
            "4byteTracer": {}, "callTracer": {"withLog": True}, "erc7562Tracer": {}, "flatCallTracer": {},
            "keccak256PreimageTracer": {}, "noopTracer": {}, "prestateTracer": {"diffMode": True},
        },
    },
)  # fmt: skip
TYPES: Final[Sequence[list[str]]] = (
    ["trace"],
    ["stateDiff"],
    ["vmTrace"],
    ["trace", "stateDiff", "vmTrace"],
    [],
)
FEW_TRACERS: Final = TRACERS[::5]
TAGS: Final = ("earliest", "latest", "pending", "safe", "finalized")


def reads_of_block(
    block: dict[str, Any], tracers: Sequence[dict[str, Any]] = TRACERS
) -> Iterator[Call]:
    number, identity = block["number"], block["hash"]
    for full in (False, True):
        yield "eth_getBlockByNumber", [number, full]
        yield "eth_getBlockByHash", [identity, full]
    for name in (
        "eth_getHeaderByNumber", "eth_getBlockReceipts", "eth_getBlockTransactionCountByNumber",
        "eth_getUncleCountByBlockNumber", "erigon_getHeaderByNumber", "debug_getRawBlock", "debug_getRawHeader",
        "debug_getRawReceipts", "debug_executionWitness", "ots_getBlockDetails", "trace_block",
    ):  # fmt: skip
        yield name, [number]
    for name in (
        "eth_getHeaderByHash", "eth_getBlockTransactionCountByHash", "eth_getUncleCountByBlockHash",
        "ots_getBlockDetailsByHash",
    ):  # fmt: skip
        yield name, [identity]
    yield "ots_getBlockTransactions", [number, 0, 10]
    yield "eth_feeHistory", ["0x3", number, [10, 90]]
    yield "eth_getLogs", [{"blockHash": identity}]
    yield "trace_filter", [{"fromBlock": number, "toBlock": number}]
    yield "trace_filter", [{"fromBlock": number, "toBlock": number, "after": 1, "count": 3}]
    for types in TYPES:
        yield "trace_replayBlockTransactions", [number, types]
    for tracer in tracers:
        yield "debug_traceBlockByNumber", [number, tracer]
    yield "debug_traceBlockByHash", [identity]
    for name in (
        "zks_getBlockDetails",
        "zks_getRawBlockTransactions",
        "zks_getBlockMetadataByNumber",
    ):
        yield name, [int(number, 16)]


def reads_of_transaction(
    transaction: dict[str, Any], tracers: Sequence[dict[str, Any]] = TRACERS
) -> Iterator[Call]:
    identity, index = transaction["hash"], transaction["transactionIndex"]
    for name in (
        "eth_getTransactionByHash", "eth_getTransactionReceipt", "eth_getRawTransactionByHash",
        "debug_getRawTransaction", "trace_transaction", "ots_traceTransaction", "ots_getInternalOperations",
        "ots_getTransactionError", "zks_getTransactionDetails", "zks_getL2ToL1LogProof",
    ):  # fmt: skip
        yield name, [identity]
    for blob in transaction.get("blobVersionedHashes", ()):
        yield "anvil_getBlobByHash", [blob]
        yield "anvil_getBlobsByTransactionHash", [identity]
    for kind in ("Transaction", "RawTransaction"):
        yield f"eth_get{kind}ByBlockHashAndIndex", [transaction["blockHash"], index]
        yield f"eth_get{kind}ByBlockNumberAndIndex", [transaction["blockNumber"], index]
    sender = [transaction["from"], transaction["nonce"]]
    yield "eth_getTransactionBySenderAndNonce", sender
    yield "ots_getTransactionBySenderAndNonce", sender
    yield "trace_get", [identity, []]
    yield "trace_get", [identity, ["0x0"]]
    for types in TYPES:
        yield "trace_replayTransaction", [identity, types]
    for tracer in tracers:
        yield "debug_traceTransaction", [identity, tracer]


def reads_of_pending(identity: str) -> Iterator[Call]:
    for name in (
        "eth_getTransactionByHash",
        "eth_getTransactionReceipt",
        "zks_getTransactionDetails",
    ):
        yield name, [identity]


def reads_of_address(address: str, block: str) -> Iterator[Call]:
    slots = ["0x0", "0x1"]
    for name in (
        "eth_getAccount", "eth_getAccountInfo", "eth_getBalance", "eth_getCode", "eth_getTransactionCount",
        "ots_hasCode",
    ):  # fmt: skip
        yield name, [address, block]
    yield "eth_getProof", [address, slots, block]
    yield "eth_getStorageAt", [address, "0x0", block]
    yield "eth_getStorageValues", [{address: slots}, block]
    yield "ots_getContractCreator", [address]
    yield "ots_searchTransactionsAfter", [address, 0, 5]
    yield "ots_searchTransactionsBefore", [address, 0, 5]
    yield "zks_getAllAccountBalances", [address]


def calls_of(
    sender: str, to: str, block: str, tracers: Sequence[dict[str, Any]] = TRACERS
) -> Iterator[Call]:
    call = {"from": sender, "to": to, "gas": "0x1e8480", "data": "0x01020304"}
    for name in ("eth_call", "eth_estimateGas", "eth_createAccessList"):
        yield name, [call, block]
    yield "eth_callMany", [[{"transactions": [call, call]}], {"blockNumber": block}]
    for full in (False, True):
        payload = {"blockStateCalls": [{"calls": [call, call]}], "returnFullTransactions": full}
        yield "eth_simulateV1", [payload | {"traceTransfers": full}, block]
    for tracer in tracers:
        yield "debug_traceCall", [call, block, tracer]
        yield (
            "debug_traceCallMany",
            [[{"transactions": [call, call]}], {"blockNumber": block}, tracer],
        )
    for types in TYPES:
        yield "trace_call", [call, types, block]
    yield "trace_callMany", [[[call, TYPES[3]], [call, TYPES[0]]], block]
    yield "zks_estimateFee", [call]


def reads_of_node(address: str) -> Iterator[Call]:
    """Yield calls about the chain as a whole: its latest blocks, its pool, its batches and its contracts."""
    for tag in TAGS:
        for full in (False, True):
            yield "eth_getBlockByNumber", [tag, full]
        yield "eth_getHeaderByNumber", [tag]
        yield "eth_getBlockReceipts", [tag]
    yield "eth_getLogs", [{"fromBlock": "earliest", "toBlock": "latest"}]
    yield "txpool_contentFrom", [address]
    for name in (
        "txpool_content", "txpool_inspect", "txpool_status", "eth_pendingTransactions", "eth_config",
        "anvil_nodeInfo", "anvil_metadata", "hardhat_metadata", "zks_L1BatchNumber", "zks_getFinalityStatus",
        "zks_getFeeParams", "zks_getBatchFeeInput", "zks_getProtocolVersion", "zks_getBridgeContracts",
    ):  # fmt: skip
        yield name, []
    for batch in (0, 1):
        for name in ("zks_getL1BatchDetails", "zks_getL1BatchBlockRange"):
            yield name, [batch]
        yield "zks_getProof", [address, [f"0x{'00' * 32}"], batch]
