// What users do with ethers 6.

import assert from "node:assert/strict";
import {
  Contract, ContractFactory, JsonRpcProvider, Transaction, Wallet, WebSocketProvider,
  hashAuthorization, keccak256, parseEther, recoverAddress,
  verifyMessage, verifyTypedData,
} from "ethers";
import { ALICE, BOB, NOBODY, ask, check, contracts, held, later, meanwhile, rpc, run, socketUrl, soon, thrown, url } from "./harness.mjs";

// Without its cache of a quarter of a second: a block takes less.
const provider = new JsonRpcProvider(url, undefined, { cacheTimeout: -1, polling: true });
provider.pollingInterval = 50;
const alice = new Wallet(ALICE, provider);
const bob = new Wallet(BOB, provider);

async function deploy(name) {
  const factory = new ContractFactory(contracts[name].abi, contracts[name].bytecode, alice);
  const contract = await factory.deploy();
  return contract.waitForDeployment();
}

const math = await deploy("math");
const reverts = await deploy("reverts");
const emitter = await deploy("emitter");

check("finds out the network", async () => {
  assert.equal((await provider.getNetwork()).chainId, 270n);
});

check("reads accounts", async () => {
  assert.ok((await provider.getBalance(alice.address)) > parseEther("9000"));
  assert.ok((await provider.getTransactionCount(alice.address)) >= 3);
  assert.equal(await provider.getCode(await math.getAddress()), contracts.math.runtime);
  assert.equal(await provider.getCode(NOBODY), "0x");
  assert.equal(BigInt(await provider.getStorage(await math.getAddress(), 0)), 0n);
});

check("reads fees", async () => {
  const fees = await provider.getFeeData();
  assert.equal(fees.gasPrice, 100_000_000n);
  assert.ok(fees.maxFeePerGas >= fees.gasPrice);
  assert.ok(fees.maxPriorityFeePerGas >= 0n);
});

check("sends ether and waits", async () => {
  const before = await provider.getBalance(NOBODY);
  const sent = await alice.sendTransaction({ to: NOBODY, value: 5n });
  const receipt = await sent.wait();
  assert.equal(receipt.status, 1);
  assert.equal(receipt.gasUsed, 21_000n);
  assert.equal(receipt.from, alice.address);
  assert.equal(await provider.getBalance(NOBODY), before + 5n);
});

check("sends a legacy transaction", async () => {
  const sent = await alice.sendTransaction({ to: NOBODY, value: 1n, type: 0 });
  await sent.wait();
  const found = await provider.getTransaction(sent.hash);
  assert.equal(found.type, 0);
  assert.equal(found.gasPrice, sent.gasPrice);
  assert.equal(recoverAddress(Transaction.from(found).unsignedHash, found.signature), alice.address);
});

check("sends a transaction with an access list", async () => {
  const accessList = [{ address: await math.getAddress(), storageKeys: ["0x" + "00".repeat(32)] }];
  const sent = await alice.sendTransaction({ to: NOBODY, value: 1n, type: 1, accessList });
  assert.equal((await sent.wait()).type, 1);
  const found = await provider.getTransaction(sent.hash);
  assert.equal(found.accessList.length, 1);
  assert.equal(found.accessList[0].address, await math.getAddress());
});

check("sends a transaction with dynamic fees", async () => {
  const fees = { maxFeePerGas: 3_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n };
  const sent = await alice.sendTransaction({ to: NOBODY, value: 1n, type: 2, ...fees });
  const receipt = await sent.wait();
  assert.equal(receipt.gasPrice, 1_100_000_000n);
  assert.equal((await provider.getTransaction(sent.hash)).maxFeePerGas, fees.maxFeePerGas);
});

check("delegates an account to a contract and back", async () => {
  const address = await math.getAddress();
  const authorization = await bob.authorize({ address, nonce: await bob.getNonce(), chainId: 270n });
  await (await alice.sendTransaction({ type: 4, to: NOBODY, authorizationList: [authorization] })).wait();
  assert.equal(await provider.getCode(bob), "0xef0100" + address.slice(2).toLowerCase());
  const delegated = new Contract(bob.address, contracts.math.abi, provider);
  assert.equal(await delegated.multiply7.staticCall(6), 42n);
  const none = "0x" + "00".repeat(20);
  const back = await bob.authorize({ address: none, nonce: await bob.getNonce(), chainId: 270n });
  assert.ok(hashAuthorization(back));
  await (await alice.sendTransaction({ type: 4, to: NOBODY, authorizationList: [back] })).wait();
  assert.equal(await provider.getCode(bob), "0x");
});

check("deploys a contract, calls it and reads what it did", async () => {
  const counter = await deploy("math");
  const receipt = await (await counter["incrementCounter(uint256)"](7n)).wait();
  assert.equal(receipt.logs[0].fragment.name, "Increased");
  assert.equal(receipt.logs[0].args.value, 7n);
  assert.equal(await counter.counter(), 7n);
  assert.equal(await counter.counter({ blockTag: receipt.blockNumber - 1 }), 0n);
});

check("estimates gas for a call", async () => {
  const gas = await math["incrementCounter()"].estimateGas();
  assert.ok(gas > 21_000n && gas < 100_000n, gas);
});

check("decodes the reason of a revert", async () => {
  const error = await thrown(reverts.revertWithMessage());
  assert.equal(error.code, "CALL_EXCEPTION");
  assert.equal(error.reason, "Function has been reverted.");
});

check("decodes a custom error", async () => {
  const error = await thrown(reverts.customErrorWithMessage.staticCall());
  assert.equal(error.code, "CALL_EXCEPTION");
  assert.equal(error.revert.name, "UnauthorizedWithMessage");
  assert.equal(error.revert.args[0], "You are not authorized");
});

check("decodes a custom error of an estimate", async () => {
  const error = await thrown(reverts.customErrorWithoutMessage.estimateGas());
  assert.equal(error.code, "CALL_EXCEPTION");
  assert.equal(reverts.interface.parseError(error.data).name, "Unauthorized");
});

check("knows a revert without data", async () => {
  const error = await thrown(reverts.revertWithoutMessage.staticCall());
  assert.equal(error.code, "CALL_EXCEPTION");
  assert.equal(error.data, "0x");
});

check("decodes a panic", async () => {
  const panics = await deploy("panics");
  const error = await thrown(panics.errorCode12.staticCall(0));
  assert.equal(error.reason, "Panic due to DIVIDE_BY_ZERO(18)");
});

check("learns from the receipt that a transaction reverted", async () => {
  const sent = await reverts.revertWithMessage.send({ gasLimit: 100_000 });
  const error = await thrown(sent.wait());
  assert.equal(error.code, "CALL_EXCEPTION");
  assert.equal(error.receipt.status, 0);
});

check("finds logs by event, argument and range", async () => {
  const first = await (await emitter.logSingle(7, 1n)).wait();
  const second = await (await emitter.logSingle(7, 2n)).wait();
  const all = await emitter.queryFilter("LogSingleWithIndex", first.blockNumber, second.blockNumber);
  assert.deepEqual(all.map((log) => log.args[0]), [1n, 2n]);
  const one = await emitter.queryFilter(emitter.filters.LogSingleWithIndex(2n), first.blockNumber);
  assert.deepEqual(one.map((log) => log.transactionHash), [second.hash]);
  const byHash = await provider.getLogs({ address: emitter, blockHash: second.blockHash });
  assert.deepEqual(byHash.map((log) => log.transactionHash), [second.hash]);
});

check("listens to events through a filter and removes it", async () => {
  const seen = new Promise((resolve) => emitter.on("LogSingleArg", (value) => resolve(value)));
  await provider.getBlockNumber();
  // The first event may come before the filter; further blocks make ethers poll again.
  await meanwhile(() => emitter.logSingle(2, 99n), async () => {
    assert.equal(await soon(seen, "the event"), 99n);
  });
  await emitter.removeAllListeners();
});

check("listens to blocks and to pending transactions", async () => {
  const block = new Promise((resolve) => provider.once("block", resolve));
  const pending = new Promise((resolve) => provider.once("pending", resolve));
  await meanwhile(() => bob.sendTransaction({ to: NOBODY, value: 1n }), async () => {
    assert.equal(typeof (await soon(block, "the block")), "number");
    assert.match(await soon(pending, "the transaction"), /^0x[0-9a-f]{64}$/);
  });
  await provider.removeAllListeners();
});

check("is notified over a WebSocket of blocks, events and pending transactions", async () => {
  const socket = new WebSocketProvider(socketUrl);
  const listener = emitter.connect(socket);
  const [pending, event] = [later(), later()];
  const blocks = new Set();
  let wake = () => {};
  await socket.on("block", (number) => { blocks.add(number); wake(); });
  await socket.once("pending", pending.resolve);
  await listener.once("LogSingleArg", event.resolve);
  // The response to a later request comes after those of the subscriptions.
  await socket.getBlockNumber();
  const receipt = await (await emitter.logSingle(2, 5n)).wait();
  // The block before may still be notified.
  const toldOfBlock = new Promise((resolve) => {
    wake = () => { if (blocks.has(receipt.blockNumber)) resolve(); };
    wake();
  });
  await soon(toldOfBlock, "the block");
  assert.equal(await soon(pending.promise, "the transaction"), receipt.hash);
  assert.equal(await soon(event.promise, "the event"), 5n);
  // The responses to the unsubscriptions come before this one; destroying a pending one is an uncaught error.
  await socket.getBlockNumber();
  await socket.off("block");
  await new Promise((resolve) => setTimeout(resolve));
  await socket.send("eth_chainId", []);
  await socket.destroy();
});

check("makes many calls in one batch", async () => {
  const numbers = Array.from({ length: 100 }, (_, n) => provider.getBalance("0x" + n.toString(16).padStart(40, "0")));
  assert.equal((await Promise.all(numbers)).length, 100);
});

check("matches responses by id in a batch with failures", async () => {
  const responses = await Promise.allSettled([
    provider.send("eth_blockNumber", []),
    provider.send("eth_noSuchMethod", []),
    provider.send("eth_chainId", []),
  ]);
  assert.deepEqual(responses.map((it) => it.status), ["fulfilled", "rejected", "fulfilled"]);
  assert.equal(responses[1].reason.code, "UNSUPPORTED_OPERATION");
});

check("falls back where a method does not exist: the text is the one it looks for", async () => {
  const error = await thrown(rpc("eth_noSuchMethod"));
  assert.equal(error.code, -32601);
  assert.match(error.message, /the method .* does not exist/i);
});

check("reads blocks, with and without their transactions", async () => {
  const receipt = await (await alice.sendTransaction({ to: NOBODY, value: 1n })).wait();
  const block = await provider.getBlock(receipt.blockNumber, true);
  assert.equal(block.getPrefetchedTransaction(0).hash, receipt.hash);
  assert.equal((await provider.getBlock(block.hash)).transactions[0], receipt.hash);
  assert.equal((await receipt.getBlock()).number, receipt.blockNumber);
  assert.equal(await provider.getBlock(10_000_000), null);
  for (const tag of ["earliest", "finalized", "safe", "latest"]) {
    assert.ok((await provider.getBlock(tag)).number >= 0);
  }
});

check("sees a pending transaction in the pending block", async () => {
  await held(async () => {
    const sent = await alice.sendTransaction({ to: NOBODY, value: 1n });
    const block = await provider.getBlock("pending");
    assert.deepEqual([...block.transactions], [sent.hash]);
    assert.equal((await provider.getTransaction(sent.hash)).blockNumber, null);
    assert.equal(await provider.getTransactionReceipt(sent.hash), null);
    const counted = await provider.getTransactionCount(alice.address, "pending");
    assert.equal(counted, (await provider.getTransactionCount(alice.address, "latest")) + 1);
  });
});

check("waits for a transaction that is sealed later, and for confirmations", async () => {
  const sent = await held(() => alice.sendTransaction({ to: NOBODY, value: 1n }));
  await sent.wait();
  // ethers misses blocks that come before it has begun to poll.
  const confirmed = await meanwhile(() => rpc("evm_mine"), () => soon(sent.wait(3), "the confirmation"));
  assert.equal(confirmed.hash, sent.hash);
});

check("calls a used nonce expired", async () => {
  const raw = { to: NOBODY, nonce: 0, chainId: 270, type: 2, gasLimit: 21_000, maxFeePerGas: 10n ** 9n };
  const error = await thrown(provider.broadcastTransaction(await alice.signTransaction(raw)));
  assert.equal(error.code, "NONCE_EXPIRED");
});

check("calls a lack of funds by its name", async () => {
  const poor = Wallet.createRandom(provider);
  const send = poor.sendTransaction({ to: NOBODY, value: 1n, gasLimit: 21_000 });
  assert.equal((await thrown(send)).code, "INSUFFICIENT_FUNDS");
  const estimate = poor.estimateGas({ to: NOBODY, value: 1n });
  assert.equal((await thrown(estimate)).code, "INSUFFICIENT_FUNDS");
});

check("replaces a pending transaction, and gets an error when it waits for the old one", async () => {
  const nonce = await alice.getNonce();
  const waiting = await held(async () => {
    const fees = (gwei) => ({ maxFeePerGas: gwei * 10n ** 9n, maxPriorityFeePerGas: gwei * 10n ** 9n });
    const first = await alice.sendTransaction({ to: NOBODY, value: 1n, nonce, ...fees(1n) });
    const tooCheap = alice.sendTransaction({ to: NOBODY, value: 2n, nonce, ...fees(1n) });
    assert.equal((await thrown(tooCheap)).code, "REPLACEMENT_UNDERPRICED");
    const waiting = thrown(first.wait());
    await alice.sendTransaction({ to: NOBODY, value: 2n, nonce, ...fees(2n) });
    return { waiting };
  });
  // ethers checks for a replacement when it sees a block.
  const error = await meanwhile(() => rpc("evm_mine"), () => soon(waiting.waiting, "the replacement"));
  assert.equal(error.code, "TRANSACTION_REPLACED");
  assert.equal(error.reason, "replaced");
});

check("checks the hash of what it sends", async () => {
  const signed = await alice.signTransaction(await alice.populateTransaction({ to: NOBODY }));
  assert.equal((await provider.broadcastTransaction(signed)).hash, keccak256(signed));
});

check("overrides state in a call", async () => {
  const call = { to: NOBODY, data: math.interface.encodeFunctionData("counter") };
  const state = { ["0x" + "00".repeat(32)]: "0x" + "2a".padStart(64, "0") };
  const overrides = { [NOBODY]: { code: contracts.math.runtime, stateDiff: state } };
  assert.equal(BigInt(await provider.send("eth_call", [call, "latest", overrides])), 42n);
});

check("requests an access list and a proof", async () => {
  const to = await math.getAddress();
  const call = { from: alice.address, to, data: math.interface.encodeFunctionData("counter") };
  const made = await provider.send("eth_createAccessList", [call, "latest"]);
  assert.equal(made.accessList[0].address, to.toLowerCase());
  const proof = await provider.send("eth_getProof", [to, ["0x0"], "latest"]);
  const block = await provider.getBlock("latest");
  assert.equal(keccak256(proof.accountProof[0]), block.stateRoot);
});

check("uses the accounts that the node signs for", async () => {
  const signer = await provider.getSigner(0);
  assert.equal(signer.address, alice.address);
  const receipt = await (await signer.sendTransaction({ to: NOBODY, value: 3n })).wait();
  assert.equal(receipt.from, alice.address);
  assert.equal(verifyMessage("hello", await signer.signMessage("hello")), alice.address);
  const domain = { name: "Entresol", chainId: 270 };
  const types = { Note: [{ name: "text", type: "string" }] };
  const signature = await signer.signTypedData(domain, types, { text: "hello" });
  assert.equal(verifyTypedData(domain, types, { text: "hello" }, signature), alice.address);
});

check("understands the responses to a batch: ids of any kind come back as given", async () => {
  const ids = [0, null, "a", 1.5, -3];
  const { body } = await ask(ids.map((id) => ({ jsonrpc: "2.0", id, method: "eth_chainId" })));
  assert.deepEqual(body.map((response) => response.id), ids);
  assert.ok(body.every((response) => response.result === "0x10e"));
});

check("may uninstall a filter twice, or one that never was, however its id is written", async () => {
  const id = await rpc("eth_newBlockFilter");
  assert.match(id, /^0x[1-9a-f][0-9a-f]{63}$/);
  assert.deepEqual(await rpc("eth_getFilterChanges", id.toUpperCase().replace("X", "x")), []);
  assert.equal(await rpc("eth_uninstallFilter", id), true);
  assert.equal(await rpc("eth_uninstallFilter", id), false);
  assert.equal(await rpc("eth_uninstallFilter", "0x01"), false);
});

await run();
