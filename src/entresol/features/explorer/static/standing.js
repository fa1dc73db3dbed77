/** Where a batch stands, and what is in it: the pillar with a word for each segment. */

import { h, show } from "./dom.js";
import { ago, count, int, short } from "./format.js";
import { houseOf, STAGES } from "./houses.js";
import { watch } from "./live.js";
import { batchHref, node } from "./rpc.js";
import { pillar } from "./view.js";

/**
 * @param {import("./houses.js").House} house
 * @param {import("./houses.js").Batch | null} batch
 * @returns {Node[]}
 */
export function pillarNotes(house, batch) {
  const stage = batch?.stage ?? 0;
  const times = batch ? [batch.at, batch.committed, batch.proven, batch.executed] : [];
  const notes = STAGES.slice(1).map((name, at) => {
    if (!batch || at >= stage) return h("li", h("p.muted", name), h("p.small.faint", at === stage ? "pending" : ""));
    const hash = at ? batch.hashes[at - 1] : null;
    const link = hash
      ? h("a.mono", { href: `#/l1/tx/${hash}`, title: hash }, short(hash))
      : h("a", { href: batchHref(house.name, batch.number) }, `batch ${count(batch.number)}`);
    return h("li", h("p", name), h("p.small.muted", link, ", ", ago(times[at], at ? "l1" : house.name, " ago")));
  });
  const end = stage === 4 ? "It stands on the ground floor: it is final." : "Final when it stands on the ground floor.";
  const drawing = h("div.batch", pillar(stage), h("ol", notes));
  return [h("div.slab.l2"), drawing, h("div.slab.l1"), h("p.small.muted", end)];
}

/**
 * Where a transaction of layer 2 stands: its block, and the pillar of its batch.
 * @param {string} layer
 * @param {any} tx
 */
export function standing(layer, tx) {
  if (!node.l1) return null;
  const house = houseOf(layer);
  const body = h("div");
  const number = int(tx.blockNumber);
  const tile = () =>
    h("a.tile.l2", { href: `#/${layer}/block/${number}` }, h("b", count(number)), h("span", "its block"));
  let batchNumber = int(tx.l1BatchNumber);
  let drawn = -1;
  let fetching = false;
  const draw = async () => {
    if (drawn === 4 || fetching || !tx.blockNumber) return;
    fetching = true;
    try {
      if (!batchNumber)
        batchNumber = int((await house.floor.maybe("eth_getTransactionReceipt", tx.hash))?.l1BatchNumber);
      const batch = batchNumber ? await house.loadBatch(batchNumber) : null;
      const stage = batch?.stage ?? 0;
      if (stage !== drawn) show(body, tile(), pillarNotes(house, batch));
      drawn = stage;
    } finally {
      fetching = false;
    }
  };
  return { element: h("section.stand", h("header", h("h2", "Where it stands")), body), leave: watch(draw) };
}
