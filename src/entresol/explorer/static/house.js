/** The section of the house: blocks on the upper floor, pillars in the entresol, layer 1 on the ground. */

import { crossings } from "./crossings.js";
import { doings } from "./describe.js";
import { differs, h, keyed, s, show } from "./dom.js";
import { ago, count, plural } from "./format.js";
import { live, STAGES } from "./live.js";
import { hasFailed } from "./outcomes.js";
import { node } from "./rpc.js";
import { drawLists, stairs } from "./stairs.js";
import { pillar } from "./view.js";

const BAY = 153;
const ROWS = 4;
const MAX_DEEDS = 8;

/** @typedef {{batch: number, blocks: import("./live.js").Block[], hidden: number, of: import("./live.js").Batch | null,
 *   ground: import("./live.js").Block | null}} Bay */

/** @returns {{element: HTMLElement, draw: () => void}} */
export function house() {
  const bays = h("ol.bays", { "aria-label": "Batches, the newest first", tabindex: 0 });
  const upper = h("div.name.upper");
  const middle = h(
    "div.name.middle",
    h("h2.title.mid", "Entresol"),
    h("p.small.muted", "Batches, built down from the upper floor"),
  );
  const ground = h("div.name.ground");
  const arrived = h("div.arrivals.upper");
  const paid = h("div.arrivals.ground");
  const climb = stairs();
  const pair = node.l1 && node.l2;
  const element = h(
    `section.house${pair ? "" : `.only-${node.own.name}`}`,
    { "aria-label": pair ? "Both floors, and the batches between them" : "The blocks of this layer" },
    node.l2 ? [upper, h("div.slab.l2")] : null,
    pair ? [arrived, middle, climb.element, paid] : null,
    node.l1 ? [h("div.slab.l1"), ground] : null,
    bays,
  );
  const draw = () => {
    if (!live.ready) return;
    const width = bays.clientWidth || 900;
    const room = Math.max(width < 500 ? 6 : 2, Math.floor((width + 14) / BAY));
    bays.style.setProperty("--bays", String(room));
    if (node.l2) floorName(upper, "l2", "Upper floor");
    if (node.l1) floorName(ground, "l1", "Ground floor");
    const before = bays.firstElementChild;
    keyed(bays, baysOf(room), (it) => it.batch, bayState, bayView);
    if (before && bays.firstElementChild !== before && before.isConnected) slide(bays);
    if (pair) {
      climb.draw();
      drawLists(arrived, paid);
    }
  };
  new ResizeObserver(draw).observe(bays);
  return { element, draw };
}

/** @param {Element} bays */
function slide(bays) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  for (const bay of bays.children)
    bay.animate(
      [
        { transform: `translateX(-${BAY}px)`, opacity: bay === bays.firstElementChild ? 0 : 1 },
        { transform: "none", opacity: 1 },
      ],
      { duration: 240, easing: "cubic-bezier(.2,0,0,1)" },
    );
}

/**
 * @param {Element} element
 * @param {"l1" | "l2"} layer
 * @param {string} title
 */
function floorName(element, layer, title) {
  const state = live[layer];
  const head = state.blocks.get(state.head);
  const used = head ? Math.round((100 * head.gas) / head.limit) : 0;
  const text = `${state.head}${used}${node[layer]?.chainId}`;
  if (!differs(element, text)) return;
  show(
    element,
    h(`h2.title.${layer}`, title),
    h("p.small.muted", `Layer ${layer[1]}, chain ${node[layer]?.chainId || "…"}`),
    h("a.number", { href: `#/${layer}/block/${state.head}` }, count(state.head)),
    layer === "l2" && head ? h("p.small.muted", `${plural(head.txs.length, "tx", "tx")}, ${used} % gas`) : null,
  );
}

/**
 * @param {number} room
 * @returns {Bay[]}
 */
function baysOf(room) {
  const { l1, l2, sealed, batches } = live;
  const numbers = (/** @type {import("./live.js").FloorState} */ floor) =>
    [...floor.blocks.keys()].sort((a, b) => b - a);
  const grounds = node.l1 ? numbers(l1).map((it) => l1.blocks.get(it) ?? null) : [];
  if (!node.l2 || !node.l1 || (!sealed && !batches.size && !node.l1)) {
    const floor = node.l2 ? l2 : l1;
    return numbers(floor)
      .slice(0, room)
      .map((it) => ({
        batch: it,
        blocks: node.l2 ? [/** @type {any} */ (floor.blocks.get(it))] : [],
        hidden: 0,
        of: null,
        ground: node.l2 ? null : (floor.blocks.get(it) ?? null),
      }));
  }
  /** @type {Bay[]} */
  const made = [];
  for (let number = sealed + 1; number > 0 && made.length < room; number--) {
    const of = batches.get(number) ?? null;
    const first = of ? of.first : (batches.get(sealed)?.last ?? 0) + 1;
    const last = of ? of.last : l2.head;
    const all = [];
    for (let at = last; at >= first && all.length < ROWS; at--) {
      const block = l2.blocks.get(at);
      if (block) all.push(block);
    }
    const total = last - first + 1;
    const blocks = total > ROWS || (total === ROWS && !of) ? all.slice(0, ROWS - 1) : all;
    made.push({
      batch: number,
      blocks,
      hidden: Math.max(0, total - blocks.length),
      of,
      ground: grounds[made.length] ?? null,
    });
  }
  // A young chain has fewer batches than there is room for.
  for (let at = made.length; at < room && grounds[at]; at++)
    made.push({ batch: -at, blocks: [], hidden: 0, of: null, ground: grounds[at] });
  return made;
}

/** @param {number} batch */
const messagesOf = (batch) => crossings().filter((it) => it.kind !== "deposit" && it.batch === batch).length;

/** @param {Bay} it */
const bayState = (it) => [
  it.blocks.map((block) => block.hash),
  it.hidden,
  it.of?.stage,
  it.of?.last,
  it.ground?.hash,
  it.ground ? groundDeeds(it.ground).length : 0,
  it.of ? 0 : live.pending,
  live.l2.head,
  messagesOf(it.batch),
];

/**
 * @param {Bay} bay
 * @returns {Element}
 */
function bayView(bay) {
  const { of } = bay;
  const open = !of && bay.batch > 0 && node.l1 && node.l2;
  const blocks = h(
    "ul.blocks",
    open ? h("li.tile.next", h("span", "next"), h("span", `${count(live.pending)} pending`)) : null,
    bay.blocks.map((block) => h("li", blockTile(block))),
    bay.hidden > 0 && bay.of
      ? h("li.more.small.muted", h("span", `${count(bay.hidden)} more`), h("span", count(bay.of.first)))
      : null,
  );
  return h(
    "li.bay",
    node.l2 ? blocks : null,
    node.l1 && node.l2 ? (bay.batch > 0 ? pillarView(bay) : h("div.batch")) : null,
    node.l1 ? groundTile(bay.ground) : null,
  );
}

/** @param {import("./live.js").Block} block */
function blockTile(block) {
  const gauge = s(
    "svg.gauge",
    { viewBox: "0 0 100 2", preserveAspectRatio: "none", "aria-hidden": "true" },
    s("path", { d: `M0 1h${Math.max(1, (100 * block.gas) / block.limit)}` }),
  );
  return h(
    `a.tile.l2${block.number === live.l2.head ? ".newest" : ""}`,
    { href: `#/l2/block/${block.number}` },
    h("b", count(block.number)),
    h("span", `${block.txs.length} tx, `, ago(block.at, "l2")),
    gauge,
  );
}

/** @type {WeakMap<import("./live.js").Block, any[]>} */
const deeds = new WeakMap();

/**
 * The transactions of a block of layer 1 that did something; only the first ones are asked for, since one is shown.
 * @param {import("./live.js").Block} block
 */
function groundDeeds(block) {
  let found = deeds.get(block);
  if (!found) {
    found = block.txs.filter((tx) => doings([tx]).length).slice(0, MAX_DEEDS);
    deeds.set(block, found);
  }
  return found.filter((tx) => !hasFailed("l1", tx));
}

/** @param {import("./live.js").Block | null} block */
function groundTile(block) {
  if (!block) return h("div.tile.l1.none");
  const found = doings(groundDeeds(block));
  const [verb, about] = found[0] ?? ["", ""];
  const others = block.txs.length - (found.length ? 1 : 0);
  return h(
    "a.tile.l1",
    { href: `#/l1/block/${block.number}` },
    h("span.row", h("b", count(block.number)), ago(block.at, "l1")),
    h(
      "span.row",
      verb
        ? h("span", verb, " ", h("span.l1", about), others ? ` +${others}` : "")
        : plural(block.txs.length, "transaction"),
    ),
  );
}

/** @param {Bay} bay */
function pillarView({ batch, of, hidden, blocks }) {
  const stage = of?.stage ?? 0;
  const since = of ? [of.at, of.committed, of.proven, of.executed][stage - 1] : 0;
  const messages = of ? messagesOf(batch) : 0;
  const total = of ? of.last - of.first + 1 : blocks.length + hidden;
  const title = of ? h("a", { href: `#/batch/${batch}` }, count(batch)) : count(batch);
  const stopped = Boolean(live.health?.settlement) && batch === live.executedBatch + 1;
  return h(
    "div.batch",
    pillar(stage, stopped),
    h(
      "div.small.muted",
      h("b", title),
      h(stage && stage < 4 ? "p.warn" : "p", STAGES[stage]),
      of && since ? h("p", ago(since, stage > 1 ? "l1" : "l2", " ago")) : null,
      h("p.gap", plural(total, "block")),
      of ? h("p", `${count(of.l1Txs + of.l2Txs)} tx`) : null,
      messages ? h("p", plural(messages, "message")) : null,
    ),
  );
}
