/** Home: the floors, what just happened, how long finality takes. */

import { crossings, followCrossings, hasMoreOpen, isClaimable, isMoving } from "./crossings.js";
import { differs, drawCells, h, s, show, styled } from "./dom.js";
import { amount, count, medianOf, plural, price, units } from "./format.js";
import { house } from "./house.js";
import { heads, houseOf, live, stateOf } from "./houses.js";
import { watch } from "./live.js";
import { transactions } from "./newest.js";
import { ETHER, node } from "./rpc.js";
import { badge, walletButton } from "./view.js";

/** @typedef {import("./houses.js").House} House */

/**
 * @param {string} [name] of one of several chains
 * @returns {import("./main.js").Page}
 */
export function page(name = "l2") {
  const of = node.l2 ? houseOf(name) : null;
  if (of && node.l1) followCrossings([of]);
  const drawing = house(of);
  const pulse = h("dl.pulse");
  const finality = h("div");
  const state = h("div");
  const copies = h("div");
  const list = transactions(/** @type {any[]} */ ([of?.floor, node.l1].filter(Boolean)));
  const body = [
    node.several && of ? houseTitle(of) : h("h1.unseen", "Floors"),
    pulse,
    drawing.element,
    copies,
    h(
      "div.columns",
      list.element,
      of && node.l1
        ? h(
            "aside",
            h(
              "section.part",
              h("header", h("h2", "Finality"), h("span.muted", "seconds from committed to executed")),
              finality,
            ),
            state,
          )
        : h("aside", state),
    ),
  ];
  const leave = watch(() => {
    drawing.draw();
    list.draw();
    drawPulse(pulse, of);
    if (of) drawFinality(finality, of);
    drawNode(state, of);
    drawForks(copies, state, of);
  });
  return { title: node.several && of ? of.floor.title : "Floors", body, leave };
}

/**
 * What the chains are copies of; loaded only if one is.
 * @param {Element} below
 * @param {Element} aside
 * @param {House | null} of
 */
async function drawForks(below, aside, of) {
  const forks = [of?.floor, node.l1].filter((it) => it?.fork);
  if (!forks.length && !below.firstChild) return;
  const { anchor, foundation } = await styled("fork", import("./foundation.js"));
  const panels = forks.map((it) => anchor(/** @type {any} */ (it)));
  if (!differs(below, JSON.stringify(forks.map((it) => it?.fork)) + panels.map((it) => it.textContent))) return;
  show(below, ...forks.map((it) => foundation(/** @type {any} */ (it))));
  for (const it of aside.parentElement?.querySelectorAll(".anchor") ?? []) it.remove();
  aside.before(...panels);
}

/** @param {House} of */
const houseTitle = ({ floor }) =>
  h(
    "div.head.of-house",
    h("h1.plain", badge(floor.name), " ", floor.title, h("small.muted", ` pays in ${floor.token.symbol}`)),
    h("a.button.small", { href: "#/" }, "The street"),
  );

/** @returns {[string, any[], string][]} what a chain alone shows in place of finality */
function aloneCells() {
  const { head, blocks, pending } = stateOf(node.own.name);
  const block = blocks.get(head);
  const used = block ? `${Math.round((100 * block.gas) / block.limit)} % of its gas` : "";
  return [
    ["Newest block", [count(head)], `${plural(block?.txs.length ?? 0, "transaction")}, ${used}`],
    ["Pending", [`${count(pending)} `, h("small", "tx")], "in the pool"],
  ];
}

/**
 * @param {Element} element
 * @param {House | null} of
 */
function drawPulse(element, of) {
  if (!live.ready) return;
  /** @type {[string, any[], string][]} */
  const cells = of && node.l1 ? settledCells(of) : aloneCells();
  if (of) cells.push(priceCell(2, of.l2.price, of.floor.token, ""));
  if (node.l1) {
    const [pubdata, unit] = price(of?.pubdata ?? 0n, ETHER);
    cells.push(priceCell(1, live.l1.price, ETHER, of ? `pubdata ${pubdata} ${unit} per byte` : ""));
  }
  if (of && node.l1) cells.push(...crossingCells(of));
  drawCells(element, cells);
}

/**
 * @param {House} of
 * @returns {[string, any[], string][]}
 */
function settledCells(of) {
  const durations = of.finalities();
  const { early } = of;
  const { head } = of.l2;
  return [
    [
      "Final on L1 after",
      durations.length ? [`${count(medianOf(durations))} `, h("small", "s")] : ["–"],
      `median of ${plural(durations.length, "batch", "batches")}`,
    ],
    [
      "Not yet final",
      [`${count(early)} `, h("small", early === 1 ? "block" : "blocks")],
      early ? `${count(head - early + 1)} to ${count(head)}` : "all stand on the ground",
    ],
  ];
}

/**
 * @param {1 | 2} layer
 * @param {bigint} value
 * @param {import("./rpc.js").Token} token
 * @param {string} note
 * @returns {[string, any[], string]}
 */
function priceCell(layer, value, token, note) {
  const [text, unit] = price(value, token);
  return [`L${layer} gas price`, [`${text} `, h("small", unit)], note || `a transfer ${amount(value * 21000n, token)}`];
}

/**
 * @param {House} of
 * @returns {[string, any[], string][]}
 */
function crossingCells(of) {
  const all = crossings(of);
  const moving = all.filter(isMoving);
  const claim = all.filter(isClaimable).length;
  const ups = moving.filter((it) => it.kind === "deposit").length;
  /** @type {[string, any[], string][]} */
  const cells = [
    [
      "On the stairs",
      [`${ups} `, h("small", "up"), ` ${moving.length - ups} `, h("small", "down")],
      claim ? `${claim}${hasMoreOpen(of) ? " or more" : ""} to be claimed` : "none to be claimed",
    ],
  ];
  if (of.held !== null) {
    const { token, chainId } = of.floor;
    // Nobody knows the supply of a copied chain, so its vault holds more than there can be.
    const held = of.floor.fork && of.held >> 100n ? "All" : units(of.held, token.decimals, 2);
    cells.push(["Held by the bridge", [`${held} `, h("small", token.symbol)], `for chain ${chainId}`]);
  }
  return cells;
}

/**
 * @param {Element} element
 * @param {House} of
 */
function drawFinality(element, of) {
  const durations = of.finalities();
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
        "aria-label": `Seconds from committed to executed of the last ${durations.length} batches, at most ${most}.`,
      },
      bars,
      s("path", { d: "M0 81h388" }),
    ),
    h("p.small.faint", `at most ${count(most)} s`),
  );
}

/**
 * @param {Element} element
 * @param {House | null} of
 */
function drawNode(element, of) {
  const health = of?.health ?? live.health;
  const text = JSON.stringify([health, heads(), of?.sealed, of?.executedBatch]);
  if (!differs(element, text)) return;
  const rows = /** @type {[string, any][]} */ (
    node.l1 && of && (node.several || node.own.layer === 2)
      ? [
          ["Deposits", health?.deposits ? h("span.bad", health.deposits) : `reading, L1 block ${count(live.l1.head)}`],
          ["Batches", health?.batches ? h("span.bad", health.batches) : `${count(of.sealed)} sealed`],
          ["Settlement", health?.settlement ? h("span.bad", health.settlement) : `${count(of.executedBatch)} executed`],
          health?.operator ? ["Operator", h("span.warn", health.operator)] : null,
        ]
      : [["Status", health?.status ?? "unknown"]]
  ).filter(Boolean);
  const chain = node.l1 ? of?.floor.chain : null;
  if (chain)
    rows.push(
      ["Data", chain.publishes ? "published on layer 1" : h("span.warn", "none on layer 1: the operator has it")],
      ["Made for", chain.development ? "development: its state can be edited" : "production"],
    );
  if (of) rows.push(["Validity proof", h("span.warn", "none: the operator is trusted")]);
  show(
    element,
    h(
      "section.part.node",
      h("header", h("h2", "Node"), h("span.muted", node.info.version)),
      h(
        "dl",
        rows.map(([name, value]) => h("div", h("dt", name), h("dd", value))),
      ),
      h(
        "div.actions",
        walletButton(),
        h("a.button.small", { href: of ? `#/${of.name}/charts` : "#/charts" }, "Charts"),
      ),
    ),
  );
}
