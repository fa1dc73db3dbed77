"""What a member of a JSON object is: said once for its name, and again for a class where it is something else.

A description at the member itself, as the models of results have them, takes precedence. Names of the ZK Stack are in
`zk_members`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from entresol.rpc.jsonrpc.zk_members import ZK_MEMBERS

_MEMBERS: Final = """
accessList: The accounts and slots that it announces.
AccessListResult.accessList: The accounts and slots that the call used.
accountProof: The nodes of the state trie from the root to the account.
accounts: The accounts of the page, by address.
activationTime: When the fork became active, in seconds since 1970.
address: The account.
LogInfo.address: The contract that emitted it.
AuthorizationItem.address: Whose code the signer takes.
after: How many frames to skip.
authorizationList: Signed authorizations by which accounts delegate to code.
balance: The balance in wei.
DumpedAccount.balance: The balance in wei, in decimal digits.
baseFee: The base fee per gas.
baseFeePerBlobGas: The price of blob gas in each block, and in the next one.
baseFeePerGas: The base fee.
FeeHistoryResult.baseFeePerGas: The base fee of each block, and of the next one.
baseFeeUpdateFraction: The larger, the slower the price of blob gas moves.
blobBaseFee: The price of blob gas.
blobGasUsedRatio: The part of its blob gas limit that each block used.
blobSchedule: The limits of blobs; null before Cancun.
blobVersionedHashes: The hashes that name its blobs.
blobs: The blobs themselves.
blockHash: The hash of its block.
BlockOverride.blockHash: What BLOCKHASH returns, by block number.
blockNumber: The number of its block.
BlockOverride.blockNumber: Another name of `number`.
StateContext.blockNumber: The block after which the calls run; `latest` by default.
blockOverride: What differs in the block of the bundle.
blockOverrides: What differs in the block.
blockStateCalls: The blocks to simulate, in order.
blockTimestamp: The time of its block, in seconds since 1970.
calls: What runs in the block, in order.
SimulatedBlockInfo.calls: What each call did.
cellProofs: The proofs of the blobs' cells, since Osaka.
chainId: The chain id.
AuthorizationItem.chainId: The chain for which it holds; 0 for every chain.
AuthorizationInfo.chainId: The chain for which it holds; 0 for every chain.
clientCommitSha: The commit that the node was built from; null if it is unknown.
clientSemver: The version of the node.
clientVersion: The name and the version of the node.
code: The code of the account.
DumpedAccount.code: The code; missing if there is none, or if the request excludes it.
codeHash: The keccak of its code.
codes: The code of the contracts that the block used.
coinbase: Another name of `feeRecipient`.
commitments: The KZG commitments of the blobs.
count: How many frames to return at most.
creator: The account that created it.
current: The parameters that hold now.
currentBlockHash: The hash of the latest block.
currentBlockNumber: The number of the latest block.
currentBlockTimestamp: The time of the latest block, in seconds since 1970.
data: The call data, or the code that creates a contract.
LogInfo.data: What is no topic.
difficulty: 0, because no block is mined.
BlockOverride.difficulty: What DIFFICULTY returns before Paris.
disableStack: Whether steps have no stack.
disableStorage: Whether steps have no slots.
effectiveGasPrice: What a unit of gas cost.
enableMemory: Whether steps have their memory.
enableReturnData: Whether steps have what the last call returned.
environment: The parameters of the next block.
error: Why it failed.
CallManyResult.error: Why the call failed, if it did.
AccessListResult.error: Why the call failed; missing if it did not.
extraData: Bytes that its producer chose.
feeRecipient: Who receives the priority fees.
forkBlockHash: The hash of the block that the fork stands on.
forkBlockNumber: The number of the block that a fork stands on; null if the chain is none.
forkConfig: What the chain is a fork of.
forkId: The fork id (EIP-2124).
forkRetryBackoff: Milliseconds before a request to the remote is tried again; null if the chain is no fork.
forkUrl: Scheme, host and port of the remote; null if the chain is no fork.
forkedNetwork: The chain and the block that the chain is a fork of; null if it is none.
from: The sender.
fromAddress: The senders whose frames are wanted; all without it.
fromBlock: The first block; the earliest without it.
gas: The gas limit.
gasLimit: The most gas that its transactions may use.
gasPrice: The price of a unit of gas.
gasUsed: The gas that it used.
HeaderInfo.gasUsed: The gas that its transactions used.
gasUsedRatio: The part of its gas limit that each block used.
hardFork: The fork of the EVM.
hash: The hash of the transaction.
headers: The headers that the block refers to, in RLP.
input: The call data, or the code that creates a contract.
instanceId: A random number, which a new chain changes.
key: The key of the slot.
DumpedAccount.key: The keccak of the address.
StorageEntry.key: The slot, if its hash is all that the trie has; null if it is unknown.
keys: The addresses and slots that the block used.
last: The last scheduled fork: none.
latestBlockHash: The hash of the latest block.
latestBlockNumber: The number of the latest block.
limit: After how many bytes no more steps are listed; 0 for no limit.
logs: The logs that it emitted.
logsBloom: The Bloom filter of its logs.
max: The most blobs of a block.
maxFeePerBlobGas: The most that it pays for a unit of blob gas.
maxFeePerGas: The most that it pays for a unit of gas.
maxPriorityFeePerGas: The most that it pays for a unit of gas above the base fee.
message: What went wrong, in geth's words.
mode: Whether one of the addresses has to match, or both a sender and a recipient.
movePrecompileToAddress: Where the precompile of this address moves, so that its code can be replaced.
next: Where the next page begins; missing on the last one.
ChainParameters.next: The next scheduled fork: none.
nextKey: Where the next page begins; null on the last one.
nonce: The number of transactions that the account sent before it.
HeaderInfo.nonce: 0, because no block is mined.
AccountInfo.nonce: How many transactions the account has sent, or contracts it has created.
AccountState.nonce: How many transactions the account has sent, or contracts it has created.
AccountResult.nonce: How many transactions the account has sent, or contracts it has created.
BatchAccountProof.nonce: How many transactions the account has sent, or contracts it has created.
DumpedAccount.nonce: How many transactions the account has sent, or contracts it has created.
FundedAccount.nonce: How many transactions the account has sent, or contracts it has created.
AccountOverride.nonce: How many transactions the account has sent, or contracts it has created.
AuthorizationItem.nonce: The nonce of the signer, for which it holds.
AuthorizationInfo.nonce: The nonce of the signer, for which it holds.
number: The number of the block.
oldestBlock: The first of the blocks.
parentHash: The hash of the block before it.
pending: Those that the next blocks can have.
PoolStatus.pending: How many the next blocks can have.
PoolContent.pending: Those that the next blocks can have, by sender and nonce.
PoolSummary.pending: Those that the next blocks can have, by sender and nonce, in words.
SenderContent.pending: Those that the next blocks can have, by nonce.
precompiles: The precompiled contracts, by name.
prevRandao: What PREVRANDAO returns.
proof: The nodes of the storage trie from the root to the slot.
proofs: The KZG proofs of the blobs.
PoolStatus.queued: How many wait for a missing nonce.
PoolContent.queued: Those that wait for a missing nonce, by sender and nonce.
PoolSummary.queued: Those that wait for a missing nonce, by sender and nonce, in words.
SenderContent.queued: Those that wait for a missing nonce, by nonce.
r: A part of the signature.
random: Another name of `prevRandao`.
raw: The transaction, in the encoding of its type.
receiptsRoot: The root of the trie of its receipts.
returnData: What it returned, or reverted with.
returnFullTransactions: Whether blocks have whole transactions in place of hashes.
reward: The priority fees of each block at the requested percentiles.
root: The root of the state trie.
DumpedAccount.root: The root of the account's storage trie.
s: A part of the signature.
snapshots: The block number and the hash of each snapshot, by its id.
state: The whole storage, by slot.
WitnessResult.state: The nodes of the tries that the block used.
stateDiff: The slots that differ.
stateOverrides: What differs in accounts, by address.
stateRoot: The root of the state after it.
storage: The slots with their values.
StorageRange.storage: The slots of the page, by the keccak of the slot.
storageHash: The root of its storage trie.
storageKeys: The slots of the account.
storageProof: The slots that were asked for, with their proofs.
storageRoot: The root of its storage trie.
systemContracts: The contracts that the protocol itself calls, by name.
target: The number of blobs at which their price stays.
time: The time of the block, in seconds since 1970.
timeout: How long tracing a transaction may take, as Go writes durations.
timestamp: In seconds since 1970.
BlockOverride.timestamp: Another name of `time`.
to: Who is called or paid; missing or null to create a contract.
toAddress: The recipients whose frames are wanted; all without it.
toBlock: The last block; the latest without it.
topics: Up to four words, by which logs are found.
totalDifficulty: 0, because no block is mined.
traceTransfers: Whether transfers of ether are among the logs.
tracer: The name of the tracer; steps are listed without it.
tracerConfig: The options of the tracer: `onlyTopCall` and `withLog` of `callTracer`, `diffMode`, `disableCode` and `disableStorage` of `prestateTracer`, tracers by name for `muxTracer`.
transactionHash: The hash of the transaction.
transactionIndex: Its position in the block.
ReceiptInfo.transactionIndex: The position of the transaction in the block.
StateContext.transactionIndex: Before which transaction of the block the calls run; after all of them by default.
transactionOrder: In which order the pool lists its transactions.
transactions: The calls, in order.
transactionsRoot: The root of the trie of its transactions.
tx: The transaction as an object.
txIndex: Before which transaction of the block the call runs; after all of them by default.
type: The type of the transaction.
ParityFrame.type: What the frame is.
v: The part of the signature from which the signer is found.
validation: Whether nonces, balances and fees are checked.
value: The ether that it sends, in wei.
StorageEntry.value: The value of the slot.
StorageResult.value: The value of the slot.
BatchStorageProof.value: The value of the slot.
CallManyResult.value: What the call returned, if it did not fail.
yParity: The part of the signature from which the signer is found.
"""


@cache
def sentences() -> Mapping[str, str]:
    """Return all sentences, by member or by class and member."""
    lines = (_MEMBERS + ZK_MEMBERS).split("\n")
    return dict(line.split(": ", 1) for line in lines if line)


def sentence_of(kind: type, member: str) -> str | None:
    """Return what a member of a class is, or of a class that it extends."""
    known = sentences()
    names = (f"{it.__name__}.{member}" for it in kind.__mro__)
    return next((known[name] for name in (*names, member) if name in known), None)
