/**
 * What crosses between the floors: deposits, messages and withdrawals, each with its stage.
 *
 * @typedef {{id: string, kind: "deposit" | "message" | "withdrawal", what: string, from: string, to: string,
 *   tx: string, log: number, block: number, at: number, stage: number, failed: boolean, l2Tx: string,
 *   arrived: number, batch: number, leaf: number, txIndex: number, message: string, sender: string,
 *   amount: bigint | null, final: boolean, returned: boolean, asset?: {id: string, data: string}}} Crossing
 */

import { BASE_TOKEN, depositOf, messageOf, open, readIndex, requestOf, UNKNOWN } from "./events.js";
import { byOurClock, hex, int } from "./format.js";
import { callData, topicOf } from "./known.js";
import { alsoLoad, changed, live, loadBatch } from "./live.js";
import { node } from "./rpc.js";

export const STEPS = {
  deposit: ["Requested", "Confirmed", "Arrived"],
  message: ["Sent", "Sealed", "Committed", "Proven", "Provable"],
  withdrawal: ["Sent", "Sealed", "Committed", "Proven", "Claimable", "Paid"],
};
const MESSENGER = "0x0000000000000000000000000000000000008008";
const PAGE_BLOCKS = 2000;
const MAX = 500;

/** @type {Map<string, Crossing>} */
const all = new Map();
/** @type {{l1: [number, number] | null, l2: [number, number] | null}} which blocks were searched */
const searched = { l1: null, l2: null };
let complete = false;

/** @returns {Crossing[]} the newest first */
export const crossings = () =>
  [...all.values()].sort((a, b) => sentAt(b) - sentAt(a) || b.block - a.block || b.log - a.log);

/** @param {Crossing} it */
const sentAt = (it) => byOurClock(it.at, it.kind === "deposit" ? "l1" : "l2");

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
  await loadOpen();
  /** @type {Map<number, ReturnType<typeof loadBatch>>} */
  const batches = new Map();
  const batchOf = (/** @type {number} */ number) => {
    const found = batches.get(number) ?? loadBatch(number);
    batches.set(number, found);
    return found;
  };
  const moving = [...all.values()].filter((it) => !it.final);
  await Promise.all(
    moving.map((it) => (it.kind === "deposit" ? updateDeposit(it) : updateMessage(it, batchOf)).catch(() => {})),
  );
  changed();
}

/** Find what is not completed and was not read, because its block is too old. */
async function loadOpen() {
  const known = new Set([...all.values()].map((it) => (it.kind === "deposit" ? it.l2Tx : it.id)));
  const missing = ((await readIndex()) ?? []).filter((it) => !known.has(it.id));
  const blocks = new Set(missing.map((it) => it.block).filter((it) => it >= 0));
  const deposits = missing.filter((it) => it.block < 0);
  await Promise.all([
    ...[...blocks].map((it) => read("l2", it, it)),
    ...deposits.map(async (it) => {
      const block = await requestOf(it.id, addressOf("ZKChain"));
      if (block !== null) await read("l1", block, block);
    }),
  ]);
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
  for (const it of crossings().slice(MAX))
    if (!open.batches.has(it.kind === "deposit" ? it.l2Tx : it.id)) all.delete(it.id);
}

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

/**
 * @param {Crossing} it
 * @param {typeof loadBatch} batchOf
 */
async function updateMessage(it, batchOf) {
  const l2 = /** @type {import("./rpc.js").Floor} */ (node.l2);
  if (!it.batch || !it.sender) {
    if (open.batches.get(it.id) === 0) return;
    const receipt = await l2.call("eth_getTransactionReceipt", it.tx);
    if (!receipt?.l1BatchNumber) return;
    it.batch = int(receipt.l1BatchNumber);
    it.txIndex = int(receipt.l1BatchTxIndex);
    if (it.kind === "withdrawal" && it.from === BASE_TOKEN) it.from = receipt.from;
  }
  const batch = await batchOf(it.batch);
  it.stage = batch ? batch.stage : it.stage;
  if (it.stage < 4) return;
  if (it.leaf < 0) {
    const proof = await l2.call("zks_getL2ToL1LogProof", it.tx, it.log);
    if (!proof) return;
    it.leaf = proof.id;
  }
  if (it.kind === "message") it.final = true;
  else if (open.batches.has(it.id)) return;
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
