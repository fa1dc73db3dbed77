/** A block: header and transactions. */

import { learnContracts } from "./compiled.js";
import { deed, hasFailedIn, pastNote } from "./describe.js";
import { h, table } from "./dom.js";
import { ago, amount, big, byteLength, count, hex, int, moment, plural, price, short, textOf } from "./format.js";
import { isPast, stateOf } from "./houses.js";
import { batchHref, floorOf, isUpper, node, tokenAt } from "./rpc.js";
import { addressLink, copyButton, crumb, empty, facts, txLink } from "./view.js";

/**
 * @param {string} layer
 * @param {string} id a number, a tag or a hash
 * @returns {Promise<import("./main.js").Page>}
 */
export async function page(layer, id) {
  const floor = floorOf(layer);
  if (!floor) return missing(layer, id);
  const isHash = id.length === 66;
  const wanted = /^\d+$/.test(id) ? hex(Number(id)) : id;
  const method = isHash ? "eth_getBlockByHash" : "eth_getBlockByNumber";
  let block;
  try {
    block = await floor.call(method, wanted, true);
  } catch (error) {
    if (!floor.fork || !(isHash || isPast(layer, wanted))) throw error;
    return (await import("./foundation.js")).notKept(`Block ${isHash ? short(id) : count(Number(id))}`, error);
  }
  if (!block) return missing(layer, id);
  const number = int(block.number);
  const title = `Block ${count(number)}`;
  const state = stateOf(layer);
  const before = number > 0 ? h("a.before", { href: `#/${layer}/block/${number - 1}` }, "← Before") : null;
  const after =
    number < state.head || state.head < 0 ? h("a.after", { href: `#/${layer}/block/${number + 1}` }, "After →") : null;
  const [found] = await Promise.all([
    floor.maybe("eth_getBlockReceipts", hex(number)),
    learnContracts(
      floor,
      block.transactions.map((/** @type {any} */ it) => it.to),
    ),
  ]);
  const receipts = found ?? [];
  const failed = new Set(receipts.filter(hasFailedIn).map((/** @type {any} */ it) => it.transactionHash));
  return {
    title: `${title} of ${node.several && isUpper(layer) ? floor.title : `L${floor.layer}`}`,
    body: /** @type {any[]} */ ([
      h("div.crumbs", h("span", crumb(layer), " / block"), h("nav", { "aria-label": "Neighbours" }, before, after)),
      h("h1.plain", title),
      h("p.whole-line", h("span.whole", block.hash), copyButton(block.hash, "the hash")),
      pastNote(floor, number),
      h("section.part", header(block, layer)),
      h(
        "section.part",
        h("header", h("h2", "Transactions"), h("span.muted", count(block.transactions.length))),
        list(block.transactions, layer, failed),
      ),
    ]).filter(Boolean),
  };
}

/**
 * @param {any} block
 * @param {string} layer
 */
function header(block, layer) {
  const [used, limit] = [int(block.gasUsed), int(block.gasLimit)];
  // Blocks of other chains may lack what Ethereum's have.
  const extra = block.extraData ?? "0x";
  const text = textOf(extra);
  const isOurs = !isPast(layer, block.number);
  const batch = isOurs ? block.l1BatchNumber : null;
  return facts([
    ["When", [moment(int(block.timestamp)), " ", h("span.muted", ago(int(block.timestamp), layer, " ago"))]],
    [
      "Batch",
      isUpper(layer) && isOurs
        ? batch
          ? h("a.mono", { href: batchHref(layer, int(batch)) }, count(int(batch)))
          : h("span.muted", "open: it is not sealed yet")
        : null,
    ],
    ["Gas used", `${count(used)} of ${count(limit)}, ${((100 * used) / (limit || 1)).toFixed(1)} %`],
    ["Base fee", price(big(block.baseFeePerGas), tokenAt(layer)).join(" ")],
    ["Fees to", block.miner ? addressLink(block.miner, layer) : null],
    [
      "Parent",
      int(block.number)
        ? h("a.mono", { href: `#/${layer}/block/${int(block.number) - 1}` }, block.parentHash)
        : h("span.mono", block.parentHash),
    ],
    ["State root", h("span.mono", block.stateRoot ?? "–")],
    ["Extra data", extra === "0x" ? null : h("span.mono", text ?? `${byteLength(extra)} bytes`)],
    ["Size", block.size ? `${count(int(block.size))} bytes` : null],
  ]);
}

/**
 * @param {any[]} transactions
 * @param {string} layer
 * @param {Set<string>} failed
 */
export function list(transactions, layer, failed) {
  if (!transactions.length) return empty("An empty block", "It has no transactions.");
  const rows = transactions.slice(0, 500).map((tx) => {
    return h(
      "tr",
      h("td", txLink(layer, tx.hash)),
      h("td", deed(tx, layer), failed.has(tx.hash) ? h("span.badge.bad", "failed") : null),
      h("td.mid-column", addressLink(tx.from, layer)),
      h("td.mid-column", addressLink(tx.to, layer)),
      h("td.end", big(tx.value) && !failed.has(tx.hash) ? amount(big(tx.value), tokenAt(layer)) : "0"),
    );
  });
  const grid = table(
    "Transactions",
    [["Hash"], ["What"], ["From", "mid-column"], ["To", "mid-column"], ["Value", "end"]],
    rows,
  );
  return transactions.length > 500
    ? h(
        "div",
        grid,
        h("p.muted.small", `${plural(transactions.length - 500, "more transaction")}: the console has them all.`),
      )
    : grid;
}

/**
 * @param {string} layer
 * @param {string} id
 * @returns {import("./main.js").Page}
 */
function missing(layer, id) {
  return {
    title: "No such block",
    body: h(
      "div.empty",
      h("h1", "No such block"),
      h(
        "p",
        `${node.several ? (floorOf(layer)?.title ?? "No house") : `Layer ${layer[1]}`} has no block ${id}. It may be gone with a revert, or not be sealed yet.`,
      ),
      h("div.actions", h("a.button", { href: `#/${layer}/block/latest` }, "Latest block")),
    ),
  };
}
