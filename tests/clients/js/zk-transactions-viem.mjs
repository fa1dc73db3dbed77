// What users do with viem/zksync on a layer 2 alone: transactions of type 0x71.

import assert from "node:assert/strict";
import { concat, createPublicClient, createWalletClient, hashTypedData, http, keccak256, toHex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { zksyncLocalNode } from "viem/chains";
import { eip712WalletActions, getGeneralPaymasterInput, publicActionsL2 } from "viem/zksync";
import { ALICE, BOB, NOBODY, check, held, rpc, run, thrown, url } from "./harness.mjs";

const alice = privateKeyToAccount(ALICE);
const bob = privateKeyToAccount(BOB);
const transport = http(url);
const pollingInterval = 50;
const reader = createPublicClient({ chain: zksyncLocalNode, transport, pollingInterval })
  .extend(publicActionsL2());
const writer = createWalletClient({ account: alice, chain: zksyncLocalNode, transport, pollingInterval })
  .extend(eip712WalletActions());

// The smallest code that may be published: one word.
const WORD = toHex(0x1234, { size: 32 });
const GAS_PER_PUBDATA = 50_000n;
const GENERAL = getGeneralPaymasterInput({ innerInput: "0x" });

async function whole(fields = {}) {
  return {
    type: "eip712",
    account: alice,
    from: alice.address,
    to: NOBODY,
    value: 1n,
    chainId: 270,
    gas: 100_000n,
    maxFeePerGas: 100_000_000n,
    maxPriorityFeePerGas: 0n,
    gasPerPubdata: GAS_PER_PUBDATA,
    nonce: await reader.getTransactionCount({ address: alice.address, blockTag: "pending" }),
    ...fields,
  };
}

async function done(hash) {
  const receipt = await reader.waitForTransactionReceipt({ hash });
  assert.equal(receipt.status, "success");
  return receipt;
}

check("sends a transaction of type 0x71 and waits", async () => {
  const before = await reader.getBalance({ address: NOBODY });
  const hash = await writer.sendTransaction({ to: NOBODY, value: 5n, gasPerPubdata: GAS_PER_PUBDATA });
  const receipt = await done(hash);
  // Receipts are formatted by the plain client, which has no name for the type.
  assert.equal(receipt.type, "0x71");
  assert.deepEqual(receipt.l2ToL1Logs, []);
  assert.equal(await reader.getBalance({ address: NOBODY }), before + 5n);
  const found = await reader.getTransaction({ hash });
  assert.equal(found.type, "eip712");
  assert.equal(found.from, alice.address.toLowerCase());
});

check("gets the hash that follows from what it signs", async () => {
  const transaction = await whole();
  const { domain, types, primaryType, message } = zksyncLocalNode.custom.getEip712Domain(transaction);
  const signature = await alice.signTypedData({ domain, types, primaryType, message });
  const digest = hashTypedData({ domain, types, primaryType, message });
  const raw = await writer.signTransaction(transaction);
  const expected = keccak256(concat([digest, keccak256(signature)]));
  assert.equal(await rpc("eth_sendRawTransaction", raw), expected);
});

check("publishes factory dependencies", async () => {
  await done(await writer.sendTransaction({
    to: NOBODY, gasPerPubdata: GAS_PER_PUBDATA, factoryDeps: [WORD, WORD],
  }));
});

check("sends types 0 and 2 as well", async () => {
  for (const type of ["legacy", "eip1559"]) {
    const receipt = await done(await writer.sendTransaction({ to: NOBODY, value: 1n, type }));
    assert.equal(receipt.type, type);
  }
});

check("estimates with and without eip712Meta", async () => {
  const call = { account: alice, to: NOBODY, value: 1n };
  assert.equal(await reader.estimateGas({ ...call, type: "eip712" }), 21_000n);
  assert.equal(await reader.estimateGas({ ...call, gasPerPubdata: 800n }), 121_000n);
});

check("estimates what a dependency costs", async () => {
  const call = { account: alice, to: NOBODY, value: 1n, gasPerPubdata: 800n, factoryDeps: [WORD] };
  // The floor of calldata for 30 zero bytes and two others, and a part of it that an account needs for its call.
  assert.equal(await reader.estimateGas(call), 121_000n + 380n + 7n);
});

check("calls with eip712Meta", async () => {
  const { data } = await reader.call({ account: alice, to: NOBODY, gasPerPubdata: 800n });
  assert.equal(data, undefined);
});

check("lets the node sign for an account of its own", async () => {
  const hash = await rpc("eth_sendTransaction", {
    from: bob.address, to: NOBODY, value: "0x1", type: "0x71", eip712Meta: { gasPerPubdata: "0xc350" },
  });
  const found = await reader.getTransaction({ hash });
  assert.equal(found.type, "eip712");
  assert.equal(found.from, bob.address.toLowerCase());
  await done(hash);
});

check("lets the testnet paymaster pay for nothing", async () => {
  const paymaster = await reader.getTestnetPaymasterAddress();
  const before = await reader.getBalance({ address: alice.address });
  const fields = { to: NOBODY, value: 5n, gasPerPubdata: GAS_PER_PUBDATA, paymaster, paymasterInput: GENERAL };
  await done(await writer.sendTransaction(fields));
  assert.equal(await reader.getBalance({ address: alice.address }), before - 5n);
});

check("gets the rejection of a used nonce", async () => {
  const error = await thrown(writer.sendTransaction(await whole({ nonce: 0 })));
  assert.equal(error.cause.name, "NonceTooLowError");
});

check("gets the rejection of a lack of funds", async () => {
  const error = await thrown(writer.sendTransaction(await whole({ value: 10n ** 30n })));
  assert.equal(error.cause.name, "InsufficientFundsError");
});

check("replaces a pending transaction", async () => {
  await held(async () => {
    const transaction = await whole();
    const first = await writer.sendTransaction(transaction);
    const second = await writer.sendTransaction({ ...transaction, value: 2n, maxFeePerGas: 110_000_000n });
    const error = await thrown(reader.getTransaction({ hash: first }));
    assert.equal(error.name, "TransactionNotFoundError");
    await rpc("evm_mine");
    await done(second);
  });
});

await run();
