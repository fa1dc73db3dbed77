/**
 * What crosses between the floors: deposits, messages and withdrawals, each with its stage.
 *
 * @typedef {{id: string, kind: "deposit" | "message" | "withdrawal", what: string, from: string, to: string,
 *   tx: string, log: number, block: number, at: number, stage: number, failed: boolean, l2Tx: string,
 *   arrived: number, batch: number, leaf: number, txIndex: number, message: string, sender: string,
 *   amount: bigint | null, final: boolean, returned: boolean, asset?: {id: string, data: string}}} Crossing
 */

import { parseType } from "./abi.js";
import { decode, encode } from "./codec.js";
import { tokenOf } from "./describe.js";
import { byteLength, hex, int, units } from "./format.js";
import { callData, decodeCall, decodeLog, topicOf } from "./known.js";
import { alsoLoad, changed, live, loadBatch } from "./live.js";
import { node } from "./rpc.js";

export const STEPS = {
  deposit: ["Requested", "Confirmed", "Arrived"],
  message: ["Sent", "Sealed", "Committed", "Proven", "Provable"],
  withdrawal: ["Sent", "Sealed", "Committed", "Proven", "Claimable", "Paid"],
};
const MESSENGER = "0x0000000000000000000000000000000000008008";
const BASE_TOKEN = "0x000000000000000000000000000000000000800a";
const ASSET_ROUTER = "0x0000000000000000000000000000000000010003";
const ETHER_OUT = "0x6c0960f9";
const TOKEN_OUT = "0x9c884fd1";
const TRANSFER = ["address", "address", "address", "uint256", "bytes"].map(parseType);
const BURN = ["uint256", "address", "address"].map(parseType);
const PAGE_BLOCKS = 2000;
const MAX = 500;
const MAX_POLLED = 60;

// What is not known of a crossing before it is fetched.
const UNKNOWN = { final: false, stage: 0, failed: false, returned: false, batch: 0, leaf: -1 };

/** @type {Map<string, Crossing>} */
const all = new Map();
/** @type {{l1: [number, number] | null, l2: [number, number] | null}} which blocks were searched */
const searched = { l1: null, l2: null };
let complete = false;

/** @returns {Crossing[]} the newest first */
export const crossings = () => [...all.values()].sort((a, b) => b.at - a.at || b.block - a.block || b.log - a.log);

/** @param {Crossing} it */
export const stageName = (it) => (it.returned ? "Returned" : it.failed ? "Failed on L2" : STEPS[it.kind][it.stage]);

/**
 * Whether layer 1 still holds the tokens of a failed deposit.
 * @param {Crossing} it
 */
export const isReturnable = (it) => it.failed && !it.returned && it.asset !== undefined;

/** @param {Crossing} it */
export const isMoving = (it) => !it.failed && it.stage < STEPS[it.kind].length - (it.kind === "withdrawal" ? 2 : 1);

/** @param {Crossing} it */
export const isClaimable = (it) => it.kind === "withdrawal" && it.stage === 4;

/** @param {string} name */
export const addressOf = (name) => Object.entries(node.info.l1).find(([, it]) => it === name)?.[0] ?? "";

/** Whether there may be older ones. */
export const hasOlder = () => !complete;

let started = false;

/** Follow the crossings from now on. */
export function followCrossings() {
  if (started || !node.l1 || !node.l2) return;
  started = true;
  alsoLoad(update);
  update();
}

export async function update() {
  await Promise.all([search("l1"), search("l2")]);
  const open = [...all.values()].filter((it) => !it.final).slice(-MAX_POLLED);
  await Promise.all(open.map((it) => (it.kind === "deposit" ? updateDeposit(it) : updateMessage(it)).catch(() => {})));
  changed();
}

/**
 * Find the events of blocks that were not searched.
 * @param {"l1" | "l2"} layer
 */
async function search(layer) {
  const head = live[layer].head;
  if (head < 0) return;
  const before = searched[layer];
  const common = Math.min(head, live[layer].revertedTo);
  live[layer].revertedTo = Infinity;
  if (before && before[1] > common) {
    // A revert: what is gone is gone, and other blocks may have its numbers.
    for (const [id, it] of all) if ((it.kind === "deposit") === (layer === "l1") && it.block > common) all.delete(id);
    for (const it of all.values()) Object.assign(it, UNKNOWN);
    before[1] = Math.max(before[0] - 1, common);
  }
  const from = before ? before[1] + 1 : Math.max(0, head - PAGE_BLOCKS);
  if (from > head) return;
  await read(layer, from, head);
  searched[layer] = [before ? before[0] : from, head];
  complete = searched.l1?.[0] === 0 && searched.l2?.[0] === 0;
}

/**
 * Find a message that is older than what was searched, by its transaction.
 * @param {string} id
 */
export async function loadOne(id) {
  if (all.has(id) || !id.startsWith("0x")) return;
  const receipt = await node.l2?.maybe("eth_getTransactionReceipt", id.split("/")[0]);
  if (receipt) await read("l2", int(receipt.blockNumber), int(receipt.blockNumber));
  await update();
}

/** Search another page of older blocks. */
export async function loadOlder() {
  for (const layer of /** @type {("l1" | "l2")[]} */ (["l1", "l2"])) {
    const range = searched[layer];
    if (!range || range[0] === 0) continue;
    const from = Math.max(0, range[0] - PAGE_BLOCKS);
    await read(layer, from, range[0] - 1);
    range[0] = from;
  }
  complete = searched.l1?.[0] === 0 && searched.l2?.[0] === 0;
  await update();
}

/**
 * @param {"l1" | "l2"} layer
 * @param {number} from
 * @param {number} to
 */
async function read(layer, from, to) {
  const floor = /** @type {import("./rpc.js").Floor} */ (node[layer]);
  const address = layer === "l1" ? addressOf("ZKChain") : MESSENGER;
  const topic = layer === "l1" ? topicOf("ZKChain", "NewPriorityRequest") : topicOf("L1Messenger", "L1MessageSent");
  const logs = await floor.call("eth_getLogs", { address, topics: [topic], fromBlock: hex(from), toBlock: hex(to) });
  /** @type {Map<string, number>} */
  const ordinals = new Map();
  for (const log of logs) {
    const ordinal = ordinals.get(log.transactionHash) ?? 0;
    ordinals.set(log.transactionHash, ordinal + 1);
    const made = layer === "l1" ? await depositOf(log) : await messageOf(log, ordinal);
    if (made && !all.has(made.id)) all.set(made.id, made);
  }
  for (const it of crossings().slice(MAX)) all.delete(it.id);
}

/**
 * @param {any} log
 * @returns {Promise<Crossing | null>}
 */
async function depositOf(log) {
  const decoded = decodeLog(log, "l1");
  if (!decoded) return null;
  const [id, hash, , transaction] = decoded.values;
  const [, from, to] = transaction;
  const data = transaction[11];
  const address = (/** @type {bigint} */ it) => `0x${it.toString(16).padStart(40, "0")}`;
  const it = base(log, "deposit", `d${id}`);
  Object.assign(it, { from: address(from), to: address(to), l2Tx: hash, amount: transaction[9] });
  it.what = data === "0x" ? `${units(transaction[9])} ETH` : "a call";
  const inner = decodeCall(it.to, data, "l2");
  if (it.to === ASSET_ROUTER && inner?.entry.name === "finalizeDeposit" && inner.values.length === 3) {
    const [sender, receiver, token, amount] = decode(TRANSFER, inner.values[2]);
    const known = await tokenOf("l1", token);
    Object.assign(it, {
      from: sender,
      to: receiver,
      what: known ? `${units(amount, known.decimals)} ${known.symbol}` : "a token",
      amount: null,
      // As the deposit was requested, which is what layer 1 remembers of it.
      asset: { id: inner.values[1], data: `0x${encode(BURN, [amount, receiver, token])}` },
    });
  }
  return it;
}

/**
 * @param {any} log
 * @param {number} ordinal
 * @returns {Promise<Crossing | null>}
 */
async function messageOf(log, ordinal) {
  const decoded = decodeLog(log, "l2");
  if (!decoded) return null;
  const [sender, , message] = decoded.values;
  const it = base(log, "message", `${log.transactionHash}/${ordinal}`);
  Object.assign(it, {
    log: ordinal,
    sender,
    from: sender,
    message,
    what: `${byteLength(message)} bytes`,
    l2Tx: log.transactionHash,
  });
  if (sender === BASE_TOKEN && message.startsWith(ETHER_OUT)) {
    const amount = BigInt(`0x${message.slice(50, 114)}`);
    Object.assign(it, { kind: "withdrawal", to: `0x${message.slice(10, 50)}`, amount, what: `${units(amount)} ETH` });
  } else if (sender === ASSET_ROUTER && message.startsWith(TOKEN_OUT)) {
    const [from, to, token, amount] = decode(TRANSFER, message.slice(138));
    const known = await tokenOf("l1", token);
    Object.assign(it, {
      kind: "withdrawal",
      from,
      to,
      what: known ? `${units(amount, known.decimals)} ${known.symbol}` : "a token",
    });
  }
  return it;
}

/**
 * @param {any} log
 * @param {Crossing["kind"]} kind
 * @param {string} id
 * @returns {Crossing}
 */
const base = (log, kind, id) => ({
  id,
  kind,
  what: "",
  from: "",
  to: "",
  tx: log.transactionHash,
  log: 0,
  block: int(log.blockNumber),
  at: int(log.blockTimestamp) || live[kind === "deposit" ? "l1" : "l2"].blocks.get(int(log.blockNumber))?.at || 0,
  l2Tx: "",
  arrived: 0,
  txIndex: 0,
  message: "",
  sender: "",
  amount: null,
  ...UNKNOWN,
});

/** @param {Crossing} it */
async function updateDeposit(it) {
  const l2 = /** @type {import("./rpc.js").Floor} */ (node.l2);
  const receipt = await l2.call("eth_getTransactionReceipt", it.l2Tx);
  if (!receipt) {
    it.stage = (await l2.maybe("eth_getTransactionByHash", it.l2Tx)) ? 1 : 0;
    return;
  }
  Object.assign(it, { stage: 2, arrived: int(receipt.blockNumber), failed: int(receipt.status) === 0 });
  if (it.failed && it.asset) it.returned = (await onNullifier("depositHappened", it.l2Tx)) === 0n;
  it.final = !isReturnable(it);
}

/** @param {Crossing} it */
async function updateMessage(it) {
  const l2 = /** @type {import("./rpc.js").Floor} */ (node.l2);
  if (!it.batch || !it.sender) {
    const receipt = await l2.call("eth_getTransactionReceipt", it.tx);
    if (!receipt?.l1BatchNumber) return;
    it.batch = int(receipt.l1BatchNumber);
    it.txIndex = int(receipt.l1BatchTxIndex);
    if (it.kind === "withdrawal" && it.from === BASE_TOKEN) it.from = receipt.from;
  }
  const batch = await loadBatch(it.batch);
  it.stage = batch ? batch.stage : it.stage;
  if (it.stage < 4) return;
  if (it.leaf < 0) {
    const proof = await l2.call("zks_getL2ToL1LogProof", it.tx, it.log);
    if (!proof) return;
    it.leaf = proof.id;
  }
  if (it.kind === "message") it.final = true;
  else if ((await onNullifier("isWithdrawalFinalized", BigInt(it.batch), BigInt(it.leaf))) === 1n)
    Object.assign(it, { stage: 5, final: true });
}

/**
 * What layer 1 notes of a crossing: that it was paid, or that it may still be claimed back.
 * @param {string} name
 * @param {...any} values
 */
async function onNullifier(name, ...values) {
  const [l1, l2] = /** @type {import("./rpc.js").Floor[]} */ ([node.l1, node.l2]);
  const data = callData("L1Nullifier", name, BigInt(l2.chainId), ...values);
  return BigInt(await l1.call("eth_call", { to: addressOf("L1Nullifier"), data }, "latest"));
}
