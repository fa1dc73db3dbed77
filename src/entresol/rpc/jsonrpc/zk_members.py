"""What members are that only the ZK Stack's objects have, in the form of `members`."""

from __future__ import annotations

from typing import Final

ZK_MEMBERS: Final = """
L1: If L1 requested it.
L2: If it was sent to L2.
V2: The parameters, in their second version.
additional_storage: Slots of contracts that are set without a transaction, by address.
baseSystemContractsHashes: The hashes of the system contracts' code.
base_system_contracts: The hashes of the system contracts' code.
batchNumber: The batch; null before it is sealed.
L2ToL1LogProof.batchNumber: The batch whose root L1 has.
gatewayBlockNumber: The block of L1 whose root over all chains the proof leads to; only in proofs for another L2.
batch_overhead_l1_gas: What a batch costs on L1 apart from its transactions.
bootloader: 0: there is no bootloader.
bootloaderCodeHash: 0: there is no bootloader.
calldata: The call data.
canonicalTxHash: The hash of the transaction on L2.
commitChainId: The chain on which the batch was committed; null before it.
commitGasUsed: The gas that L1 took for the transaction that committed the batch; null if that is not known.
commitTxFinality: How final that transaction is; null before it.
commitTxHash: The transaction on L1 that committed the batch; null before it.
commitment: The commitment of the batch; null before L1 has it.
committedAt: When the batch was committed; null before it.
common_data: Who sent it, and what is paid for it.
compute_overhead_part: How much of a batch's cost execution bears.
config: The parameters that do not change with the price of gas.
contractAddress: Who is called; null to create a contract.
conversion_ratio: What the base token is worth in ether.
customSignature: The signature if it is not of a key: a contract verifies it.
dataAvailability: Where the data of the batch is: `calldata` if the commit publishes it on L1, `none` if the operator alone has it.
deadlineBlock: 0: a request does not expire.
decimals: How many digits of an amount are behind the point.
defaultAccountCodeHash: 0: accounts without code have no default one.
default_aa: 0: accounts without code have no default one.
denominator: The lower part of the fraction.
eip712Meta: What only transactions of the ZK Stack have.
ethBlock: 0: the block of L1 is not recorded.
ethCommitTxHash: The transaction on L1 that committed its batch; null before it.
ethExecuteTxHash: The transaction on L1 that executed its batch; null before it.
ethHash: 0: the transaction on L1 is not recorded.
ethPrecommitTxHash: Always null: blocks are not precommitted.
ethProveTxHash: The transaction on L1 that proved its batch; null before it.
events: The logs that it emitted.
evmSimulatorCodeHash: Null: the EVM is not emulated.
evm_emulator: Null: the EVM is not emulated.
execute: What it does.
executeChainId: The chain on which the batch was executed; null before it.
executeGasUsed: The gas that L1 took for the transaction that executed the batch, others in it included; null if that is not known.
executeTxFinality: How final that transaction is; null before it.
executeTxHash: The transaction on L1 that executed the batch; null before it.
executedAt: When the batch was executed; null before it.
execution_version: The version of the execution.
factoryDeps: The code that it brings along.
fairPubdataPrice: What a byte of pubdata costs, in units of the base token.
fair_l2_gas_price: What a unit of gas costs on L2, in units of the base token.
fair_pubdata_price: What a byte of pubdata costs, in units of the base token.
fee: What was paid for it, in units of the base token.
L2CommonData.fee: What it pays at most.
fflonk_snark_wrapper_vk_hash: The key of the other wrapper: there is none.
fullFee: 0: only gas is paid.
L1CommonData.gasLimit: The gas limit.
gasPerPubdata: How much gas a byte of pubdata costs at most.
gasPerPubdataLimit: How much gas a byte of pubdata costs at most.
gas_limit: The gas limit.
gas_per_pubdata_limit: How much gas a byte of pubdata costs at most.
genesis_root: The root of the state of the genesis.
RawInput.hash: The hash of the transaction.
RawInput.data: The transaction as it was sent.
id: The index of the log among those of the batch.
index: Its index.
OpenTransfer.index: Which of the transaction's transfers it is.
BatchStorageProof.index: 0: a Patricia trie has no indexes.
initial_accounts: The accounts that have ether, by address.
initial_contracts: The contracts, with their code.
initiatorAddress: The sender.
L2CommonData.input: The transaction as it was sent.
isL1Originated: Whether L1 requested it.
isService: Whether the system itself sent it.
L2ToL1LogInfo.key: A word that its sender chose: of a message, the account that sent it.
kind: What moves between the layers.
l1: In relation to the token of L1.
l1Address: The token on L1.
l1BatchNumber: The batch; null before it is sealed.
BlockDetails.l1BatchNumber: The batch, or the next one if it is not sealed.
l1Erc20DefaultBridge: The bridge of tokens on L1.
l1GasPrice: The price of gas on L1, in wei.
l1NativeTokenVault: The contract on L1 that holds tokens.
l1Nullifier: The contract on L1 that knows which withdrawals were claimed.
l1SharedDefaultBridge: The bridge of all chains on L1.
l1TxCount: How many transactions of it L1 requested.
l1WethBridge: 0: wrapped ether has no bridge.
l1_gas_price: The price of gas on L1, in wei.
l1_pubdata_price: What a byte of pubdata costs on L1, in wei.
l2Address: The token on L2.
l2Erc20DefaultBridge: The bridge of tokens on L2.
l2FairGasPrice: The price of gas on L2, in units of the base token.
l2LegacySharedBridge: The bridge on L2, under an earlier name.
l2SharedDefaultBridge: The bridge of all chains on L2.
l2SystemUpgradeTxHash: The transaction that upgraded the system: none.
l2ToL1Logs: The logs that it sent to L1.
l2TxCount: How many transactions of it were sent to L2.
l2WethBridge: 0: wrapped ether has no bridge.
l2_system_upgrade_tx_hash: The transaction that upgraded the system: none.
lastCommittedBatch: The last batch that L1 has.
lastCommittedBlock: The last block of that batch.
lastExecutedBatch: The last batch that L1 has executed.
lastExecutedBlock: The last block of that batch.
lastFinalizedBatch: The last batch whose execution is final on L1.
lastFinalizedBlock: The last block of that batch.
lastSealedBlock: The latest block.
layer2TipFee: 0: the operator receives no tip.
max_fee_per_gas: The most that it pays for a unit of gas.
max_gas_per_batch: The most gas of a batch.
max_priority_fee_per_gas: The most that it pays for a unit of gas above the base fee.
max_pubdata_per_batch: The most bytes of pubdata of a batch.
minimal_l2_gas_price: The least that gas costs on L2, in wei of ether.
minorVersion: The version.
name: The name of the token.
native_price: The base fee of the block, in units of the base token.
OpenTransferList.next: Where the next page begins; null on the last one.
L2CommonData.nonce: The number of transactions that the account sent before it.
BlockDetails.number: The number of the block.
L1BatchDetails.number: The number of the batch.
numerator: The upper part of the fraction.
opProcessingType: How the request is processed: always in the same way.
operatorAddress: The operator that sealed the block.
paymaster: The contract that pays in place of the sender.
paymasterInput: What the paymaster receives.
paymasterParams: Who pays in place of the sender.
precommitChainId: Always null: blocks are not precommitted.
precommitTxFinality: Always null: blocks are not precommitted.
precommitTxHash: Always null: blocks are not precommitted.
precommittedAt: Always null: blocks are not precommitted.
priorityQueueType: The queue of the request: there is one.
L2ToL1LogProof.proof: What `proveL2LogInclusion` and the like of the contracts on L1 take.
protocolVersion: The version of the protocol.
proveChainId: The chain on which the batch was proven; null before it.
proveGasUsed: The gas that L1 took for the transaction that proved the batch, others in it included; null if that is not known.
proveTxFinality: How final that transaction is; null before it.
proveTxHash: The transaction on L1 that proved the batch; null before it.
provenAt: When the batch was proven; null before it.
pubdataBytes: How many bytes the batch publishes on L1, compressed.
pubdata_overhead_part: How much of a batch's cost pubdata bears.
pubdata_price_per_byte: What a byte of pubdata costs, in units of the base token.
raw_bytes: The transaction as it was sent; null if L1 requested it.
receivedAt: When the node received it, or sealed it if that is unknown.
received_timestamp_ms: The time of its block, in milliseconds since 1970.
recursion_scheduler_level_vk_hash: The key that verifies the proofs of batches.
refundRecipient: Who receives on L2 what is not used.
L2ToL1LogProof.root: The root of the tree of the batch's logs.
BlockDetails.rootHash: The hash of the block.
rootHash: The state root after the batch.
L2ToL1LogInfo.sender: The contract that sent it.
L1CommonData.sender: The sender on L2: of a contract on L1, an alias.
serialId: The number of the request among all requests of L1.
shardId: The shard: there is one, 0.
signature: The signature.
sl: In relation to the token of the settlement layer.
stage: How far the block is settled.
BatchAccountProof.stateRoot: The root of the state after the batch.
status: `sealed`, or `verified` once its batch is executed and that is final.
BatchBooks.blockNumber: The block of L1 with that transaction; null before it.
BatchBooks.problem: Why L1 does not book a bundle of the batch; null if it has booked all, or was not asked.
BatchBooks.status: Whether the batch is booked, wholly or in part, is to be booked, cannot be, or has nothing to book.
BatchBooks.timestamp: The time of that block, in seconds; null before it.
BatchBooks.transactionHash: The transaction on L1 that booked the batch and added its root; null before it.
OpenTransfer.problem: Why the relay of the node could not complete it when it last tried; null if it has not tried.
OpenTransfer.status: Whether it can be claimed now, or has to wait.
TransactionDetails.status: Whether it waits, is in a block, failed, or is verified on L1.
storageLogs: The slots that it wrote.
symbol: The short name of the token.
ProtocolVersion.timestamp: When it became active, in seconds since 1970.
toMint: How much of the base token is created on L2, in its units.
transactionType: The type of the transaction, by name.
transfers: The transfers of the page.
L2ToL1LogInfo.value: A word that its sender chose: of a message, its keccak.
verification_keys_hashes: The hashes of the keys that verify proofs.
version_id: The version.
writtenValue: The value that it has now.
"""
