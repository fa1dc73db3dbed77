/**
 * What crosses between the floors of each house: deposits, messages and withdrawals, each with its stage.
 *
 * @typedef {{id: string, house: string, kind: "deposit" | "message" | "withdrawal", what: string, from: string, to: string,
 *   tx: string, log: number, block: number, at: number, stage: number, failed: boolean, l2Tx: string,
 *   arrived: number, batch: number, leaf: number, txIndex: number, message: string, sender: string,
 *   amount: bigint | null, final: boolean, returned: boolean, asset?: {id: string, data: string}}} Crossing
 * @typedef {{all: Map<string, Crossing>, l1: [number, number] | null, l2: [number, number] | null, complete: boolean,
 *   open: import("./events.js").Index}} Known what is known of a house, and which blocks were searched
 */

import { depositOf, messageOf, readIndex, requestOf, UNKNOWN } from "./events.js";
import { byOurClock, hex, int } from "./format.js";
import { live } from "./houses.js";
import { callData, topicOf } from "./known.js";
import { alsoLoad, changed } from "./live.js";
import { addressOf, contractOf, firstOf, node } from "./rpc.js";
import { BASE_TOKEN, L1_MESSENGER } from "./system.js";

/** @typedef {import("./houses.js").House} House */
/** @typedef {import("./houses.js").Batch} Batch */

export const STEPS = {
  deposit: ["Requested", "Confirmed", "Arrived"],
  message: ["Sent", "Sealed", "Committed", "Proven", "Provable"],
  withdrawal: ["Sent", "Sealed", "Committed", "Proven", "Claimable", "Paid"],
};
const PAGE_BLOCKS = 2000;
const MAX = 500;

/** @type {Map<House, Known>} */
const houses = new Map();

/**
 * @param {House} house
 * @returns {Known}
 */
function knownOf(house) {
  let known = houses.get(house);
  if (!known) {
    known = { all: new Map(), l1: null, l2: null, complete: false, open: { batches: new Map(), more: false } };
    houses.set(house, known);
  }
  return known;
}

/**
 * @param {House} [house] all houses if none is given
 * @returns {Crossing[]} the newest first
 */
export const crossings = (house) =>
  (house ? [knownOf(house)] : [...houses.values()])
    .flatMap((it) => [...it.all.values()])
    .sort((a, b) => sentAt(b) - sentAt(a) || b.block - a.block || b.log - a.log);

/** @param {Crossing} it */
const sentAt = (it) => byOurClock(it.at, it.kind === "deposit" ? "l1" : it.house);

/**
 * Where one of them is shown.
 * @param {Crossing} it
 */
export const linkOf = (it) => `#/${node.several ? `${it.house}/` : ""}bridge/${it.id}`;

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

/** Whether there may be older ones. */
export const hasOlder = () => [...houses.values()].some((it) => !it.complete);

/**
 * Whether a house has more open ones than were read.
 * @param {House} [house]
 */
export const hasMoreOpen = (house) => (house ? [knownOf(house)] : [...houses.values()]).some((it) => it.open.more);

let started = false;

/**
 * Follow the crossings of houses from now on.
 * @param {House[]} [wanted] all if none are given
 */
export function followCrossings(wanted = live.houses) {
  if (!node.l1) return;
  const fresh = wanted.filter((it) => !houses.has(it));
  for (const house of fresh) knownOf(house);
  if (!started) alsoLoad((changedHouses) => Promise.all(changedHouses.filter((it) => houses.has(it)).map(update)));
  started = true;
  for (const house of fresh) update(house);
}

/** @param {House} house */
export async function update(house) {
  const { all } = knownOf(house);
  await Promise.all([search(house, "l1"), search(house, "l2")]);
  await loadOpen(house);
  /** @type {Map<number, Promise<Batch | null>>} */
  const batches = new Map();
  const batchOf = (/** @type {number} */ number) => {
    const found = batches.get(number) ?? house.loadBatch(number);
    batches.set(number, found);
    return found;
  };
  const moving = [...all.values()].filter((it) => !it.final);
  await Promise.all(
    moving.map((it) =>
      (it.kind === "deposit" ? updateDeposit(house, it) : updateMessage(house, it, batchOf)).catch(() => {}),
    ),
  );
  changed();
}

/**
 * Find what is not completed and was not read, because its block is too old.
 * @param {House} house
 */
async function loadOpen(house) {
  const known = knownOf(house);
  const seen = new Set([...known.all.values()].map((it) => (it.kind === "deposit" ? it.l2Tx : it.id)));
  const missing = ((await readIndex(house, known.open)) ?? []).filter((it) => !seen.has(it.id));
  const blocks = new Set(missing.map((it) => it.block).filter((it) => it >= 0));
  const deposits = missing.filter((it) => it.block < 0);
  await Promise.all([
    ...[...blocks].map((it) => read(house, "l2", it, it)),
    ...deposits.map(async (it) => {
      const block = await requestOf(it.id, contractOf(house.floor));
      if (block !== null) await read(house, "l1", block, block);
    }),
  ]);
}

/** @type {Map<House, number>} the block to which layer 1 was reverted, for each house that has not heard of it */
const l1Reverts = new Map();

/**
 * The block to which a layer was reverted since a house was searched there.
 * @param {House} house
 * @param {"l1" | "l2"} layer
 */
function revertedTo(house, layer) {
  if (layer === "l2") {
    const to = house.l2.revertedTo;
    house.l2.revertedTo = Infinity;
    return to;
  }
  // All houses stand on one ground: each has to hear of it.
  for (const it of houses.keys()) l1Reverts.set(it, Math.min(l1Reverts.get(it) ?? Infinity, live.l1.revertedTo));
  live.l1.revertedTo = Infinity;
  const to = l1Reverts.get(house) ?? Infinity;
  l1Reverts.delete(house);
  return to;
}

/**
 * Find the events of blocks that were not searched.
 * @param {House} house
 * @param {"l1" | "l2"} layer
 */
async function search(house, layer) {
  const known = knownOf(house);
  const { all } = known;
  const { head } = layer === "l1" ? live.l1 : house.l2;
  if (head < 0) return;
  const before = known[layer];
  const common = Math.min(head, revertedTo(house, layer));
  if (before && before[1] > common) {
    // A revert: what is gone is gone, and other blocks may have its numbers.
    for (const [id, it] of all) if ((it.kind === "deposit") === (layer === "l1") && it.block > common) all.delete(id);
    for (const it of all.values()) Object.assign(it, UNKNOWN);
    before[1] = Math.max(before[0] - 1, common);
  }
  const from = before ? before[1] + 1 : Math.max(firstOf(house.floorAt(layer)), head - PAGE_BLOCKS);
  if (from > head) return;
  await read(house, layer, from, head);
  known[layer] = [before ? before[0] : from, head];
  known.complete = house.isWhole(known);
}

/**
 * Find a message that is older than what was searched, by its transaction.
 * @param {House} house
 * @param {string} id
 */
export async function loadOne(house, id) {
  if (knownOf(house).all.has(id) || !id.startsWith("0x")) return;
  const receipt = await house.floor.maybe("eth_getTransactionReceipt", id.split("/")[0]);
  if (receipt) await read(house, "l2", int(receipt.blockNumber), int(receipt.blockNumber));
  await update(house);
}

/** Search another page of older blocks of each house. */
export async function loadOlder() {
  for (const [house, known] of houses) {
    for (const layer of /** @type {("l1" | "l2")[]} */ (["l1", "l2"])) {
      const range = known[layer];
      const first = firstOf(house.floorAt(layer));
      if (!range || range[0] <= first) continue;
      const from = Math.max(first, range[0] - PAGE_BLOCKS);
      await read(house, layer, from, range[0] - 1);
      range[0] = from;
    }
    known.complete = house.isWhole(known);
    await update(house);
  }
}

/**
 * @param {House} house
 * @param {"l1" | "l2"} layer
 * @param {number} from
 * @param {number} to
 */
async function read(house, layer, from, to) {
  const { all, open } = knownOf(house);
  const floor = /** @type {import("./rpc.js").Floor} */ (house.floorAt(layer));
  const address = layer === "l1" ? contractOf(house.floor) : L1_MESSENGER;
  const topic = layer === "l1" ? topicOf("ZKChain", "NewPriorityRequest") : topicOf("L1Messenger", "L1MessageSent");
  const logs = await floor.call("eth_getLogs", { address, topics: [topic], fromBlock: hex(from), toBlock: hex(to) });
  /** @type {Map<string, number>} */
  const ordinals = new Map();
  for (const log of logs) {
    const ordinal = ordinals.get(log.transactionHash) ?? 0;
    ordinals.set(log.transactionHash, ordinal + 1);
    const made = layer === "l1" ? await depositOf(log, house) : await messageOf(log, ordinal, house);
    if (made && !all.has(made.id)) all.set(made.id, made);
  }
  for (const it of crossings(house).slice(MAX))
    if (!open.batches.has(it.kind === "deposit" ? it.l2Tx : it.id)) all.delete(it.id);
}

/**
 * @param {House} house
 * @param {Crossing} it
 */
async function updateDeposit(house, it) {
  const l2 = house.floor;
  const receipt = await l2.call("eth_getTransactionReceipt", it.l2Tx);
  if (!receipt) {
    it.stage = (await l2.maybe("eth_getTransactionByHash", it.l2Tx)) ? 1 : 0;
    return;
  }
  Object.assign(it, { stage: 2, arrived: int(receipt.blockNumber), failed: int(receipt.status) === 0 });
  if (it.failed && it.asset) it.returned = (await onNullifier(house, "depositHappened", it.l2Tx)) === 0n;
  it.final = !isReturnable(it);
}

/**
 * @param {House} house
 * @param {Crossing} it
 * @param {(number: number) => Promise<Batch | null>} batchOf
 */
async function updateMessage(house, it, batchOf) {
  const l2 = house.floor;
  const { open } = knownOf(house);
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
  else if ((await onNullifier(house, "isWithdrawalFinalized", BigInt(it.batch), BigInt(it.leaf))) === 1n)
    Object.assign(it, { stage: 5, final: true });
}

/**
 * What layer 1 notes of a crossing: that it was paid, or that it may still be claimed back.
 * @param {House} house
 * @param {string} name
 * @param {...any} values
 */
async function onNullifier(house, name, ...values) {
  const l1 = /** @type {import("./rpc.js").Floor} */ (node.l1);
  const data = callData("L1Nullifier", name, BigInt(house.floor.chainId), ...values);
  return BigInt(await l1.call("eth_call", { to: addressOf("L1Nullifier"), data }, "latest"));
}
