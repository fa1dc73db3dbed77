// What users do with viem 2.

import assert from "node:assert/strict";
import {
  ContractFunctionRevertedError, FeeCapTooLowError, InsufficientFundsError, IntrinsicGasTooLowError,
  InvalidInputRpcError, MethodNotFoundRpcError, NonceTooLowError, createPublicClient, createTestClient,
  createWalletClient, defineChain, encodeFunctionData, getContract, http, keccak256, parseEther,
  parseGwei, toHex, webSocket,
} from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { zksyncLocalNode } from "viem/chains";
import { ALICE, BOB, NOBODY, check, contracts, held, later, meanwhile, rpc, run, socketUrl, soon, thrown, url } from "./harness.mjs";

const currency = { name: "Ether", symbol: "ETH", decimals: 18 };
const chain = defineChain({ id: 270, name: "Entresol", nativeCurrency: currency, rpcUrls: { default: { http: [url] } } });
const settings = { chain, pollingInterval: 50 };
const reader = createPublicClient({ ...settings, transport: http(url) });
const account = privateKeyToAccount(ALICE);
const bob = privateKeyToAccount(BOB);
const wallet = createWalletClient({ ...settings, account, transport: http(url) });
const tester = createTestClient({ ...settings, mode: "anvil", transport: http(url) });

async function deploy(name) {
  const hash = await wallet.deployContract({ abi: contracts[name].abi, bytecode: contracts[name].bytecode });
  const receipt = await reader.waitForTransactionReceipt({ hash });
  const client = { public: reader, wallet };
  return getContract({ address: receipt.contractAddress, abi: contracts[name].abi, client });
}

async function mined(hash) {
  return reader.waitForTransactionReceipt({ hash: await hash });
}

const cause = (error, kind) => error.walk((it) => it instanceof kind);

const math = await deploy("math");
const reverts = await deploy("reverts");
const emitter = await deploy("emitter");

check("reads the chain", async () => {
  assert.equal(await reader.getChainId(), 270);
  assert.ok((await reader.getBlockNumber()) >= 3n);
  assert.ok((await reader.getBalance({ address: account.address })) > parseEther("9000"));
  assert.equal(await reader.getCode({ address: math.address }), contracts.math.runtime);
  assert.equal(await reader.getCode({ address: NOBODY }), undefined);
  assert.equal(BigInt(await reader.getStorageAt({ address: math.address, slot: "0x0" })), 0n);
});

check("estimates fees", async () => {
  const dynamic = await reader.estimateFeesPerGas();
  assert.ok(dynamic.maxFeePerGas >= 100_000_000n);
  assert.equal(await reader.getGasPrice(), 100_000_000n);
  const history = await reader.getFeeHistory({ blockCount: 2, rewardPercentiles: [25, 75] });
  assert.equal(history.baseFeePerGas.length, 3);
  assert.equal(history.reward.length, 2);
});

check("sends ether and waits", async () => {
  const receipt = await mined(wallet.sendTransaction({ to: NOBODY, value: 5n }));
  assert.equal(receipt.status, "success");
  assert.equal(receipt.type, "eip1559");
  assert.equal((await reader.getTransaction({ hash: receipt.transactionHash })).value, 5n);
});

async function sendsTheType(type, accessList) {
  const receipt = await mined(wallet.sendTransaction({ to: NOBODY, value: 1n, type, accessList }));
  assert.equal(receipt.type, type);
  const found = await reader.getTransaction({ hash: receipt.transactionHash });
  assert.equal(found.type, type);
  assert.equal(found.accessList?.length, accessList?.length);
}

const touched = [{ address: math.address, storageKeys: [toHex(0, { size: 32 })] }];

check("sends a legacy transaction", () => sendsTheType("legacy"));

check("sends a transaction with an access list", () => sendsTheType("eip2930", touched));

check("sends a transaction with dynamic fees", () => sendsTheType("eip1559", touched));

check("delegates an account to a contract", async () => {
  const signer = createWalletClient({ ...settings, account: bob, transport: http(url) });
  const authorization = await signer.signAuthorization({ contractAddress: math.address });
  const data = encodeFunctionData({ abi: math.abi, functionName: "incrementCounter" });
  const receipt = await mined(wallet.sendTransaction({ to: bob.address, data, authorizationList: [authorization] }));
  assert.equal(receipt.type, "eip7702");
  assert.equal(await reader.getCode({ address: bob.address }), "0xef0100" + math.address.slice(2));
  assert.equal(await reader.readContract({ address: bob.address, abi: math.abi, functionName: "counter" }), 1n);
  const { authorizationList } = await reader.getTransaction({ hash: receipt.transactionHash });
  assert.equal(authorizationList.length, 1);
});

check("has each transaction filled in by the node", async () => {
  const called = [];
  const transport = http(url, { onFetchRequest: async (request) => { called.push((await request.clone().json()).method); } });
  const fresh = createWalletClient({ ...settings, account, transport });
  await mined(fresh.sendTransaction({ to: NOBODY, value: 1n }));
  await mined(fresh.sendTransaction({ to: NOBODY, value: 1n }));
  assert.equal(called.filter((method) => method === "eth_fillTransaction").length, 2);
  assert.ok(!called.includes("eth_estimateGas"));
});

check("deploys a contract, simulates, writes and reads", async () => {
  const counter = await deploy("math");
  const { result, request } = await reader.simulateContract({
    address: counter.address, abi: counter.abi, functionName: "incrementCounter", args: [7n], account,
  });
  assert.equal(result, 7n);
  const receipt = await mined(wallet.writeContract(request));
  assert.equal(await counter.read.counter(), 7n);
  assert.equal(await counter.read.counter({ blockNumber: receipt.blockNumber - 1n }), 0n);
});

check("decodes the reason of a revert", async () => {
  const error = await thrown(reverts.read.revertWithMessage());
  assert.equal(cause(error, ContractFunctionRevertedError).reason, "Function has been reverted.");
});

check("decodes a custom error", async () => {
  const error = await thrown(reverts.read.customErrorWithMessage());
  const { data } = cause(error, ContractFunctionRevertedError);
  assert.equal(data.errorName, "UnauthorizedWithMessage");
  assert.deepEqual(data.args, ["You are not authorized"]);
});

check("decodes a custom error of an estimate", async () => {
  const call = { address: reverts.address, abi: reverts.abi, functionName: "customErrorWithoutMessage", account };
  const error = await thrown(reader.estimateContractGas(call));
  assert.equal(cause(error, ContractFunctionRevertedError).data.errorName, "Unauthorized");
});

check("decodes a panic", async () => {
  const panics = await deploy("panics");
  const error = await thrown(panics.read.errorCode11());
  assert.match(cause(error, ContractFunctionRevertedError).reason, /Arithmetic operation resulted in underflow or overflow/);
});

check("finds logs and decodes them", async () => {
  const first = await mined(emitter.write.logSingle([7, 1n]));
  const second = await mined(emitter.write.logSingle([7, 2n]));
  const found = await emitter.getEvents.LogSingleWithIndex({ arg0: [1n, 2n] }, { fromBlock: first.blockNumber });
  assert.deepEqual(found.map((log) => log.args.arg0), [1n, 2n]);
  assert.equal((await reader.getLogs({ blockHash: second.blockHash })).length, 1);
});

check("installs filters of every kind, polls them and uninstalls them", async () => {
  const events = await reader.createContractEventFilter({ address: emitter.address, abi: emitter.abi, eventName: "LogSingleArg", fromBlock: "earliest" });
  const blocks = await reader.createBlockFilter();
  const pending = await reader.createPendingTransactionFilter();
  const receipt = await mined(emitter.write.logSingle([2, 3n]));
  assert.deepEqual((await reader.getFilterChanges({ filter: events })).map((log) => log.args.arg0), [3n]);
  assert.deepEqual(await reader.getFilterChanges({ filter: blocks }), [receipt.blockHash]);
  assert.deepEqual(await reader.getFilterChanges({ filter: pending }), [receipt.transactionHash]);
  assert.ok((await reader.getFilterLogs({ filter: events })).length >= 1);
  for (const filter of [events, blocks, pending]) {
    assert.deepEqual(await reader.getFilterChanges({ filter }), []);
    assert.equal(await reader.uninstallFilter({ filter }), true);
    assert.equal(await reader.uninstallFilter({ filter }), false);
  }
});

check("knows a filter that is not there by its code", async () => {
  const error = await thrown(reader.request({ method: "eth_getFilterChanges", params: ["0x1"] }));
  assert.ok(cause(error, InvalidInputRpcError), error);
  assert.equal(InvalidInputRpcError.code, -32000);
});

check("makes its filter anew when the node has forgotten it", async () => {
  const ids = [];
  const transport = http(url, {
    onFetchResponse: async (response) => {
      const { result } = await response.clone().json();
      if (/^0x[0-9a-f]{64}$/.test(result)) ids.push(result);
    },
  });
  const watcher = createPublicClient({ ...settings, transport });
  const seen = later();
  const event = { address: emitter.address, abi: emitter.abi, eventName: "LogSingleArg" };
  const unwatch = watcher.watchContractEvent({ ...event, onLogs: (logs) => seen.resolve(logs[0].args.arg0), onError: () => {} });
  const until = async (count) => {
    while (ids.length < count) await new Promise((resolve) => setTimeout(resolve, 10));
  };
  await soon(until(1), "the filter");
  assert.equal(await rpc("eth_uninstallFilter", ids[0]), true);
  await soon(until(2), "the next filter");
  await mined(emitter.write.logSingle([2, 77n]));
  assert.equal(await soon(seen.promise, "the event"), 77n);
  unwatch();
});

check("watches blocks, events and pending transactions", async () => {
  const [block, event, pending] = [later(), later(), later()];
  const stops = [
    reader.watchBlocks({ onBlock: block.resolve }),
    emitter.watchEvent.LogSingleArg({ onLogs: event.resolve }),
    reader.watchPendingTransactions({ onTransactions: pending.resolve }),
  ];
  await meanwhile(() => emitter.write.logSingle([2, 1n]), async () => {
    assert.ok((await soon(block.promise, "the block")).hash);
    assert.equal((await soon(event.promise, "the event"))[0].eventName, "LogSingleArg");
    assert.ok((await soon(pending.promise, "the transaction")).length >= 1);
  });
  stops.forEach((stop) => stop());
});

check("is notified over a WebSocket of blocks, events and pending transactions", async () => {
  const socket = createPublicClient({ chain, transport: webSocket(socketUrl) });
  assert.equal(await socket.getChainId(), 270);
  const [block, event, pending] = [later(), later(), later()];
  const stops = [
    socket.watchBlocks({ onBlock: block.resolve }),
    socket.watchContractEvent({ address: emitter.address, abi: emitter.abi, onLogs: event.resolve }),
    socket.watchPendingTransactions({ onTransactions: pending.resolve }),
  ];
  // The response to a later request comes after those of the subscriptions.
  await socket.getBlockNumber({ cacheTime: 0 });
  await socket.getBlockNumber({ cacheTime: 0 });
  const receipt = await mined(emitter.write.logSingle([2, 5n]));
  assert.equal((await soon(block.promise, "the block")).hash, receipt.blockHash);
  assert.equal((await soon(event.promise, "the event"))[0].transactionHash, receipt.transactionHash);
  assert.deepEqual(await soon(pending.promise, "the transaction"), [receipt.transactionHash]);
  stops.forEach((stop) => stop());
  (await socket.transport.getRpcClient()).close();
});

check("makes many calls in one batch", async () => {
  const requests = [];
  const transport = http(url, { batch: true, onFetchRequest: (request) => { requests.push(request); } });
  const batching = createPublicClient({ ...settings, transport });
  const addresses = Array.from({ length: 200 }, (_, n) => toHex(n, { size: 20 }));
  const balances = await Promise.all(addresses.map((address) => batching.getBalance({ address })));
  assert.equal(balances.length, 200);
  assert.equal(requests.length, 1);
});

check("calls a used nonce too low", async () => {
  const error = await thrown(wallet.sendTransaction({ to: NOBODY, nonce: 0, gas: 21_000n }));
  assert.ok(cause(error, NonceTooLowError), error);
});

check("calls a lack of funds by its name", async () => {
  const poor = createWalletClient({ ...settings, account: privateKeyToAccount(generatePrivateKey()), transport: http(url) });
  const error = await thrown(poor.sendTransaction({ to: NOBODY, value: 1n, gas: 21_000n }));
  assert.ok(cause(error, InsufficientFundsError), error);
});

check("calls a fee below the base fee by its name", async () => {
  const error = await thrown(wallet.sendTransaction({ to: NOBODY, gas: 21_000n, maxFeePerGas: 1n, maxPriorityFeePerGas: 0n }));
  assert.ok(cause(error, FeeCapTooLowError), error);
});

check("calls too little gas by its name", async () => {
  const error = await thrown(wallet.sendTransaction({ to: NOBODY, gas: 20_000n }));
  assert.ok(cause(error, IntrinsicGasTooLowError), error);
});

check("replaces a pending transaction and notices it", async () => {
  const looked = later();
  const onFetchResponse = async (response) => {
    const { result } = await response.clone().json();
    if (result?.transactions) looked.resolve();
  };
  const transport = http(url, { onFetchResponse });
  const waiter = createPublicClient({ ...settings, transport });
  const nonce = await reader.getTransactionCount({ address: account.address });
  const send = (value, gwei) => wallet.sendTransaction({
    to: NOBODY, value, nonce, gas: 21_000n, maxFeePerGas: parseGwei(gwei), maxPriorityFeePerGas: parseGwei(gwei),
  });
  const replaced = later();
  const { waiting, next } = await held(async () => {
    const hash = await send(1n, "1");
    assert.match((await thrown(send(2n, "1"))).details, /replacement transaction underpriced/);
    const waiting = waiter.waitForTransactionReceipt({ hash, onReplaced: replaced.resolve });
    // A client that never saw the first cannot notice its replacement; and it misses a block that comes while it
    // still checks the last one.
    await soon(looked.promise, "the look at the last block");
    return { waiting, next: await send(2n, "2") };
  });
  assert.equal((await waiting).transactionHash, next);
  assert.equal((await soon(replaced.promise)).reason, "replaced");
});

check("sees a pending transaction in the pending block", async () => {
  await held(async () => {
    const hash = await wallet.sendTransaction({ to: NOBODY, value: 1n });
    const block = await reader.getBlock({ blockTag: "pending" });
    assert.deepEqual(block.transactions, [hash]);
    assert.equal((await reader.getTransaction({ hash })).blockNumber, null);
    const [latest, pending] = await Promise.all(["latest", "pending"].map((blockTag) =>
      reader.getTransactionCount({ address: account.address, blockTag })));
    assert.equal(pending, latest + 1);
  });
});

check("overrides state in a call", async () => {
  const { data } = await reader.call({
    to: NOBODY,
    data: encodeFunctionData({ abi: math.abi, functionName: "counter" }),
    stateOverride: [{
      address: NOBODY,
      code: contracts.math.runtime,
      stateDiff: [{ slot: toHex(0, { size: 32 }), value: toHex(42, { size: 32 }) }],
    }],
  });
  assert.equal(BigInt(data), 42n);
});

check("requests an access list and a proof", async () => {
  const call = { account, to: math.address, data: encodeFunctionData({ abi: math.abi, functionName: "counter" }) };
  const { accessList } = await reader.createAccessList(call);
  assert.equal(accessList[0].address.toLowerCase(), math.address.toLowerCase());
  const proof = await reader.getProof({ address: math.address, storageKeys: [toHex(0, { size: 32 })] });
  const block = await reader.getBlock();
  assert.equal(keccak256(proof.accountProof[0]), block.stateRoot);
});

check("finds blocks by every tag", async () => {
  for (const blockTag of ["latest", "earliest", "pending", "safe", "finalized"]) {
    assert.equal(typeof (await reader.getBlock({ blockTag })).number, "bigint");
  }
  const missing = await thrown(reader.getBlock({ blockNumber: 10_000_000n }));
  assert.equal(missing.name, "BlockNotFoundError");
});

check("reads receipts and blocks through the formatters of a ZK chain", async () => {
  const zk = createPublicClient({ chain: zksyncLocalNode, transport: http(url), pollingInterval: 50 });
  const hash = await emitter.write.logSingle([2, 5n]);
  const receipt = await zk.waitForTransactionReceipt({ hash });
  assert.deepEqual(receipt.l2ToL1Logs, []);
  assert.equal(receipt.logs[0].transactionLogIndex, 0);
  assert.ok(receipt.l1BatchNumber === null || receipt.l1BatchNumber >= 0n);
  const block = await zk.getBlock({ blockNumber: receipt.blockNumber, includeTransactions: true });
  assert.equal(block.transactions[0].hash, hash);
});

check("runs a test suite's day: snapshots, time, accounts", async () => {
  const id = await tester.snapshot();
  await tester.setBalance({ address: NOBODY, value: 7n });
  await tester.setCode({ address: NOBODY, bytecode: contracts.math.runtime });
  await tester.setStorageAt({ address: NOBODY, index: 0, value: toHex(9, { size: 32 }) });
  await tester.setNonce({ address: NOBODY, nonce: 3 });
  assert.equal(await reader.getBalance({ address: NOBODY }), 7n);
  assert.equal(await reader.readContract({ address: NOBODY, abi: math.abi, functionName: "counter" }), 9n);
  assert.equal(await reader.getTransactionCount({ address: NOBODY }), 3);
  const { timestamp } = await reader.getBlock();
  await tester.increaseTime({ seconds: 3600 });
  await tester.mine({ blocks: 2 });
  // Each block is a second later than the one before, so a busy chain is a little ahead of the clock.
  assert.ok((await reader.getBlock()).timestamp > timestamp + 3000n);
  await tester.revert({ id });
  assert.equal(await reader.getCode({ address: NOBODY }), undefined);
});

check("uses the accounts that the node signs for, and impersonated ones", async () => {
  const [first] = await wallet.getAddresses();
  const remote = createWalletClient({ ...settings, transport: http(url) });
  assert.equal((await remote.getAddresses())[0], first);
  const receipt = await mined(remote.sendTransaction({ account: first, to: NOBODY, value: 1n }));
  assert.equal(receipt.from, account.address.toLowerCase());
  const signature = await remote.signMessage({ account: first, message: "hello" });
  assert.ok(await reader.verifyMessage({ address: first, message: "hello", signature }));
  await tester.setBalance({ address: NOBODY, value: parseEther("1") });
  await tester.impersonateAccount({ address: NOBODY });
  const strange = await mined(remote.sendTransaction({ account: NOBODY, to: first, value: 1n }));
  assert.equal(strange.from, NOBODY);
  await tester.stopImpersonatingAccount({ address: NOBODY });
  await thrown(remote.sendTransaction({ account: NOBODY, to: first, value: 1n }));
});

check("does not try again what cannot succeed", async () => {
  const requests = [];
  const transport = http(url, { onFetchRequest: (request) => { requests.push(request); } });
  const counting = createPublicClient({ ...settings, transport });
  const error = await thrown(counting.request({ method: "eth_noSuchMethod" }));
  assert.ok(cause(error, MethodNotFoundRpcError));
  await thrown(counting.request({ method: "eth_getBalance", params: ["0x12", "latest"] }));
  await thrown(counting.getBalance({ address: NOBODY, blockNumber: 10_000_000n }));
  assert.equal(requests.length, 3);
});

check("simulates blocks and calls, and reads why something cannot be simulated", async () => {
  const head = await reader.getBlockNumber();
  const failing = "0xc100000000000000000000000000000000000000";
  const poor = "0xc000000000000000000000000000000000000000";
  const [block] = await reader.simulateBlocks({
    blocks: [{
      stateOverrides: [{ address: failing, code: "0x5f5ffd" }],
      calls: [{ account: account.address, to: NOBODY, value: 1n }, { account: account.address, to: failing }],
    }],
    traceTransfers: true,
  });
  assert.equal(block.number, head + 1n);
  const calls = block.calls.map((call) => [call.status, call.gasUsed, call.logs.length]);
  assert.deepEqual(calls, [["success", 21_000n, 1], ["failure", 21_004n, 0]]);
  assert.equal(block.calls[1].error.name, "ContractFunctionExecutionError");
  const { results, assetChanges } = await reader.simulateCalls({
    account: account.address, calls: [{ to: NOBODY, value: parseEther("1.5") }], traceAssetChanges: true,
  });
  assert.deepEqual(results.map((result) => result.status), ["success"]);
  assert.deepEqual(assetChanges.map(({ token, value }) => [token.symbol, value.diff]), [["ETH", -parseEther("1.5")]]);
  const rejected = await thrown(reader.simulateBlocks({ blocks: [{ calls: [{ account: poor, to: NOBODY, value: 1n }] }] }));
  assert.equal(rejected.name, "InsufficientFundsError");
});

await run();
