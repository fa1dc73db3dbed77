// The calls of zksync-js between two layers, in its order. The package itself is not on the registry.

import assert from "node:assert/strict";
import {
  AbiCoder, Contract, ContractFactory, Interface, JsonRpcProvider, NonceManager, Wallet, ZeroAddress,
  id, keccak256, parseEther,
} from "ethers";
import { ALICE, check, contracts, run, thrown, url } from "./harness.mjs";

const POLL_MS = 50;
const ETH = "0x0000000000000000000000000000000000000001";
const L2_BASE_TOKEN = "0x000000000000000000000000000000000000800A";
const L1_MESSENGER = "0x0000000000000000000000000000000000008008";
const L2_ASSET_ROUTER = "0x0000000000000000000000000000000000010003";
const L2_VAULT = "0x0000000000000000000000000000000000010004";
const ZERO_HASH = "0x" + "0".repeat(64);
const ALIAS_OFFSET = 0x1111000000000000000000000000000000001111n;
const GAS_PER_PUBDATA = 800n;
const GAS_OF_A_FIRST_DEPOSIT = 3_000_000n;
const SENT = id("L1MessageSent(address,bytes32,bytes)");

const FINALIZE = "(uint256 chainId,uint256 l2BatchNumber,uint256 l2MessageIndex,address l2Sender,"
  + "uint16 l2TxNumberInBatch,bytes message,bytes32[] merkleProof)";
const DIRECT = "(uint256 chainId,uint256 mintValue,address l2Contract,uint256 l2Value,bytes l2Calldata,"
  + "uint256 l2GasLimit,uint256 l2GasPerPubdataByteLimit,bytes[] factoryDeps,address refundRecipient)";
const TWO_BRIDGES = "(uint256 chainId,uint256 mintValue,uint256 l2Value,uint256 l2GasLimit,"
  + "uint256 l2GasPerPubdataByteLimit,address refundRecipient,address secondBridgeAddress,"
  + "uint256 secondBridgeValue,bytes secondBridgeCalldata)";
const CANONICAL = "(uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256,"
  + "uint256[4],bytes,bytes,uint256[],bytes,bytes)";

const ABI = {
  bridgehub: [
    "function assetRouter() view returns (address)",
    "function baseToken(uint256) view returns (address)",
    "function chainTypeManager(uint256) view returns (address)",
    "function getZKChain(uint256) view returns (address)",
    "function l2TransactionBaseCost(uint256,uint256,uint256,uint256) view returns (uint256)",
    `function requestL2TransactionDirect(${DIRECT}) payable returns (bytes32)`,
    `function requestL2TransactionTwoBridges(${TWO_BRIDGES}) payable returns (bytes32)`,
  ],
  chain: [
    "function getSemverProtocolVersion() view returns (uint32,uint32,uint32)",
    `event NewPriorityRequest(uint256 txId,bytes32 txHash,uint64 expirationTimestamp,${CANONICAL} transaction,bytes[] factoryDeps)`,
  ],
  router: [
    "function L1_NULLIFIER() view returns (address)",
    "function getDepositCalldata(address,bytes32,bytes) view returns (bytes)",
  ],
  nullifier: [
    "function l1NativeTokenVault() view returns (address)",
    "function isWithdrawalFinalized(uint256,uint256,uint256) view returns (bool)",
    `function finalizeDeposit(${FINALIZE})`,
  ],
  vault: [
    "function WETH_TOKEN() view returns (address)",
    "function L1_CHAIN_ID() view returns (uint256)",
    "function BASE_TOKEN_ASSET_ID() view returns (bytes32)",
    "function assetId(address) view returns (bytes32)",
    "function tokenAddress(bytes32) view returns (address)",
    "function originChainId(bytes32) view returns (uint256)",
    "function getERC20Getters(address,uint256) view returns (bytes)",
    "function l2TokenAddress(address) view returns (address)",
    "function calculateCreate2TokenAddress(uint256,address) view returns (address)",
    "function ensureTokenIsRegistered(address) returns (bytes32)",
  ],
  l2Router: [
    "function l1TokenAddress(address) view returns (address)",
    "function withdraw(bytes32,bytes) returns (bytes32)",
  ],
  baseToken: ["function withdraw(address) payable"],
};
const coder = AbiCoder.defaultAbiCoder();

const options = { pollingInterval: POLL_MS };
const l2 = new JsonRpcProvider(url, undefined, options);
const l1 = new JsonRpcProvider(process.env.L1_URL, undefined, options);
const above = new NonceManager(new Wallet(ALICE, l1));
const below = new NonceManager(new Wallet(ALICE, l2));
const me = await above.getAddress();
const { chainId } = await l2.getNetwork();
const { chainId: l1ChainId } = await l1.getNetwork();

// ensureAddresses
const bridgehub = new Contract(await l2.send("zks_getBridgehubContract", []), ABI.bridgehub, above);
const router = new Contract(await bridgehub.assetRouter(), ABI.router, above);
const nullifier = new Contract(await router.L1_NULLIFIER(), ABI.nullifier, above);
const vault = new Contract(await nullifier.l1NativeTokenVault(), ABI.vault, above);
const chain = new Contract(await bridgehub.getZKChain(chainId), ABI.chain, l1);
const l2Vault = new Contract(L2_VAULT, ABI.vault, below);
const l2Router = new Contract(L2_ASSET_ROUTER, ABI.l2Router, below);

const token = await (await new ContractFactory(contracts.token.abi, contracts.token.bytecode, above)
  .deploy("Salt and Pepper", "SAP", 9)).waitForDeployment();
const address = await token.getAddress();
await (await token.mint(me, 1_000_000n)).wait();

let somebody = 0xc000;
const stranger = () => "0x" + (++somebody).toString(16).padStart(40, "0");
const assetId = (origin, there) =>
  keccak256(coder.encode(["uint256", "address", "address"], [origin, L2_VAULT, there]));

async function until(found) {
  for (;;) {
    const it = await found();
    if (it) return it;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

// tokens.resolve
async function resolve(l1Token) {
  const base = await bridgehub.baseToken(chainId);
  const isBase = l1Token.toLowerCase() === base.toLowerCase();
  const [l2Token, asset] = await Promise.all([
    isBase ? L2_BASE_TOKEN : l2Vault.l2TokenAddress(l1Token), vault.assetId(l1Token),
  ]);
  const [origin, baseAsset, wethL1, wethL2] = await Promise.all([
    l2Vault.originChainId(asset), l2Vault.BASE_TOKEN_ASSET_ID(), vault.WETH_TOKEN(), l2Vault.WETH_TOKEN(),
  ]);
  return { l2: l2Token, assetId: asset, originChainId: origin, baseAsset, wethL1, wethL2 };
}

// A deposit's L2 hash is in the chain's event of the receipt on L1.
async function onL2(sent) {
  const { logs } = await sent.wait();
  const target = (await chain.getAddress()).toLowerCase();
  const [event] = logs.filter((log) => log.address.toLowerCase() === target)
    .map((log) => chain.interface.parseLog(log)).filter((log) => log?.name === "NewPriorityRequest");
  return until(() => l2.getTransactionReceipt(event.args.txHash));
}

const fees = async () => (await l1.getFeeData()).maxFeePerGas;
const cost = (price, gas) => bridgehub.l2TransactionBaseCost(chainId, price, gas, GAS_PER_PUBDATA);

async function depositEther(amount, to) {
  const call = { from: me, to, value: "0x" + amount.toString(16), data: "0x", type: "0x7f" };
  const l2GasLimit = BigInt(await l2.send("eth_estimateGas", [call]));
  const maxFeePerGas = await fees();
  const mintValue = amount + (await cost(maxFeePerGas, l2GasLimit));
  return onL2(await bridgehub.requestL2TransactionDirect({
    chainId, mintValue, l2Contract: to, l2Value: amount, l2Calldata: "0x", l2GasLimit,
    l2GasPerPubdataByteLimit: GAS_PER_PUBDATA, factoryDeps: [], refundRecipient: me,
  }, { value: mintValue, maxFeePerGas }));
}

// The exact call on L2, for the estimate: by the router of L1, under its alias.
async function depositGas(resolved, amount, to) {
  if (resolved.l2 === ZeroAddress) return GAS_OF_A_FIRST_DEPOSIT;
  const metadata = await vault.getERC20Getters(address, resolved.originChainId);
  const mint = coder.encode(
    ["address", "address", "address", "uint256", "bytes"], [me, to, address, amount, metadata],
  );
  const data = await router.getDepositCalldata(me, resolved.assetId, mint);
  const from = "0x" + (BigInt(await router.getAddress()) + ALIAS_OFFSET).toString(16).slice(-40).padStart(40, "0");
  const call = { from, to: L2_ASSET_ROUTER, data, type: "0x7f" };
  return BigInt(await l2.send("eth_estimateGas", [call]));
}

async function depositToken(amount, to) {
  const l2GasLimit = await depositGas(await resolve(address), amount, to);
  const maxFeePerGas = await fees();
  const mintValue = await cost(maxFeePerGas, l2GasLimit);
  const spender = await router.getAddress();
  if ((await token.allowance(me, spender)) < amount) await (await token.approve(spender, amount)).wait();
  return onL2(await bridgehub.requestL2TransactionTwoBridges({
    chainId, mintValue, l2Value: 0n, l2GasLimit, l2GasPerPubdataByteLimit: GAS_PER_PUBDATA,
    refundRecipient: me, secondBridgeAddress: spender, secondBridgeValue: 0n,
    secondBridgeCalldata: coder.encode(["address", "uint256", "address"], [address, amount, to]),
  }, { value: mintValue, maxFeePerGas }));
}

async function finalization(hash) {
  const receipt = await until(() => l2.send("eth_getTransactionReceipt", [hash]));
  const [event] = receipt.logs.filter(
    (log) => log.address.toLowerCase() === L1_MESSENGER && log.topics[0] === SENT,
  );
  const [message] = coder.decode(["bytes"], event.data);
  const index = receipt.l2ToL1Logs.findIndex((log) => log.sender.toLowerCase() === L1_MESSENGER);
  const proof = await until(() => l2.send("zks_getL2ToL1LogProof", [hash, index]));
  return {
    chainId, l2BatchNumber: proof.batchNumber, l2MessageIndex: proof.id,
    // Of any withdrawal, also of the base token.
    l2Sender: L2_ASSET_ROUTER,
    l2TxNumberInBatch: Number(receipt.transactionIndex), message, merkleProof: proof.proof,
  };
}

async function finalize(hash) {
  const params = await finalization(hash);
  const key = [params.chainId, params.l2BatchNumber, params.l2MessageIndex];
  assert.equal(await nullifier.isWithdrawalFinalized(...key), false);
  await nullifier.finalizeDeposit.staticCall(params);
  await (await nullifier.finalizeDeposit(params)).wait();
  assert.equal(await nullifier.isWithdrawalFinalized(...key), true);
  await thrown(nullifier.finalizeDeposit.staticCall(params));
  return params;
}

// In one block, so that the last has an index.
async function inOneBlock(...send) {
  await l2.send("evm_setAutomine", [false]);
  const sent = [];
  for (const it of send) sent.push(await it());
  await l2.send("evm_mine", []);
  await l2.send("evm_setAutomine", [true]);
  return Promise.all(sent.map((it) => it.wait()));
}

const withdrawEther = (amount, to) =>
  new Contract(L2_BASE_TOKEN, ABI.baseToken, below).withdraw(to, { value: amount, gasLimit: 300_000n });

check("finds versions, and that there is no wrapped ether", async () => {
  assert.deepEqual([...(await chain.getSemverProtocolVersion())], [0n, 30n, 2n]);
  assert.notEqual(await l1.getCode(await bridgehub.chainTypeManager(chainId)), "0x");
  assert.equal(await l2Vault.L1_CHAIN_ID(), l1ChainId);
  const resolved = await resolve(ETH);
  assert.equal(resolved.assetId, assetId(l1ChainId, ETH));
  assert.equal(resolved.baseAsset, resolved.assetId);
  assert.deepEqual([resolved.wethL1, resolved.wethL2], [ZeroAddress, ZeroAddress]);
  assert.equal(await l2Router.l1TokenAddress(L2_BASE_TOKEN), ZeroAddress);
});

check("deposits ether with the estimate of a priority transaction", async () => {
  const to = stranger();
  assert.equal((await depositEther(parseEther("1"), to)).status, 1);
  assert.equal(await l2.getBalance(to), parseEther("1"));
});

check("deposits a token that L2 does not know, and then knows, by its address", async () => {
  const to = stranger();
  const before = await resolve(address);
  assert.deepEqual([before.l2, before.assetId, before.originChainId], [ZeroAddress, ZERO_HASH, 0n]);
  const predicted = await l2Vault.calculateCreate2TokenAddress(l1ChainId, address);
  assert.equal(await l2.getCode(predicted), "0x");
  assert.equal((await depositToken(1_000n, to)).status, 1);
  const after = await resolve(address);
  assert.equal(after.l2, predicted);
  assert.deepEqual([after.assetId, after.originChainId], [assetId(l1ChainId, address), l1ChainId]);
  assert.equal(await l2Vault.tokenAddress(after.assetId), predicted);
  assert.equal(await l2Router.l1TokenAddress(predicted), address);
  const bridged = new Contract(predicted, contracts.token.abi, l2);
  assert.deepEqual([await bridged.balanceOf(to), await bridged.symbol()], [1_000n, "SAP"]);
});

check("deposits a token again with the estimate of the exact call", async () => {
  assert.equal((await depositToken(5_000n, me)).status, 1);
  const bridged = new Contract((await resolve(address)).l2, contracts.token.abi, l2);
  assert.equal(await bridged.balanceOf(me), 5_000n);
});

check("withdraws ether, and proves it by the index in the block", async () => {
  const to = stranger();
  const [, , receipt] = await inOneBlock(
    () => below.sendTransaction({ to: stranger(), value: 1n }),
    () => withdrawEther(7n, stranger()),
    () => withdrawEther(123n, to),
  );
  assert.equal(receipt.index, 2);
  const { l2TxNumberInBatch } = await finalize(receipt.hash);
  assert.equal(l2TxNumberInBatch, 2);
  assert.equal(await l1.getBalance(to), 123n);
});

check("withdraws a token by its asset id, and proves it the same way", async () => {
  const to = stranger();
  const { l2: there, assetId: asset } = await resolve(address);
  const bridged = new Contract(there, contracts.token.abi, below);
  if ((await bridged.allowance(me, L2_VAULT)) < 40n) await (await bridged.approve(L2_VAULT, 40n)).wait();
  assert.equal(await l2Vault.ensureTokenIsRegistered.staticCall(there), asset);
  const data = coder.encode(["uint256", "address", "address"], [40n, to, there]);
  const [, receipt] = await inOneBlock(
    () => below.sendTransaction({ to: stranger(), value: 1n }),
    () => l2Router.withdraw(asset, data, { gasLimit: 500_000n }),
  );
  assert.equal((await finalize(receipt.hash)).l2TxNumberInBatch, 1);
  assert.equal(await token.balanceOf(to), 40n);
});

check("cannot finalize with the index of another transaction", async () => {
  const { hash } = await (await withdrawEther(1n, stranger())).wait();
  const params = await finalization(hash);
  await thrown(nullifier.finalizeDeposit.staticCall({
    ...params, l2TxNumberInBatch: params.l2TxNumberInBatch + 1,
  }));
  await finalize(hash);
});

check("deposits, requests and withdraws by the oldest functions as well", async () => {
  const { l1Erc20DefaultBridge } = await l2.send("zks_getBridgeContracts", []);
  const signatures = [
    "function deposit(address,address,uint256,uint256,uint256) payable returns (bytes32)",
    "function deposit(address,address,uint256,uint256,uint256,address) payable returns (bytes32)",
  ];
  const oldest = new Contract(l1Erc20DefaultBridge, signatures, above);
  await (await token.approve(l1Erc20DefaultBridge, 20n)).wait();
  const [receiver, gas, price] = [stranger(), 1_000_000n, await fees()];
  const paid = { value: await cost(price, gas), maxFeePerGas: price };
  const short = oldest["deposit(address,address,uint256,uint256,uint256)"];
  const long = oldest["deposit(address,address,uint256,uint256,uint256,address)"];
  assert.equal((await onL2(await short(receiver, address, 10n, gas, GAS_PER_PUBDATA, paid))).status, 1);
  assert.equal((await onL2(await long(receiver, address, 10n, gas, GAS_PER_PUBDATA, me, paid))).status, 1);
  const bridged = new Contract((await resolve(address)).l2, contracts.token.abi, l2);
  assert.equal(await bridged.balanceOf(receiver), 20n);

  const diamond = new Contract(await chain.getAddress(), [
    "function requestL2Transaction(address,uint256,bytes,uint256,uint256,bytes[],address) payable returns (bytes32)",
    "function finalizeEthWithdrawal(uint256,uint256,uint16,bytes,bytes32[])",
    "function facets() view returns ((address addr,bytes4[] selectors)[])",
  ], above);
  const sent = await diamond.requestL2Transaction(
    receiver, 9n, "0x", gas, GAS_PER_PUBDATA, [], me, { ...paid, value: paid.value + 9n },
  );
  assert.equal((await onL2(sent)).status, 1);
  assert.equal(await l2.getBalance(receiver), 9n);
  const { hash } = await (await withdrawEther(77n, receiver)).wait();
  const { l2BatchNumber, l2MessageIndex, l2TxNumberInBatch, message, merkleProof } = await finalization(hash);
  const claim = [l2BatchNumber, l2MessageIndex, l2TxNumberInBatch, message, merkleProof];
  await (await diamond.finalizeEthWithdrawal(...claim)).wait();
  assert.equal(await l1.getBalance(receiver), 77n);
  await thrown(diamond.finalizeEthWithdrawal.staticCall(...claim));
  const [facet] = await diamond.facets();
  assert.equal(facet.addr, await chain.getAddress());
  const selector = new Interface(ABI.chain).getFunction("getSemverProtocolVersion").selector;
  assert.ok(facet.selectors.includes(selector));
});

await run();
