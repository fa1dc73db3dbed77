/** The section of the house: blocks on the upper floor, pillars in the entresol, layer 1 on the ground. */

import { crossings } from "./crossings.js";
import { doings, hasFailed } from "./describe.js";
import { differs, h, keyed, s, show } from "./dom.js";
import { ago, count, plural, size } from "./format.js";
import { isPast, live, STAGES } from "./houses.js";
import { batchHref, firstOf, isUpper, node, toneOf } from "./rpc.js";
import { drawLists, stairs } from "./stairs.js";
import { pillar } from "./view.js";

const BAY = 153;
const ROWS = 4;
const MAX_DEEDS = 8;
const MAX_LOOK = 200;

/** @typedef {import("./houses.js").House} House */
/** @typedef {{batch: number, blocks: import("./houses.js").Block[], hidden: number, of: import("./houses.js").Batch | null,
 *   ground: import("./houses.js").Block | null}} Bay */

/**
 * @param {House | null} of the chain; null if there is layer 1 alone
 * @returns {{element: HTMLElement, draw: () => void}}
 */
export function house(of) {
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
  const pair = node.l1 && of;
  const climb = pair ? stairs(of) : null;
  const element = h(
    `section.house${pair ? "" : `.only-${node.own.name}`}`,
    { "aria-label": pair ? "Both floors, and the batches between them" : "The blocks of this layer" },
    of ? [upper, h("div.slab.l2")] : null,
    climb ? [arrived, middle, climb.element, paid] : null,
    node.l1 ? [h("div.slab.l1"), ground] : null,
    bays,
  );
  const draw = () => {
    if (!live.ready) return;
    const width = bays.clientWidth || 900;
    const room = Math.max(width < 500 ? 6 : 2, Math.floor((width + 14) / BAY));
    bays.style.setProperty("--bays", String(room));
    if (of) floorName(upper, of.floor, of.l2, "Upper floor");
    if (node.l1) floorName(ground, node.l1, live.l1, "Ground floor");
    const before = bays.firstElementChild;
    keyed(
      bays,
      baysOf(of, room),
      (it) => it.batch,
      (it) => bayState(of, it),
      (it) => bayView(of, it),
    );
    if (before && bays.firstElementChild !== before && before.isConnected) slide(bays);
    if (climb && of) {
      climb.draw();
      drawLists(of, arrived, paid);
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
 * @param {import("./rpc.js").Floor} floor
 * @param {import("./houses.js").FloorState} state
 * @param {string} title
 */
function floorName(element, floor, state, title) {
  const layer = floor.name;
  const head = state.blocks.get(state.head);
  const used = head ? Math.round((100 * head.gas) / head.limit) : 0;
  const text = `${state.head}${used}${floor.chainId}`;
  if (!differs(element, text)) return;
  show(
    element,
    h(`h2.title.${toneOf(layer)}`, title),
    h("p.small.muted", `Layer ${floor.layer}, chain ${floor.chainId || "…"}`),
    h("a.number", { href: `#/${layer}/block/${state.head}` }, count(state.head)),
    isUpper(layer) && head && !isPast(layer, state.head)
      ? h("p.small.muted", `${plural(head.txs.length, "tx", "tx")}, ${used} % gas`)
      : null,
  );
}

/**
 * @param {House | null} of
 * @param {number} room
 * @returns {Bay[]}
 */
export function baysOf(of, room) {
  const { l1 } = live;
  const numbers = (/** @type {import("./houses.js").FloorState} */ floor) =>
    [...floor.blocks.keys()].sort((a, b) => b - a);
  const grounds = node.l1 ? numbers(l1).map((it) => l1.blocks.get(it) ?? null) : [];
  if (!of || !node.l1) {
    const floor = of ? of.l2 : l1;
    return numbers(floor)
      .slice(0, room)
      .map((it) => ({
        batch: it,
        blocks: of ? [/** @type {any} */ (floor.blocks.get(it))] : [],
        hidden: 0,
        of: null,
        ground: of ? null : (floor.blocks.get(it) ?? null),
      }));
  }
  const { l2, sealed, batches } = of;
  /** @type {Bay[]} */
  const made = [];
  for (let number = sealed + 1; number > 0 && made.length < room; number--) {
    const batch = batches.get(number) ?? null;
    const first = batch ? batch.first : Math.max((batches.get(sealed)?.last ?? 0) + 1, firstOf(of.floor));
    const last = batch ? batch.last : l2.head;
    const all = [];
    for (let at = last; at >= Math.max(first, last - MAX_LOOK) && all.length < ROWS; at--) {
      const block = l2.blocks.get(at);
      if (block) all.push(block);
    }
    const total = last - first + 1;
    const blocks = total > ROWS || (total === ROWS && !batch) ? all.slice(0, ROWS - 1) : all;
    made.push({
      batch: number,
      blocks,
      hidden: Math.max(0, total - blocks.length),
      of: batch,
      ground: grounds[made.length] ?? null,
    });
  }
  // A young chain has fewer batches than there is room for.
  for (let at = made.length; at < room && grounds[at]; at++)
    made.push({ batch: -at, blocks: [], hidden: 0, of: null, ground: grounds[at] });
  return made;
}

/**
 * @param {House} house
 * @param {number} batch
 */
const messagesOf = (house, batch) =>
  crossings(house).filter((it) => it.kind !== "deposit" && it.batch === batch).length;

/**
 * @param {House | null} house
 * @param {Bay} it
 */
const bayState = (house, it) => [
  it.blocks.map((block) => block.hash),
  it.hidden,
  it.of?.stage,
  it.of?.last,
  it.ground?.hash,
  it.ground ? groundDeeds(it.ground).length : 0,
  it.of ? 0 : house?.l2.pending,
  house?.l2.head,
  house ? messagesOf(house, it.batch) : 0,
];

/**
 * @param {House | null} house
 * @param {Bay} bay
 * @returns {Element}
 */
function bayView(house, bay) {
  const open = house && !bay.of && bay.batch > 0 && node.l1;
  const blocks = h(
    "ul.blocks",
    open ? h("li.tile.next", h("span", "next"), h("span", `${count(house.l2.pending)} pending`)) : null,
    house ? bay.blocks.map((block) => h("li", blockTile(house, block))) : null,
    bay.hidden > 0 && bay.of
      ? h("li.more.small.muted", h("span", `${count(bay.hidden)} more`), h("span", count(bay.of.first)))
      : null,
  );
  return h(
    "li.bay",
    house ? blocks : null,
    node.l1 && house ? (bay.batch > 0 ? pillarView(house, bay) : h("div.batch")) : null,
    node.l1 ? groundTile(bay.ground) : null,
  );
}

/**
 * @param {House} house
 * @param {import("./houses.js").Block} block
 * @param {boolean} [isBrief] whether there is no room for its transactions
 */
export function blockTile(house, block, isBrief = false) {
  const gauge = s(
    "svg.gauge",
    { viewBox: "0 0 100 2", preserveAspectRatio: "none", "aria-hidden": "true" },
    s("path", { d: `M0 1h${Math.max(1, (100 * block.gas) / block.limit)}` }),
  );
  return h(
    `a.tile.l2${block.number === house.l2.head ? ".newest" : ""}`,
    { href: `#/${house.name}/block/${block.number}` },
    h("b", count(block.number)),
    h(
      "span",
      isBrief ? null : isPast(house.name, block.number) ? "the anchor, " : `${block.txs.length} tx, `,
      ago(block.at, house.name),
    ),
    gauge,
  );
}

/** @type {WeakMap<import("./houses.js").Block, any[]>} */
const deeds = new WeakMap();

/**
 * The transactions of a block of layer 1 that did something; only the first ones are asked for, since one is shown.
 * @param {import("./houses.js").Block} block
 */
export function groundDeeds(block) {
  let found = deeds.get(block);
  if (!found) {
    found = block.txs.filter((tx) => doings([tx]).length).slice(0, MAX_DEEDS);
    deeds.set(block, found);
  }
  return found.filter((tx) => !hasFailed("l1", tx));
}

/** @param {import("./houses.js").Block | null} block */
export function groundTile(block) {
  if (!block) return h("div.tile.l1.none");
  const found = doings(groundDeeds(block));
  const [verb, about, whose] = found[0] ?? ["", "", ""];
  const others = block.txs.length - (found.length ? 1 : 0);
  return h(
    "a.tile.l1",
    { href: `#/l1/block/${block.number}` },
    h("span.row", h("b", count(block.number)), ago(block.at, "l1")),
    h(
      "span.row",
      verb
        ? h("span", verb, " ", h("span.l1", about), whose, others ? ` +${others}` : "")
        : isPast("l1", block.number)
          ? h("span.l1", "the anchor")
          : plural(block.txs.length, "transaction"),
    ),
  );
}

/**
 * @param {House} house
 * @param {Bay} bay
 */
export function pillarView(house, { batch, of, hidden, blocks }) {
  const stage = of?.stage ?? 0;
  const since = of ? [of.at, of.committed, of.proven, of.executed][stage - 1] : 0;
  const messages = of ? messagesOf(house, batch) : 0;
  const total = of ? of.last - of.first + 1 : blocks.length + hidden;
  const title = of ? h("a", { href: batchHref(house.name, batch) }, count(batch)) : count(batch);
  const stopped = Boolean(house.stopped) && batch === house.executedBatch + 1;
  return h(
    "div.batch",
    { "data-batch": batch },
    pillar(stage, stopped),
    h(
      "div.small.muted",
      h("b", title),
      h(stage && stage < 4 ? "p.warn" : "p", STAGES[stage]),
      of && since ? h("p", ago(since, stage > 1 ? "l1" : house.name, " ago")) : null,
      h("p.gap", plural(total, "block")),
      of ? h("p", `${count(of.l1Txs + of.l2Txs)} tx`) : null,
      of?.bytes ? h("p", size(of.bytes)) : null,
      messages ? h("p", plural(messages, "message")) : null,
    ),
  );
}
