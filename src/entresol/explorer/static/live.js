/**
 * What both layers are doing now: blocks, batches, prices. Loaded when a head arrives, never on a timer.
 *
 * @typedef {{number: number, hash: string, parent: string, at: number, gas: number, limit: number, txs: any[],
 *   fee: bigint}} Block
 * @typedef {{number: number, first: number, last: number, at: number, l1Txs: number, l2Txs: number, stage: number,
 *   committed: number, proven: number, executed: number, hashes: (string | null)[], root: string}} Batch
 * @typedef {{head: number, blocks: Map<number, Block>, price: bigint, state: string,
 *   revertedTo: number}} FloorState what was reverted since the crossings were read
 */

import { bridgeBalance } from "./describe.js";
import { say } from "./dom.js";
import { big, count, hex, int, setClock } from "./format.js";
import { floors, node } from "./rpc.js";

export const STAGES = ["Open", "Sealed", "Committed", "Proven", "Executed"];
const WINDOW = 24;
const MAX_BLOCKS = 200;
const MAX_BATCHES = 30;
const DRAW_MS = 250;
const NOTICE_MS = 8000;

/** @returns {FloorState} */
const newFloor = () => ({ head: -1, blocks: new Map(), price: 0n, state: "connecting", revertedTo: Infinity });

export const live = {
  l1: newFloor(),
  l2: newFloor(),
  /** @type {Map<number, Batch>} */
  batches: new Map(),
  sealed: 0,
  executedBlock: -1,
  executedBatch: 0,
  pending: 0,
  pubdata: 0n,
  /** @type {bigint | null} */
  held: null,
  /** @type {any} */
  health: null,
  retryAt: 0,
  awaySince: 0,
  /** What the banner says for a moment. */
  notice: "",
  /** @type {unknown} */
  error: null,
  ready: false,
};

/** @type {Set<() => void>} */
const watchers = new Set();
/** @type {Set<() => unknown>} */
const loaders = new Set();
let drawAt = 0;
let drawing = 0;
let loading = false;
let again = false;

/**
 * Call `draw` now and after each change, at most four times a second and not in a hidden tab.
 * @param {() => void} draw
 * @returns {() => void} stops it
 */
export function watch(draw) {
  watchers.add(draw);
  draw();
  return () => watchers.delete(draw);
}

/**
 * Call `load` with each refresh, before the drawing.
 * @param {() => unknown} load
 */
export const alsoLoad = (load) => loaders.add(load);

/**
 * Show a sentence in the banner for a moment.
 * @param {string} text
 */
export function notify(text) {
  live.notice = text;
  say(text);
  setTimeout(() => {
    live.notice = "";
    changed();
  }, NOTICE_MS);
  changed();
}

export function changed() {
  if (drawing || document.hidden) return;
  drawing = window.setTimeout(
    () => {
      drawing = 0;
      drawAt = performance.now();
      for (const draw of watchers) draw();
    },
    Math.max(0, drawAt + DRAW_MS - performance.now()),
  );
}

/** Follow both floors. */
export function follow() {
  for (const floor of floors()) {
    const state = live[floor.name === "l1" ? "l1" : "l2"];
    floor.follow(
      (head) => onHead(floor.name, state, head),
      (status, retryAt) => {
        const back = status === "live" && state.state === "away";
        state.state = status;
        live.awaySince = status === "away" ? live.awaySince || Date.now() : 0;
        live.retryAt = retryAt ?? 0;
        if (back) refresh();
        changed();
      },
    );
  }
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) refresh();
  });
  return refresh();
}

/**
 * @param {string} layer
 * @param {FloorState} state
 * @param {any} head
 */
function onHead(layer, state, head) {
  if (!head) return;
  const number = int(head.number);
  const known = state.blocks.get(number);
  if (number <= state.head && known?.hash !== head.hash) revertTo(state, number - 1);
  if (state.head >= 0 && known?.hash !== head.hash) setClock(layer, int(head.timestamp), true);
  state.head = number;
  if (!document.hidden) refresh();
}

/**
 * @param {FloorState} state
 * @param {number} to
 */
function revertTo(state, to) {
  state.revertedTo = Math.min(state.revertedTo, to);
  for (const number of state.blocks.keys()) if (number > to) state.blocks.delete(number);
  if (state === live.l2) {
    for (const [number, batch] of live.batches) if (batch.last > to) live.batches.delete(number);
  } else {
    for (const batch of live.batches.values()) batch.stage = Math.min(batch.stage, 1);
  }
}

/** Load what is missing: one batch of requests a floor. */
export async function refresh() {
  if (loading) {
    again = true;
    return;
  }
  loading = true;
  try {
    await Promise.all([refreshL2(), refreshL1(), refreshHealth()]);
    live.error = null;
    live.ready = true;
    for (const load of loaders) await load();
  } catch (error) {
    live.error = error;
  } finally {
    loading = false;
    changed();
    if (again) {
      again = false;
      setTimeout(refresh, DRAW_MS);
    }
  }
}

async function refreshHealth() {
  const response = await fetch("/health").catch(() => null);
  live.health = response ? await response.json().catch(() => null) : null;
}

/**
 * @param {"l1" | "l2"} layer
 */
async function refreshBlocks(layer) {
  const floor = /** @type {import("./rpc.js").Floor} */ (node[layer]);
  const state = live[layer];
  const latest = await floor.call("eth_getBlockByNumber", "latest", true);
  if (int(latest.number) < state.head) {
    notify(`Layer ${floor.layer} was reverted to block ${count(int(latest.number))}.`);
    revertTo(state, int(latest.number));
  }
  addBlock(state, latest);
  setClock(layer, int(latest.timestamp), false);
  state.head = int(latest.number);
  const child = /** @type {Block} */ (state.blocks.get(state.head));
  // The parent that we have is another one: what we have is gone.
  if (state.blocks.has(state.head - 1) && state.blocks.get(state.head - 1)?.hash !== child.parent) {
    revertTo(state, -1);
    addBlock(state, latest);
  }
  const missing = [];
  for (let at = Math.max(0, state.head - WINDOW + 1); at < state.head; at++)
    if (!state.blocks.has(at)) missing.push(at);
  const found = await Promise.all(missing.map((at) => floor.call("eth_getBlockByNumber", hex(at), true)));
  for (const block of found) if (block) addBlock(state, block);
  for (const at of [...state.blocks.keys()].sort((a, b) => a - b).slice(0, -MAX_BLOCKS)) state.blocks.delete(at);
}

/**
 * @param {FloorState} state
 * @param {any} block
 */
function addBlock(state, block) {
  state.blocks.set(int(block.number), {
    number: int(block.number),
    hash: block.hash,
    parent: block.parentHash,
    at: int(block.timestamp),
    gas: int(block.gasUsed),
    limit: int(block.gasLimit),
    txs: block.transactions,
    fee: big(block.baseFeePerGas),
  });
}

async function refreshL2() {
  const floor = node.l2;
  if (!floor) return;
  const [, price, pool, fees, sealed, finality] = await Promise.all([
    refreshBlocks("l2"),
    floor.maybe("eth_gasPrice"),
    floor.maybe("txpool_status"),
    floor.maybe("zks_getFeeParams"),
    floor.maybe("zks_L1BatchNumber"),
    floor.maybe("zks_getFinalityStatus"),
  ]);
  live.l2.price = big(price);
  live.pending = pool ? int(pool.pending) + int(pool.queued) : 0;
  live.pubdata = BigInt(fees?.V2?.l1_pubdata_price ?? 0);
  live.sealed = int(sealed);
  live.executedBlock = finality?.lastExecutedBlock ?? -1;
  live.executedBatch = finality?.lastExecutedBatch ?? 0;
  for (const number of live.batches.keys()) if (number > live.sealed) live.batches.delete(number);
  const wanted = [];
  for (let at = Math.max(1, live.sealed - MAX_BATCHES + 1); at <= live.sealed; at++)
    if ((live.batches.get(at)?.stage ?? 0) < 4) wanted.push(at);
  await Promise.all(wanted.map(loadBatch));
  for (const at of [...live.batches.keys()].sort((a, b) => a - b).slice(0, -4 * MAX_BATCHES)) live.batches.delete(at);
}

/**
 * @param {number} number
 * @returns {Promise<Batch | null>}
 */
export async function loadBatch(number) {
  const floor = /** @type {import("./rpc.js").Floor} */ (node.l2);
  const known = live.batches.get(number);
  if (known?.stage === 4) return known;
  const [details, range] = await Promise.all([
    floor.call("zks_getL1BatchDetails", number),
    known ? [known.first, known.last] : floor.call("zks_getL1BatchBlockRange", number),
  ]);
  if (!details || !range) return null;
  const seconds = (/** @type {string | null} */ text) => (text ? Date.parse(text) / 1000 : 0);
  const hashes = [details.commitTxHash, details.proveTxHash, details.executeTxHash];
  const batch = {
    number,
    first: int(range[0]),
    last: int(range[1]),
    at: details.timestamp,
    l1Txs: details.l1TxCount,
    l2Txs: details.l2TxCount,
    stage: 1 + hashes.filter(Boolean).length,
    committed: seconds(details.committedAt),
    proven: seconds(details.provenAt),
    executed: seconds(details.executedAt),
    hashes,
    root: details.rootHash,
  };
  live.batches.set(number, batch);
  return batch;
}

async function refreshL1() {
  const floor = node.l1;
  if (!floor) return;
  const [, price, held, pool] = await Promise.all([
    refreshBlocks("l1"),
    floor.maybe("eth_gasPrice"),
    bridgeBalance(),
    node.l2 ? null : floor.maybe("txpool_status"),
  ]);
  if (pool) live.pending = int(pool.pending) + int(pool.queued);
  live.l1.price = big(price);
  live.held = held;
}
