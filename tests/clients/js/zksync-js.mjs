// The calls of zksync-js between two layers, in its order. The package itself is not on the registry.

import assert from "node:assert/strict";
import { AbiCoder, Contract, ContractFactory, JsonRpcProvider, NonceManager, Wallet, ZeroAddress, id, keccak256 } from "ethers";
import { contracts, thrown } from "./harness.mjs";

const POLL_MS = 50;
export const ETH = "0x0000000000000000000000000000000000000001";
export const L2_BASE_TOKEN = "0x000000000000000000000000000000000000800A";
const L1_MESSENGER = "0x0000000000000000000000000000000000008008";
export const L2_ASSET_ROUTER = "0x0000000000000000000000000000000000010003";
export const L2_VAULT = "0x0000000000000000000000000000000000010004";
const ALIAS_OFFSET = 0x1111000000000000000000000000000000001111n;
export const GAS_PER_PUBDATA = 800n;
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

export const ABI = {
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
export const coder = AbiCoder.defaultAbiCoder();


async function until(found) {
  for (;;) {
    const it = await found();
    if (it) return it;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

export const assetId = (origin, there) =>
  keccak256(coder.encode(["uint256", "address", "address"], [origin, L2_VAULT, there]));

// Connect to a chain and its L1, find the contracts (ensureAddresses), and return the calls for the account of `key`.
export async function connect(url, l1Url, key) {
  const options = { pollingInterval: POLL_MS };
  const l2 = new JsonRpcProvider(url, undefined, options);
  const l1 = new JsonRpcProvider(l1Url, undefined, options);
  const above = new NonceManager(new Wallet(key, l1));
  const below = new NonceManager(new Wallet(key, l2));
  const me = await above.getAddress();
  const { chainId } = await l2.getNetwork();
  const { chainId: l1ChainId } = await l1.getNetwork();
  const bridgehub = new Contract(await l2.send("zks_getBridgehubContract", []), ABI.bridgehub, above);
  const router = new Contract(await bridgehub.assetRouter(), ABI.router, above);
  const nullifier = new Contract(await router.L1_NULLIFIER(), ABI.nullifier, above);
  const vault = new Contract(await nullifier.l1NativeTokenVault(), ABI.vault, above);
  const chain = new Contract(await bridgehub.getZKChain(chainId), ABI.chain, l1);
  const l2Vault = new Contract(L2_VAULT, ABI.vault, below);
  const l2Router = new Contract(L2_ASSET_ROUTER, ABI.l2Router, below);
  const spender = await router.getAddress();
  const base = await bridgehub.baseToken(chainId);
  const isEther = base === ETH;

  const erc20 = (address, runner = above) => new Contract(address, contracts.token.abi, runner);
  const fees = async () => (await l1.getFeeData()).maxFeePerGas;
  const cost = (price, gas) => bridgehub.l2TransactionBaseCost(chainId, price, gas, GAS_PER_PUBDATA);

  async function newToken(name, symbol, decimals, supply) {
    const factory = new ContractFactory(contracts.token.abi, contracts.token.bytecode, above);
    const token = await (await factory.deploy(name, symbol, decimals)).waitForDeployment();
    await (await token.mint(me, supply)).wait();
    return token;
  }

  // tokens.resolve
  async function resolve(l1Token) {
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

  async function approve(token, amount) {
    if ((await erc20(token).allowance(me, spender)) < amount) await (await erc20(token).approve(spender, amount)).wait();
  }

  // The routes eth-base and erc20-base.
  async function depositBase(amount, to) {
    const call = { from: me, to, value: "0x" + amount.toString(16), data: "0x", type: "0x7f" };
    const l2GasLimit = BigInt(await l2.send("eth_estimateGas", [call]));
    const maxFeePerGas = await fees();
    const mintValue = amount + (await cost(maxFeePerGas, l2GasLimit));
    if (!isEther) await approve(base, mintValue);
    return onL2(await bridgehub.requestL2TransactionDirect({
      chainId, mintValue, l2Contract: to, l2Value: amount, l2Calldata: "0x", l2GasLimit,
      l2GasPerPubdataByteLimit: GAS_PER_PUBDATA, factoryDeps: [], refundRecipient: me,
    }, { value: isEther ? mintValue : 0n, maxFeePerGas }));
  }

  // The exact call on L2, for the estimate: by the router of L1, under its alias.
  async function depositGas(token, amount, to) {
    const resolved = await resolve(token);
    if (resolved.l2 === ZeroAddress) return GAS_OF_A_FIRST_DEPOSIT;
    const metadata = await vault.getERC20Getters(token, resolved.originChainId);
    const mint = coder.encode(
      ["address", "address", "address", "uint256", "bytes"], [me, to, token, amount, metadata],
    );
    const data = await router.getDepositCalldata(me, resolved.assetId, mint);
    const from = "0x" + (BigInt(spender) + ALIAS_OFFSET).toString(16).slice(-40).padStart(40, "0");
    const call = { from, to: L2_ASSET_ROUTER, data, type: "0x7f" };
    return BigInt(await l2.send("eth_estimateGas", [call]));
  }

  // The routes erc20-nonbase and eth-nonbase; `gas` instead of the estimate if it is given.
  async function depositToken(token, amount, to, gas) {
    const isEth = token === ETH;
    const l2GasLimit = gas ?? (await depositGas(token, amount, to));
    const maxFeePerGas = await fees();
    const mintValue = await cost(maxFeePerGas, l2GasLimit);
    if (!isEther) await approve(base, mintValue);
    if (!isEth) await approve(token, amount);
    const inner = coder.encode(["uint256", "address", "address"], [amount, to, token]);
    const secondBridgeCalldata = isEth
      ? "0x01" + coder.encode(["bytes32", "bytes"], [assetId(l1ChainId, ETH), inner]).slice(2)
      : coder.encode(["address", "uint256", "address"], [token, amount, to]);
    return onL2(await bridgehub.requestL2TransactionTwoBridges({
      chainId, mintValue, l2Value: 0n, l2GasLimit, l2GasPerPubdataByteLimit: GAS_PER_PUBDATA,
      refundRecipient: me, secondBridgeAddress: spender, secondBridgeValue: isEth ? amount : 0n, secondBridgeCalldata,
    }, { value: (isEth ? amount : 0n) + (isEther ? mintValue : 0n), maxFeePerGas }));
  }

  const withdrawBase = (amount, to) =>
    new Contract(L2_BASE_TOKEN, ABI.baseToken, below).withdraw(to, { value: amount, gasLimit: 300_000n });

  async function withdrawToken(token, amount, to) {
    const { l2: there, assetId: asset } = await resolve(token);
    const bridged = erc20(there, below);
    if ((await bridged.allowance(me, L2_VAULT)) < amount) await (await bridged.approve(L2_VAULT, amount)).wait();
    assert.equal(await l2Vault.ensureTokenIsRegistered.staticCall(there), asset);
    const data = coder.encode(["uint256", "address", "address"], [amount, to, there]);
    return () => l2Router.withdraw(asset, data, { gasLimit: 500_000n });
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

  return {
    l1, l2, above, below, me, chainId, l1ChainId, bridgehub, router, nullifier, vault, chain, l2Vault, l2Router,
    base, isEther, erc20, fees, cost, newToken, resolve, onL2, approve, depositBase, depositToken, withdrawBase,
    withdrawToken, finalization, finalize, until,
  };
}
