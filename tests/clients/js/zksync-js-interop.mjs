// The calls of zksync-js between two L2s, in its order: quote, create, wait, finalize. The package itself is not on the
// registry.

import assert from "node:assert/strict";
import { AbiCoder, Contract, ContractFactory, Interface, JsonRpcProvider, NonceManager, Wallet, concat, dataSlice, id, toBeHex } from "ethers";
import { contracts } from "./harness.mjs";
import { ABI, L2_ASSET_ROUTER, L2_VAULT, assetId } from "./zksync-js.mjs";

const POLL_MS = 50;
const LAST_BLOCKS = 20_000;
const L1_MESSENGER = "0x0000000000000000000000000000000000008008";
const ROOT_STORAGE = "0x0000000000000000000000000000000000010008";
export const CENTER = "0x000000000000000000000000000000000001000d";
export const HANDLER = "0x000000000000000000000000000000000001000E";

const CALL = "(bytes1 version,bool shadowAccount,address to,address from,uint256 value,bytes data)";
const BUNDLE = "(bytes1 version,uint256 sourceChainId,uint256 destinationChainId,"
  + `bytes32 destinationBaseTokenAssetId,bytes32 interopBundleSalt,${CALL}[] calls,`
  + "(bytes executionAddress,bytes unbundlerAddress,bool useFixedFee) bundleAttributes)";
const PROOF = "(uint256 chainId,uint256 l1BatchNumber,uint256 l2MessageIndex,"
  + "(uint16 txNumberInBatch,address sender,bytes data) message,bytes32[] proof)";
const STARTER = "(bytes to,bytes data,bytes[] callAttributes)";

const INTEROP = {
  center: [
    `function sendBundle(bytes,${STARTER}[],bytes[]) payable returns (bytes32)`,
    "function sendMessage(bytes,bytes,bytes[]) payable returns (bytes32)",
    "function interopProtocolFee() view returns (uint256)",
    "function ZK_INTEROP_FEE() view returns (uint256)",
    "function zkToken() view returns (address)",
    `event InteropBundleSent(bytes32 l2l1MsgHash,bytes32 interopBundleHash,${BUNDLE} interopBundle)`,
    "event MessageSent(bytes32 indexed sendId,bytes sender,bytes recipient,bytes payload,uint256 value,bytes[] attributes)",
  ],
  handler: [
    `function executeBundle(bytes,${PROOF})`,
    `function verifyBundle(bytes,${PROOF})`,
    "function unbundleBundle(uint256,bytes,uint8[])",
    "function bundleStatus(bytes32) view returns (uint8)",
    "function callStatus(bytes32,uint256) view returns (uint8)",
    "event BundleVerified(bytes32 indexed bundleHash)",
    "event BundleExecuted(bytes32 indexed bundleHash)",
    "event BundleUnbundled(bytes32 indexed bundleHash)",
    "event CallProcessed(bytes32 indexed bundleHash,uint256 indexed callIndex,uint8 status)",
  ],
  roots: ["function interopRoots(uint256,uint256) view returns (bytes32)"],
  attributes: [
    "function interopCallValue(uint256)", "function indirectCall(uint256)", "function executionAddress(bytes)",
    "function unbundlerAddress(bytes)", "function useFixedFee(bool)",
  ],
};
const SENT = id("L1MessageSent(address,bytes32,bytes)");
const attributes = new Interface(INTEROP.attributes);
const coder = AbiCoder.defaultAbiCoder();

export const attribute = (name, value) => attributes.encodeFunctionData(name, [value]);

// ERC-7930 without and with a chain, and a chain alone.
const number = (chainId) => toBeHex(chainId);
const size = (data) => toBeHex((data.length - 2) / 2, 1);
export const anywhere = (address) => concat(["0x00010000", "0x00", "0x14", address]);
export const chainOnly = (chainId) => concat(["0x00010000", size(number(chainId)), number(chainId), "0x00"]);
export const onChain = (chainId, address) =>
  concat(["0x00010000", size(number(chainId)), number(chainId), "0x14", address]);

// What an account does on one L2.
async function connectL2(url, key) {
  const provider = new JsonRpcProvider(url, undefined, { pollingInterval: POLL_MS });
  const signer = new NonceManager(new Wallet(key, provider));
  const { chainId } = await provider.getNetwork();
  const vault = new Contract(L2_VAULT, ABI.vault, signer);
  return {
    provider, signer, chainId, vault,
    me: await signer.getAddress(),
    baseAsset: await vault.BASE_TOKEN_ASSET_ID(),
    center: new Contract(CENTER, INTEROP.center, signer),
    handler: new Contract(HANDLER, INTEROP.handler, signer),
    roots: new Contract(ROOT_STORAGE, INTEROP.roots, provider),
    erc20: (address) => new Contract(address, contracts.token.abi, signer),
    async deploy(name, ...args) {
      const factory = new ContractFactory(contracts[name].abi, contracts[name].bytecode, signer);
      return (await factory.deploy(...args)).waitForDeployment();
    },
  };
}

async function until(found) {
  for (;;) {
    const it = await found();
    if (it) return it;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

// Connect to two L2s; `gateway` is the URL that the SDK asks for the id of the chain whose roots are imported: L1.
export async function connectPair(sourceUrl, destinationUrl, gateway, key) {
  const [source, destination] = await Promise.all([connectL2(sourceUrl, key), connectL2(destinationUrl, key)]);
  const l1 = new JsonRpcProvider(gateway, undefined, { pollingInterval: POLL_MS });
  const { chainId: rootChainId } = await l1.getNetwork();
  const hub = new Contract(await source.provider.send("zks_getBridgehubContract", []), ABI.bridgehub, l1);

  // --- The actions of a bundle ---

  const asset = (id_, amount, to, token) =>
    concat(["0x01", coder.encode(["bytes32", "bytes"], [
      id_, coder.encode(["uint256", "address", "address"], [amount, to, token]),
    ])]);

  async function sendErc20(from, token, to, amount) {
    await (await from.vault.ensureTokenIsRegistered(token)).wait();
    const held = from.erc20(token);
    if ((await held.allowance(from.me, L2_VAULT)) < amount) await (await held.approve(L2_VAULT, amount)).wait();
    const data = asset(await from.vault.assetId(token), amount, to, token);
    return { starter: [anywhere(L2_ASSET_ROUTER), data, [attribute("indirectCall", 0n)]], value: 0n };
  }

  async function sendNative(from, there, to, amount) {
    if (from.baseAsset === there.baseAsset) return call(to, "0x", amount);
    // The source's own base token, which arrives as a token there.
    const data = asset(from.baseAsset, amount, to, await hub.baseToken(from.chainId));
    return { starter: [anywhere(L2_ASSET_ROUTER), data, [attribute("indirectCall", amount)]], value: amount };
  }

  function call(to, data, value = 0n) {
    return { starter: [anywhere(to), data, value ? [attribute("interopCallValue", value)] : []], value };
  }

  // --- quote, create, wait, finalize ---

  async function quote(actions, from = source) {
    const fee = await from.center.interopProtocolFee();
    assert.ok(fee > 0n);
    return fee * BigInt(actions.length) + actions.reduce((sum, it) => sum + it.value, 0n);
  }

  // `free` is the value of calls that the sender pays in a token.
  async function create(actions, { execution, unbundling, from = source, to = destination, free = 0n } = {}) {
    const of = [attribute("useFixedFee", false)];
    if (execution) of.push(attribute("executionAddress", execution));
    if (unbundling) of.push(attribute("unbundlerAddress", unbundling));
    const sent = await from.center.sendBundle(
      chainOnly(to.chainId), actions.map((it) => it.starter), of, { value: (await quote(actions, from)) - free },
    );
    return found(await sent.wait(), from, to);
  }

  // What the receipt says: the events before the first InteropBundleSent are counted.
  function found(receipt, from, to) {
    const topic = from.center.interface.getEvent("InteropBundleSent").topicHash;
    const end = receipt.logs.findIndex((log) => log.topics[0] === topic && log.address.toLowerCase() === CENTER);
    const messages = receipt.logs.slice(0, end)
      .filter((log) => log.topics[0] === SENT && log.address.toLowerCase() === L1_MESSENGER);
    const { args } = from.center.interface.parseLog(receipt.logs[end]);
    const [data] = coder.decode(["bytes"], messages.at(-1).data);
    return {
      hash: receipt.hash, txNumberInBatch: receipt.index, index: messages.length - 1, data, from, to,
      bundleHash: args.interopBundleHash, bundle: dataSlice(data, 1), decoded: args.interopBundle,
    };
  }

  async function wait(sent) {
    const proof = await until(
      () => sent.from.provider.send("zks_getL2ToL1LogProof", [sent.hash, sent.index, "messageRoot"]),
    );
    await until(async () =>
      (await sent.to.roots.interopRoots(rootChainId, proof.gatewayBlockNumber)) === proof.root);
    return {
      chainId: sent.from.chainId, l1BatchNumber: proof.batchNumber, l2MessageIndex: proof.id,
      message: { txNumberInBatch: sent.txNumberInBatch, sender: CENTER, data: sent.data }, proof: proof.proof,
    };
  }

  async function finalize(sent) {
    const proof = await wait(sent);
    await (await sent.to.handler.executeBundle(sent.bundle, proof)).wait();
    assert.equal(await status(sent), "EXECUTED");
    return proof;
  }

  // By the events of the last blocks, which the SDK filters by topic 1.
  async function status(sent) {
    const { handler, provider } = sent.to;
    const last = await provider.getBlockNumber();
    const names = { BundleExecuted: "EXECUTED", BundleUnbundled: "UNBUNDLED", BundleVerified: "VERIFIED" };
    for (const [name, state] of Object.entries(names)) {
      const topics = [handler.interface.getEvent(name).topicHash, sent.bundleHash];
      const filter = { address: HANDLER, fromBlock: Math.max(0, last - LAST_BLOCKS), toBlock: "latest", topics };
      if ((await provider.getLogs(filter)).length > 0) return state;
    }
    return "SENT";
  }

  const deliver = async (...args) => finalize(await create(...args));

  // The token by which an asset of the source is held at the destination.
  const tokenThere = async (there, id_) => there.erc20(await there.vault.tokenAddress(id_));

  return {
    source, destination, hub, l1, rootChainId, sendErc20, sendNative, call, quote, create, found, wait, finalize, status,
    deliver, tokenThere, assetId, isSame: source.baseAsset === destination.baseAsset,
  };
}
