// Paymasters and smart accounts with viem/zksync.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createPublicClient, createWalletClient, encodeFunctionData, hashMessage, http, parseAbi, parseEventLogs } from "viem";
import { generatePrivateKey, privateKeyToAccount, sign } from "viem/accounts";
import { zksyncLocalNode } from "viem/chains";
import {
  eip712WalletActions, getApprovalBasedPaymasterInput, getGeneralPaymasterInput, legacyEthAddress, publicActionsL2,
  toMultisigSmartAccount, toSinglesigSmartAccount, toSmartAccount, walletActionsL2,
} from "viem/zksync";
import { ALICE, BOB, check, run, thrown, url } from "./harness.mjs";

const [alice, bob] = [privateKeyToAccount(ALICE), privateKeyToAccount(BOB)];
const options = { chain: zksyncLocalNode, transport: http(url), pollingInterval: 50 };
const reader = createPublicClient(options).extend(publicActionsL2());
const client = (account) => createWalletClient({ account, ...options }).extend(eip712WalletActions()).extend(walletActionsL2());
const wallet = client(alice);
const gasPerPubdata = 50_000n;

const FORTY_TWO = "0x600a600c600039600a6000f3602a60005260206000f3";
const DEPLOYER = "0x0000000000000000000000000000000000008006";
const DEPLOYER_ABI = parseAbi([
  "function createEVM(bytes) payable returns (uint256, address)",
  "event ContractDeployed(address indexed deployer, bytes32 indexed bytecodeHash, address indexed contractAddress)",
]);
const artifact = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url)));
const TOKEN = artifact("../../../src/entresol/contracts/TestERC20.json");
const example = (name) => artifact(`../../contracts/artifacts/${name}.json`);

async function done(hash) {
  const receipt = await reader.waitForTransactionReceipt({ hash });
  assert.equal(receipt.status, "success");
  return receipt;
}

// By a client without the actions of type 0x71, because those send EraVM deployments.
const plain = createWalletClient({ account: alice, ...options });

async function deployed({ abi, bytecode }, ...args) {
  const receipt = await done(await plain.sendTransaction({ data: encodeDeploy(abi, bytecode, args) }));
  return receipt.contractAddress;
}

function encodeDeploy(abi, bytecode, args) {
  const constructor = abi.find(({ type }) => type === "constructor");
  if (!constructor) return bytecode;
  const named = { ...constructor, type: "function", name: "init", outputs: [] };
  return bytecode + encodeFunctionData({ abi: [named], args }).slice(10);
}

const crown = await deployed(TOKEN, "Crown", "CRWN", 18);
const tokenPaymaster = await deployed(example("TokenPaymaster"), crown);
const singleAddress = await deployed(example("SessionAccount"), alice.address);
const multisigAddress = await deployed(example("MultisigAccount"), [alice.address, bob.address], 2n);
for (const to of [tokenPaymaster, singleAddress, multisigAddress])
  await done(await plain.sendTransaction({ to, value: 10n ** 17n }));
for (const holder of [alice.address, singleAddress, multisigAddress])
  await done(await plain.writeContract({ address: crown, abi: TOKEN.abi, functionName: "mint", args: [holder, 50n] }));

const single = client(toSinglesigSmartAccount({ address: singleAddress, privateKey: ALICE }));
const multisig = client(toMultisigSmartAccount({ address: multisigAddress, privateKeys: [ALICE, BOB] }));
const custom = client(toSmartAccount({
  address: singleAddress,
  sign: ({ hash }) => sign({ hash, privateKey: ALICE, to: "hex" }),
}));

const general = {
  price: 0n,
  paymaster: await reader.getTestnetPaymasterAddress(),
  paymasterInput: getGeneralPaymasterInput({ innerInput: "0x" }),
};
const approval = {
  price: 1n,
  paymaster: tokenPaymaster,
  paymasterInput: getApprovalBasedPaymasterInput({ token: crown, minAllowance: 1n, innerInput: new Uint8Array() }),
};
const fields = ({ paymaster, paymasterInput }) => ({ gasPerPubdata, paymaster, paymasterInput });

const tokens = (holder) =>
  reader.readContract({ address: crown, abi: TOKEN.abi, functionName: "balanceOf", args: [holder] });
const newAddress = () => privateKeyToAccount(generatePrivateKey()).address;

async function holdings(address, { paymaster }) {
  return {
    ether: await reader.getBalance({ address }),
    tokens: await tokens(address),
    paymasterEther: await reader.getBalance({ address: paymaster }),
    paymasterTokens: await tokens(paymaster),
  };
}

// Send, and check that nothing but what was sent and the price of the paymaster has moved, to the wei.
async function moves(sender, flow, { ether = 0n, token = 0n }, send) {
  const { address } = sender.account;
  const before = await holdings(address, flow);
  const receipt = await done(await send());
  const after = await holdings(address, flow);
  assert.equal(after.ether, before.ether - ether);
  assert.equal(after.tokens, before.tokens - token - flow.price);
  assert.equal(after.paymasterTokens, before.paymasterTokens + flow.price);
  assert.ok(after.paymasterEther < before.paymasterEther);
  return receipt;
}

async function transfers(sender, flow) {
  const [to, value] = [newAddress(), 7_000_000_000n];
  await moves(sender, flow, { ether: value }, () => sender.sendTransaction({ to, value, ...fields(flow) }));
  assert.equal(await reader.getBalance({ address: to }), value);
}

async function transfersTokens(sender, flow) {
  const args = [newAddress(), 5n];
  await moves(sender, flow, { token: 5n }, () =>
    sender.writeContract({ address: crown, abi: TOKEN.abi, functionName: "transfer", args, ...fields(flow) }));
  assert.equal(await tokens(args[0]), 5n);
}

async function withdraws(sender, flow) {
  const amount = 7_000_000_000n;
  const receipt = await moves(sender, flow, { ether: amount }, () =>
    sender.withdraw({ token: legacyEthAddress, amount, to: newAddress(), ...fields(flow) }));
  assert.equal(receipt.l2ToL1Logs.length, 1);
}

async function deploys(sender, flow) {
  const data = encodeFunctionData({ abi: DEPLOYER_ABI, functionName: "createEVM", args: [FORTY_TWO] });
  const receipt = await moves(sender, flow, {}, () => sender.sendTransaction({ to: DEPLOYER, data, ...fields(flow) }));
  const [{ args }] = parseEventLogs({ abi: DEPLOYER_ABI, logs: receipt.logs, eventName: "ContractDeployed" });
  const { data: output } = await reader.call({ to: args.contractAddress });
  assert.equal(BigInt(output), 42n);
}

async function calls(sender, flow) {
  const args = [sender.account.address, 3n];
  await moves(sender, flow, { token: -3n }, () =>
    sender.writeContract({ address: crown, abi: TOKEN.abi, functionName: "mint", args, ...fields(flow) }));
}

check("wallet, general: transfers ether", () => transfers(wallet, general));
check("wallet, general: transfers tokens", () => transfersTokens(wallet, general));
check("wallet, general: withdraws", () => withdraws(wallet, general));
check("wallet, general: deploys", () => deploys(wallet, general));
check("wallet, general: calls", () => calls(wallet, general));
check("wallet, approval: transfers tokens", () => transfersTokens(wallet, approval));
check("single signature, approval: transfers ether", () => transfers(single, approval));
check("single signature, approval: transfers tokens", () => transfersTokens(single, approval));
check("single signature, approval: withdraws", () => withdraws(single, approval));
check("single signature, approval: deploys", () => deploys(single, approval));
check("single signature, approval: calls", () => calls(single, approval));
check("multisig, general: transfers ether", () => transfers(multisig, general));
check("multisig, general: transfers tokens", () => transfersTokens(multisig, general));
check("multisig, general: withdraws", () => withdraws(multisig, general));
check("multisig, general: deploys", () => deploys(multisig, general));
check("multisig, general: calls", () => calls(multisig, general));
check("multisig, approval: calls", () => calls(multisig, approval));

async function sendsWithoutEther(flow) {
  const sender = client(privateKeyToAccount(generatePrivateKey()));
  const { address } = sender.account;
  const args = [address, 20n];
  await done(await plain.writeContract({ address: crown, abi: TOKEN.abi, functionName: "mint", args }));
  for (const act of [transfersTokens, deploys, calls]) await act(sender, flow);
  assert.equal(await reader.getBalance({ address }), 0n);
  assert.equal(await reader.getTransactionCount({ address }), 3);
}

check("key without ether, general: transfers tokens, deploys and calls", () => sendsWithoutEther(general));
check("key without ether, approval: transfers tokens, deploys and calls", () => sendsWithoutEther(approval));

check("signs with a paymaster, and sends the bytes", async () => {
  for (const flow of [general, approval])
    await moves(wallet, flow, { ether: 7n }, async () => {
      const request = await wallet.prepareTransactionRequest({
        to: newAddress(), value: 7n, type: "eip712", parameters: ["gas", "nonce", "fees"], ...fields(flow),
      });
      return reader.sendRawTransaction({ serializedTransaction: await wallet.signTransaction(request) });
    });
});

check("is told to compile for the EVM by deployContract, which sends EraVM bytecode", async () => {
  const bytecode = "0x" + "00".repeat(32);
  for (const flow of [general, approval]) {
    const error = await thrown(wallet.deployContract({ abi: [], bytecode, deploymentType: "create", ...fields(flow) }));
    assert.match(error.message, /EraVM bytecode cannot run on this chain: compile for the EVM/);
  }
});

check("sends by a signature of another kind", () => transfers(custom, general));

check("sends from accounts that pay for themselves", async () => {
  for (const sender of [single, multisig, custom]) {
    const to = newAddress();
    await done(await sender.sendTransaction({ to, value: 7n, gasPerPubdata }));
    assert.equal(await reader.getBalance({ address: to }), 7n);
  }
});

check("estimates with paymaster parameters for a sender without ether", async () => {
  const account = newAddress();
  await done(await plain.writeContract({ address: crown, abi: TOKEN.abi, functionName: "mint", args: [account, 1n] }));
  for (const flow of [general, approval]) {
    const call = { account, to: alice.address, value: 0n, type: "eip712", ...fields(flow) };
    const gas = await reader.estimateGas(call);
    assert.ok(gas > 121_000n);
    assert.equal((await reader.estimateFee(call)).gasLimit, gas);
  }
});

check("estimates for an account, whose code runs", async () => {
  const gas = await reader.estimateGas({ account: multisigAddress, to: alice.address, value: 1n });
  assert.ok(gas > 60_000n);
});

check("prepares a transaction with a paymaster", async () => {
  for (const [sender, flow] of [[wallet, general], [multisig, approval]]) {
    const request = await sender.prepareTransactionRequest({
      to: newAddress(), value: 7n, type: "eip712", parameters: ["gas", "nonce", "fees"], ...fields(flow),
    });
    const { address } = sender.account;
    assert.equal(request.nonce, await reader.getTransactionCount({ address }));
    assert.ok(request.gas > 60_000n);
    await moves(sender, flow, { ether: 7n }, () => sender.sendTransaction(request));
  }
});

check("gets the rejection of a signature that the account does not accept", async () => {
  const forged = client(toMultisigSmartAccount({ address: multisigAddress, privateKeys: [ALICE, ALICE] }));
  const error = await thrown(forged.sendTransaction({ to: alice.address, value: 1n, gasPerPubdata }));
  assert.match(error.message, /Account validation returned invalid magic value/);
});

check("verifies messages of accounts by their contracts", async () => {
  for (const { account } of [single, multisig]) {
    const { address } = account;
    const { abi } = example("SessionAccount");
    const bound = { address, abi, functionName: "replaySafeHash", args: [hashMessage("hello")] };
    const signature = await account.sign({ hash: await reader.readContract(bound) });
    assert.equal(await reader.verifyMessage({ address, message: "hello", signature }), true);
    assert.equal(await reader.verifyMessage({ address, message: "bye", signature }), false);
    // What the client signs by itself names no account: it would be valid for all of the owner's.
    const unbound = await account.signMessage({ message: "hello" });
    assert.equal(await reader.verifyMessage({ address, message: "hello", signature: unbound }), false);
  }
});

await run();
