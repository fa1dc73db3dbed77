/** What a transaction does, in a word or a sentence. */

import { parseType } from "./abi.js";
import { decode } from "./codec.js";
import { h } from "./dom.js";
import { amount, big, byteLength, checksum, count, int, short, units } from "./format.js";
import { callData, decodeCall, nameOf } from "./known.js";
import { changed } from "./live.js";
import { addressOf, ETHER, floorOf, isUpper, node, tokenAt } from "./rpc.js";

export const PRIORITY = 255;
const SYSTEM = 125;
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
 * The chain that a transaction of layer 1 is about, if it says so.
 * @param {string} name of the function
 * @param {any[]} values
 */
function chainOf(name, values) {
  if (STEPS[name]) return node.l2s.find((it) => it.chain?.contract === values[0]?.toLowerCase());
  const id = name.startsWith("requestL2Transaction")
    ? values[0]?.[0]
    : name.startsWith("finalize")
      ? idIn(values)
      : null;
  return node.l2s.find((it) => BigInt(it.chainId) === id);
}

/** @param {any[]} values of a claim: its first argument is the chain, alone or in a tuple */
const idIn = (values) => (Array.isArray(values[0]) ? values[0][0] : values[0]);

/**
 * @param {any} tx
 * @param {string} layer
 * @returns {{verb: string, batch?: number, amount?: string, floor?: import("./rpc.js").Floor}}
 */
export function what(tx, layer) {
  if (int(tx.type) === PRIORITY && isUpper(layer))
    return { verb: tx.input === "0x" ? "deposit arrives" : "call by deposit" };
  if (int(tx.type) === SYSTEM) return { verb: "root import" };
  if (!tx.to) return { verb: "new contract" };
  if (tx.input === "0x") return { verb: "transfer" };
  const decoded = decodeCall(tx.to, tx.input, layer);
  if (!decoded) return { verb: tx.input.slice(0, 10) };
  const { entry, values } = decoded;
  const floor = isUpper(layer) ? undefined : chainOf(entry.name, values);
  if (STEPS[entry.name]) return { verb: STEPS[entry.name], batch: Number(values[1]), floor };
  const verb = WORDS[`${entry.contract}.${entry.name}`] ?? entry.name;
  return verb === "deposit" && values[0]?.length === 9
    ? { verb, amount: amount(values[0][3], floor?.token ?? ETHER), floor }
    : { verb, floor };
}

/**
 * What a transaction does, in a cell of a table.
 * @param {any} tx
 * @param {string} layer
 */
export function deed(tx, layer) {
  const { verb, batch, floor } = what(tx, layer);
  const whose = ofHouse(floor);
  return batch === undefined
    ? verb + (verb === "claim" ? whose : whose.replace(" of ", " to "))
    : `${verb} ${count(batch)}${whose}`;
}

/** @param {import("./rpc.js").Floor} [floor] */
const ofHouse = (floor) => (node.several && floor ? ` of ${floor.title}` : "");

/**
 * What a block of layer 1 did for the chains, for its tile.
 * @param {any[]} transactions
 * @returns {[string, string, string][]} a word, what it is about, and whose it is
 */
export function doings(transactions) {
  /** @type {[string, string, string][]} */
  const found = [];
  for (const tx of transactions) {
    const { verb, batch, amount: about, floor } = what(tx, "l1");
    if (batch !== undefined) found.push([verb, count(batch), ofHouse(floor)]);
    else if (verb === "deposit") found.push([verb, about ?? "", ofHouse(floor)]);
    else if (verb === "deposit tokens" || verb === "claim") found.push([verb, "", ofHouse(floor)]);
  }
  return found;
}

/** @type {Map<string, Promise<import("./rpc.js").Token | null>>} */
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
  const data = ["symbol", "decimals", "name"].map((it) => callData("TestERC20", it));
  const [symbol, decimals, name] = await Promise.all(
    data.map((it) => floor?.maybe("eth_call", { to, data: it }, "latest")),
  );
  const text = (/** @type {string} */ it) => decode([parseType("string")], it)[0];
  try {
    return {
      name: name && name !== "0x" ? text(name).slice(0, 40) : "",
      address: to,
      symbol: text(symbol).slice(0, 20),
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
  const ether = strong(amount(value, tokenAt(layer)));
  const upper = (/** @type {import("./rpc.js").Floor | undefined} */ it) =>
    node.several && it ? ` in ${it.title}` : " on layer 2";
  if (int(tx.type) === PRIORITY && isUpper(layer))
    return tx.input === "0x"
      ? [ether, " arrived from layer 1 for ", called(tx.to, layer)]
      : ["Layer 1 called ", called(tx.to, layer)];
  if (int(tx.type) === SYSTEM) return ["The node imported roots of layer 1"];
  if (!tx.to) return [from, " made a contract"];
  const to = called(tx.to, layer);
  if (tx.input === "0x") return [from, " sent ", ether, " to ", to];
  const decoded = decodeCall(tx.to, tx.input, layer);
  if (!decoded) return [h("span.mono", tx.input.slice(0, 10)), " on ", to];
  const { entry, values } = decoded;
  const { verb, batch, floor } = what(tx, layer);
  if (batch !== undefined)
    return [
      `The operator ${verb === "commit" ? "committed" : `${verb}d`} batch `,
      strong(count(batch)),
      `${ofHouse(floor)} on layer 1`,
    ];
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
      strong(amount(values[0][3], floor?.token ?? ETHER)),
      " for ",
      called(values[0][2], floor?.name ?? "l2"),
      upper(floor),
    ];
  return [from, " called ", strong(entry.name), " on ", to];
}

/**
 * The title of a transaction that failed, so that nothing moved.
 * @param {any} tx
 * @param {string} layer
 */
function attempt(tx, layer) {
  const isDeposit = int(tx.type) === PRIORITY && isUpper(layer);
  const from = isDeposit ? "Layer 1" : called(tx.from, layer);
  if (!tx.to) return [from, " tried to make a contract"];
  const to = called(tx.to, layer);
  const ether = h("strong", amount(big(tx.value), tokenAt(layer)));
  if (tx.input === "0x") return [from, " tried to send ", ether, " to ", to];
  const entry = decodeCall(tx.to, tx.input, layer)?.entry;
  return [from, " tried to call ", h("strong", entry?.name ?? tx.input.slice(0, 10)), " on ", to];
}

/** @type {Map<number, string>} */
const assets = new Map();

/**
 * @param {import("./rpc.js").Floor} upper
 * @returns {Promise<bigint | null>} what the bridge holds for a chain of its base token
 */
export async function bridgeBalance(upper) {
  const floor = node.l1;
  if (!floor || !upper.chainId) return null;
  const chain = BigInt(upper.chainId);
  const call = (/** @type {string} */ name, /** @type {string} */ data) =>
    floor.maybe("eth_call", { to: addressOf(name), data }, "latest");
  const asset =
    assets.get(upper.chainId) ?? (await call("Bridgehub", callData("Bridgehub", "baseTokenAssetId", chain)));
  assets.set(upper.chainId, asset);
  const held =
    asset && (await call("L1NativeTokenVault", callData("L1NativeTokenVault", "chainBalance", chain, asset)));
  return held && held !== "0x" ? big(held) : null;
}

// Whether transactions succeeded, which their blocks do not say: fetched once for those that are shown.
const MAX_OUTCOMES = 1000;

/** @type {Map<string, boolean | null>} whether each failed, by layer, block and hash; null while it is fetched */
const outcomes = new Map();

/**
 * Whether a transaction failed; false until that is known, and then everything is drawn again.
 * @param {string} layer
 * @param {any} tx
 */
export function hasFailed(layer, tx) {
  const key = `${layer}${tx.blockHash}${tx.hash}`;
  if (!outcomes.has(key)) {
    outcomes.set(key, null);
    fetchOutcome(layer, tx, key);
  }
  return outcomes.get(key) === true;
}

/**
 * @param {string} layer
 * @param {any} tx
 * @param {string} key
 */
async function fetchOutcome(layer, tx, key) {
  const receipt = await floorOf(layer)?.maybe("eth_getTransactionReceipt", tx.hash);
  if (!receipt) {
    outcomes.delete(key);
    return;
  }
  if (outcomes.size > MAX_OUTCOMES) outcomes.clear();
  const failed = int(receipt.status) === 0;
  outcomes.set(key, failed);
  if (failed) changed();
}
