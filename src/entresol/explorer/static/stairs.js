/** The stairs between the floors: who is on them, who arrived, who was paid. */

import { crossings, isClaimable, isMoving, STEPS, stageName } from "./crossings.js";
import { append, h, s, show } from "./dom.js";
import { count } from "./format.js";

const HEIGHT = 208;
const FOOT = [128, 318];
const STAIRS = 10;

/** @param {number} t from 0 on the ground to 1 on the upper floor */
const place = (t) => [FOOT[0] + t * (FOOT[1] - FOOT[0]), HEIGHT * (1 - t)];

/** @param {Element} element */
export function drawStairs(element) {
  const moving = crossings().filter((it) => isMoving(it) || isClaimable(it));
  const up = moving.filter((it) => it.kind === "deposit");
  const down = moving.filter((it) => it.kind !== "deposit");
  const state = JSON.stringify([up.map((it) => [it.id, it.stage]), down.map((it) => [it.id, it.stage])]);
  if (element.getAttribute("data-state") === state) return;
  element.setAttribute("data-state", state);
  const [dx, dy] = [(FOOT[1] - FOOT[0]) / STAIRS, HEIGHT / STAIRS];
  const steps = Array.from({ length: STAIRS }, () => `v${-dy}h${dx}`).join("");
  const text = moving.map((it) => `${it.kind} of ${it.what}: ${stageName(it)}`).join("; ");
  const drawing = s(
    "svg",
    { viewBox: `0 0 360 ${HEIGHT}`, role: "img", "aria-label": `The stairs. ${text || "Nothing is on them."}` },
    s(
      "defs",
      s(
        "linearGradient",
        { id: "climb", gradientUnits: "userSpaceOnUse", x1: FOOT[0], y1: HEIGHT, x2: FOOT[1], y2: 0 },
        s("stop.a", { offset: 0 }),
        s("stop.b", { offset: 0.5 }),
        s("stop.c", { offset: 1 }),
      ),
    ),
    s("path.level", { d: `M0 1H${FOOT[1]}` }),
    s("path.slope", { d: `M${FOOT[0] + 14} ${HEIGHT}L${FOOT[1] + 10} 10` }),
    s("path.steps", { d: `M${FOOT[0]} ${HEIGHT}${steps}H360` }),
    travellers(up, true),
    travellers(down, false),
  );
  show(element, drawing);
}

/**
 * @param {import("./crossings.js").Crossing[]} all
 * @param {boolean} up
 */
function travellers(all, up) {
  const shown = all.slice(0, 3);
  let last = 9;
  const drawn = shown
    .map((it) => ({ it, t: up ? 0.3 + 0.3 * it.stage : 0.78 - (0.66 * it.stage) / (STEPS[it.kind].length - 1) }))
    .sort((a, b) => b.t - a.t)
    .map(({ it, t }) => {
      last = Math.max(0.08, Math.min(t, last - 0.19));
      const [x, y] = place(last);
      const cx = up ? x - 4 : x + 30;
      const label = it.kind === "message" ? "message" : it.what;
      return s(
        `g.traveller.${up ? "rises" : "sinks"}`,
        s("circle", { cx, cy: y, r: 10 }),
        s("path", { d: up ? `M${cx} ${y + 4}v-8m-3 3l3-3 3 3` : `M${cx} ${y - 4}v8m-3-3l3 3 3-3` }),
        s("text", { x: up ? cx - 16 : cx + 16, y: y + 4, "text-anchor": up ? "end" : "start" }, label),
      );
    });
  const rest = all.length - shown.length;
  const [x, y] = place(up ? 0.1 : 0.97);
  if (rest > 0)
    drawn.push(
      s(
        "text.rest",
        { x: up ? x - 16 : x + 34, y: y + (up ? 0 : 16), "text-anchor": up ? "end" : "start" },
        `+${rest}`,
      ),
    );
  return drawn;
}

/**
 * @param {Element} arrived
 * @param {Element} paid
 */
export function drawLists(arrived, paid) {
  const all = crossings();
  const ups = all.filter((it) => it.kind === "deposit" && it.stage === 2).slice(0, 3);
  const outs = all.filter((it) => it.kind === "withdrawal" && it.stage === 5).slice(0, 3);
  const row = (/** @type {import("./crossings.js").Crossing} */ it, /** @type {any} */ end) =>
    h("li", h("a", { href: `#/bridge/${it.id}` }, h("b", it.what)), end);
  const fill = (/** @type {Element} */ element, /** @type {string} */ title, /** @type {Node[]} */ rows) => {
    show(element, h("h3.small.muted", title));
    append(element, rows.length ? h("ul.small", rows) : h("p.small.faint", "nothing yet"));
  };
  const state = JSON.stringify([ups.map((it) => it.id), outs.map((it) => it.id)]);
  if (arrived.getAttribute("data-state") === state) return;
  arrived.setAttribute("data-state", state);
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
