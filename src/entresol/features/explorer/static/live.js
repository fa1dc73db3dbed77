/** Follow all layers: blocks, batches, prices. Loaded when a head arrives, never on a timer. */

import { bridgeBalance } from "./describe.js";
import { say } from "./dom.js";
import { big, count, hex, int, setClock } from "./format.js";
import { House, healthAt, houseOf, isPast, live, stateOf } from "./houses.js";
import { firstOf, floorOf, floors, greet, isUpper, node } from "./rpc.js";

/** @typedef {import("./houses.js").Block} Block */
/** @typedef {import("./houses.js").FloorState} FloorState */

const WINDOW = 24;
const MAX_BLOCKS = 200;
const MAX_BATCHES = 30;
const DRAW_MS = 250;
const NOTICE_MS = 8000;
const SETTLED_MS = 1000;

/** @type {Set<() => void>} */
const watchers = new Set();
/** @type {Set<(houses: House[]) => unknown>} */
const loaders = new Set();
let drawAt = 0;
let drawing = 0;
let loading = false;
let settled = 0;
/** @type {Set<string>} the layers whose head has changed since they were loaded */
const changedLayers = new Set();

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
 * Call `load` with each refresh, before the drawing, with the houses that have changed.
 * @param {(houses: House[]) => unknown} load
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

/** Follow layer 1 and the houses that are drawn. */
export function follow() {
  live.houses = node.l2s.map((it) => new House(it));
  if (node.l1) followFloor(node.l1);
  if (!node.several) followHouses(live.houses);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) refresh();
  });
  return refresh();
}

/**
 * Have a socket for each house that is drawn, and for no other; those are loaded with each block of layer 1.
 * @param {House[]} drawn
 */
export function followHouses(drawn) {
  for (const house of live.houses) {
    if (drawn.includes(house)) followFloor(house.floor);
    else if (house.floor.socket) {
      house.floor.unfollow();
      house.l2.state = "live";
    }
  }
}

/** @param {import("./rpc.js").Floor} floor */
function followFloor(floor) {
  const state = stateOf(floor.name);
  floor.follow(
    (head, isLatest) => onHead(floor.name, state, head, isLatest),
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

/**
 * @param {string} layer
 * @param {FloorState} state
 * @param {any} head
 * @param {boolean} [isLatest] whether it is there already, and need not be loaded again
 */
function onHead(layer, state, head, isLatest) {
  if (!head) return;
  const number = int(head.number);
  const known = state.blocks.get(number);
  if (isLatest && number === state.head && known?.hash === head.hash) return;
  if (number <= state.head && known?.hash !== head.hash) revertTo(layer, number - 1);
  if (state.head >= 0 && known?.hash !== head.hash) setClock(layer, int(head.timestamp), true);
  state.head = number;
  // A chain notes what layer 1 has executed a moment after the block, which may be the last one for long.
  if (!isUpper(layer)) {
    clearTimeout(settled);
    settled = window.setTimeout(() => document.hidden || refresh(), SETTLED_MS);
  }
  // What settles is on layer 1, so all houses may have changed with it.
  if (!document.hidden) refresh(node.several && isUpper(layer) ? [layer] : undefined);
}

/**
 * @param {string} layer
 * @param {number} to
 */
function revertTo(layer, to) {
  const state = stateOf(layer);
  state.revertedTo = Math.min(state.revertedTo, to);
  state.reverts++;
  for (const number of state.blocks.keys()) if (number > to) state.blocks.delete(number);
  if (isUpper(layer)) {
    const { batches } = houseOf(layer);
    for (const [number, batch] of batches) if (batch.last > to) batches.delete(number);
  } else {
    for (const { batches } of live.houses) for (const batch of batches.values()) batch.stage = Math.min(batch.stage, 1);
  }
}

/**
 * Load what is missing: one batch of requests a floor.
 * @param {string[]} [layers] those that have changed; all if none are named
 */
export async function refresh(layers = floors().map((it) => it.name)) {
  for (const it of layers) changedLayers.add(it);
  if (loading) return;
  loading = true;
  try {
    const wanted = new Set(changedLayers);
    changedLayers.clear();
    const houses = live.houses.filter((it) => wanted.has(it.name));
    await Promise.all([
      ...houses.map(node.several ? tryHouse : refreshHouse),
      wanted.has("l1") || !node.several ? refreshL1() : null,
      refreshHealth(),
    ]);
    live.error = null;
    live.ready = true;
    for (const house of houses) house.learnClock();
    for (const load of loaders) await load(houses);
  } catch (error) {
    live.error = error;
  } finally {
    loading = false;
    changed();
    if (changedLayers.size) setTimeout(() => refresh([]), DRAW_MS);
  }
}

async function refreshHealth() {
  if (node.several) return;
  live.health = await healthAt("/health");
  for (const house of live.houses) house.health = live.health;
}

/**
 * One of several houses may be away while the others are not: what was known of it stays.
 * @param {House} house
 */
async function tryHouse(house) {
  try {
    await refreshHouse(house);
    house.awaySince = 0;
  } catch (error) {
    console.info(error);
    house.awaySince = house.awaySince || Date.now();
  }
}

/** @param {string} layer */
async function refreshBlocks(layer) {
  const floor = /** @type {import("./rpc.js").Floor} */ (floorOf(layer));
  const state = stateOf(layer);
  // What is told meanwhile is newer than the answer.
  const before = state.head;
  // A block that others have made may be large, and whole only at the remote: its transactions are not asked for.
  let latest = await floor.call("eth_getBlockByNumber", "latest", !floor.fork);
  if (isPast(layer, latest.number)) latest.transactions = [];
  else if (floor.fork) latest = (await floor.call("eth_getBlockByHash", latest.hash, true)) ?? latest;
  if (int(latest.number) < before) {
    const title = node.several && isUpper(layer) ? floor.title : `Layer ${floor.layer}`;
    notify(`${title} was reverted to block ${count(int(latest.number))}.`);
    revertTo(layer, int(latest.number));
    // It may be a copy of another block now.
    await greet(floor);
  }
  addBlock(state, latest);
  setClock(layer, int(latest.timestamp), false);
  state.head = int(latest.number);
  const child = /** @type {Block} */ (state.blocks.get(state.head));
  // The parent that we have is another one: what we have is gone.
  if (state.blocks.has(state.head - 1) && state.blocks.get(state.head - 1)?.hash !== child.parent) {
    revertTo(layer, -1);
    addBlock(state, latest);
  }
  const missing = [];
  for (let at = Math.max(firstOf(floor), state.head - WINDOW + 1); at < state.head; at++)
    if (!state.blocks.has(at)) missing.push(at);
  const others = await Promise.all(missing.map((at) => floor.call("eth_getBlockByNumber", hex(at), true)));
  for (const block of others) if (block) addBlock(state, block);
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

/** @param {any} pool */
const pendingIn = (pool) => (pool ? int(pool.pending) + int(pool.queued) : 0);

/** @param {House} house */
async function refreshHouse(house) {
  const { floor, batches } = house;
  const [, price, pool, fees, sealed, finality, held, health] = await Promise.all([
    refreshBlocks(house.name),
    floor.maybe("eth_gasPrice"),
    floor.maybe("txpool_status"),
    floor.maybe("zks_getFeeParams"),
    floor.maybe("zks_L1BatchNumber"),
    floor.maybe("zks_getFinalityStatus"),
    bridgeBalance(floor),
    node.several ? healthAt(`${floor.chain?.path}/health`) : null,
  ]);
  house.l2.price = big(price);
  house.l2.pending = pendingIn(pool);
  house.pubdata = BigInt(fees?.V2?.l1_pubdata_price ?? 0);
  house.held = held;
  if (node.several) house.health = health;
  const last = int(sealed);
  for (const number of batches.keys()) if (number > last) batches.delete(number);
  const wanted = [];
  for (let at = Math.max(1, last - MAX_BATCHES + 1); at <= last; at++)
    if ((batches.get(at)?.stage ?? 0) < 4) wanted.push(at);
  await Promise.all(wanted.map((it) => house.loadBatch(it)));
  // Not before its blocks are known: they would stand above the open batch, too.
  house.sealed = last;
  house.executedBlock = finality?.lastExecutedBlock ?? -1;
  house.executedBatch = finality?.lastExecutedBatch ?? 0;
  for (const at of [...batches.keys()].sort((a, b) => a - b).slice(0, -4 * MAX_BATCHES)) batches.delete(at);
}

async function refreshL1() {
  const floor = node.l1;
  if (!floor) return;
  const [, price, pool] = await Promise.all([
    refreshBlocks("l1"),
    floor.maybe("eth_gasPrice"),
    node.l2 ? null : floor.maybe("txpool_status"),
  ]);
  live.l1.price = big(price);
  live.l1.pending = pendingIn(pool);
}
