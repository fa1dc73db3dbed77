/** Charts: what blocks use and cost, and what batches publish and take on layer 1. Each has its numbers as a table. */

import { BARS, figure } from "./bars.js";
import { choice, differs, h, show } from "./dom.js";
import { big, count, hex, int, moment, price, units } from "./format.js";
import { stateOf } from "./houses.js";
import { watch } from "./live.js";
import { floorOf, floors, isUpper, node, tokenAt, toneOf } from "./rpc.js";
import { empty, errorBox } from "./view.js";

/** @typedef {import("./rpc.js").Floor} Floor */
/** @typedef {import("./bars.js").Chart} Chart */

// The node stops reading after two seconds.
const MAX_PAGES = 6;
const SIZES = [1, 10, 100, 1000];

/**
 * @param {string} [layer]
 * @returns {import("./main.js").Page}
 */
export function page(layer) {
  const able = floors().filter((it) => !it.remote);
  let floor = able.find((it) => it === (layer && floorOf(layer))) ?? able[0];
  let size = SIZES[0];
  /** @type {(number | null)[]} the last block of each newer page, and of this one */
  let ends = [null];
  const body = h("div.charts");
  const turn = h("p.pager.split");
  let visit = 0;
  let isLoading = false;
  const load = async () => {
    const mine = ++visit;
    isLoading = true;
    try {
      const end = ends[ends.length - 1];
      const [{ buckets, next }, batches] = await Promise.all([blocksOf(floor, size, end), batchesOf(floor)]);
      if (mine !== visit) return;
      const found = [...blockCharts(buckets, floor), ...batchCharts(batches)];
      const open = new Set([...body.querySelectorAll("details[open]")].map((it) => it.getAttribute("aria-label")));
      show(
        body,
        found.map((it) => figure(it, toneOf(floor.name), open)),
      );
      const move = (/** @type {string} */ text, /** @type {boolean} */ disabled, /** @type {() => void} */ to) =>
        h("button.small", { type: "button", disabled, onclick: () => [to(), load()] }, text);
      show(
        turn,
        h("span.muted", rangeOf(buckets)),
        h(
          "span",
          move("Newer", ends.length === 1, () => ends.pop()),
          " ",
          move("Older", next === null, () => ends.push(next)),
        ),
      );
    } catch (error) {
      console.info(error);
      if (mine === visit) show(body, errorBox(error, load));
    }
    isLoading = mine === visit ? false : isLoading;
  };
  const again = () => {
    ends = [null];
    load();
  };
  const nameOf = (/** @type {Floor} */ it) => (node.several && isUpper(it.name) ? it.name : `L${it.layer}`);
  const pick = choice(
    "Chain",
    able.map((it) => [it.name, nameOf(it)]),
    floor?.name,
    (it) => {
      floor = /** @type {Floor} */ (floorOf(it));
      again();
    },
  );
  const sizes = choice(
    "Blocks in a bar",
    SIZES.map((it) => [`${it}`, count(it)]),
    `${size}`,
    (it) => {
      size = Number(it);
      again();
    },
  );
  const head = h(
    "div.head",
    h("div", h("h1", "Charts"), h("p.muted", "What the blocks of a chain use and cost, and what its batches do.")),
    h("div.actions", able.length > 1 ? pick : null, h("span.small.muted", "blocks in a bar"), sizes),
  );
  if (!floor)
    return {
      title: "Charts",
      body: [h("h1", "Charts"), empty("Not drawn here", "This layer 1 runs elsewhere: its node has no statistics.")],
    };
  const leave = watch(() => {
    // A page that is turned back stays as it is.
    const now = `${floor.name}${size}${stateOf(floor.name).head}`;
    if (!isLoading && ends.length === 1 && differs(body, now)) load();
  });
  return { title: "Charts", leave, body: [head, turn, body] };
}

/**
 * Buckets of blocks, the oldest first. A page that the node has cut is completed.
 * @param {Floor} floor
 * @param {number} size
 * @param {number | null} end
 * @returns {Promise<{buckets: any[], next: number | null}>}
 */
async function blocksOf(floor, size, end) {
  /** @type {any[]} */
  const buckets = [];
  let next = end === null ? null : hex(end);
  for (let page = 0; page < MAX_PAGES && buckets.length < BARS; page++) {
    const found = await floor.call("entresol_getBlockStatistics", hex(size), next, hex(BARS - buckets.length));
    for (const it of found.buckets) {
      const last = buckets[buckets.length - 1];
      const isSame = last && Math.floor(int(last.fromBlock) / size) === Math.floor(int(it.fromBlock) / size);
      if (isSame) buckets[buckets.length - 1] = together(last, it);
      else buckets.push(it);
    }
    next = found.next;
    if (next === null) break;
  }
  return { buckets: buckets.reverse(), next: next === null ? null : int(next) };
}

/**
 * Two parts of a bucket, the newer one first.
 * @param {any} a
 * @param {any} b
 */
function together(a, b) {
  const sum = (/** @type {string} */ name) => hex(big(a[name]) + big(b[name]));
  const blocks = (/** @type {any} */ it) => big(it.toBlock) - big(it.fromBlock) + 1n;
  const mean = (big(a.baseFeeMean) * blocks(a) + big(b.baseFeeMean) * blocks(b)) / (blocks(a) + blocks(b));
  return {
    ...a,
    fromBlock: b.fromBlock,
    transactions: sum("transactions"),
    gasUsed: sum("gasUsed"),
    gasLimit: sum("gasLimit"),
    baseFeeMin: big(a.baseFeeMin) < big(b.baseFeeMin) ? a.baseFeeMin : b.baseFeeMin,
    baseFeeMax: big(a.baseFeeMax) > big(b.baseFeeMax) ? a.baseFeeMax : b.baseFeeMax,
    baseFeeMean: hex(mean),
  };
}

/**
 * The last batches, the oldest first; none of a chain without them.
 * @param {Floor} floor
 */
const batchesOf = async (floor) =>
  floor.layer === 1
    ? []
    : ((await floor.maybe("entresol_getBatchStatistics", null, hex(BARS)))?.batches ?? []).reverse();

/** @param {any} it */
const labelOf = (it) =>
  it.fromBlock === it.toBlock ? count(int(it.toBlock)) : `${count(int(it.fromBlock))} to ${count(int(it.toBlock))}`;

/** @param {any[]} buckets */
const rangeOf = (buckets) =>
  buckets.length
    ? `Blocks ${count(int(buckets[0].fromBlock))} to ${count(int(buckets[buckets.length - 1].toBlock))}`
    : "No block yet";

/**
 * @param {any[]} buckets
 * @param {Floor} floor
 * @returns {Chart[]}
 */
function blockCharts(buckets, floor) {
  const fee = (/** @type {string} */ it) => price(big(it), tokenAt(floor.name)).join(" ");
  const bars = (/** @type {string} */ name, /** @type {(it: any) => string} */ write) =>
    buckets.map((it) => ({
      label: `block ${labelOf(it)}`,
      value: int(it[name]),
      text: write(it),
      at: int(it.timestamp),
    }));
  const share = (/** @type {any} */ it) =>
    `${count(big(it.gasUsed))} gas, ${units((big(it.gasUsed) * 1000n) / (big(it.gasLimit) || 1n), 1, 1)} %`;
  const cells = (/** @type {(it: any) => any[]} */ write) => buckets.map((it) => [labelOf(it), ...write(it)]);
  return [
    {
      title: "Gas used",
      about: "and how much of the limit that is",
      bars: bars("gasUsed", share),
      columns: ["Blocks", "Gas used", "Gas limit"],
      rows: cells((it) => [count(big(it.gasUsed)), count(big(it.gasLimit))]),
    },
    {
      title: "Base fee",
      about: "the mean",
      bars: bars("baseFeeMean", (it) => fee(it.baseFeeMean)),
      columns: ["Blocks", "Lowest", "Mean", "Highest"],
      rows: cells((it) => [fee(it.baseFeeMin), fee(it.baseFeeMean), fee(it.baseFeeMax)]),
    },
    {
      title: "Transactions",
      about: "",
      bars: bars("transactions", (it) => count(int(it.transactions))),
      columns: ["Blocks", "Transactions", "Time of the last block"],
      rows: cells((it) => [count(int(it.transactions)), moment(int(it.timestamp))]),
    },
  ];
}

/**
 * @param {any[]} batches
 * @returns {Chart[]}
 */
function batchCharts(batches) {
  if (!batches.length) return [];
  const gas = (/** @type {any} */ it) => int(it.commitGasUsed) + int(it.proveGasUsed) + int(it.executeGasUsed);
  const known = (/** @type {any} */ it) => (it === null ? "–" : count(int(it)));
  const bars = (/** @type {(it: any) => number} */ of, /** @type {string} */ unit) =>
    batches.map((it) => ({
      label: `batch ${count(int(it.number))}`,
      value: of(it),
      text: `${count(of(it))} ${unit}`,
      at: int(it.timestamp),
    }));
  return [
    {
      title: "Bytes of batches",
      about: "published on layer 1",
      bars: bars((it) => int(it.pubdataBytes), "bytes"),
      columns: ["Batch", "Bytes", "Blocks", "Transactions"],
      rows: batches.map((it) => [it.number, it.pubdataBytes, it.blocks, it.transactions].map((one) => count(int(one)))),
    },
    {
      title: "Cost of batches",
      about: "gas on layer 1; steps may be of several batches",
      bars: bars(gas, "gas"),
      columns: ["Batch", "Commit", "Prove", "Execute"],
      rows: batches.map((it) => [
        count(int(it.number)),
        ...[it.commitGasUsed, it.proveGasUsed, it.executeGasUsed].map(known),
      ]),
    },
  ];
}
