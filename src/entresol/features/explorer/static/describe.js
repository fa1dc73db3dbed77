/** What a transaction does, in a word or a sentence. */

import { parseType } from "./abi.js";
import { decode } from "./codec.js";
import { h } from "./dom.js";
import { amount, big, checksum, count, cut, int, short } from "./format.js";
import { ROOT_IMPORT } from "./houses.js";
import { callData, decodeCall, nameOf } from "./known.js";
import { changed } from "./live.js";
import { addressOf, ETHER, floorOf, isUpper, node } from "./rpc.js";

export const PRIORITY = 255;
// The decimal digits of 256 bits.
const MAX_DECIMALS = 77;
const STEPS = /** @type {Record<string, string>} */ ({
  commitBatchesSharedBridge: "commit",
  proveBatchesSharedBridge: "prove",
  executeBatchesSharedBridge: "execute",
  settle: "settle",
});
const WORDS = /** @type {Record<string, string>} */ ({
  "Bridgehub.requestL2TransactionDirect": "deposit",
  "Bridgehub.requestL2TransactionTwoBridges": "deposit tokens",
  "ZKChain.requestL2Transaction": "deposit",
  "L1Nullifier.finalizeDeposit": "claim",
  "L1AssetRouter.finalizeWithdrawal": "claim",
  "L1Messenger.sendToL1": "message",
  "InteropCenter.sendBundle": "bundle",
  "InteropCenter.sendMessage": "bundle",
  "InteropHandler.executeBundle": "run bundle",
  "InteropHandler.verifyBundle": "verify bundle",
  "InteropHandler.unbundleBundle": "unbundle",
});

/**
 * The chain that a transaction of layer 1 is about, if it says so.
 * @param {string} name of the function
 * @param {any[]} values
 */
function chainOf(name, values) {
  if (STEPS[name] && name !== "settle") return node.l2s.find((it) => it.chain?.contract === values[0]?.toLowerCase());
  const id =
    name === "settle"
      ? values[0]
      : name.startsWith("requestL2Transaction")
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
  if (int(tx.type) === ROOT_IMPORT) return { verb: "roots arrived" };
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
export const ofHouse = (floor) => (node.several && floor ? ` of ${floor.title}` : "");

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

/** @typedef {import("./rpc.js").Token & {standard: string, supply: bigint | null, isRaw: boolean}} Details what a token
 *   says of itself; it is raw if it does not say its decimals */

/** @type {Map<string, Promise<Details | null>>} */
const tokens = new Map();

/**
 * What a token says of itself, within the limits of the node; null if it is none.
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
 * @returns {Promise<Details | null>}
 */
async function readToken(layer, to) {
  const floor = floorOf(layer);
  if (!floor?.remote) {
    const found = await floor?.maybe("entresol_getToken", to);
    return found ? readDetails(found) : null;
  }
  const data = ["symbol", "decimals", "name"].map((it) => callData("TestERC20", it));
  const [symbol, decimals, name] = await Promise.all(
    data.map((it) => floor?.maybe("eth_call", { to, data: it }, "latest")),
  );
  const text = (/** @type {string} */ it) => decode([parseType("string")], it)[0];
  try {
    const said = Number(decode([parseType("uint8")], decimals)[0]);
    return {
      name: name && name !== "0x" ? cut(text(name), 40) : "",
      address: to,
      symbol: cut(text(symbol), 20),
      decimals: said > MAX_DECIMALS ? 0 : said,
      standard: "ERC-20",
      supply: null,
      isRaw: said > MAX_DECIMALS,
    };
  } catch {
    return null;
  }
}

/**
 * A token as the node describes it.
 * @param {any} it
 * @returns {Details}
 */
export const readDetails = (it) => ({
  name: cut(it.name ?? "", 40),
  symbol: cut(it.symbol ?? "", 20) || short(it.address),
  decimals: it.decimals ?? 0,
  standard: it.standard,
  address: it.address,
  supply: it.totalSupply === null ? null : big(it.totalSupply),
  isRaw: it.decimals === null && it.standard === "ERC-20",
});

/**
 * @param {string} address
 * @param {string} layer
 */
export const called = (address, layer) => nameOf(address, layer) ?? short(checksum(address));

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
  const failed = hasFailedIn(receipt);
  outcomes.set(key, failed);
  if (failed) changed();
}

/**
 * Whether a receipt says that its transaction failed; those before Byzantium say nothing.
 * @param {any} receipt
 */
export const hasFailedIn = (receipt) => (receipt?.status ?? null) !== null && Number(receipt.status) === 0;

/**
 * What is below the anchor of a fork is not of this node.
 * @param {import("./rpc.js").Floor} floor
 * @param {number} number
 */
export const pastNote = (floor, number) =>
  floor.fork && number <= floor.fork.number
    ? h(
        "p.muted",
        `${number === floor.fork.number ? "The anchor" : "Below the anchor"}: chain ${floor.fork.chainId} made it, and its remote says what is here.`,
      )
    : null;
