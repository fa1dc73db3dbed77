// What users do with zksync-ethers that needs no second layer.

import assert from "node:assert/strict";
import { Provider, Wallet, utils } from "zksync-ethers";
import { ALICE, NOBODY, check, run, soon, url } from "./harness.mjs";

const provider = new Provider(url);
const wallet = new Wallet(ALICE, provider);

check("reads blocks through the strictest formatter of all", async () => {
  for (const tag of ["earliest", "latest", "committed", "finalized", "safe"]) {
    const block = await provider.getBlock(tag, true);
    assert.match(block.hash, /^0x[0-9a-f]{64}$/);
    assert.match(block.stateRoot, /^0x[0-9a-f]{64}$/);
  }
});

check("reads a balance as it was committed", async () => {
  assert.ok((await wallet.getBalance()) > 0n);
});

check("sends a transaction with dynamic fees and waits", async () => {
  const sent = await wallet.sendTransaction({ to: NOBODY, value: 1n, type: 2 });
  const receipt = await soon(sent.wait(), "the receipt");
  assert.equal(receipt.status, 1);
  assert.deepEqual(receipt.l2ToL1Logs, []);
});

check("sends a transaction of its own type, and finds the hash it computed", async () => {
  const sent = await wallet.sendTransaction({ to: NOBODY, value: 1n });
  assert.equal(sent.type, utils.EIP712_TX_TYPE);
  assert.equal((await soon(sent.wait(), "the receipt")).hash, sent.hash);
});

check("polls a filter by an id without leading zeros", async () => {
  const id = await provider.newBlockFilter();
  assert.equal(typeof id, "bigint");
  assert.deepEqual(await provider.getFilterChanges(id), []);
});

check("is told by an estimate what cannot be paid, in the words of a send", async () => {
  const poor = /insufficient funds for gas \+ value\. balance: \d+, fee: \d+, value: \d+/;
  const amount = 10n ** 25n;
  const transfer = { from: wallet.address, to: NOBODY, amount, token: utils.L2_BASE_TOKEN_ADDRESS };
  await assert.rejects(provider.estimateGasTransfer(transfer), poor);
  const customData = { gasPerPubdata: utils.DEFAULT_GAS_PER_PUBDATA_LIMIT };
  const call = { from: wallet.address, to: NOBODY, value: amount, type: utils.EIP712_TX_TYPE, customData };
  await assert.rejects(provider.estimateGas(call), poor);
  await assert.rejects(provider.estimateFee(call), poor);
});

check("is told by an estimate which factory dependency is invalid", async () => {
  const customData = { gasPerPubdata: utils.DEFAULT_GAS_PER_PUBDATA_LIMIT, factoryDeps: ["0x1234567890abcdef"] };
  const call = { from: wallet.address, to: wallet.address, customData };
  await assert.rejects(provider.estimateGas(call), /Bytecode length is not divisible by 32/);
});

await run();
