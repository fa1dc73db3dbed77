/**
 * What is known of all layers: the ground, and a house for each chain.
 *
 * @typedef {{number: number, hash: string, parent: string, at: number, gas: number, limit: number, txs: any[],
 *   fee: bigint}} Block
 * @typedef {{number: number, first: number, last: number, at: number, l1Txs: number, l2Txs: number, stage: number,
 *   committed: number, proven: number, executed: number, hashes: (string | null)[], root: string,
 *   scheme: string, bytes: number, gas: (number | null)[]}} Batch what it publishes, and what layer 1 took for each step
 * @typedef {{head: number, blocks: Map<number, Block>, price: bigint, pending: number, state: string,
 *   revertedTo: number, reverts: number}} FloorState what was reverted since the crossings were read, and how often
 */

import { int, learnOrder } from "./format.js";
import { firstOf, floorOf, isUpper, node } from "./rpc.js";

/** The type of the node's own transactions, which bring roots of layer 1. */
export const ROOT_IMPORT = 0x7d;
export const STAGES = ["Open", "Sealed", "Committed", "Proven", "Executed"];
/** How many houses a street has room for. */
export const MAX_DRAWN = 5;

/** @returns {FloorState} */
const newFloor = () => ({
  head: -1,
  blocks: new Map(),
  price: 0n,
  pending: 0,
  state: "connecting",
  revertedTo: Infinity,
  reverts: 0,
});

/** A chain: its blocks, its batches, what the bridge holds for it. */
export class House {
  /** @param {import("./rpc.js").Floor} floor */
  constructor(floor) {
    this.floor = floor;
    this.name = floor.name;
    this.l2 = newFloor();
    /** @type {Map<number, Batch>} */
    this.batches = new Map();
    this.sealed = 0;
    this.executedBlock = -1;
    this.executedBatch = 0;
    this.pubdata = 0n;
    /** @type {bigint | null} */
    this.held = null;
    /** @type {any} */
    this.health = null;
    /** When it did not respond for the first time, in milliseconds; 0 if it does. */
    this.awaySince = 0;
  }

  /** @param {string} layer */
  floorAt(layer) {
    return layer === "l1" ? node.l1 : this.floor;
  }

  /**
   * Whether all blocks that can have events of the bridge were searched: of a fork, those above the anchor.
   * @param {{l1: number[] | null, l2: number[] | null}} searched
   */
  isWhole({ l1, l2 }) {
    return l1?.[0] === firstOf(node.l1) && l2?.[0] === firstOf(this.floor);
  }

  /** Why its settlement has stopped; null if it has not. */
  get stopped() {
    return this.health?.settlement ?? null;
  }

  /** How many blocks do not stand on the ground yet; what only imports roots waits for the next that does more. */
  get early() {
    const last = Math.max(this.floor.fork?.number ?? 0, this.executedBlock);
    const idle = [...this.l2.blocks.values()].filter(
      (it) => it.number > last && it.txs.length && it.txs.every((tx) => int(tx.type) === ROOT_IMPORT),
    );
    return Math.max(0, this.l2.head - last - idle.length);
  }

  /** @returns {number[]} the seconds from committed to executed, both by the clock of layer 1; the newest batch last */
  finalities() {
    const done = [...this.batches.values()].filter((it) => it.stage === 4).sort((a, b) => a.number - b.number);
    return done.slice(-30).map((it) => it.executed - it.committed);
  }

  /** What is committed was sealed before, whatever the clocks have become. */
  learnClock() {
    for (const { at, stage, committed } of this.batches.values())
      if (stage > 1) learnOrder(at, this.name, committed, "l1");
  }

  /**
   * @param {number} number
   * @returns {Promise<Batch | null>}
   */
  async loadBatch(number) {
    const known = this.batches.get(number);
    if (known?.stage === 4) return known;
    const [details, range] = await Promise.all([
      this.floor.call("zks_getL1BatchDetails", number),
      known ? [known.first, known.last] : this.floor.call("zks_getL1BatchBlockRange", number),
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
      scheme: details.dataAvailability ?? "none",
      bytes: details.pubdataBytes ?? 0,
      gas: [details.commitGasUsed, details.proveGasUsed, details.executeGasUsed].map((it) => it ?? null),
    };
    this.batches.set(number, batch);
    return batch;
  }
}

/** @param {string} path */
export async function healthAt(path) {
  const response = await fetch(path).catch(() => null);
  return response ? await response.json().catch(() => null) : null;
}

export const live = {
  l1: newFloor(),
  /** @type {House[]} */
  houses: [],
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

/**
 * @param {string} name the id of a chain, or `l2`, which is the first one
 * @returns {House}
 */
export const houseOf = (name) => live.houses.find((it) => it.floor === floorOf(name)) ?? live.houses[0];

/**
 * @param {string} layer
 * @returns {FloorState}
 */
export const stateOf = (layer) => (isUpper(layer) ? houseOf(layer).l2 : live.l1);

/**
 * Whether a block is of the chain that a fork is a copy of.
 * @param {string} layer
 * @param {any} number
 */
export const isPast = (layer, number) => Number(number) < firstOf(floorOf(layer));

/** The newest blocks of all layers, as one text that changes when one of them does. */
export const heads = () => [live.l1, ...live.houses.map((it) => it.l2)].map((it) => it.head).join("/");

/** How often any layer has gone back. */
export const reverts = () => [live.l1, ...live.houses.map((it) => it.l2)].reduce((sum, it) => sum + it.reverts, 0);
