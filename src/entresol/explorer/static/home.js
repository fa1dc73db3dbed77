/** Home: the floors, what just happened, how long finality takes. */

import { crossings, followCrossings, isClaimable, isMoving } from "./crossings.js";
import { what } from "./describe.js";
import { choice, differs, h, isHeld, keyed, s, show } from "./dom.js";
import { open } from "./events.js";
import { ago, big, byOurClock, clockOffset, count, gwei, plural, units } from "./format.js";
import { house } from "./house.js";
import { live, watch } from "./live.js";
import { hasFailed } from "./outcomes.js";
import { floors, node } from "./rpc.js";
import { addressLink, badge, empty, table, txLink } from "./view.js";

const ROWS = 8;

/** @returns {import("./main.js").Page} */
export function page() {
  followCrossings();
  const drawing = house();
  const pulse = h("dl.pulse");
  const finality = h("div");
  const state = h("div");
  const list = transactions();
  const body = [
    h("h1.unseen", "Floors"),
    pulse,
    drawing.element,
    h(
      "div.columns",
      list.element,
      node.l2 && node.l1
        ? h(
            "aside",
            h("section.part", h("header", h("h2", "Finality"), h("span.muted", "seconds, last 30 batches")), finality),
            state,
          )
        : h("aside", state),
    ),
  ];
  const leave = watch(() => {
    drawing.draw();
    list.draw();
    drawPulse(pulse);
    drawFinality(finality);
    drawNode(state);
  });
  return { title: "Floors", body, leave };
}

/** @returns {number[]} the seconds to finality, the newest batch last */
function finalities() {
  const done = [...live.batches.values()].filter((it) => it.stage === 4).sort((a, b) => a.number - b.number);
  // A batch is sealed by the clock of layer 2, and executed by that of layer 1.
  const apart = Math.abs(clockOffset("l1") - clockOffset("l2")) > 5;
  return done.slice(-30).map((it) => Math.max(0, it.executed - (apart ? it.committed : Math.min(it.committed, it.at))));
}

/** @returns {[string, any[], string][]} what a chain alone shows in place of finality */
function aloneCells() {
  const { head, blocks } = live[node.own.name === "l1" ? "l1" : "l2"];
  const block = blocks.get(head);
  const used = block ? `${Math.round((100 * block.gas) / block.limit)} % of its gas` : "";
  return [
    ["Newest block", [count(head)], `${plural(block?.txs.length ?? 0, "transaction")}, ${used}`],
    ["Pending", [`${count(live.pending)} `, h("small", "tx")], "in the pool"],
  ];
}

/** @param {Element} element */
function drawPulse(element) {
  if (!live.ready) return;
  const both = node.l1 && node.l2;
  const durations = finalities().sort((a, b) => a - b);
  const median = durations.length ? durations[Math.floor(durations.length / 2)] : null;
  const moving = crossings().filter(isMoving);
  const early = live.l2.head - Math.max(0, live.executedBlock);
  const claim = crossings().filter(isClaimable).length;
  const ups = moving.filter((it) => it.kind === "deposit").length;
  /** @type {[string, any[], string][]} */
  const cells = [];
  if (both) {
    cells.push([
      "Final on L1 after",
      median === null ? ["–"] : [`${count(median)} `, h("small", "s")],
      `median of ${plural(durations.length, "batch", "batches")}`,
    ]);
    cells.push([
      "Not yet final",
      [`${count(early)} `, h("small", early === 1 ? "block" : "blocks")],
      early ? `${count(live.l2.head - early + 1)} to ${count(live.l2.head)}` : "all stand on the ground",
    ]);
  }
  if (!both) cells.push(...aloneCells());
  if (node.l2)
    cells.push([
      "L2 gas price",
      [`${gwei(live.l2.price)} `, h("small", "gwei")],
      `a transfer ${units(live.l2.price * 21000n)} ETH`,
    ]);
  if (node.l1)
    cells.push([
      "L1 gas price",
      [`${gwei(live.l1.price)} `, h("small", "gwei")],
      both ? `pubdata ${gwei(live.pubdata)} gwei per byte` : `a transfer ${units(live.l1.price * 21000n)} ETH`,
    ]);
  if (both) {
    cells.push([
      "On the stairs",
      [`${ups} `, h("small", "up"), ` ${moving.length - ups} `, h("small", "down")],
      claim ? `${claim}${open.more ? " or more" : ""} to be claimed` : "none to be claimed",
    ]);
    if (live.held !== null)
      cells.push([
        "Held by the bridge",
        [`${units(live.held, 18, 2)} `, h("small", "ETH")],
        `for chain ${node.l2?.chainId}`,
      ]);
  }
  keyed(
    element,
    cells,
    (it) => it[0],
    (it) => it[1].map((part) => part.textContent ?? part).concat(it[2]),
    ([name, value, note]) => h("div", h("dt", name), h("dd", value), h("dd.small.faint", note)),
  );
}

/** @param {Element} element */
function drawFinality(element) {
  const durations = finalities();
  const text = durations.join();
  if (!differs(element, text)) return;
  if (!durations.length) {
    show(element, h("p.muted.small", "No batch stands on the ground yet."));
    return;
  }
  const most = Math.max(...durations, 1);
  const bars = durations.map((it, at) =>
    s(it === most && most > 1.5 * (durations[Math.floor(durations.length / 2)] || 1) ? "rect.most" : "rect", {
      x: at * 13,
      y: 80 - (74 * it) / most - 4,
      width: 9,
      height: (74 * it) / most + 4,
    }),
  );
  show(
    element,
    s(
      "svg.bars",
      {
        viewBox: "0 0 388 82",
        role: "img",
        "aria-label": `Seconds from sealed to executed of the last ${durations.length} batches, at most ${most}.`,
      },
      bars,
      s("path", { d: "M0 81h388" }),
    ),
    h("p.small.faint", `at most ${count(most)} s`),
  );
}

/** @param {Element} element */
function drawNode(element) {
  const health = live.health;
  const text = JSON.stringify([health, live.l1.head, live.sealed, live.executedBatch]);
  if (!differs(element, text)) return;
  const rows = /** @type {[string, any][]} */ (
    node.l1 && node.l2 && node.own.layer === 2
      ? [
          ["Deposits", health?.deposits ? h("span.bad", health.deposits) : `reading, L1 block ${count(live.l1.head)}`],
          ["Batches", health?.batches ? h("span.bad", health.batches) : `${count(live.sealed)} sealed`],
          [
            "Settlement",
            health?.settlement ? h("span.bad", health.settlement) : `${count(live.executedBatch)} executed`,
          ],
          health?.operator ? ["Operator", h("span.warn", health.operator)] : null,
        ]
      : [["Status", health?.status ?? "unknown"]]
  ).filter(Boolean);
  if (node.l2) rows.push(["Validity proof", h("span.warn", "none: the operator is trusted")]);
  show(
    element,
    h(
      "section.part.node",
      h("header", h("h2", "Node"), h("span.muted", node.info.version)),
      h(
        "dl",
        rows.map(([name, value]) => h("div", h("dt", name), h("dd", value))),
      ),
    ),
  );
}

/** The newest transactions of both floors. */
function transactions() {
  let layer = "both";
  /** @type {any[]} */
  let shown = [];
  const body = h("tbody");
  const more = h("button.small.fresh", { type: "button", hidden: true, onclick: () => draw(true) });
  const options = /** @type {[string, any][]} */ ([
    ["both", "Both"],
    ["l2", "L2"],
    ["l1", "L1"],
  ]);
  const pick =
    floors().length > 1
      ? choice("Layer", options, layer, (it) => {
          layer = it;
          draw(true);
        })
      : null;
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
  const element = h("section.part", h("header", h("h2", "Transactions"), h("div.actions", more, pick)), holder);
  const newest = () =>
    floors()
      .filter((it) => layer === "both" || it.name === layer)
      .flatMap((it) =>
        [...live[it.name === "l1" ? "l1" : "l2"].blocks.values()].flatMap((block) =>
          block.txs.map((tx) => ({ tx, layer: it.name, block })),
        ),
      )
      .sort(
        (a, b) =>
          byOurClock(b.block.at, b.layer) - byOurClock(a.block.at, a.layer) ||
          b.block.number - a.block.number ||
          Number(b.tx.transactionIndex) - Number(a.tx.transactionIndex),
      )
      .slice(0, ROWS);
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
          node.l1 && node.l2 ? "A transaction shows here as soon as a block has it." : "The first block shows here.",
        ),
      );
      return;
    }
    if (!grid.isConnected) show(holder, grid);
    keyed(
      body,
      found,
      (it) => it.layer + it.tx.hash,
      (it) => [it.block.hash, hasFailed(it.layer, it.tx)],
      rowOf,
    );
  }
  return { element, draw };
}

/** @param {{tx: any, layer: string, block: import("./live.js").Block}} item */
function rowOf({ tx, layer, block }) {
  const { verb, batch } = what(tx, layer);
  const failed = hasFailed(layer, tx);
  const value = failed ? 0n : big(tx.value);
  return h(
    "tr",
    h("td", badge(layer)),
    h("td", txLink(layer, tx.hash)),
    h("td", batch === undefined ? verb : `${verb} ${count(batch)}`, failed ? h("span.badge.bad", "failed") : null),
    h("td.mid-column", addressLink(tx.from, layer, { copies: false })),
    h("td.mid-column", addressLink(tx.to, layer, { copies: false })),
    h("td.end", value ? `${units(value)} ETH` : "0"),
    h("td.end.muted", ago(block.at, layer)),
  );
}
