/** Find a bundle by its hash. */

import { bundleOf } from "./bundles.js";
import { hex, int } from "./format.js";
import { houseOf, live } from "./houses.js";
import { decodeCall, topicOf } from "./known.js";
import { watch } from "./live.js";
import { floorOf } from "./rpc.js";
import { INTEROP_CENTER, INTEROP_HANDLER } from "./system.js";

/** @typedef {import("./bundles.js").Bundle} Bundle */
/** @typedef {import("./houses.js").House} House */

/** How many blocks of each layer are searched at most. */
export const SEARCHED_BLOCKS = 20_000;
const PAGE_BLOCKS = 5000;

/**
 * Find a bundle by its hash: in the newest blocks of each house, or by what its destination did with it.
 * @param {string} hash
 * @returns {Promise<Bundle | null>}
 */
export async function findBundle(hash) {
  await until(() => live.ready);
  const found = await Promise.all(live.houses.map((house) => findIn(house, hash).catch(() => null)));
  return found.find(Boolean) ?? (await findByEnd(hash));
}

/**
 * Wait for what has to be known first.
 * @param {() => boolean} isThere
 */
const until = (isThere) =>
  new Promise((resolve) => {
    const stop = watch(() => {
      if (!isThere()) return;
      resolve(null);
      setTimeout(() => stop());
    });
  });

/**
 * Nothing of the event is indexed, so all that a house sent is read, the newest first.
 * @param {House} house
 * @param {string} hash
 */
async function findIn(house, hash) {
  const { head } = house.l2;
  for (let to = head; to >= 0 && to > head - SEARCHED_BLOCKS; to -= PAGE_BLOCKS) {
    const found = await findBetween(house, hash, Math.max(0, to - PAGE_BLOCKS + 1), to);
    if (found) return found;
  }
  return null;
}

/**
 * @param {House} house
 * @param {string} hash
 * @param {number} from
 * @param {number} to
 */
async function findBetween(house, hash, from, to) {
  const filter = {
    address: INTEROP_CENTER,
    topics: [topicOf("InteropCenter", "InteropBundleSent")],
    fromBlock: hex(from),
    toBlock: hex(to),
  };
  const logs = await house.floor.call("eth_getLogs", filter);
  // The hash is the second word of the data.
  const log = logs.find((/** @type {any} */ it) => it.data.slice(66, 130) === hash.slice(2));
  return log ? bundleOf(log, house) : null;
}

/**
 * Find an older one: the transaction that ran it names its chain and its batch.
 * @param {string} hash
 */
async function findByEnd(hash) {
  for (const { floor } of live.houses) {
    const filter = { address: INTEROP_HANDLER, topics: [null, hash], fromBlock: "0x0", toBlock: "latest" };
    const [log] = (await floor.maybe("eth_getLogs", filter)) ?? [];
    const tx = log && (await floor.maybe("eth_getTransactionByHash", log.transactionHash));
    const call = tx && decodeCall(tx.to, tx.input, floor.name);
    const [chain, batch] = call?.values[1] ?? [];
    const house = chain && floorOf(String(chain)) ? houseOf(String(chain)) : null;
    const range = house && batch ? await house.floor.maybe("zks_getL1BatchBlockRange", Number(batch)) : null;
    if (house && range) return findBetween(house, hash, int(range[0]), int(range[1]));
  }
  return null;
}
