/** Whether transactions succeeded, which their blocks do not say: fetched once for those that are shown. */

import { int } from "./format.js";
import { changed } from "./live.js";
import { floorOf } from "./rpc.js";

const MAX = 1000;

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
  if (outcomes.size > MAX) outcomes.clear();
  const failed = int(receipt.status) === 0;
  outcomes.set(key, failed);
  if (failed) changed();
}
