/** What a transaction does, in a word or a sentence. */

import { parseType } from "./abi.js";
import { decode } from "./codec.js";
import { h } from "./dom.js";
import { big, byteLength, checksum, count, int, short, units } from "./format.js";
import { callData, decodeCall, nameOf } from "./known.js";
import { floorOf, node } from "./rpc.js";

export const PRIORITY = 255;
const STEPS = /** @type {Record<string, string>} */ ({
  commitBatchesSharedBridge: "commit",
  proveBatchesSharedBridge: "prove",
  executeBatchesSharedBridge: "execute",
});
const WORDS = /** @type {Record<string, string>} */ ({
  "Bridgehub.requestL2TransactionDirect": "deposit",
  "Bridgehub.requestL2TransactionTwoBridges": "deposit tokens",
  "ZKChain.requestL2Transaction": "deposit",
  "L1Nullifier.finalizeDeposit": "claim",
  "L1AssetRouter.finalizeWithdrawal": "claim",
  "L1Messenger.sendToL1": "message",
});

/**
 * @param {any} tx
 * @param {string} layer
 * @returns {{verb: string, batch?: number, amount?: bigint}}
 */
export function what(tx, layer) {
  if (int(tx.type) === PRIORITY && layer === "l2")
    return { verb: tx.input === "0x" ? "deposit arrives" : "call by deposit" };
  if (!tx.to) return { verb: "new contract" };
  if (tx.input === "0x") return { verb: "transfer" };
  const decoded = decodeCall(tx.to, tx.input, layer);
  if (!decoded) return { verb: tx.input.slice(0, 10) };
  const { entry, values } = decoded;
  if (STEPS[entry.name]) return { verb: STEPS[entry.name], batch: Number(values[1]) };
  const verb = WORDS[`${entry.contract}.${entry.name}`] ?? entry.name;
  return verb === "deposit" && values[0]?.length === 9 ? { verb, amount: values[0][3] } : { verb };
}

/**
 * What a block of layer 1 did for this chain, for its tile.
 * @param {any[]} transactions
 * @returns {[string, string][]} a word, and what it is about
 */
export function doings(transactions) {
  /** @type {[string, string][]} */
  const found = [];
  for (const tx of transactions) {
    const { verb, batch, amount } = what(tx, "l1");
    if (batch !== undefined) found.push([verb, count(batch)]);
    else if (verb === "deposit") found.push([verb, amount === undefined ? "" : `${units(amount)} ETH`]);
    else if (verb === "deposit tokens" || verb === "claim") found.push([verb, ""]);
  }
  return found;
}

/** @type {Map<string, Promise<{symbol: string, decimals: number} | null>>} */
const tokens = new Map();

/**
 * The symbol and decimals of a token, if it is one.
 * @param {string} layer
 * @param {string} address
 */
export function tokenOf(layer, address) {
  const key = `${layer}:${address.toLowerCase()}`;
  let found = tokens.get(key);
  if (!found) {
    found = readToken(layer, address);
    if (tokens.size > 500) tokens.clear();
    tokens.set(key, found);
  }
  return found;
}

/**
 * @param {string} layer
 * @param {string} to
 */
async function readToken(layer, to) {
  const floor = floorOf(layer);
  const data = ["symbol", "decimals"].map((it) => callData("TestERC20", it));
  const [symbol, decimals] = await Promise.all(data.map((it) => floor?.maybe("eth_call", { to, data: it }, "latest")));
  try {
    return {
      symbol: decode([parseType("string")], symbol)[0].slice(0, 20),
      decimals: Math.min(Number(decode([parseType("uint8")], decimals)[0]), 77),
    };
  } catch {
    return null;
  }
}

/**
 * @param {string} address
 * @param {string} layer
 */
export const called = (address, layer) => nameOf(address, layer) ?? short(checksum(address));

/**
 * The title of a transaction's page.
 * @param {any} tx
 * @param {string} layer
 * @param {boolean} failed
 * @returns {Promise<(string | Node)[]>}
 */
export async function sentence(tx, layer, failed) {
  if (failed) return attempt(tx, layer);
  const from = called(tx.from, layer);
  const value = big(tx.value);
  const strong = (/** @type {string} */ text) => h("strong", text);
  const ether = strong(`${units(value)} ETH`);
  if (int(tx.type) === PRIORITY && layer === "l2")
    return tx.input === "0x"
      ? [ether, " arrived from layer 1 for ", called(tx.to, layer)]
      : ["Layer 1 called ", called(tx.to, layer)];
  if (!tx.to) return [from, " made a contract"];
  const to = called(tx.to, layer);
  if (tx.input === "0x") return [from, " sent ", ether, " to ", to];
  const decoded = decodeCall(tx.to, tx.input, layer);
  if (!decoded) return [h("span.mono", tx.input.slice(0, 10)), " on ", to];
  const { entry, values } = decoded;
  const { verb, batch } = what(tx, layer);
  if (batch !== undefined)
    return [`The operator ${verb === "commit" ? "committed" : `${verb}d`} batch `, strong(count(batch)), " on layer 1"];
  if (entry.name === "transfer" && values.length === 2) {
    const token = await tokenOf(layer, tx.to);
    if (token)
      return [
        from,
        " sent ",
        strong(`${units(values[1], token.decimals, 2)} ${token.symbol}`),
        " to ",
        called(values[0], layer),
      ];
  }
  if (nameOf(tx.to, layer) === "L2BaseToken" && entry.name === "withdraw")
    return [from, " withdrew ", ether, " to ", called(values[0], "l1"), " on layer 1"];
  if (entry.name === "sendToL1")
    return [from, " sent a message of ", strong(`${byteLength(values[0])} bytes`), " to layer 1"];
  if (entry.name === "requestL2TransactionDirect")
    return [
      from,
      " deposited ",
      strong(`${units(values[0][3])} ETH`),
      " for ",
      called(values[0][2], "l2"),
      " on layer 2",
    ];
  return [from, " called ", strong(entry.name), " on ", to];
}

/**
 * The title of a transaction that failed, so that nothing moved.
 * @param {any} tx
 * @param {string} layer
 */
function attempt(tx, layer) {
  const isDeposit = int(tx.type) === PRIORITY && layer === "l2";
  const from = isDeposit ? "Layer 1" : called(tx.from, layer);
  if (!tx.to) return [from, " tried to make a contract"];
  const to = called(tx.to, layer);
  const ether = h("strong", `${units(big(tx.value))} ETH`);
  if (tx.input === "0x") return [from, " tried to send ", ether, " to ", to];
  const entry = decodeCall(tx.to, tx.input, layer)?.entry;
  return [from, " tried to call ", h("strong", entry?.name ?? tx.input.slice(0, 10)), " on ", to];
}

/** @type {string | null} */
let asset = null;

/** @returns {Promise<bigint | null>} the ether that the bridge holds for this chain */
export async function bridgeBalance() {
  const floor = node.l1;
  if (!floor || !node.l2?.chainId) return null;
  const at = (/** @type {string} */ name) => Object.entries(node.info.l1).find(([, it]) => it === name)?.[0];
  const chain = BigInt(node.l2.chainId);
  const call = (/** @type {string} */ name, /** @type {string} */ data) =>
    floor.maybe("eth_call", { to: at(name), data }, "latest");
  asset = asset ?? (await call("Bridgehub", callData("Bridgehub", "baseTokenAssetId", chain)));
  const held =
    asset && (await call("L1NativeTokenVault", callData("L1NativeTokenVault", "chainBalance", chain, asset)));
  return held && held !== "0x" ? big(held) : null;
}
