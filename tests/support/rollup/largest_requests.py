"""For each method the largest requests that a node accepts, or that it reads before it rejects them."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import msgspec

from entresol._native import keccak256
from entresol.features.dev.methods.tokens import MAX_ACCOUNTS
from entresol.features.tracing.methods.debug_state import MAX_ACCOUNTS as MAX_RANGE
from entresol.features.tracing.methods.debug_state import MAX_SLOTS
from entresol.features.tracing.methods.ots import MAX_PAGE
from entresol.rpc.jsonrpc.params import MAX_OBJECTS
from entresol.rpc.namespaces.transfers import MAX_LIMIT
from entresol.rpc.services.call_runner import MAX_CALLS, MAX_NAMED_SLOTS, OVERRIDE_LIMITS
from entresol.rpc.services.log_search import LogLimits
from entresol.rpc.services.native_reads import FEE_HISTORY_LIMITS
from entresol.rpc.types.log_filter import MAX_ALTERNATIVES
from entresol.rpc.types.trace_request import MAX_ADDRESSES, MAX_BLOCKS
from entresol.server.config import ServerConfig
from tests.support.hex_data import hexed
from tests.support.rollup.full_node import LOOPER, MESSENGER, RECEIVER, TRANSACTION_GAS, FullNode

Request: TypeAlias = tuple[str, tuple[Any, ...]]

BODY_BYTES: Final = ServerConfig().body_limit_bytes - 4_096

# As much as fits into a body.
LONG_DATA: Final = "0x" + "ab" * ((BODY_BYTES - 4_096) // 2)
_MOST_WORDS: Final = BODY_BYTES // 69

LOADED_ACCOUNTS: Final = 20_000
"""Of a state file. A body has room for more, which take as much longer to load as they take to execute."""


def words(count: int) -> list[str]:
    return [f"0x{number:064x}" for number in range(count)]


def addresses(count: int) -> list[str]:
    return [f"0x{number:040x}" for number in range(1, count + 1)]


def _packed_accounts(count: int) -> str:
    account = {"nonce": 1, "balance": "0x1", "code": "0x", "storage": {}}
    document = {"accounts": dict.fromkeys(addresses(count), account)}
    return hexed(gzip.compress(msgspec.json.encode(document)))


def largest_requests(full: FullNode) -> Iterator[Request]:
    """Yield requests of each method that may take long, in an order in which all of them can be made."""
    yield from _blocks(full)
    yield from _transactions(full)
    yield from _state(full)
    yield from _batches(full)
    yield from _calls(full)
    yield from _logs(full)
    yield from _data(full)
    yield from _explored(full)
    yield from _development(full)


def _blocks(full: FullNode) -> Iterator[Request]:
    """Blocks of many transactions, of many logs and of long transactions; and the pending one."""
    for number in full.long_blocks:
        block, block_hash = hex(number), str(full.chain.blocks.block_hash(number))
        yield "eth_getBlockByNumber", (block, True)
        yield "eth_getBlockByNumber", (block, False)
        yield "eth_getBlockByHash", (block_hash, True)
        yield "eth_getBlockReceipts", (block,)
        for name in ("HeaderBy", "BlockTransactionCountBy", "UncleCountByBlock"):
            yield f"eth_get{name}Number", (block,)
            yield f"eth_get{name}Hash", (block_hash,)
        for name in ("Transaction", "RawTransaction", "Uncle"):
            yield f"eth_get{name}ByBlockNumberAndIndex", (block, "0x0")
            yield f"eth_get{name}ByBlockHashAndIndex", (block_hash, "0x0")
        for name in ("RawBlockTransactions", "BlockDetails", "BlockMetadataByNumber"):
            yield f"zks_get{name}", (number,)
    yield "eth_getBlockByNumber", ("pending", True)
    yield "eth_getHeaderByNumber", ("pending",)
    yield "eth_getBlockTransactionCountByNumber", ("pending",)


def _transactions(full: FullNode) -> Iterator[Request]:
    for sent in (full.transfers, full.logs, full.factory_deps, full.message):
        yield "eth_getTransactionByHash", (str(sent.hash),)
        yield "eth_getTransactionReceipt", (str(sent.hash),)
    yield "txpool_contentFrom", (full.alice,)


def _state(full: FullNode) -> Iterator[Request]:
    alice, slots = full.alice, MAX_NAMED_SLOTS
    for name in ("Balance", "TransactionCount", "Account", "Code", "AccountInfo"):
        for block in ("latest", "pending", "0x0"):
            yield f"eth_get{name}", (alice, block)
    for count in (slots, _MOST_WORDS):
        yield "eth_getStorageValues", ({alice: words(count)}, "0x0")
        yield "eth_getProof", (alice, words(count), "latest")
        yield "zks_getProof", (alice, words(count), 1)
    percentiles = [number / 2 for number in range(FEE_HISTORY_LIMITS.percentiles)]
    yield "eth_feeHistory", (4, hex(full.long_blocks[-1]), percentiles)
    yield "eth_feeHistory", (FEE_HISTORY_LIMITS.blocks, "latest", percentiles)
    yield "eth_feeHistory", (1, "latest", [0.0] * (BODY_BYTES // 4))


def _batches(full: FullNode) -> Iterator[Request]:
    yield "zks_getL2ToL1LogProof", (str(full.message.hash), 0)
    message = full.message_block, str(MESSENGER), hexed(keccak256(b""))
    yield "zks_getL2ToL1MsgProof", message
    for name in ("L1BatchBlockRange", "L1BatchDetails"):
        yield f"zks_get{name}", (1,)
    yield "zks_getBytecodeByHash", (str(full.dependency_hash),)
    yield "zks_getConfirmedTokens", (0, 255)
    yield "zks_getAllAccountBalances", (full.alice,)
    yield "entresol_getBatchBooks", (1,)
    yield "entresol_getOpenTransfers", (None, MAX_LIMIT)
    yield "entresol_getOpenTransfers", (LONG_DATA,)
    yield "entresol_getBundleProblem", (LONG_DATA,)
    yield "entresol_addChain", ({"chainId": 1, "baseToken": LONG_DATA},)


def _calls(full: FullNode) -> Iterator[Request]:
    loop = {"from": full.alice, "to": str(LOOPER), "gas": hex(TRANSACTION_GAS)}
    long_call = {"to": str(RECEIVER), "data": LONG_DATA}
    deep = [{"address": str(RECEIVER), "storageKeys": words(_MOST_WORDS)}]
    wide = [{"address": address} for address in addresses(BODY_BYTES // 60)]
    listed: list[dict[str, Any]] = [
        {"to": full.alice, "from": full.alice, "accessList": entry} for entry in (deep, wide)
    ]
    slots = {str(RECEIVER): {"stateDiff": {word: word for word in words(OVERRIDE_LIMITS.slots)}}}
    accounts = {address: {"balance": "0x1"} for address in addresses(OVERRIDE_LIMITS.accounts)}
    hashes = {"blockHash": {hex(number): words(1)[0] for number in range(200_000)}}
    for call in (loop, long_call, *listed):
        for name in ("eth_call", "eth_estimateGas", "eth_createAccessList"):
            yield name, (call,)
        for name in ("zks_estimateFee", "zks_estimateGasL1ToL2"):
            yield name, (call,)
        for name in ("sign", "fill", "send"):
            yield f"eth_{name}Transaction", ({**call, "from": full.alice, "gas": "0x5208"},)
    for name in ("eth_call", "eth_estimateGas"):
        yield name, (loop, "pending")
        yield name, ({}, "latest", slots)
        yield name, ({}, "latest", accounts)
        yield name, ({}, "latest", {}, hashes)
    yield "zks_estimateFee", ({"to": full.alice}, slots)
    yield "zks_estimateGasL1ToL2", ({"to": full.alice}, slots)
    many: list[dict[str, Any]] = [{}]
    for calls in ([loop] * 4, many * MAX_CALLS, many * (BODY_BYTES // 4)):
        yield "eth_callMany", ([{"transactions": calls}],)
        yield "eth_simulateV1", ({"blockStateCalls": [{"calls": calls}]},)


def _logs(full: FullNode) -> Iterator[Request]:
    limit = LogLimits().alternatives
    most = {"topics": [words(limit)] * 4, "address": addresses(limit), "fromBlock": "0x0"}
    too_many = {"topics": [words(MAX_ALTERNATIVES)] * 4, "address": addresses(limit)}
    long_block = hex(full.long_blocks[1])
    yield "eth_getLogs", ({"fromBlock": long_block, "toBlock": long_block},)
    yield "eth_getLogs", ({"fromBlock": "0x0"},)
    for wanted in (most, too_many):
        yield "eth_getLogs", (wanted,)
        yield "eth_newFilter", (wanted,)
        yield "eth_subscribe", ("logs", wanted)
    yield "eth_getFilterLogs", (full.log_filter,)
    for filter_id in (full.log_filter, full.block_filter, full.pending_filter):
        yield "eth_getFilterChanges", (filter_id,)


def _explored(full: FullNode) -> Iterator[Request]:
    """Pages of the explorer and of the debugger, about the account and the transactions that have most."""
    alice, receiver = full.alice, str(RECEIVER)
    yield "entresol_findHashes", ("0x1234",)
    yield "entresol_getEdits", (hex(full.long_blocks[0]), 0, 100)
    yield "entresol_getBatchStatistics", (None, 100)
    yield "entresol_getBlockStatistics", (1_000, None, 100)
    yield "entresol_getGasReport", ("0x0", "latest")
    yield "entresol_getTokens", ("a", None, 100)
    yield "entresol_getTransactions", (None, 100)
    for name in ("TokenHolders", "TokenTransfers"):
        yield f"entresol_get{name}", (receiver, None, 100)
    for name in ("Tokens", "Transfers", "Transactions"):
        yield f"entresol_getAccount{name}", (alice, None, 100)
    yield "entresol_getContracts", (addresses(100),)
    yield "entresol_getCallStackTrace", ({"to": receiver, "data": LONG_DATA},)
    for sent in (full.transfers, full.logs, full.factory_deps):
        yield "entresol_getStackTrace", (str(sent.hash),)
        yield "entresol_getExecution", (str(sent.hash),)
        yield "entresol_getExecutionSteps", (str(sent.hash), 0, 100)
        yield "entresol_getExecutionStep", (str(sent.hash), 0)


def _data(full: FullNode) -> Iterator[Request]:
    typed_data = {
        "domain": {},
        "types": {"EIP712Domain": [], "List": [{"name": "words", "type": "bytes32[]"}]},
        "primaryType": "List",
        "message": {"words": words(_MOST_WORDS - 100)},
    }
    yield "web3_sha3", (LONG_DATA,)
    yield "eth_sign", (full.alice, LONG_DATA)
    yield "personal_sign", (LONG_DATA, full.alice)
    yield "eth_signTypedData", (full.alice, typed_data)
    yield "eth_signTypedData_v4", (full.alice, typed_data)
    yield "eth_sendRawTransaction", (LONG_DATA,)
    yield "eth_sendRawTransactionSync", (LONG_DATA,)
    for prefix in ("zks", "unstable"):
        yield f"{prefix}_sendRawTransactionWithDetailedOutput", (LONG_DATA,)


def _compilation() -> dict[str, Any]:
    """Return as many contracts as a request may have objects, whose codes fill its body."""
    count = MAX_OBJECTS // 3 - 10
    digits = (BODY_BYTES // count - 100) // 2 * 2
    codes = (f"{number:0{digits}x}" for number in range(count))
    named = {
        f"C{it}": {"evm": {"deployedBytecode": {"object": code}}} for it, code in enumerate(codes)
    }
    return {"contracts": {"A.sol": named}}


def _development(full: FullNode) -> Iterator[Request]:
    """Yield what developers do to a chain of their own, at the end what changes it."""
    receiver = str(RECEIVER)
    for prefix in ("anvil", "hardhat"):
        yield f"{prefix}_setCode", (receiver, LONG_DATA)
        yield f"{prefix}_setCode", (receiver, LONG_DATA[: 2 + 2 * 2**21])
    yield "hardhat_addCompilationResult", ("0.8.30", {}, _compilation())
    for accounts in (addresses(MAX_ACCOUNTS), addresses(BODY_BYTES // 45)):
        yield "tenderly_setErc20Balance", (receiver, accounts, "0x1")
        yield "tenderly_addErc20Balance", (receiver, accounts, "0x1")
        yield "tenderly_setMaxErc20Balance", (receiver, accounts)
    yield "evm_setAccountCode", (receiver, LONG_DATA[: 2 + 2 * 2**21])
    yield "anvil_setRpcUrl", (LONG_DATA,)
    yield "eth_sendUnsignedTransaction", ({"from": receiver, "to": receiver, "data": LONG_DATA},)
    yield "eth_sendTransactionSync", ({"from": full.alice, "to": receiver, "data": LONG_DATA}, 1)
    yield from _blocks_to_come(full)


def _blocks_to_come(full: FullNode) -> Iterator[Request]:
    for prefix in ("evm", "anvil"):
        yield f"{prefix}_snapshot", ()
    yield "evm_mine", ({"blocks": 20},)
    yield "anvil_mine", (4,)
    yield "hardhat_mine", (1,)
    for prefix in ("evm", "anvil"):
        yield f"{prefix}_mine_detailed", ({"blocks": 1_000},)
    yield "anvil_revert", (2,)
    yield "evm_revert", (1,)
    for prefix in ("anvil", "hardhat"):
        yield f"{prefix}_dumpState", ()
        for state in (LONG_DATA, _packed_accounts(LOADED_ACCOUNTS)):
            yield f"{prefix}_loadState", (state,)
    yield "anvil_removePoolTransactions", (full.alice,)
    yield "anvil_dropAllTransactions", ()
    yield "hardhat_dropAllTransactions", ()
    yield "anvil_rollback", (1_000,)
    yield "anvil_reorg", (1_000,)
    yield "anvil_reset", ()
    yield "hardhat_reset", ()


CALL_TRACER: Final = {"tracer": "callTracer", "tracerConfig": {"withLog": True}}
PRESTATE_TRACER: Final = {"tracer": "prestateTracer", "tracerConfig": {"diffMode": True}}
TYPES: Final = ["trace", "vmTrace", "stateDiff"]


def largest_traces(full: FullNode) -> Iterator[Request]:
    """Yield requests of `debug_`, `trace_` and `ots_` that may take long."""
    yield from _traced_blocks(full)
    yield from _traced_transactions(full)
    yield from _traced_calls(full)
    yield "debug_accountRange", ("latest", "0x", MAX_RANGE)
    yield "debug_accountRange", ("0x0", "0x", MAX_RANGE, False, False)
    yield from _traced_otterscan(full)


def _traced_blocks(full: FullNode) -> Iterator[Request]:
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


def _traced_transactions(full: FullNode) -> Iterator[Request]:
    for sent in (full.transfers, full.logs, full.factory_deps, full.message):
        sent_hash = str(sent.hash)
        for options in ({"enableMemory": True}, CALL_TRACER, PRESTATE_TRACER):
            yield "debug_traceTransaction", (sent_hash, options)
        yield "trace_transaction", (sent_hash,)
        yield "trace_transactionOpcodeGas", (sent_hash,)
        yield "trace_get", (sent_hash, ["0x0"] * (BODY_BYTES // 6))
        yield "trace_replayTransaction", (sent_hash, TYPES)


def _traced_calls(full: FullNode) -> Iterator[Request]:
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


def _traced_otterscan(full: FullNode) -> Iterator[Request]:
    for number in full.long_blocks:
        block, block_hash = hex(number), str(full.chain.blocks.block_hash(number))
        yield "ots_getBlockDetails", (block,)
        yield "ots_getBlockDetailsByHash", (block_hash,)
        yield "ots_getBlockTransactions", (block, 0, MAX_PAGE)
    for sent in (full.transfers, full.logs, full.factory_deps, full.message):
        sent_hash = str(sent.hash)
        yield "ots_getInternalOperations", (sent_hash,)
        yield "ots_traceTransaction", (sent_hash,)
    for address in (full.alice, str(RECEIVER), addresses(1)[0]):
        yield "ots_getContractCreator", (address,)
        yield "ots_hasCode", (address, "pending")
        yield "ots_searchTransactionsAfter", (address, 0, 1)
        yield "ots_searchTransactionsAfter", (address, 0, MAX_PAGE)
        yield "ots_searchTransactionsBefore", (address, 0, MAX_PAGE)
