/** The houses of the street, drawn on one ground: two of them, three to five, or the one that a phone has room for. */

import { crossings, isClaimable, isMoving } from "./crossings.js";
import { differs, h, keyed, s, show } from "./dom.js";
import { clockTime, count } from "./format.js";
import { baysOf, blockTile, groundDeeds, groundTile, pillarView } from "./house.js";
import { live, STAGES } from "./houses.js";
import { batchHref, node } from "./rpc.js";
import { stairs } from "./stairs.js";
import { badge, pillar } from "./view.js";

/** @typedef {import("./houses.js").House} House */
/** @typedef {{element: HTMLElement, draw: () => void}} View */

export const NUMBERS = ["no", "one", "two", "three", "four", "five"];
const BAYS = 3;
const ROWS = 3;
const BATCHES = 4;
const GROUND_TILES = 6;

/**
 * @param {House} house
 * @returns {[string, string]} how it stands, in words, and the tone
 */
function standOf(house) {
  if (house.awaySince || house.l2.state === "away") {
    const since = clockTime(house.awaySince || live.awaySince);
    return [`away since ${since}`, "bad"];
  }
  if (house.stopped) return [String(house.stopped), "bad"];
  if (house.l2.head < 1) return ["no block yet", "muted"];
  return house.early ? [`${count(house.early)} not final`, "warn"] : ["all final", "muted"];
}

/** @param {House} house */
export const isAway = (house) => Boolean(house.awaySince) || house.l2.state === "away";

/** @param {House[]} houses */
export function onStairs(houses) {
  const all = houses.flatMap((it) => crossings(it));
  const moving = all.filter(isMoving);
  const ups = moving.filter((it) => it.kind === "deposit").length;
  return { ups, downs: moving.length - ups, claims: all.filter(isClaimable).length };
}

/**
 * Walls and roofs, whose lines stay as thin however wide they are.
 * @param {string} d
 * @param {string} viewBox
 */
export const outline = (d, viewBox) =>
  s("svg.outline", { viewBox, preserveAspectRatio: "none", "aria-hidden": "true" }, s("path", { d }));

/**
 * @param {House[]} drawn
 * @param {string} kind `pair`, `terrace` or `solo`
 * @returns {View}
 */
export function streetView(drawn, kind) {
  const views = drawn.map((it) => houseView(it, kind));
  const ground = h("div.name.ground");
  const tiles = h("ol.ground-tiles", { "aria-label": "Newest blocks of layer 1" });
  const all = live.houses.length;
  const shown =
    all > drawn.length && kind === "terrace" ? `${drawn.length} of ${all} chains` : `${NUMBERS[all] ?? all} chains`;
  const element = h(
    `section.street.${kind}`,
    { "aria-label": "The street" },
    h("div.name.upper", h("h2.title.l2", "Upper floors"), h("p.small.muted", `Layer 2, ${shown}`)),
    h(
      "div.name.middle",
      h("h2.title.mid", "Entresol"),
      h("p.small.muted", kind === "terrace" ? "Last four batches" : "Batches, built down"),
    ),
    h(
      "ol.homes",
      { "aria-label": "Houses" },
      views.map((it) => it.element),
    ),
    h("div.slab.l1"),
    ground,
    tiles,
  );
  element.style.setProperty("--homes", String(drawn.length));
  const draw = () => {
    for (const it of views) it.draw();
    const { head } = live.l1;
    if (differs(ground, String(head)))
      show(
        ground,
        h("h2.title.l1", "Ground floor"),
        h("p.small.muted", `Layer 1, ${node.l1?.chainId}, common to all`),
        h("a.number", { href: `#/l1/block/${head}` }, count(head)),
      );
    const blocks = [...live.l1.blocks.values()].sort((a, b) => b.number - a.number).slice(0, GROUND_TILES);
    keyed(
      tiles,
      blocks,
      (it) => it.number,
      (it) => [it.hash, groundDeeds(it).length],
      (it) => h("li", groundTile(it)),
    );
  };
  return { element, draw };
}

/**
 * @param {House} house
 * @param {string} kind
 * @returns {View}
 */
function houseView(house, kind) {
  const { floor } = house;
  const facts = h("div.facts-of.small.muted");
  const body = h(
    kind === "terrace" ? "div.rooms" : "ol.bays",
    kind === "terrace" ? {} : { "aria-label": batchesOf(house) },
  );
  const climb = kind === "pair" ? stairs(house, true) : null;
  const element = h(
    `li.home.${kind}`,
    { "data-house": house.name },
    outline("M0 40L50 .5L100 40", "0 0 100 40"),
    h(
      "div.walls",
      h(
        "header",
        h("a", { href: `#/${house.name}` }, badge(house.name), h("h2", floor.title)),
        kind === "pair"
          ? null
          : h("span.small.muted", kind === "terrace" ? floor.token.symbol : `pays in ${floor.token.symbol}`),
      ),
      kind === "pair" ? facts : null,
      h("div.slab.l2"),
      climb?.element ?? null,
      body,
    ),
  );
  const draw = () => {
    element.classList.toggle("is-away", isAway(house));
    climb?.draw();
    if (kind === "terrace") drawRooms(body, house);
    else drawBays(body, house);
    if (kind !== "pair") return;
    const [words, tone] = standOf(house);
    if (!differs(facts, `${house.l2.head} ${words}`)) return;
    show(
      facts,
      h("p", `block ${count(house.l2.head)}`),
      h("p", `pays in ${floor.token.symbol}`),
      h(`p.stand.${tone}`, { title: words }, words),
    );
  };
  return { element, draw };
}

/** @param {House} house */
const batchesOf = (house) => `Batches of ${house.floor.title}, the newest first`;

/**
 * @param {Element} element
 * @param {House} house
 */
function drawBays(element, house) {
  keyed(
    element,
    baysOf(house, BAYS).filter((it) => it.batch > 0),
    (it) => it.batch,
    (it) => [
      it.blocks.map((block) => block.hash),
      it.hidden,
      it.of?.stage,
      it.of ? 0 : house.l2.pending,
      house.l2.head,
      house.stopped,
    ],
    (it) => {
      const room = it.of ? ROWS : ROWS - 1;
      const total = it.blocks.length + it.hidden;
      const blocks = it.blocks.slice(0, total > room ? room - 1 : room);
      return h(
        "li.bay",
        h(
          "ul.blocks",
          it.of ? null : h("li.tile.next", h("span", "next"), h("span", `${count(house.l2.pending)} pending`)),
          blocks.map((block) => h("li", blockTile(house, block))),
          total > blocks.length ? h("li.more.small.muted", h("span", `${count(total - blocks.length)} more`)) : null,
        ),
        pillarView(house, it),
      );
    },
  );
}

/**
 * The rooms of a house that has many neighbours: three blocks, four batches.
 * @param {Element} element
 * @param {House} house
 */
function drawRooms(element, house) {
  const [words, tone] = standOf(house);
  const { ups, downs } = onStairs([house]);
  const stages = [];
  for (let at = house.sealed + 1; at > Math.max(0, house.sealed + 1 - BATCHES); at--)
    stages.push([at, house.batches.get(at)?.stage ?? 0]);
  const state = JSON.stringify([words, ups, downs, stages, house.l2.head, house.stopped]);
  if (!differs(element, state)) return;
  const newest = [...house.l2.blocks.values()].sort((a, b) => b.number - a.number).slice(0, ROWS);
  const arrows = [ups ? `${ups}↑` : "", downs ? `${downs}↓` : ""].filter(Boolean).join(" ");
  show(
    element,
    h(
      "ul.blocks",
      { "aria-label": `Newest blocks of ${house.floor.title}` },
      newest.map((it) => h("li", blockTile(house, it, true))),
    ),
    h("p.stand.small", h(`span.${tone}`, { title: words }, words), h("span.muted", arrows)),
    h(
      "ol.pillars",
      { "aria-label": batchesOf(house) },
      stages.map(([number, stage]) => {
        const stopped = Boolean(house.stopped) && number === house.executedBatch + 1;
        const label = h("span.small", count(number), h("span.unseen", ` ${stopped ? "stopped" : STAGES[stage]}`));
        return h(
          stopped ? "li.bad" : "li",
          { "data-batch": number },
          stage ? h("a", { href: batchHref(house.name, number) }, label) : label,
          pillar(stage, stopped),
        );
      }),
    ),
  );
}

/**
 * What its settlement does now, in words.
 * @param {House} house
 */
export function settling(house) {
  const next = [...house.batches.values()].filter((it) => it.stage < 4).sort((a, b) => a.number - b.number)[0];
  if (next) return `${["", "committing", "proving", "executing"][next.stage]} ${count(next.number)}`;
  return house.executedBatch ? `${count(house.executedBatch)} executed` : "no batch yet";
}
