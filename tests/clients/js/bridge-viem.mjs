// What users do with viem/zksync between two layers.

import assert from "node:assert/strict";
import {
  createPublicClient, createWalletClient, defineChain,
  encodeFunctionData, parseAbi, parseEther, stringToHex,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { zksyncLocalNode } from "viem/chains";
import {
  eip712WalletActions, getL2HashFromPriorityOp, legacyEthAddress, publicActionsL2,
  walletActionsL1, walletActionsL2,
} from "viem/zksync";
import { ALICE, BOB, check, contracts, run, thrown, url } from "./harness.mjs";
import { POLL_MS, at, l1, l1Chain, mined, options, receiptOf } from "./viem-layers.mjs";

const MESSENGER = "0x0000000000000000000000000000000000008008";
const BASE_TOKEN = "0x000000000000000000000000000000000000800A";
const CHAIN_ID = 270n;
const bridgehubAbi = parseAbi([
  "function getZKChain(uint256) view returns (address)",
  "function l2TransactionBaseCost(uint256, uint256, uint256, uint256) view returns (uint256)",
  "function proveL2MessageInclusion(uint256, uint256, uint256, (uint16 txNumberInBatch, address sender, bytes data), bytes32[]) view returns (bool)",
]);

const l2Chain = defineChain({ ...zksyncLocalNode, ...at(url) });

const l2 = createPublicClient(options(l2Chain)).extend(publicActionsL2());
const account = privateKeyToAccount(ALICE);
const above = createWalletClient({ account, ...options(l1Chain) }).extend(walletActionsL1());
const below = createWalletClient({ account, ...options(l2Chain) })
  .extend(walletActionsL2()).extend(eip712WalletActions());
const bobAbove = createWalletClient({ account: privateKeyToAccount(BOB), ...options(l1Chain) })
  .extend(walletActionsL1());

// A new account, so that its balance is what happened.
let somebody = 0xc000;
const stranger = () => "0x" + (++somebody).toString(16).padStart(40, "0");

// The receipt on L2 of a request on L1.
async function arrived(hash) {
  const receipt = await mined(l1, hash);
  const l2Hash = getL2HashFromPriorityOp(receipt, await l2.getMainContractAddress());
  return await receiptOf(l2, l2Hash);
}

// The receipt once its batch is executed on L1.
async function finalized(hash) {
  const { blockNumber } = await receiptOf(l2, hash);
  while ((await l2.getBlock({ blockTag: "finalized" })).number < blockNumber) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return await l2.getTransactionReceipt({ hash });
}

async function newToken(supply) {
  const { abi, bytecode } = contracts.token;
  const args = ["Salt and Pepper", "SAP", 8];
  const { contractAddress } = await mined(l1, await above.deployContract({ abi, bytecode, args }));
  const token = { address: contractAddress, abi };
  await mined(l1, await above.writeContract({ ...token, functionName: "mint", args: [account.address, supply] }));
  return token;
}

const holds = (client, token, owner) =>
  client.readContract({ address: token, abi: contracts.token.abi, functionName: "balanceOf", args: [owner] });

const token = await newToken(10_000n);

check("finds the contracts of both layers", async () => {
  const bridgehub = await l2.getBridgehubContractAddress();
  const chain = await l1.readContract({
    address: bridgehub, abi: bridgehubAbi, functionName: "getZKChain", args: [CHAIN_ID],
  });
  assert.equal(await l2.getMainContractAddress(), chain.toLowerCase());
  assert.equal(await l2.getL1ChainId(), "0x7a69");
  assert.equal(await l2.getBaseTokenL1Address(), "0x0000000000000000000000000000000000000001");
  const bridges = await l2.getDefaultBridgeAddresses();
  assert.ok((await l1.getCode({ address: bridges.sharedL1 })).length > 2);
  assert.ok((await l2.getCode({ address: bridges.sharedL2 })).length > 2);
});

check("deposits ether", async () => {
  const to = stranger();
  const hash = await above.deposit({ client: l2, token: legacyEthAddress, amount: parseEther("3"), to });
  const { status, transactionHash } = await arrived(hash);
  assert.equal(status, "success");
  assert.equal((await l2.getTransaction({ hash: transactionHash })).type, "priority");
  assert.equal(await l2.getBalance({ address: to }), parseEther("3"));
});

check("deposits a token twice, and finds each on the other layer", async () => {
  const to = stranger();
  for (const amount of [30n, 12n]) {
    const deposit = { client: l2, token: token.address, amount, to, approveToken: true, refundRecipient: to };
    assert.equal((await arrived(await above.deposit(deposit))).status, "success");
  }
  const bridged = await l2.getL2TokenAddress({ token: token.address });
  assert.equal(await holds(l2, bridged, to), 42n);
  assert.equal((await l2.getL1TokenAddress({ token: bridged })).toLowerCase(), token.address);
});

check("reads balances and allowances on L1", async () => {
  assert.ok((await l1.getL1Balance({ account })) > parseEther("1"));
  const had = await l1.getL1TokenBalance({ account, token: token.address });
  assert.equal(had, await holds(l1, token.address, account.address));
  const { sharedL1 } = await l2.getDefaultBridgeAddresses();
  assert.equal(await l1.getL1Allowance({ account, token: token.address, bridgeAddress: sharedL1 }), 0n);
});

check("requests a call with value and data", async () => {
  const to = stranger();
  const calldata = encodeFunctionData({ abi: parseAbi(["function withdraw(address) payable"]), args: [to] });
  const hash = await above.requestExecute({ client: l2, contractAddress: BASE_TOKEN, calldata, l2Value: 9n });
  const { status, transactionHash } = await arrived(hash);
  assert.equal(status, "success");
  await finalized(transactionHash);
  await mined(l1, await bobAbove.finalizeWithdrawal({ client: l2, hash: transactionHash }));
  assert.equal(await l1.getBalance({ address: to }), 9n);
});

check("estimates gas of requests, and the fees of transactions", async () => {
  const call = { account, to: stranger(), value: 1n };
  const gas = BigInt(await l2.estimateGasL1ToL2(call));
  const fee = await l2.estimateFee(call);
  assert.ok(gas > 21_000n && fee.gasLimit >= 21_000n);
  assert.equal(fee.maxFeePerGas, 100_000_000n);
  assert.ok(fee.gasPerPubdataLimit >= BigInt(await l2.getGasPerPubdata()));
  const cost = await l1.readContract({
    address: await l2.getBridgehubContractAddress(), abi: bridgehubAbi,
    functionName: "l2TransactionBaseCost", args: [CHAIN_ID, 10n ** 9n, gas, 800n],
  });
  assert.ok(cost >= gas * 100_000_000n);
});

check("sends transactions of type 2 and of its own type", async () => {
  const to = stranger();
  await mined(l2, await below.sendTransaction({ to, value: 1n }));
  const hash = await below.sendTransaction({ to, value: 2n, type: "eip712" });
  await mined(l2, hash);
  assert.equal((await l2.getTransaction({ hash })).type, "eip712");
  assert.equal(await l2.getBalance({ address: to }), 3n);
});

check("sends a message that L1 takes for true", async () => {
  const message = stringToHex("from one floor to the next");
  const hash = await below.writeContract({
    address: MESSENGER, abi: parseAbi(["function sendToL1(bytes) returns (bytes32)"]),
    functionName: "sendToL1", args: [message],
  });
  const { l1BatchNumber, l1BatchTxIndex } = await finalized(hash);
  const { id, proof } = await l2.getLogProof({ txHash: hash, index: 0 });
  const leaf = { txNumberInBatch: Number(l1BatchTxIndex), sender: account.address, data: message };
  const proven = await l1.readContract({
    address: await l2.getBridgehubContractAddress(), abi: bridgehubAbi,
    functionName: "proveL2MessageInclusion", args: [CHAIN_ID, l1BatchNumber, BigInt(id), leaf, proof],
  });
  assert.equal(proven, true);
});

check("withdraws ether, and gets it once", async () => {
  const to = stranger();
  const hash = await below.withdraw({ token: legacyEthAddress, amount: 55n, to });
  await finalized(hash);
  assert.equal(await l1.isWithdrawalFinalized({ client: l2, hash }), false);
  await mined(l1, await above.finalizeWithdrawal({ client: l2, hash }));
  assert.equal(await l1.getBalance({ address: to }), 55n);
  assert.equal(await l1.isWithdrawalFinalized({ client: l2, hash }), true);
  await thrown(above.finalizeWithdrawal({ client: l2, hash }));
});

check("withdraws a token", async () => {
  const to = stranger();
  const deposit = { client: l2, token: token.address, amount: 100n, approveToken: true };
  await arrived(await above.deposit({ ...deposit, refundRecipient: account.address }));
  const bridged = await l2.getL2TokenAddress({ token: token.address });
  const hash = await below.withdraw({ token: bridged, amount: 60n, to });
  await finalized(hash);
  await mined(l1, await bobAbove.finalizeWithdrawal({ client: l2, hash }));
  assert.equal(await holds(l1, token.address, to), 60n);
  assert.equal(await l1.isWithdrawalFinalized({ client: l2, hash }), true);
});

check("gets back a deposit that failed on L2", async () => {
  const { address: lost } = await newToken(80n);
  const failing = { client: l2, token: lost, amount: 80n, approveToken: true, l2GasLimit: 300_000n };
  const { status, transactionHash } = await arrived(
    await above.deposit({ ...failing, refundRecipient: account.address }),
  );
  assert.equal(status, "reverted");
  await finalized(transactionHash);
  await mined(l1, await above.claimFailedDeposit({ client: l2, depositHash: transactionHash }));
  assert.equal(await holds(l1, lost, account.address), 80n);
});

check("sees what became of a block, a transaction and a batch", async () => {
  const hash = await below.sendTransaction({ to: stranger(), value: 1n });
  const { blockNumber, l1BatchNumber } = await finalized(hash);
  const transaction = await l2.getTransactionDetails({ txHash: hash });
  const block = await l2.getBlockDetails({ number: Number(blockNumber) });
  const batch = await l2.getL1BatchDetails({ number: Number(l1BatchNumber) });
  assert.deepEqual([transaction.status, block.status, batch.status], ["verified", "verified", "verified"]);
  assert.equal(transaction.ethExecuteTxHash, batch.executeTxHash);
  await mined(l1, batch.executeTxHash);
  const [first, last] = await l2.getL1BatchBlockRange({ l1BatchNumber: Number(l1BatchNumber) });
  assert.ok(BigInt(first) <= blockNumber && blockNumber <= BigInt(last));
  assert.ok(BigInt(await l2.getL1BatchNumber()) >= l1BatchNumber);
  const [raw] = await l2.getRawBlockTransaction({ number: Number(blockNumber) });
  assert.equal(raw.commonData.L2.initiatorAddress, account.address.toLowerCase());
});

check("lists what an account has on L2", async () => {
  const bridged = await l2.getL2TokenAddress({ token: token.address });
  const balances = await l2.getAllBalances({ account });
  assert.equal(balances[bridged.toLowerCase()], await holds(l2, bridged, account.address));
  // A chain on an L1 of others has none.
  assert.ok([null, "0x0000000000000000000000000000000000010105"].includes(await l2.getTestnetPaymasterAddress()));
});

await run();
