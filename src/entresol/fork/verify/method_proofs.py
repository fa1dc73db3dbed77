"""What proves the answer of each method that asks the remote for its past, or why nothing does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_HEADER: Final = "the header: it has its hash, and is an ancestor of the anchor"
_BODY: Final = "the header, and `transactionsRoot`, `withdrawalsRoot` and `sha3Uncles` in it"
_TRANSACTIONS: Final = "`transactionsRoot` of its block; the sender by the signature"
_RECEIPTS: Final = "`receiptsRoot` and `transactionsRoot` of its block"
_STATE: Final = "`eth_getProof` against `stateRoot` of the block"
_EXECUTED: Final = "executed here, on accounts, codes and slots that `eth_getProof` proves"
_REPLAYED: Final = (
    "executed here, the block's transactions by `transactionsRoot`, on the proven state before it"
)

PROVEN: Final[Mapping[str, str]] = {
    "debug_getRawBlock": _BODY,
    "debug_getRawHeader": _HEADER,
    "debug_getRawReceipts": _RECEIPTS,
    "debug_getRawTransaction": _TRANSACTIONS,
    "erigon_getHeaderByNumber": _HEADER,
    "eth_feeHistory": (
        "the headers, each the parent of the next; rewards by `transactionsRoot` and `receiptsRoot` of each block; "
        "prices of blobs only while they are at their lowest"
    ),
    "eth_getAccount": _STATE,
    "eth_getBalance": _STATE,
    "eth_getBlockByHash": _BODY,
    "eth_getBlockByNumber": _BODY,
    "eth_getBlockReceipts": _RECEIPTS,
    "eth_getBlockTransactionCountByHash": _TRANSACTIONS,
    "eth_getBlockTransactionCountByNumber": _TRANSACTIONS,
    "eth_getCode": "its hash in the account, which `eth_getProof` proves",
    "eth_getFilterLogs": "as `eth_getLogs`",
    "eth_getHeaderByHash": _HEADER,
    "eth_getHeaderByNumber": _HEADER,
    "eth_getLogs": (
        "the headers, each the parent of the next, and `receiptsRoot` of every block whose `logsBloom` may have such logs, "
        "so that none is left out"
    ),
    "eth_getProof": _STATE,
    "eth_getRawTransactionByBlockHashAndIndex": _TRANSACTIONS,
    "eth_getRawTransactionByBlockNumberAndIndex": _TRANSACTIONS,
    "eth_getRawTransactionByHash": _TRANSACTIONS,
    "eth_getStorageAt": _STATE,
    "eth_getTransactionByBlockHashAndIndex": _TRANSACTIONS,
    "eth_getTransactionByBlockNumberAndIndex": _TRANSACTIONS,
    "eth_getTransactionByHash": _TRANSACTIONS,
    "eth_getTransactionCount": _STATE,
    "eth_getTransactionReceipt": _RECEIPTS,
    "eth_getUncleByBlockHashAndIndex": "`sha3Uncles` of its block",
    "eth_getUncleByBlockNumberAndIndex": "`sha3Uncles` of its block",
    "eth_getUncleCountByBlockHash": "`sha3Uncles` of its block",
    "eth_getUncleCountByBlockNumber": "`sha3Uncles` of its block",
    **dict.fromkeys(
        (
            *("debug_traceCall", "debug_traceCallMany", "entresol_getCallStackTrace"),
            *("entresol_getContracts", "eth_call", "eth_callMany"),
            *("eth_createAccessList", "eth_estimateGas", "eth_getAccountInfo"),
            *("eth_getStorageValues", "eth_simulateV1", "ots_hasCode"),
            *("trace_call", "trace_callMany", "trace_rawTransaction"),
        ),
        _EXECUTED,
    ),
    **dict.fromkeys(
        (
            *("debug_getRawTransactions", "debug_traceBlockByHash"),
            *("debug_traceBlockByNumber", "debug_traceTransaction", "entresol_getExecution"),
            *("entresol_getExecutionStep", "entresol_getExecutionSteps"),
            *("entresol_getGasReport", "entresol_getStackTrace"),
            *("ots_getInternalOperations", "ots_getTransactionError", "ots_traceTransaction"),
            *("trace_block", "trace_blockOpcodeGas", "trace_get"),
            *("trace_replayBlockTransactions", "trace_replayTransaction"),
            *("trace_transaction", "trace_transactionOpcodeGas"),
        ),
        _REPLAYED,
    ),
}
"""By method, what proves its answer."""

_RANGES: Final = "a part of a trie with its borders has no proof in JSON-RPC"
_SUMMARY: Final = "it has sums of the remote's own that no root covers"
_BATCHES: Final = "it says how the remote's block was settled, which no header of the block has"

UNPROVABLE: Final[Mapping[str, str]] = {
    "debug_accountRange": _RANGES,
    "debug_executionWitness": "nothing shows that a witness is complete",
    "debug_storageRangeAt": _RANGES,
    "ots_getBlockDetails": _SUMMARY,
    "ots_getBlockDetailsByHash": _SUMMARY,
    "ots_getBlockTransactions": _SUMMARY,
    "zks_getBlockDetails": _BATCHES,
    "zks_getBlockMetadataByNumber": _BATCHES,
    "zks_getRawBlockTransactions": "its form is the remote's own",
    "zks_getTransactionDetails": _BATCHES,
}
"""By method, why nothing proves its answer: with `--fork-verify` it is rejected below the anchor."""

UNKNOWN: Final = "it is left to the remote's own method, whose result has no proof"
"""Why a method is rejected that is asked for in place of an execution."""
