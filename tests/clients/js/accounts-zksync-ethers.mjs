// Paymasters and smart accounts with zksync-ethers 6: balances as its own tests expect them.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { ContractFactory, Interface, Wallet as PlainWallet, concat, hashMessage } from "ethers";
import { ECDSASmartAccount, EIP712Signer, MultisigECDSASmartAccount, Provider, SmartAccount, Wallet, utils } from "zksync-ethers";
import { ALICE, BOB, check, run, thrown, url } from "./harness.mjs";

const provider = new Provider(url, undefined, { polling: true });
provider.pollingInterval = 50;
const deployer = new PlainWallet(ALICE, provider);
const wallet = new Wallet(ALICE, provider);
const gasPerPubdata = utils.DEFAULT_GAS_PER_PUBDATA_LIMIT;

// Code that returns 42, by init code that returns it.
const FORTY_TWO = "0x600a600c600039600a6000f3602a60005260206000f3";
const DEPLOYER = new Interface(["function createEVM(bytes) payable returns (uint256, address)"]);

async function deployed(path, ...values) {
  const { abi, bytecode } = JSON.parse(readFileSync(new URL(path, import.meta.url)));
  const contract = await new ContractFactory(abi, bytecode, deployer).deploy(...values);
  return contract.waitForDeployment();
}

const example = (name, ...values) => deployed(`../../contracts/artifacts/${name}.json`, ...values);
const fund = async (to, value = 10n ** 17n) => (await deployer.sendTransaction({ to, value })).wait();
const newAddress = () => PlainWallet.createRandom().address;

const owner = new PlainWallet(ALICE).address;
const crown = await deployed("../../../src/entresol/contracts/TestERC20.json", "Crown", "CRWN", 18);
const tokenPaymaster = await example("TokenPaymaster", crown.target);
const singleContract = await example("SessionAccount", owner);
const multisigContract = await example("MultisigAccount", [owner, new PlainWallet(BOB).address], 2);
for (const contract of [tokenPaymaster, singleContract, multisigContract]) await fund(contract.target);
for (const holder of [owner, singleContract.target, multisigContract.target])
  await (await crown.mint(holder, 50n)).wait();

const single = ECDSASmartAccount.create(singleContract.target, ALICE, provider);
const multisig = MultisigECDSASmartAccount.create(multisigContract.target, [ALICE, BOB], provider);

const testnetPaymaster = await provider.getTestnetPaymasterAddress();
const general = {
  paymaster: testnetPaymaster,
  price: 0n,
  paymasterParams: utils.getPaymasterParams(testnetPaymaster, { type: "General", innerInput: new Uint8Array() }),
};
const approval = {
  paymaster: tokenPaymaster.target,
  price: 1n,
  paymasterParams: utils.getPaymasterParams(tokenPaymaster.target, {
    type: "ApprovalBased", token: crown.target, minimalAllowance: 1n, innerInput: new Uint8Array(),
  }),
};

// What sender and paymaster have.
async function holdings(sender, { paymaster }) {
  const address = await sender.getAddress();
  return {
    ether: await provider.getBalance(address),
    tokens: await crown.balanceOf(address),
    paymasterEther: await provider.getBalance(paymaster),
    paymasterTokens: await crown.balanceOf(paymaster),
  };
}

// Send, and check that nothing but what was sent and the price of the paymaster has moved, to the wei.
async function moves(sender, flow, { ether = 0n, tokens = 0n }, send) {
  const before = await holdings(sender, flow);
  const receipt = await (await send()).wait();
  assert.equal(receipt.status, 1);
  assert.equal(receipt.type, 0x71);
  const after = await holdings(sender, flow);
  assert.equal(after.ether, before.ether - ether);
  assert.equal(after.tokens, before.tokens - tokens - flow.price);
  assert.equal(after.paymasterTokens, before.paymasterTokens + flow.price);
  assert.ok(after.paymasterEther < before.paymasterEther);
  return receipt;
}

async function transfersEther(sender, flow) {
  const [to, amount] = [newAddress(), 7_000_000_000n];
  await moves(sender, flow, { ether: amount }, () =>
    sender.transfer({ to, amount, paymasterParams: flow.paymasterParams }));
  assert.equal(await provider.getBalance(to), amount);
}

async function transfersTokens(sender, flow) {
  const [to, amount] = [newAddress(), 5n];
  await moves(sender, flow, { tokens: amount }, () =>
    sender.transfer({ token: crown.target, to, amount, paymasterParams: flow.paymasterParams }));
  assert.equal(await crown.balanceOf(to), amount);
}

async function withdraws(sender, flow) {
  const [to, amount] = [newAddress(), 7_000_000_000n];
  const receipt = await moves(sender, flow, { ether: amount }, () =>
    sender.withdraw({ token: utils.LEGACY_ETH_ADDRESS, to, amount, paymasterParams: flow.paymasterParams }));
  assert.equal(receipt.l2ToL1Logs.length, 1);
}

async function deploys(sender, flow) {
  const data = DEPLOYER.encodeFunctionData("createEVM", [FORTY_TWO]);
  const customData = { gasPerPubdata, paymasterParams: flow.paymasterParams };
  const receipt = await moves(sender, flow, {}, () =>
    sender.sendTransaction({ to: utils.CONTRACT_DEPLOYER_ADDRESS, data, type: 0x71, customData }));
  const { deployedAddress } = utils.getDeployedContracts(receipt)[0];
  assert.equal(BigInt(await provider.call({ to: deployedAddress })), 42n);
}

async function calls(sender, flow) {
  const data = crown.interface.encodeFunctionData("mint", [await sender.getAddress(), 3n]);
  const customData = { gasPerPubdata, paymasterParams: flow.paymasterParams };
  await moves(sender, flow, { tokens: -3n }, () =>
    sender.sendTransaction({ to: crown.target, data, type: 0x71, customData }));
}

check("wallet, general: transfers ether", () => transfersEther(wallet, general));
check("wallet, general: transfers tokens", () => transfersTokens(wallet, general));
check("wallet, general: withdraws", () => withdraws(wallet, general));
check("wallet, general: deploys", () => deploys(wallet, general));
check("wallet, general: calls", () => calls(wallet, general));
check("wallet, approval: transfers tokens", () => transfersTokens(wallet, approval));
check("single signature, approval: transfers ether", () => transfersEther(single, approval));
check("single signature, approval: transfers tokens", () => transfersTokens(single, approval));
check("single signature, approval: withdraws", () => withdraws(single, approval));
check("single signature, approval: deploys", () => deploys(single, approval));
check("single signature, approval: calls", () => calls(single, approval));
check("multisig, general: transfers ether", () => transfersEther(multisig, general));
check("multisig, general: transfers tokens", () => transfersTokens(multisig, general));
check("multisig, general: withdraws", () => withdraws(multisig, general));
check("multisig, general: deploys", () => deploys(multisig, general));
check("multisig, general: calls", () => calls(multisig, general));
check("multisig, approval: calls", () => calls(multisig, approval));

check("estimates with paymaster parameters for a sender without ether", async () => {
  const from = newAddress();
  await (await crown.mint(from, 1n)).wait();
  for (const { paymasterParams } of [general, approval]) {
    const call = { from, to: owner, type: 0x71, customData: { gasPerPubdata, paymasterParams } };
    const gas = await provider.estimateGas(call);
    assert.ok(gas > 121_000n);
    assert.equal((await provider.estimateFee(call)).gasLimit, gas);
  }
});

check("estimates for an account, whose code runs", async () => {
  const call = { from: multisigContract.target, to: owner, value: 1n };
  const gas = await provider.estimateGas({ ...call, type: 0x71, customData: { gasPerPubdata } });
  assert.ok(gas > 60_000n);
  assert.equal(await provider.estimateGas(call), gas);
});

check("populates a transaction with a paymaster, and sends what it has populated", async () => {
  for (const flow of [general, approval]) {
    const customData = { gasPerPubdata, paymasterParams: flow.paymasterParams };
    const populated = await wallet.populateTransaction({ to: newAddress(), value: 7n, type: 0x71, customData });
    assert.equal(populated.type, 0x71);
    assert.equal(populated.nonce, await wallet.getNonce("pending"));
    assert.deepEqual(populated.customData.paymasterParams, flow.paymasterParams);
    const raw = await wallet.signTransaction(populated);
    await moves(wallet, flow, { ether: 7n }, () => provider.broadcastTransaction(raw));
  }
});

check("populates a transaction of a smart account", async () => {
  for (const account of [single, multisig]) {
    const populated = await account.populateTransaction({ to: newAddress(), value: 7n });
    assert.equal(populated.type, 0x71);
    assert.equal(populated.from, await account.getAddress());
    assert.equal(populated.nonce, await provider.getTransactionCount(populated.from));
    await (await account.sendTransaction(populated)).wait();
  }
});

check("sends by a signature of another kind", async () => {
  const payloadSigner = async (hash) => new PlainWallet(ALICE).signingKey.sign(hash).serialized;
  const custom = new SmartAccount({ address: singleContract.target, secret: ALICE, payloadSigner }, provider);
  await transfersEther(custom, general);
  const populated = await custom.populateTransaction({ to: newAddress(), value: 7n });
  const customSignature = await payloadSigner(EIP712Signer.getSignedDigest(populated));
  const raw = utils.serializeEip712({ ...populated, customData: { ...populated.customData, customSignature } });
  assert.equal((await (await provider.broadcastTransaction(raw)).wait()).status, 1);
});

check("gets the rejection of a signature that the account does not accept", async () => {
  const forged = MultisigECDSASmartAccount.create(multisigContract.target, [ALICE, ALICE], provider);
  const error = await thrown(forged.transfer({ to: owner, amount: 1n }));
  assert.match(error.error.message, /^failed to validate the transaction. reason: Validation revert: Account validation error: Account validation returned invalid magic value/);
});

check("verifies messages of accounts by their contracts", async () => {
  for (const [account, contract, keys] of [[single, singleContract, [ALICE]], [multisig, multisigContract, [ALICE, BOB]]]) {
    const bound = await contract.replaySafeHash(hashMessage("hello"));
    const signature = concat(keys.map((key) => new PlainWallet(key).signingKey.sign(bound).serialized));
    const address = await account.getAddress();
    const isCorrect = (message, by) => utils.isMessageSignatureCorrect(provider, address, message, by);
    assert.equal(await isCorrect("hello", signature), true);
    assert.equal(await isCorrect("bye", signature), false);
    // What the client signs by itself names no account: it would be valid for all of the owner's.
    assert.equal(await isCorrect("hello", await account.signMessage("hello")), false);
  }
});

check("reads what kind of account a contract is", async () => {
  const info = await provider.getContractAccountInfo(multisigContract.target);
  assert.equal(info.supportedAAVersion, 1);
  assert.equal((await provider.getContractAccountInfo(crown.target)).supportedAAVersion, 0);
});

await run();
