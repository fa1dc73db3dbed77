/** The newest transactions of some floors, live. */

import { called, deed, hasFailed } from "./describe.js";
import { choice, h, isHeld, keyed, show, table } from "./dom.js";
import { ago, amount, big, byOurClock, int } from "./format.js";
import { live, ROOT_IMPORT, stateOf } from "./houses.js";
import { isUpper, node, tokenAt } from "./rpc.js";
import { addressLink, badge, empty, txLink } from "./view.js";

const ROWS = 8;

// Whose transactions are shown: people's first, those that the node sends for the rollup on demand.
let who = "people";

/**
 * Whether the node sent a transaction by itself: a step of settlement, or roots of other chains.
 * @param {any} tx
 */
const isOperators = (tx) => int(tx.type) === ROOT_IMPORT || operators().includes(tx.from);

/** @returns {string[]} */
const operators = () =>
  [...node.info.operators, ...node.info.chains.flatMap((it) => it.operators)].map((it) => it.toLowerCase());

/**
 * Whether a transaction is of those that were chosen: of users, of the operator, or of all.
 * @param {any} tx
 */
export const isChosen = (tx) => who === "all" || !operators().length || isOperators(tx) === (who === "operator");

/**
 * Whose transactions are shown, here and in the list of all; null if all are users'.
 * @param {() => void} onchosen
 */
export const whoseChoice = (onchosen) =>
  operators().length
    ? choice(
        "Whose",
        [
          ["people", "Users"],
          ["operator", "Operator"],
          ["all", "All"],
        ],
        who,
        (it) => {
          who = it;
          onchosen();
        },
      )
    : null;

/**
 * The newest transactions of some floors.
 * @param {import("./rpc.js").Floor[]} both
 */
export function transactions(both) {
  let layer = "both";
  /** @type {any[]} */
  let shown = [];
  const body = h("tbody");
  const more = h("button.small.fresh", { type: "button", hidden: true, onclick: () => draw(true) });
  const options = /** @type {[string, any][]} */ ([
    ["both", both.length > 2 ? "All" : "Both"],
    ...both.map((it) => [it.name, node.several && isUpper(it.name) ? it.title : `L${it.layer}`]),
  ]);
  const pick =
    both.length > 1
      ? choice("Layer", options, layer, (it) => {
          layer = it;
          draw(true);
        })
      : null;
  const whose = whoseChoice(() => draw(true));
  const holder = h("div");
  const columns = /** @type {[string, string?][]} */ ([
    ["", ""],
    ["Hash"],
    ["What"],
    ["From", "mid-column"],
    ["To", "mid-column"],
    ["Value", "end"],
    ["Age", "end"],
  ]);
  const grid = table("Newest transactions", columns, []);
  grid.querySelector("tbody")?.replaceWith(body);
  const element = h(
    "section.part",
    h(
      "header",
      h("h2", "Transactions"),
      h("div.actions", more, whose, pick, h("a", { href: "#/transactions" }, "See all")),
    ),
    holder,
  );
  const newest = () =>
    both
      .filter((it) => layer === "both" || it.name === layer)
      .flatMap((it) =>
        [...stateOf(it.name).blocks.values()].flatMap((block) =>
          block.txs.filter(isChosen).map((tx) => ({ tx, layer: it.name, block })),
        ),
      )
      .sort(
        (a, b) =>
          byOurClock(b.block.at, b.layer) - byOurClock(a.block.at, a.layer) ||
          b.block.number - a.block.number ||
          Number(b.tx.transactionIndex) - Number(a.tx.transactionIndex),
      )
      .slice(0, ROWS);
  /** @type {Set<string>} the contracts that were asked for, by layer and address */
  const asked = new Set();
  /** @param {ReturnType<typeof newest>} items */
  async function learn(items) {
    const placeOf = (/** @type {typeof items[0]} */ { layer, tx }) => layer + tx.to;
    const wanted = items.filter((it) => it.tx.to && it.tx.input !== "0x" && !asked.has(placeOf(it)));
    if (!wanted.length) return;
    for (const it of wanted) asked.add(placeOf(it));
    const { learnContracts } = await import("./compiled.js");
    const of = (/** @type {string} */ name) => wanted.filter((it) => it.layer === name).map((it) => it.tx.to);
    await Promise.all(both.map((it) => learnContracts(it, of(it.name))));
    draw();
  }
  /** @param {boolean} [forced] */
  function draw(forced = false) {
    if (!live.ready) return;
    const found = newest();
    const held = !forced && shown.length > 0 && isHeld(body);
    const fresh = found.filter((it) => !shown.some((old) => old.tx.hash === it.tx.hash)).length;
    more.hidden = !(held && fresh);
    if (held && fresh) {
      show(more, `${fresh} new`);
      return;
    }
    shown = found;
    if (!found.length) {
      show(
        holder,
        empty(
          "Nothing has happened yet",
          whose && who === "people"
            ? "Your first transaction shows here; what the node sends to settle is the operator’s."
            : both.length > 1
              ? "A transaction shows here as soon as a block has it."
              : "The first block shows here.",
        ),
      );
      return;
    }
    if (!grid.isConnected) show(holder, grid);
    keyed(
      body,
      found,
      (it) => it.layer + it.tx.hash,
      (it) => [it.block.hash, hasFailed(it.layer, it.tx), it.tx.to && called(it.tx.to, it.layer)],
      rowOf,
    );
    learn(found).catch(console.info);
  }
  return { element, draw };
}

/** @param {{tx: any, layer: string, block: import("./houses.js").Block}} item */
function rowOf({ tx, layer, block }) {
  const failed = hasFailed(layer, tx);
  const value = failed ? 0n : big(tx.value);
  return h(
    "tr",
    h("td", badge(layer)),
    h("td", txLink(layer, tx.hash)),
    h("td", deed(tx, layer), failed ? h("span.badge.bad", "failed") : null),
    h("td.mid-column", addressLink(tx.from, layer, { copies: false })),
    h("td.mid-column", addressLink(tx.to, layer, { copies: false })),
    h("td.end", value ? amount(value, tokenAt(layer)) : "0"),
    h("td.end.muted", ago(block.at, layer)),
  );
}
