/** The life of a bundle: six equal steps, down to the ground and up again. */

import { endOf, leftOf, STEPS, titleOf, waitsFor } from "./bundles.js";
import { h, icon, s } from "./dom.js";
import { ago, count, plural } from "./format.js";
import { STAGES } from "./houses.js";
import { floorOf } from "./rpc.js";
import { badge } from "./view.js";

/** @typedef {import("./bundles.js").Bundle} Bundle */
/** @typedef {{batchAt: number, executed: [number, number] | null, settled: [number, number] | null,
 *   arrived: [number, number] | null}} Moments when its batch was sealed, and the block and time of what followed */

const HEIGHTS = [2, 54, 155, 155, 80, 2];
const WIDTH = 20;
// Upright, on a phone.
const DEPTHS = [12, 34, 68, 68, 34, 12];
const ROW = 52;

/**
 * The line from one place to another, in steps; a step ends where the next begins.
 * @param {number} from
 * @param {number} to
 */
function path(from, to) {
  const [first, last] = [Math.floor(from), Math.min(5, Math.floor(to))];
  const steps = HEIGHTS.slice(first, last + 1).map((y, at) => `V${y}H${WIDTH * Math.min(to, first + at + 1)}`);
  return `M${WIDTH * from} ${HEIGHTS[first]}${steps.join("")}`;
}

/**
 * The same line upright, from the middle of one step to that of another.
 * @param {number} from
 * @param {number} to
 */
const upright = (from, to) =>
  `M${DEPTHS[from]} ${ROW * from + 10}${DEPTHS.slice(from + 1, to + 1)
    .map((x, at) => `V${ROW * (from + at + 1) - 16}H${x}V${ROW * (from + at + 1) + 10}`)
    .join("")}`;

/**
 * The steps with where and when each was, or what it waits for.
 * @param {Bundle} it
 * @param {Moments} moments
 */
export function lifeView(it, moments) {
  const there = String(it.destination);
  const plates = [
    h("span.of-home", badge(it.house), " ", h("b", floorOf(it.house)?.title)),
    floorOf(there)
      ? h("span.of-home", badge(there), " ", h("b", floorOf(there)?.title))
      : h("span.of-home", titleOf(it.destination)),
  ];
  return h(
    "div.life",
    s(
      "svg",
      { viewBox: "0 0 120 162", preserveAspectRatio: "none", "aria-hidden": "true" },
      it.stage < 5 ? s("path.to-come", { d: path(it.stage + 0.5, 6) }) : null,
      s("path.travelled", { d: path(0, it.stage === 5 ? 6 : it.stage + 0.5) }),
    ),
    s(
      "svg.upright",
      { viewBox: "0 0 80 312", "aria-hidden": "true" },
      s("path.of-l1", { d: `M76 ${2 * ROW - 16}V${4 * ROW - 16}` }),
      it.stage < 5 ? s("path.to-come", { d: upright(it.stage, 5) }) : null,
      s("path.travelled", { d: upright(0, it.stage) }),
    ),
    h("div.ground-line", h("span.title.l1", "Ground floor"), h("div.slab.l1")),
    h(
      "ol",
      { "aria-label": "Its steps" },
      STEPS.map((name, at) => {
        const isDone = at <= it.stage;
        const title = at === 5 ? endOf(it) : at === 1 && it.batch ? `In batch ${count(it.batch)}` : name;
        return h(
          `li${isDone ? ".done" : ""}`,
          { "aria-current": at === it.stage ? "step" : null },
          at === 0 ? plates[0] : at === 5 ? plates[1] : null,
          h("span.dot", at === it.stage ? icon("M3 8h10M9 4l4 4-4 4") : null),
          h("b", title),
          notesOf(it, at, moments).map((note) => h("span.small.muted", note)),
        );
      }),
    ),
  );
}

/**
 * @param {Bundle} it
 * @param {number} at a step
 * @param {Moments} moments
 * @returns {any[]}
 */
function notesOf(it, at, { batchAt, executed, settled, arrived }) {
  const there = String(it.destination);
  if (at === it.stage + 1) return it.problem ? [h("span.bad", "not booked")] : [h("span.warn", waitsFor(it))];
  if (at > it.stage) return [];
  const of = (
    /** @type {[number, number] | null} */ found,
    /** @type {string} */ layer,
    /** @type {string} */ whose,
  ) => (found ? [`block ${count(found[0])}${whose}`, found[1] ? ago(found[1], layer, " ago") : null] : []);
  const inThere = ` of ${titleOf(it.destination)}`;
  if (at === 0) return of([it.block, it.at], it.house, "");
  if (at === 1)
    return [STAGES[it.batchStage || 1].toLowerCase(), batchAt ? ago(Math.max(batchAt, it.at), it.house, " ago") : null];
  if (at === 2) return of(executed, "l1", "");
  if (at === 3) return of(settled, "l1", "");
  if (at === 4) return of(arrived, there, inThere);
  const left = leftOf(it);
  return [
    ...of(it.done && [it.done.block, it.done.at], there, inThere),
    left ? h("span.warn", `${plural(left, "call")} left`) : null,
  ];
}
