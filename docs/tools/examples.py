"""The examples of the method reference: for each method the parameters of one call.

`docs/tools/recording.py` makes the call to a fresh node with four blocks, and the page shows the response. So an example
is one line in `examples` below. Preparatory calls are given as `before`; `RESULT` among the parameters is replaced by
the result of the last of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from entresol.contracts import artifact
from entresol.primitives import abi
from entresol.primitives.values import Address

if TYPE_CHECKING:
    from docs.tools.recording import World

RESULT: Final = "(result)"


class Call(msgspec.Struct, frozen=True):
    """A method and its parameters."""

    method: str
    params: tuple[Any, ...] = ()


class Example(msgspec.Struct, frozen=True):
    """The parameters of a call, its preparatory calls, and whether it is rejected."""

    params: tuple[Any, ...]
    before: tuple[Call, ...] = ()
    rejected: bool = False


def call(method: str, *params: Any) -> Call:
    """Return a preparatory call of an example."""
    return Call(method, params)


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


def example(*params: Any, before: tuple[Call, ...] = (), rejected: bool = False) -> Example:
    """Return an example with these parameters."""
    return Example(params, before, rejected)


def examples(world: World) -> dict[str, Example]:
    """Return the example of each method; `hardhat_x` shares that of `anvil_x` unless it has its own."""
    alice, bob, counter = world.alice, world.bob, world.counter
    increment = {"from": alice, "to": counter}
    call_tracer = {"tracer": "callTracer"}
    logs_of_counter = {"address": counter, "fromBlock": "0x0", "toBlock": "latest"}
    manual = call("evm_setAutomine", False)
    pending = (manual, call("eth_sendRawTransaction", world.next_transfer))
    failing = (
        *SOURCES,
        call("eth_sendTransaction", {"from": alice, "to": FAILING, "gas": "0xc350"}),
    )
    ether_of_l2 = "0x000000000000000000000000000000000000800a"
    withdraw = {"to": ether_of_l2, "value": "0x1", "data": "0x51cff8d9" + "00" * 12 + bob[2:]}
    withdrawal = call("eth_sendTransaction", {"from": alice, **withdraw})
    code = artifact("TestERC20").bytecode + abi.encode(
        "(string,string,uint8)", ("Test Token", "TEST", 18)
    )
    mint = abi.encode_call("mint(address,uint256)", Address.parse(bob), 10**18)
    minted = tuple(
        call("eth_sendTransaction", {"from": alice, "data": "0x" + data.hex(), **more})
        for data, more in ((code, {}), (mint, {"to": world.next_contract}))
    )
    letter = {
        "domain": {"name": "Post", "chainId": 270},
        "types": {
            "EIP712Domain": [
                {"name": "name", "type": "string"},
                {"name": "chainId", "type": "uint256"},
            ],
            "Letter": [{"name": "text", "type": "string"}],
        },
        "primaryType": "Letter",
        "message": {"text": "hello"},
    }
    return {
        # The chain and its blocks.
        "eth_chainId": example(),
        "eth_blockNumber": example(),
        "eth_getBlockByNumber": example("0x1", False),
        "eth_getBlockByHash": example(world.hash_of_block(1), True),
        "eth_getBlockReceipts": example("0x3"),
        "eth_getBlockTransactionCountByNumber": example("latest"),
        "eth_getBlockTransactionCountByHash": example(world.hash_of_block(1)),
        "eth_getHeaderByNumber": example("latest"),
        "eth_getHeaderByHash": example(world.hash_of_block(1)),
        "eth_getUncleCountByBlockNumber": example("latest"),
        "eth_getUncleCountByBlockHash": example(world.hash_of_block(1)),
        # Transactions.
        "eth_getTransactionByHash": example(world.transfer),
        "eth_getTransactionByBlockNumberAndIndex": example("0x1", "0x0"),
        "eth_getTransactionByBlockHashAndIndex": example(world.hash_of_block(1), "0x0"),
        "eth_getTransactionBySenderAndNonce": example(alice, "0x0"),
        "eth_getTransactionReceipt": example(world.increment),
        "eth_getRawTransactionByHash": example(world.transfer),
        "eth_sendRawTransaction": example(world.next_transfer),
        "eth_sendRawTransactionConditional": example(
            world.next_transfer,
            {
                "blockNumberMax": "0x10",
                "knownAccounts": {counter: {"0x0": "0x" + "00" * 31 + "01"}},
            },
        ),
        # State.
        "eth_getBalance": example(bob, "latest"),
        "eth_getCode": example(counter, "latest"),
        "eth_getStorageAt": example(counter, "0x0", "latest"),
        "eth_getTransactionCount": example(alice, "latest"),
        "eth_getAccountInfo": example(counter, "latest"),
        "eth_getProof": example(counter, ["0x0"], "latest"),
        # Calls.
        "eth_call": example(increment, "latest"),
        "eth_estimateGas": example(increment),
        "eth_createAccessList": example(increment, "latest"),
        "eth_callMany": example(
            [{"transactions": [increment, increment]}], {"blockNumber": "latest"}
        ),
        "eth_callBundle": example(
            {"txs": [world.next_transfer], "blockNumber": "0x5", "stateBlockNumber": "latest"}
        ),
        "eth_simulateV1": example({"blockStateCalls": [{"calls": [increment]}]}, "latest"),
        # The layer 2 and its L1.
        "zks_L1BatchNumber": example(),
        "zks_L1ChainId": example(),
        "zks_estimateFee": example({"from": alice, "to": bob, "value": "0x1"}),
        "zks_estimateGasL1ToL2": example({"from": alice, "to": counter, "data": "0x"}),
        "zks_gasPerPubdata": example(),
        "zks_getBaseTokenL1Address": example(),
        "zks_getBatchFeeInput": example(),
        "zks_getBatchFinality": example(1),
        "zks_getBlockDetails": example(4),
        "zks_getBlockFinality": example(4),
        "zks_getBlockMetadataByNumber": example(4),
        "zks_getBridgeContracts": example(),
        "zks_getBridgehubContract": example(),
        "zks_getBytecodeByHash": example(world.counter_code_hash),
        "zks_getBytecodeSupplierContract": example(),
        "zks_getFeeParams": example(),
        "zks_getFinalityStatus": example(),
        "zks_getL1BatchBlockRange": example(1),
        "zks_getL1BatchDetails": example(1),
        "zks_getL1GasPrice": example(),
        "zks_getL2Multicall3": example(),
        "entresol_getBatchBooks": example(1),
        "entresol_getBatchStatistics": example(None, 1),
        "entresol_getBlockStatistics": example(10, None, 1),
        "entresol_getEdits": example(
            "latest", 0, before=(call("anvil_setBalance", bob, hex(10**18)), call("evm_mine"))
        ),
        "entresol_getToken": example(world.next_contract, before=minted),
        "entresol_getTokens": example("test", None, 2, before=minted),
        "entresol_getTokenHolders": example(world.next_contract, None, 2, before=minted),
        "entresol_getTokenTransfers": example(world.next_contract, None, 1, before=minted),
        "entresol_getAccountTokens": example(bob, None, 1, before=minted),
        "entresol_getAccountTransfers": example(bob, None, 1, before=minted),
        "entresol_getAccountTransactions": example(bob, None, 1),
        "entresol_getTransactions": example(None, 1),
        "entresol_findHashes": example(world.transfer[:10]),
        "entresol_getOpenTransfers": example(None, 2, before=(withdrawal,)),
        # The id of the L1.
        "entresol_addChain": example({"chainId": 31337, "port": 0}, rejected=True),
        # The node is paid in ether.
        "entresol_setBaseTokenRatio": example("628/17", rejected=True),
        "zks_getL2ToL1LogProof": example(world.message, 0),
        "zks_getL2ToL1MsgProof": example(4, alice, world.message_hash),
        "zks_getMainContract": example(),
        "zks_getAllAccountBalances": example(alice),
        "zks_getConfirmedTokens": example(0, 10),
        "zks_getGenesis": example(),
        "zks_getProtocolVersion": example(),
        "zks_getProof": example(counter, ["0x" + "00" * 32], 1),
        "zks_getRawBlockTransactions": example(1),
        "zks_getTestnetPaymaster": example(),
        "zks_getTimestampAsserter": example(),
        "zks_getTransactionDetails": example(world.message),
        "zks_getTransactionFinality": example(world.message),
        "zks_sendRawTransactionWithDetailedOutput": example(world.next_transfer),
        "unstable_gasPerPubdata": example(),
        "unstable_l1ToL2TxsStatus": example(),
        "unstable_unconfirmedTxsCount": example(),
        "unstable_supportsUnsafeDepositFilter": example(),
        "unstable_gatewayMigrationStatus": example(),
        "unstable_getDataAvailabilityDetails": example(1),
        "unstable_sendRawTransactionWithDetailedOutput": example(world.next_transfer),
        "unstable_getTransactionExecutionInfo": example(world.transfer, rejected=True),
        "unstable_getTeeProofs": example(1, rejected=True),
        "unstable_getAirbenderProof": example(1, rejected=True),
        "unstable_getChainLogProof": example(1, 271, rejected=True),
        "unstable_getChainLogProofUntilMsgRoot": example(4, 271, rejected=True),
        "anvil_zks_commitBatch": example(1),
        "anvil_zks_proveBatch": example(1),
        "anvil_zks_executeBatch": example(1),
        # L1 has one chain, and nobody asked for it.
        "anvil_zks_bookBatch": example(1),
        # Fees.
        "eth_gasPrice": example(),
        "eth_maxPriorityFeePerGas": example(),
        "eth_baseFee": example(),
        "eth_blobBaseFee": example(),
        "eth_feeHistory": example("0x2", "latest", [50]),
        # Logs, filters, subscriptions.
        "eth_getLogs": example(logs_of_counter),
        "eth_newFilter": example(logs_of_counter),
        "eth_newBlockFilter": example(),
        "eth_newPendingTransactionFilter": example(),
        "eth_getFilterChanges": example(RESULT, before=(call("eth_newBlockFilter"),)),
        "eth_getFilterLogs": example(RESULT, before=(call("eth_newFilter", logs_of_counter),)),
        "eth_uninstallFilter": example(RESULT, before=(call("eth_newBlockFilter"),)),
        "eth_subscribe": example("newHeads"),
        "eth_unsubscribe": example(RESULT, before=(call("eth_subscribe", "newHeads"),)),
        # The node.
        "eth_syncing": example(),
        "eth_coinbase": example(),
        "eth_mining": example(),
        "eth_hashrate": example(),
        "eth_protocolVersion": example(),
        "net_version": example(),
        "net_listening": example(),
        "net_peerCount": example(),
        "web3_clientVersion": example(),
        "web3_sha3": example("0x68656c6c6f"),
        "rpc.discover": example(),
        # What developers do to a chain of their own.
        "evm_snapshot": example(),
        "evm_revert": example(RESULT, before=(call("evm_snapshot"),)),
        "evm_mine": example(),
        "evm_increaseTime": example(3_600),
        "evm_setNextBlockTimestamp": example("0x7fffffff"),
        "evm_setAutomine": example(False),
        "evm_setIntervalMining": example(0, before=(manual,)),
        "anvil_setBalance": example(bob, "0xde0b6b3a7640000"),
        "anvil_setNonce": example(bob, "0x5"),
        "anvil_setCode": example(bob, "0x602a5f5260205ff3"),
        "anvil_setStorageAt": example(counter, "0x0", "0x" + "00" * 31 + "2a"),
        "anvil_mine": example("0x2", "0x3c"),
        "evm_mine_detailed": example(before=pending),
        "anvil_mine_detailed": example(before=pending),
        "evm_setBlockGasLimit": example(60_000_000),
        "anvil_setBlockGasLimit": example(60_000_000),
        "evm_setAccountBalance": example(bob, "0xde0b6b3a7640000"),
        "evm_setAccountNonce": example(bob, 5),
        "evm_setAccountCode": example(bob, "0x602a5f5260205ff3"),
        "tenderly_setBalance": example(bob, "0xde0b6b3a7640000"),
        "tenderly_addBalance": example(bob, "0xde0b6b3a7640000"),
        "tenderly_setErc20Balance": example(counter, [alice, bob], "0x5", rejected=True),
        "tenderly_addErc20Balance": example(counter, bob, "0x5", rejected=True),
        "tenderly_setMaxErc20Balance": example(counter, bob, rejected=True),
        "anvil_addBalance": example(bob, "0xde0b6b3a7640000"),
        "anvil_setCoinbase": example(bob),
        "anvil_setNextBlockBaseFeePerGas": example("0x7"),
        "anvil_setMinGasPrice": example("0x7", rejected=True),
        "anvil_setBlockTimestampInterval": example(12),
        "anvil_removeBlockTimestampInterval": example(
            before=(call("anvil_setBlockTimestampInterval", 12),)
        ),
        "anvil_setNextBlockPrevRandao": example("0x" + "22" * 32),
        "hardhat_setPrevRandao": example("0x" + "22" * 32),
        "hardhat_intervalMine": example(),
        "hardhat_addCompilationResult": example("0.8.30", *COMPILATION),
        "entresol_getCallStackTrace": example({"to": FAILING}, before=SOURCES),
        "entresol_getContracts": example([FAILING, alice], before=SOURCES),
        "entresol_getStackTrace": example(RESULT, before=failing),
        "entresol_getExecution": example(RESULT, before=failing),
        "entresol_getGasReport": example("0x1", "0x1"),
        "entresol_getExecutionSteps": example(RESULT, 0, 2, before=failing),
        "entresol_getExecutionStep": example(RESULT, 2, before=failing),
        "hardhat_getStackTraceFailuresCount": example(),
        "anvil_nodeInfo": example(),
        "anvil_metadata": example(before=(call("evm_snapshot"),)),
        "hardhat_metadata": example(),
        "anvil_setLoggingEnabled": example(False),
        "anvil_getGenesisTime": example(),
        "anvil_setRpcUrl": example("http://127.0.0.1:8545"),
        "anvil_getBlobByHash": example("0x01" + "11" * 31),
        "anvil_getBlobsByTransactionHash": example(world.transfer),
        "anvil_dropTransaction": example(RESULT, before=pending),
        "hardhat_dropTransaction": example(RESULT, before=pending),
        "anvil_dropAllTransactions": example(before=pending),
        "anvil_removePoolTransactions": example(alice, before=pending),
        "anvil_dealERC20": example(bob, counter, 5, rejected=True),
        "anvil_setERC20Balance": example(bob, counter, 5, rejected=True),
        "anvil_setERC20Allowance": example(alice, bob, counter, 5, rejected=True),
        "anvil_setChainId": example(31_337, rejected=True),
        "anvil_impersonateSignature": example([f"0x{'11' * 65}", bob], rejected=True),
        "anvil_classifyTransaction": example(world.next_transfer, rejected=True),
        "anvil_setFeeToken": example(alice, counter, rejected=True),
        "anvil_setValidatorFeeToken": example(alice, counter, rejected=True),
        "anvil_setFeeAmmLiquidity": example(counter, counter, 5, rejected=True),
        # Unlocked accounts.
        "eth_accounts": example(),
        "eth_sendTransaction": example({"from": alice, "to": bob, "value": "0x1"}),
        "eth_signTransaction": example({"from": alice, "to": bob, "value": "0x1"}),
        "eth_resend": example(
            {"from": alice, "to": bob, "value": "0x1", "nonce": "0x4"},
            "0x3b9aca00",
            before=(
                manual,
                call("eth_sendTransaction", {"from": alice, "to": bob, "value": "0x1"}),
            ),
        ),
        "eth_requestAccounts": example(),
        "eth_fillTransaction": example({"from": alice, "to": bob, "value": "0x1"}),
        "eth_sendTransactionSync": example({"from": alice, "to": bob, "value": "0x1"}),
        "eth_sendUnsignedTransaction": example({"from": bob, "to": alice, "value": "0x1"}),
        "eth_signTypedData_v3": example(alice, letter, rejected=True),
        "eth_pendingTransactions": example(before=pending),
        "eth_config": example(),
        "eth_networkId": example(),
        "eth_sign": example(alice, "0x68656c6c6f"),
        "personal_sign": example("0x68656c6c6f", alice),
        "eth_signTypedData": example(alice, letter),
        "eth_signTypedData_v4": example(alice, letter),
        # More of transactions, blocks and state.
        "eth_sendRawTransactionSync": example(world.next_transfer),
        "eth_getRawTransactionByBlockNumberAndIndex": example("0x1", "0x0"),
        "eth_getRawTransactionByBlockHashAndIndex": example(world.hash_of_block(1), "0x0"),
        "eth_getUncleByBlockNumberAndIndex": example("latest", "0x0"),
        "eth_getUncleByBlockHashAndIndex": example(world.hash_of_block(1), "0x0"),
        "eth_getAccount": example(counter, "latest"),
        "eth_getStorageValues": example({counter: ["0x0"]}, "latest"),
        "eth_capabilities": example(),
        "eth_getBlockAccessList": example("latest", rejected=True),
        "eth_getBlockAccessListByBlockHash": example(world.hash_of_block(1), rejected=True),
        "eth_getBlockAccessListByBlockNumber": example("latest", rejected=True),
        "eth_getBlockAccessListRaw": example("latest", rejected=True),
        "eth_signRawTransaction": example(world.next_transfer, rejected=True),
        "eth_getWork": example(rejected=True),
        "eth_submitWork": example(rejected=True),
        "eth_submitHashrate": example(rejected=True),
        # What was, and state files.
        "anvil_rollback": example(1),
        "anvil_reorg": example(1, [[{"from": alice, "to": bob, "value": "0x1"}, 0]]),
        "anvil_reset": example(),
        "hardhat_reset": example(),
        "anvil_dumpState": example(),
        "anvil_loadState": example(RESULT, before=(call("anvil_dumpState"),)),
        # Raw objects and states.
        "debug_traceTransaction": example(world.transfer, call_tracer),
        "debug_traceBlockByNumber": example("0x1", call_tracer),
        "debug_traceBlockByHash": example(world.hash_of_block(1), call_tracer),
        "debug_traceBlock": example(
            RESULT, {"tracer": "noopTracer"}, before=(call("debug_getRawBlock", "0x1"),)
        ),
        "debug_intermediateRoots": example(world.hash_of_block(1)),
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
        "testing_buildBlockV1": example(
            world.hash_of_block(4),
            {
                "timestamp": "0x7fffffff",
                "prevRandao": "0x" + "22" * 32,
                "suggestedFeeRecipient": bob,
            },
            [world.next_transfer],
        ),
        "debug_accountInfoAt": example("0x1", 0, bob),
        "debug_getModifiedAccountsByNumber": example("0x1"),
        "debug_getModifiedAccountsByHash": example(world.hash_of_block(1), world.hash_of_block(3)),
        "debug_clearTxpool": example(before=pending),
        "debug_getRawBlockAccessList": example("latest", rejected=True),
        "debug_codeByHash": example(world.counter_code_hash),
        "debug_dbGet": example("0x63" + world.counter_code_hash.removeprefix("0x")),
        "debug_storageRangeAt": example("0x3", 0, counter, "0x", 10),
        "debug_accountRange": example("latest", "0x", 2, True, True),
        "debug_executionWitness": example("0x1"),
        "debug_getBadBlocks": example(),
        "debug_chainConfig": example(),
        # What waits.
        "txpool_status": example(before=pending),
        "txpool_inspect": example(before=pending),
        "txpool_content": example(before=pending),
        "txpool_contentFrom": example(alice, before=pending),
        "rpc_modules": example(),
        "evm_setTime": example("0x69570000"),
        "anvil_setTime": example("0x69570000"),
        "anvil_increaseTime": example(3_600),
        "anvil_setNextBlockTimestamp": example("0x69570000"),
        "anvil_setAutomine": example(False),
        "anvil_getAutomine": example(),
        "anvil_setIntervalMining": example(0),
        "anvil_getIntervalMining": example(),
        "anvil_snapshot": example(),
        "anvil_revert": example(RESULT, before=(call("anvil_snapshot"),)),
        "anvil_impersonateAccount": example(counter),
        "anvil_stopImpersonatingAccount": example(
            counter, before=(call("anvil_impersonateAccount", counter),)
        ),
        "anvil_autoImpersonateAccount": example(True),
    }
