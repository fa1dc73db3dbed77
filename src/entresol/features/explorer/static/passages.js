/** Passages: the ways of bundles through the ground, from the pillar of a batch to the right wall of another house. */

import { noteOf, stageName, stageWord, titleOf, waitsFor, whatOf } from "./bundles.js";
import { differs, h, keyed, s, show, table } from "./dom.js";
import { ago, count, medianOf, plural } from "./format.js";
import { floorOf } from "./rpc.js";
import { bundles, durations, followBundles, passing } from "./traffic.js";
import { badge } from "./view.js";
import { layOut, lengthOf, MARKER, widthOf } from "./ways.js";

/** @typedef {import("./bundles.js").Bundle} Bundle */
/** @typedef {import("./homes.js").View} View */
/** @typedef {import("./ways.js").Place} Place */
/** @typedef {import("./ways.js").Way & {it: Bundle}} Way */

const MAX_DRAWN = 3;
const MAX_ROWS = 5;
const LEVEL = 36;

/**
 * The passages of a street, unless it is drawn on a phone, and the list of bundles.
 * @param {HTMLElement} street
 * @param {HTMLElement} place what it is drawn in
 * @param {boolean} isPhone
 * @returns {View[]}
 */
export function views(street, place, isPhone) {
  followBundles();
  const list = bundleList(isPhone);
  place.append(list.element);
  if (isPhone) return [list];
  const ways = passages(street);
  street.append(ways.element);
  return [ways, list];
}

/** @returns {[string, any[], string]} how many bundles are under way, and how long others took */
export function cell() {
  const all = passing().length;
  const seconds = durations();
  return [
    "In the passages",
    [`${count(all)} `, h("small", all === 1 ? "bundle" : "bundles")],
    seconds.length ? `median ${count(medianOf(seconds))} s, sent to executed` : "none executed since this page opened",
  ];
}

/**
 * The drawing of those that are under way, over a street.
 * @param {HTMLElement} street
 * @returns {View}
 */
function passages(street) {
  const drawing = s("svg.passages", { "aria-hidden": "true" });
  const list = h("ul.unseen", { "aria-label": "Passages" });
  const element = h("div", drawing, list);
  const draw = () => {
    const all = passing();
    keyed(
      list,
      all,
      (it) => it.hash,
      (it) => sentence(it),
      (it) => h("li", sentence(it)),
    );
    const ways = waysOf(street, all);
    const places = layOut(ways, street.clientWidth);
    const depth = places.length ? 1 + Math.max(...places.map((it) => it.level)) : 0;
    street.style.setProperty("--strip", `${depth ? LEVEL * depth + 4 : 0}px`);
    const { width, height, top } = street.getBoundingClientRect();
    const ground = /** @type {Element} */ (street.querySelector(":scope > .slab")).getBoundingClientRect().top - top;
    const roof = (street.querySelector(".walls .slab")?.getBoundingClientRect().top ?? top) - top;
    const state = ways.map(({ it, from, to, sits }) => [it.hash, it.stage, from, to, sits]);
    if (!differs(drawing, JSON.stringify([width, height, ground, places, state]))) return;
    drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
    show(
      drawing,
      ways.map((way, at) => wayView(way, places[at], ground, roof)),
    );
  };
  new ResizeObserver(draw).observe(street);
  return { element, draw };
}

/** @param {Bundle} it */
const sentence = (it) =>
  `${whatOf(it)} from ${titleOf(Number(floorOf(it.house)?.chainId))} to ${titleOf(it.destination)}, ${stageWord(it)}`;

/**
 * @param {HTMLElement} street
 * @param {Bundle[]} all
 * @returns {Way[]}
 */
function waysOf(street, all) {
  const box = street.getBoundingClientRect();
  const home = (/** @type {string} */ name) => street.querySelector(`.home[data-house="${name}"]`);
  const drawn = all.filter((it) => home(it.house) && home(String(it.destination)));
  const rest = drawn.length - MAX_DRAWN;
  const ways = drawn.slice(0, MAX_DRAWN).map((it, at) => {
    const source = /** @type {Element} */ (home(it.house));
    const pillars = [...source.querySelectorAll(".pillar")];
    // What is not sealed stands in the first one, which is open; what is older than all drawn leaves by the last.
    const own = it.batch ? source.querySelector(`[data-batch="${it.batch}"] .pillar`) : pillars[0];
    const pillar = /** @type {Element} */ (own ?? pillars[pillars.length - 1] ?? source).getBoundingClientRect();
    const where = it.stage === 1 || it.problem ? waitsFor(it) : stageWord(it);
    return {
      it,
      // Those of one batch stand side by side.
      from: Math.round(pillar.left + pillar.width / 2 - box.left) + 6 * at - 6,
      to: 0,
      sits: it.stage < 2 ? Math.round(pillar.top - box.top + ((it.batchStage + 0.5) * pillar.height) / 4) : 0,
      words: /** @type {[string, string]} */ ([whatOf(it), `to ${titleOf(it.destination)}, ${where}`]),
    };
  });
  /** @type {Map<number, number>} how many arrive in each house */
  const arrivals = new Map();
  for (const way of [...ways].sort((a, b) => a.from - b.from)) {
    const { destination } = way.it;
    const rank = arrivals.get(destination) ?? 0;
    arrivals.set(destination, rank + 1);
    const wall = /** @type {Element} */ (home(String(destination))).getBoundingClientRect().right - box.left;
    way.to = Math.round(wall) - 14 - 12 * rank;
  }
  // The longest one lies deepest, where a label always finds room.
  const [longest] = [...ways].sort((a, b) => lengthOf(b) - lengthOf(a));
  if (rest > 0) longest.words[0] += `, +${rest}`;
  return ways;
}

/**
 * @param {Way} way
 * @param {Place} place
 * @param {number} ground
 * @param {number} roof
 */
function wayView({ it, from, to, sits }, { level, label }, ground, roof) {
  const depth = ground + LEVEL * (level + 1);
  const turn = from < to ? 8 : -8;
  const down = `M${from} ${ground}V${depth - 8}q0 8 ${turn} 8`;
  const up = `H${to - turn}q${turn} 0 ${turn} -8V${roof + 14}`;
  const isOn = label && !label.isBeside;
  const marker = sits ? null : isOn ? label.at + 12 : (from + to) / 2;
  const travelled = it.stage === 4 ? down + up : sits ? "" : `${down}H${marker}`;
  const text = label
    ? s(
        "text",
        { x: label.at + (isOn && marker ? MARKER : 4), y: depth + 4 },
        s("tspan.strong", label.words[0]),
        label.words[1] ? s("tspan", { dx: 8 }, label.words[1]) : null,
      )
    : null;
  return s(
    "a",
    { href: `#/bundle/${it.hash}`, tabindex: -1 },
    it.stage === 4 ? null : s("path.to-come", { d: down + up }),
    travelled ? s("path.travelled", { d: travelled }) : null,
    it.stage === 4 ? s("path.travelled", { d: `M${to - 4} ${roof + 20}l4 -6l4 6` }) : null,
    isOn
      ? s("rect", {
          x: label.at + (marker ? 12 : 0),
          y: depth - 10,
          width: widthOf(label.words) + (marker ? 16 : 0),
          height: 20,
        })
      : null,
    text,
    sits ? traveller(from, sits, "M0-4v8m-3-3l3 3 3-3") : null,
    marker ? traveller(marker, depth, from < to ? "M-4 0h8m-3-3l3 3-3 3" : "M4 0h-8m3-3l-3 3 3 3") : null,
  );
}

/**
 * @param {number} x
 * @param {number} y
 * @param {string} d
 */
const traveller = (x, y, d) =>
  s("g.sinks", { transform: `translate(${x} ${y})` }, s("circle", { r: 10 }), s("path", { d }));

/** @param {Bundle} it */
const toneOf = (it) =>
  it.problem || it.calls.some((call) => call.status === 2)
    ? "bad"
    : it.status === 2
      ? "ok"
      : it.stage === 4
        ? "warn"
        : "";

/**
 * @param {Bundle} it
 * @returns {any[]}
 */
const stateOf = (it) => [it.stage, it.batchStage, it.status, it.problem, it.calls.map((call) => call.status), it.done];

/**
 * The newest bundles, as a table; on a phone those that are under way, as a list.
 * @param {boolean} isPhone
 * @returns {View}
 */
function bundleList(isPhone) {
  const rows = h(isPhone ? "ul.ways" : "tbody");
  const grid = isPhone
    ? rows
    : table("Bundles", [["What"], ["From"], ["To"], ["Stands at"], ["", "mid-column"], ["Age", "end"]], []);
  grid.querySelector("tbody")?.replaceWith(rows);
  const note = h("span.muted");
  const element = h(
    "section.part",
    { hidden: true },
    h("header", h("h2", isPhone ? "Passages" : "Bundles"), note),
    grid,
  );
  const draw = () => {
    const all = isPhone ? passing() : bundles();
    element.hidden = !all.length;
    show(note, all.length > MAX_ROWS ? `${plural(all.length, "bundle")}, the newest` : "between the houses");
    keyed(rows, all.slice(0, MAX_ROWS), (it) => it.hash, stateOf, isPhone ? wayLine : wayRow);
  };
  return { element, draw };
}

/** @param {Bundle} it */
function wayRow(it) {
  const tone = toneOf(it);
  const house = (/** @type {string} */ name) => [badge(name), " ", floorOf(name)?.title ?? ""];
  return h(
    "tr",
    h("td", h("a", { href: `#/bundle/${it.hash}` }, h("b", whatOf(it)))),
    h("td.whose", house(it.house)),
    h("td.whose", house(String(it.destination))),
    h("td", h(tone ? `span.${tone}` : "span", stageName(it))),
    h("td.mid-column.small.muted", noteOf(it)),
    h("td.end.muted", ago(it.at, it.house)),
  );
}

/** @param {Bundle} it */
function wayLine(it) {
  const tone = toneOf(it);
  return h(
    "li",
    h(
      "a.split",
      { href: `#/bundle/${it.hash}` },
      h(
        "span",
        h("b", h("span.down", "→ "), whatOf(it)),
        h("span.small.muted", `${floorOf(it.house)?.title} to ${titleOf(it.destination)}`),
      ),
      h("span.end", h(tone ? `span.${tone}` : "span", stageName(it)), h("span.small.muted", noteOf(it))),
    ),
  );
}
