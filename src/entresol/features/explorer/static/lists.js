/** All blocks and all transactions of a floor, or of all floors together, page by page. */

import { learnContracts } from "./compiled.js";
import { deed } from "./describe.js";
import { h, show } from "./dom.js";
import { feed, PAGE, pages } from "./feed.js";
import { ago, amount, big, byOurClock, count, hex, int, price } from "./format.js";
import { isChosen, whoseChoice } from "./newest.js";
import { firstOf, floorOf, floors, tokenAt } from "./rpc.js";
import { addressLink, badge, blockLink, empty, section, txLink } from "./view.js";

/** @typedef {import("./rpc.js").Floor} Floor */
/** @typedef {{floor: Floor, it: any}} Entry a block, or a transaction */

/**
 * @param {string | undefined} layer
 * @param {string} what
 * @returns {import("./main.js").Page}
 */
export function page(layer, what) {
  const floor = layer && floorOf(layer);
  const chosen = floor ? [floor] : floors();
  const title = `All ${what}`;
  const list = what === "blocks" ? blockList : transactionList;
  const place = h("div");
  const draw = () =>
    show(
      place,
      section("Newest first", () => list(chosen), { aside: what === "blocks" ? null : whose, rows: 12 }),
    );
  const whose = whoseChoice(draw);
  draw();
  return {
    title,
    body: [h("p.crumbs", h("span", floor ? floor.title : "On all floors")), h("h1.plain", title), place],
  };
}

/** @param {Entry} entry */
const timeOf = ({ floor, it }) => byOurClock(int(it.timestamp), floor.name);

/** @param {Floor[]} chosen */
function blockList(chosen) {
  return pages(
    feed(chosen.map(blocksOf), timeOf),
    "Blocks",
    [
      ["", ""],
      ["Block"],
      ["Transactions", "end"],
      ["Gas used", "end mid-column"],
      ["Base fee", "end mid-column"],
      ["Age", "end"],
    ],
    ({ floor, it }) =>
      h(
        "tr",
        h("td", badge(floor.name)),
        h("td", blockLink(floor.name, int(it.number))),
        h("td.end", count(it.transactions.length)),
        h("td.end.mid-column", count(int(it.gasUsed))),
        h("td.end.mid-column", price(big(it.baseFeePerGas), tokenAt(floor.name)).join(" ")),
        h("td.end.muted", ago(int(it.timestamp), floor.name)),
      ),
  );
}

/**
 * Blocks back to the first; a cursor is the number of the next one.
 * @param {Floor} floor
 * @returns {import("./feed.js").Source<Entry>}
 */
const blocksOf = (floor) => async (cursor) => {
  const last = cursor === null ? int(await floor.call("eth_blockNumber")) : Number(cursor);
  const first = Math.max(firstOf(floor), last - PAGE + 1);
  const numbers = Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => last - at);
  const found = await Promise.all(numbers.map((it) => floor.call("eth_getBlockByNumber", hex(it), false)));
  const items = found.filter(Boolean).map((it) => ({ floor, it }));
  return { items, next: first > firstOf(floor) ? String(first - 1) : null };
};

/** @param {Floor[]} chosen */
async function transactionList(chosen) {
  const readable = chosen.filter((it) => !it.remote);
  if (!readable.length)
    return empty("Not listed here", "This layer 1 runs elsewhere; its transactions are on the pages of its blocks.");
  const list = feed(readable.map(transactionsOf), timeOf);
  await list.load(1);
  if (!list.all.length) return empty("No transaction here", "One shows here as soon as a block has it.");
  return pages(
    list,
    "Transactions",
    [["", ""], ["Hash"], ["What"], ["From", "mid-column"], ["To", "mid-column"], ["Value", "end"], ["Age", "end"]],
    ({ floor, it }) =>
      h(
        "tr",
        h("td", badge(floor.name)),
        h("td", txLink(floor.name, it.hash)),
        h("td", deed(it, floor.name), it.succeeded ? null : h("span.badge.bad", "failed")),
        h("td.mid-column", addressLink(it.from, floor.name, { copies: false })),
        h("td.mid-column", addressLink(it.to, floor.name, { copies: false })),
        h("td.end.mono", big(it.value) ? amount(big(it.value), tokenAt(floor.name)) : "0"),
        h("td.end.muted", ago(int(it.timestamp), floor.name)),
      ),
  );
}

/**
 * @param {Floor} floor
 * @returns {import("./feed.js").Source<Entry>}
 */
const transactionsOf = (floor) => async (cursor) => {
  const { transactions, next } = await floor.call("entresol_getTransactions", cursor, PAGE);
  const items = transactions.map(async (/** @type {any} */ it) => {
    // Their input, which says what they do.
    const tx = await floor.maybe("eth_getTransactionByHash", it.hash);
    return { floor, it: { ...(tx ?? { input: it.selector }), ...it } };
  });
  const [found] = await Promise.all([
    Promise.all(items),
    learnContracts(
      floor,
      transactions.map((/** @type {any} */ it) => it.to),
    ),
  ]);
  return { items: found.filter(({ it }) => isChosen(it)), next };
};
