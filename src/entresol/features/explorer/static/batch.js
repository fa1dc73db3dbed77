/** A batch: its pillar, its blocks, its message tree, its three transactions on layer 1. */

import { differs, h, show, table } from "./dom.js";
import { ago, count, hex, int, plural, short, size } from "./format.js";
import { houseOf, STAGES } from "./houses.js";
import { watch } from "./live.js";
import { leavesOf, treePart } from "./proof.js";
import { batchHref, node } from "./rpc.js";
import { pillarNotes } from "./standing.js";
import { blockLink, crumb, facts, section } from "./view.js";

const MAX_BLOCKS = 200;

/**
 * @param {string} layer of its chain
 * @param {number} number
 * @returns {Promise<import("./main.js").Page>}
 */
export async function page(layer, number) {
  const house = houseOf(layer);
  const { name } = house;
  const batch = number ? await house.loadBatch(number).catch(() => null) : null;
  if (!batch)
    return {
      title: "No such batch",
      body: h(
        "div.empty",
        h("h1", "No such batch"),
        h("p", `Batch ${count(number)} is not sealed, or gone with a revert.`),
        h("div.actions", h("a.button", { href: "#/" }, "To the floors")),
      ),
    };
  const rail = h("section.stand");
  const gas = h("div");
  const leave = watch(() => {
    house.loadBatch(number).then(
      (it) => it && draw(rail, gas, house, it),
      () => {},
    );
  });
  const neighbours = h(
    "nav",
    { "aria-label": "Neighbours" },
    number > 1 ? h("a.before", { href: batchHref(name, number - 1) }, "← Before") : null,
    number < house.sealed || !house.sealed ? h("a.after", { href: batchHref(name, number + 1) }, "After →") : null,
  );
  return {
    title: `Batch ${count(number)}`,
    leave,
    body: [
      h("div.crumbs", h("span", node.several ? crumb(name) : "Entresol", " / batch"), neighbours),
      h("h1.plain", `Batch ${count(number)}`),
      h(
        "div.with-rail",
        h(
          "div",
          h(
            "section.part",
            facts([
              ["Sealed", ago(batch.at, name, " ago")],
              [
                "Blocks",
                [
                  blockLink(name, batch.first),
                  batch.last > batch.first ? [" to ", blockLink(name, batch.last)] : null,
                ].flat(),
              ],
              ["Transactions", `${count(batch.l2Txs)} of layer 2, ${plural(batch.l1Txs, "deposit")}`],
              ["Published", published(batch)],
              ["L1 gas", gas],
              ["State root", h("span.mono", batch.root)],
            ]),
          ),
          section("Messages", async () => {
            const leaves = await leavesOf(house.floor, batch);
            return leaves?.length === 0
              ? h("p.muted", "Nothing goes down from this batch.")
              : treePart(number, leaves, null);
          }),
          section("Blocks", () => blocksOf(house, batch)),
        ),
        h("aside.rail", rail),
      ),
    ],
  };
}

/**
 * @param {import("./houses.js").House} house
 * @param {import("./houses.js").Batch} batch
 */
async function blocksOf({ name, floor }, { first, last }) {
  const numbers = Array.from({ length: Math.min(MAX_BLOCKS, last - first + 1) }, (_, at) => last - at);
  const counts = await Promise.all(numbers.map((it) => floor.call("eth_getBlockTransactionCountByNumber", hex(it))));
  const rows = numbers.map((it, at) =>
    h("tr", h("td", blockLink(name, it)), h("td.end", plural(int(counts[at]), "transaction"))),
  );
  const more = last - first + 1 - numbers.length;
  return [
    table("Blocks of the batch", [["Block"], ["Transactions", "end"]], rows),
    ...(more ? [h("p.muted.small", `${count(more)} more before them`)] : []),
  ];
}

/**
 * What of it is on layer 1, and how much of that a transaction takes.
 * @param {import("./houses.js").Batch} batch
 */
function published({ scheme, bytes, l1Txs, l2Txs }) {
  if (scheme === "none") return h("span.warn", "nothing: the operator alone has its transactions");
  const each = l2Txs ? `, ${size(Math.round(bytes / l2Txs))} a transaction of layer 2` : "";
  return `${count(bytes)} bytes as ${scheme}${each}${!l2Txs && l1Txs ? ", deposits are on layer 1 already" : ""}`;
}

/**
 * What layer 1 took for each step, with the transaction that did it.
 * @param {import("./houses.js").Batch} batch
 */
function steps({ hashes, gas }) {
  const taken = hashes.map((hash, at) =>
    hash
      ? h(
          "div",
          `${STAGES[at + 2]}: `,
          gas[at] === null ? "not known" : count(gas[at] ?? 0),
          " ",
          h("a.mono", { href: `#/l1/tx/${hash}`, title: hash }, short(hash)),
        )
      : null,
  );
  if (!hashes[0]) return [h("span.muted", "not committed yet")];
  return [...taken, hashes[1] ? h("p.small.muted", "One transaction may prove or execute several batches.") : null];
}

/**
 * @param {Element} element
 * @param {Element} gas
 * @param {import("./houses.js").House} house
 * @param {import("./houses.js").Batch} batch
 */
function draw(element, gas, house, batch) {
  if (!differs(element, `${batch.stage}`)) return;
  show(element, h("header", h("h2", STAGES[batch.stage])), pillarNotes(house, batch));
  show(gas, ...steps(batch));
}
