"""Examples of the methods that every Ethereum node has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docs.tools.examples.example import RESULT, call, example, pending_transfer

if TYPE_CHECKING:
    from docs.tools.examples.example import Example
    from docs.tools.recording import World


def ethereum_examples(world: World) -> dict[str, Example]:
    """Return the examples of `eth_`, `net_`, `personal_`, `rpc_`, `txpool_` and `web3_`."""
    alice, bob, counter = world.alice, world.bob, world.counter
    increment = {"from": alice, "to": counter}
    logs_of_counter = {"address": counter, "fromBlock": "0x0", "toBlock": "latest"}
    pending = pending_transfer(world)
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
        "eth_simulateV1": example({"blockStateCalls": [{"calls": [increment]}]}, "latest"),
        # Fees.
        "eth_gasPrice": example(),
        "eth_maxPriorityFeePerGas": example(),
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
        # Unlocked accounts.
        "eth_accounts": example(),
        "eth_sendTransaction": example({"from": alice, "to": bob, "value": "0x1"}),
        "eth_signTransaction": example({"from": alice, "to": bob, "value": "0x1"}),
        "eth_requestAccounts": example(),
        "eth_fillTransaction": example({"from": alice, "to": bob, "value": "0x1"}),
        "eth_sendTransactionSync": example({"from": alice, "to": bob, "value": "0x1"}),
        "eth_sendUnsignedTransaction": example({"from": bob, "to": alice, "value": "0x1"}),
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
        # What waits, and which methods there are.
        "txpool_status": example(before=pending),
        "txpool_inspect": example(before=pending),
        "txpool_content": example(before=pending),
        "txpool_contentFrom": example(alice, before=pending),
        "rpc_modules": example(),
    }
