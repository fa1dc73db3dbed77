// What users do with zksync-ethers 6 on a layer 2 alone: transactions of type 0x71.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { ContractFactory, Signature, Wallet as PlainWallet, concat, getBytes, keccak256, toBeHex, toBigInt } from "ethers";
import { EIP712Signer, MultisigECDSASmartAccount, Provider, Wallet, utils } from "zksync-ethers";
import { ALICE, BOB, NOBODY, check, held, rpc, run, thrown, url } from "./harness.mjs";

const provider = new Provider(url, undefined, { polling: true });
provider.pollingInterval = 50;
const alice = new Wallet(ALICE, provider);
const bob = new Wallet(BOB, provider);

// The smallest code that may be published: one word.
const WORD = toBeHex(0x1234, 32);

const artifact = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url)));
const TOKEN = artifact("../../../src/entresol/contracts/TestERC20.json");
const PAYMASTER = artifact("../../contracts/artifacts/TokenPaymaster.json");
const MULTISIG = artifact("../../contracts/artifacts/MultisigAccount.json");

async function deployed({ abi, bytecode }, ...values) {
  const factory = new ContractFactory(abi, bytecode, new PlainWallet(ALICE, provider));
  const contract = await factory.deploy(...values);
  await contract.waitForDeployment();
  return contract;
}

// A complete transaction of Alice's, to be spoilt.
async function whole(fields = {}) {
  const { customData, ...rest } = fields;
  return {
    type: utils.EIP712_TX_TYPE,
    from: alice.address,
    to: NOBODY,
    value: 1n,
    data: "0x",
    chainId: 270n,
    nonce: await provider.getTransactionCount(alice.address, "pending"),
    gasLimit: 100_000n,
    maxFeePerGas: 100_000_000n,
    maxPriorityFeePerGas: 0n,
    customData: { gasPerPubdata: utils.DEFAULT_GAS_PER_PUBDATA_LIMIT, ...customData },
    ...rest,
  };
}

// Sign for the chain that the transaction names, with the form of signature that the SDK sends.
async function signed(transaction, signer = alice) {
  const domain = { name: "zkSync", version: "2", chainId: transaction.chainId };
  const document = {
    ...EIP712Signer.getSignInput(transaction),
    gasPerPubdataByteLimit: transaction.customData.gasPerPubdata,
  };
  const customSignature = await signer.signTypedData(domain, utils.EIP712_TYPES, document);
  return utils.serializeEip712({
    ...transaction, customData: { ...transaction.customData, customSignature },
  });
}

async function rejection(raw) {
  const error = await thrown(rpc("eth_sendRawTransaction", raw));
  assert.equal(error.code, -32000);
  return error.message;
}

check("sends ether as 0x71 by default and waits", async () => {
  const before = await provider.getBalance(NOBODY);
  const sent = await alice.sendTransaction({ to: NOBODY, value: 5n });
  const receipt = await sent.wait();
  assert.equal(receipt.status, 1);
  assert.equal(receipt.type, 0x71);
  assert.equal(receipt.from, alice.address);
  assert.equal(await provider.getBalance(NOBODY), before + 5n);
  const found = await provider.getTransaction(sent.hash);
  assert.equal(found.type, 0x71);
  assert.equal(found.hash, sent.hash);
});

check("transfers by its own helper, which estimates without eip712Meta", async () => {
  const before = await provider.getBalance(bob.address);
  const sent = await alice.transfer({ to: bob.address, amount: 7n });
  await sent.wait();
  assert.equal(await provider.getBalance(bob.address), before + 7n);
});

check("gets the hash that it computes itself", async () => {
  const transaction = await whole();
  const raw = await signed(transaction);
  const digest = EIP712Signer.getSignedDigest(transaction);
  const signature = utils.parseEip712(raw).customData.customSignature;
  const expected = keccak256(concat([digest, keccak256(signature)]));
  assert.equal(await rpc("eth_sendRawTransaction", raw), expected);
  assert.equal(utils.parseEip712(raw).hash, expected);
});

check("sends types 0 and 2 as well", async () => {
  for (const type of [0, 2]) {
    const sent = await alice.sendTransaction({ to: NOBODY, value: 1n, type });
    assert.equal((await sent.wait()).type, type);
  }
});

check("estimates with and without eip712Meta", async () => {
  const call = { from: alice.address, to: NOBODY, value: 1n, type: 0x71 };
  assert.equal(await provider.estimateGas(call), 21_000n);
  for (const customData of [{ gasPerPubdata: 0 }, { gasPerPubdata: 800 }]) {
    // Room for the signatures of a multisig account, which SDKs estimate from an owner.
    assert.equal(await provider.estimateGas({ ...call, customData }), 121_000n);
  }
});

check("estimates what a dependency costs", async () => {
  const estimate = (factoryDeps) => provider.estimateGas({
    from: alice.address, to: NOBODY, value: 1n, type: 0x71, customData: { gasPerPubdata: 50_000, factoryDeps },
  });
  // The floor of calldata for 30 zero bytes and two others, and a part of it that an account needs for its call.
  assert.equal(await estimate([WORD]), 121_000n + 380n + 7n);
});

check("calls with eip712Meta", async () => {
  const call = { from: alice.address, to: NOBODY, type: 0x71, customData: { gasPerPubdata: 0 } };
  assert.equal(await provider.call(call), "0x");
});

check("publishes factory dependencies", async () => {
  const sent = await alice.sendTransaction(await whole({ customData: { factoryDeps: [WORD, WORD] } }));
  assert.equal((await sent.wait()).status, 1);
});

check("publishes a dependency larger than other transactions may be", async () => {
  const large = "0x" + "00".repeat(8_191 * 32);
  // The wallet estimates: the bytes cost more gas than the other transactions of this file have.
  const sent = await alice.sendTransaction(await whole({ gasLimit: undefined, customData: { factoryDeps: [large] } }));
  assert.equal((await sent.wait()).status, 1);
});

check("signs with the node's key when it has none", async () => {
  const sent = await rpc("eth_sendTransaction", {
    from: bob.address, to: NOBODY, value: "0x1", type: "0x71",
    eip712Meta: { gasPerPubdata: "0xc350", factoryDeps: [[...getBytes(WORD)]] },
  });
  const found = await provider.getTransaction(sent);
  assert.equal(found.type, 0x71);
  const raw = await rpc("eth_getRawTransactionByHash", sent);
  const parsed = utils.parseEip712(raw);
  assert.equal(parsed.hash, sent);
  assert.equal(parsed.from, bob.address);
  assert.equal(EIP712Signer.getSignedDigest(parsed).length, 66);
});

check("reads in the clients' words why a dependency is rejected", async () => {
  for (const [code, problem] of [
    ["0x01", "Bytecode length is not divisible by 32"],
    ["0x" + "00".repeat(64), "Bytecode has even number of 32-byte words"],
  ]) {
    const error = await thrown(rpc("eth_estimateGas", {
      from: alice.address, to: NOBODY, type: "0x71",
      eip712Meta: { gasPerPubdata: "0xc350", factoryDeps: [[...getBytes(code)]] },
    }));
    assert.equal(error.code, 3);
    assert.equal(error.message, `Failed to serialize transaction: factory dependency #0 is invalid: ${problem}`);
  }
});

check("gets the rejection of a paymaster that is none", async () => {
  const paymasterParams = utils.getPaymasterParams(NOBODY, { type: "General", innerInput: new Uint8Array() });
  const error = await thrown(alice.sendTransaction({ to: bob.address, customData: { paymasterParams } }));
  assert.match(error.message, /failed paymaster validation. error message: Paymaster returned invalid context/);
  const raw = await signed(await whole({ customData: { paymasterParams } }));
  // It has no ether either, which the pool sees first.
  assert.match(await rejection(raw), /insufficient funds/);
});

check("lets the testnet paymaster pay for nothing", async () => {
  const paymaster = await provider.getTestnetPaymasterAddress();
  const paymasterParams = utils.getPaymasterParams(paymaster, { type: "General", innerInput: new Uint8Array() });
  const [before, funds] = [await provider.getBalance(alice.address), await provider.getBalance(paymaster)];
  await (await alice.transfer({ to: bob.address, amount: 7n, paymasterParams })).wait();
  assert.equal(await provider.getBalance(alice.address), before - 7n);
  assert.ok(await provider.getBalance(paymaster) < funds);
});

check("pays by token, and moves exactly what it says", async () => {
  const token = await deployed(TOKEN, "Crown", "CRWN", 18);
  const paymaster = await deployed(PAYMASTER, token.target);
  await (await alice.sendTransaction({ to: paymaster.target, value: 10n ** 17n })).wait();
  await (await token.mint(alice.address, 50n)).wait();
  const paymasterParams = utils.getPaymasterParams(paymaster.target, {
    type: "ApprovalBased", token: token.target, minimalAllowance: 1n, innerInput: new Uint8Array(),
  });
  const before = await provider.getBalance(alice.address);
  await (await alice.transfer({ to: bob.address, amount: 7_000_000_000n, paymasterParams })).wait();
  assert.equal(await token.balanceOf(paymaster.target), 1n);
  assert.equal(await token.balanceOf(alice.address), 49n);
  assert.equal(await provider.getBalance(alice.address), before - 7_000_000_000n);
  await (await alice.transfer({ token: token.target, to: bob.address, amount: 5n, paymasterParams })).wait();
  assert.equal(await token.balanceOf(alice.address), 49n - 1n - 5n);
  assert.equal(await token.balanceOf(paymaster.target), 2n);
  assert.equal(await provider.getBalance(alice.address), before - 7_000_000_000n);
});

check("sends from a multisig account, also with a paymaster", async () => {
  const account = await deployed(MULTISIG, [alice.address, bob.address], 2);
  await (await alice.sendTransaction({ to: account.target, value: 10n ** 17n })).wait();
  const multisig = MultisigECDSASmartAccount.create(account.target, [ALICE, BOB], provider);
  const before = await provider.getBalance(bob.address);
  await (await multisig.transfer({ to: bob.address, amount: 5n })).wait();
  assert.equal(await provider.getBalance(bob.address), before + 5n);
  assert.equal(await provider.getTransactionCount(account.target), 1);
  const paymaster = await provider.getTestnetPaymasterAddress();
  const paymasterParams = utils.getPaymasterParams(paymaster, { type: "General", innerInput: new Uint8Array() });
  const funds = await provider.getBalance(account.target);
  await (await multisig.transfer({ to: bob.address, amount: 5n, paymasterParams })).wait();
  assert.equal(await provider.getBalance(account.target), funds - 5n);
});

check("gets the rejection of a used nonce", async () => {
  const raw = await signed(await whole({ nonce: 0 }));
  assert.match(await rejection(raw), /^nonce too low/);
});

check("replaces a pending transaction", async () => {
  await held(async () => {
    const first = await alice.sendTransaction(await whole());
    const nonce = first.nonce;
    const second = await alice.sendTransaction(await whole({ nonce, value: 2n, maxFeePerGas: 110_000_000n }));
    assert.equal(await provider.getTransaction(first.hash), null);
    await rpc("evm_mine");
    assert.equal((await second.wait()).status, 1);
  });
});

check("signs so that r, s and v come back", async () => {
  const sent = await alice.sendTransaction({ to: NOBODY, value: 1n });
  await sent.wait();
  const found = await rpc("eth_getTransactionByHash", sent.hash);
  const signature = Signature.from({ r: found.r, s: found.s, yParity: Number(found.yParity) });
  const raw = utils.parseEip712(await rpc("eth_getRawTransactionByHash", sent.hash));
  assert.equal(signature.serialized, raw.customData.customSignature);
  assert.equal(toBigInt(found.type), 0x71n);
});

await run();
