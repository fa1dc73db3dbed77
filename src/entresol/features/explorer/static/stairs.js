/** The stairs between the floors: crossings in progress, arrived and paid. */

import { crossings, isClaimable, isMoving, linkOf, STEPS, stageName } from "./crossings.js";
import { append, differs, h, keyed, s, show } from "./dom.js";
import { count } from "./format.js";

const HEIGHT = 208;
const STAIRS = 10;
const GAP = 0.19;
// The highest place, from which those who are on narrow stairs do not reach into the first bay.
const TOP = 0.9;
const NARROW_TOP = 0.82;
// What fits between the stairs of a house in the street and its first pillar.
const MAX_LABEL = 12;

/** @typedef {import("./crossings.js").Crossing} Crossing */

/**
 * @param {import("./houses.js").House} house
 * @param {boolean} [isSmall] whether they are those of a house in the street
 * @returns {{element: HTMLElement, draw: () => void}}
 */
export function stairs(house, isSmall = false) {
  const element = h("div.stairs");
  const [up, down] = [s("g"), s("g")];
  let isNarrow = /** @type {boolean | null} */ (null);
  const draw = () => {
    const narrow = isSmall || matchMedia("(max-width: 719px)").matches;
    const [from, to, width] = narrow ? [14, 104, 118] : [128, 318, 360];
    if (narrow !== isNarrow) show(element, staircase(house.name, from, to, width, [up, down]));
    isNarrow = narrow;
    const moving = crossings(house).filter((it) => isMoving(it) || isClaimable(it));
    const text = moving.map((it) => `${it.kind} of ${it.what}: ${stageName(it)}`).join("; ");
    element.firstElementChild?.setAttribute("aria-label", `The stairs. ${text || "Nothing is on them."}`);
    const place = (/** @type {number} */ t, /** @type {boolean} */ isRising) => {
      const aside = isRising ? -4 : narrow ? 14 : 30;
      return `translate(${from + t * (to - from) + aside}px, ${HEIGHT * (1 - t)}px)`;
    };
    const top = narrow ? NARROW_TOP : TOP;
    for (const isRising of [true, false]) {
      const these = moving.filter((it) => isUp(it) === isRising);
      travellers(isRising ? up : down, these, isRising, { place, top, isSmall });
    }
  };
  return { element, draw };
}

/** @param {Crossing} it */
const isUp = (it) => it.kind === "deposit";

/**
 * @param {string} name of the house
 * @param {number} from
 * @param {number} to
 * @param {number} width
 * @param {Node[]} people
 */
function staircase(name, from, to, width, people) {
  const steps = `v${-HEIGHT / STAIRS}h${(to - from) / STAIRS}`.repeat(STAIRS);
  const ends = { id: `climb-${name}`, gradientUnits: "userSpaceOnUse", x1: from, y1: HEIGHT, x2: to, y2: 0 };
  const stops = ["a", "b", "c"].map((it, at) => s(`stop.${it}`, { offset: at / 2 }));
  return s(
    "svg",
    { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img" },
    s("defs", s("linearGradient.climb", ends, stops)),
    s("path.level", { d: `M0 1H${to}` }),
    s("path.slope", { d: `M${from + 14} ${HEIGHT}L${to + 10} 10` }),
    s("path.steps", { d: `M${from} ${HEIGHT}${steps}H${width}`, stroke: `url(#climb-${name})` }),
    people,
  );
}

/**
 * Put those who are on the stairs at the height of their stage, none upon another and none above the stairs.
 * @param {Element} group
 * @param {Crossing[]} all
 * @param {boolean} up
 * @param {{place: (t: number, isRising: boolean) => string, top: number, isSmall: boolean}} staircase
 */
function travellers(group, all, up, { place, top, isSmall }) {
  const height = (/** @type {Crossing} */ it) =>
    up ? 0.3 + 0.3 * it.stage : 0.78 - (0.66 * it.stage) / (STEPS[it.kind].length - 1);
  const shown = all.slice(0, 3).sort((a, b) => height(a) - height(b));
  const rest = all.length - shown.length;
  keyed(
    group,
    shown,
    (it) => it.id,
    (it) => [it.what, it === shown[0] && rest],
    (it) => traveller(it, up, it === shown[0] ? rest : 0, isSmall),
  );
  heights(shown.map(height), top).forEach((it, at) => {
    const drawn = /** @type {SVGElement} */ (group.children[at]);
    drawn.style.transform = place(it, up);
  });
}

/**
 * Move what is at the same height apart: up as far as there is room, and down from the top.
 * @param {number[]} wanted from the lowest to the highest
 * @param {number} top
 */
export function heights(wanted, top) {
  let last = -1;
  const found = wanted.map((it) => {
    last = Math.max(it, last + GAP);
    return last;
  });
  let room = top;
  for (let at = found.length - 1; at >= 0; at--) {
    found[at] = Math.min(found[at], room);
    room = found[at] - GAP;
  }
  return found;
}

/**
 * @param {Crossing} it
 * @param {boolean} up
 * @param {number} rest how many more there are
 * @param {boolean} isSmall
 */
function traveller(it, up, rest, isSmall) {
  const label = (it.kind === "message" ? "message" : it.what) + (rest ? `, +${rest}` : "");
  return s(
    `g.traveller.${up ? "rises" : "sinks"}`,
    s("circle", { r: 10 }),
    s("path", { d: up ? "M0 4v-8m-3 3l3-3 3 3" : "M0-4v8m-3-3l3 3 3-3" }),
    isSmall
      ? s(
          "text",
          { x: up ? 14 : -18, y: up ? 18 : 23 },
          label.length > MAX_LABEL ? `${label.slice(0, MAX_LABEL)}…` : label,
        )
      : s("text", { x: up ? -16 : 16, y: 4, "text-anchor": up ? "end" : "start" }, label),
  );
}

/**
 * @param {import("./houses.js").House} house
 * @param {Element} arrived
 * @param {Element} paid
 */
export function drawLists(house, arrived, paid) {
  const all = crossings(house);
  const ups = all.filter((it) => it.kind === "deposit" && it.stage === 2).slice(0, 3);
  const outs = all.filter((it) => it.kind === "withdrawal" && it.stage === 5).slice(0, 3);
  const row = (/** @type {import("./crossings.js").Crossing} */ it, /** @type {any} */ end) =>
    h("li", h("a", { href: linkOf(it) }, h("b", it.what)), end);
  const fill = (/** @type {Element} */ element, /** @type {string} */ title, /** @type {Node[]} */ rows) => {
    show(element, h("h3.small.muted", title));
    append(element, rows.length ? h("ul.small", rows) : h("p.small.faint", "nothing yet"));
  };
  const state = JSON.stringify([ups.map((it) => it.id), outs.map((it) => it.id)]);
  if (!differs(arrived, state)) return;
  fill(
    arrived,
    "Arrived",
    ups.map((it) => row(it, h("span.muted", it.failed ? h("span.bad", "failed") : count(it.arrived)))),
  );
  fill(
    paid,
    "Paid out",
    outs.map((it) => row(it, h("span.muted", `batch ${count(it.batch)}`))),
  );
}
