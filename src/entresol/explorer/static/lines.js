/** One line of the bridge: what it is, its steps, where it is. */

import { isClaimable, isMoving, linkOf, STEPS, stageName } from "./crossings.js";
import { called } from "./describe.js";
import { h, ICONS, icon, s } from "./dom.js";
import { count } from "./format.js";
import { node } from "./rpc.js";
import { badge } from "./view.js";

/** @typedef {import("./crossings.js").Crossing} Crossing */

/** @param {Crossing} it */
export const isUp = (it) => it.kind === "deposit";

/** @param {Crossing} it */
export const title = (it) => `${it.kind[0].toUpperCase()}${it.kind.slice(1)}, ${it.what}`;

/** @param {Crossing} it */
function placeOf(it) {
  if (isUp(it)) return it.stage === 2 ? `block ${count(it.arrived)}` : `L1 block ${count(it.block)}`;
  return it.batch ? `batch ${count(it.batch)}` : `block ${count(it.block)}`;
}

/**
 * @param {Crossing} it
 * @param {boolean} isChosen
 */
export function lineView(it, isChosen) {
  const about =
    isUp(it) || it.kind === "withdrawal"
      ? ["to ", called(it.to, isUp(it) ? it.house : "l1")]
      : ["from ", called(it.from, it.house)];
  const tone = it.failed && !it.returned ? ".bad" : isClaimable(it) ? ".ok" : isMoving(it) ? "" : ".muted";
  return h(
    "li",
    h(
      "a",
      { href: linkOf(it), "aria-current": isChosen ? "true" : null },
      h(
        "span.what",
        h(isUp(it) ? "span.up" : "span.down", icon(isUp(it) ? ICONS.up : ICONS.down)),
        h("span", h("b", title(it)), h("span.small.muted", node.several ? [badge(it.house), " "] : null, about)),
      ),
      steps(it),
      h("span.where", h(`span${tone}`, stageName(it)), h("span.small.muted", placeOf(it))),
    ),
  );
}

/** @param {Crossing} it */
function steps(it) {
  const total = STEPS[it.kind].length;
  const width = 160 / total;
  const rise = isUp(it) ? -13 : 24 / (total - 1);
  const height = (/** @type {number} */ at) => (isUp(it) ? 29 : 4) + at * rise;
  const parts = STEPS[it.kind].map((_, at) => {
    const drop = at < total - 1 ? `V${height(at + 1)}` : "";
    const tone = it.failed && at === it.stage ? "bad" : at <= it.stage ? (isUp(it) ? "rises" : "sinks") : "rest";
    return [
      s(`path.riser`, { d: `M${(at + 1) * width} ${height(at)}${drop}` }),
      s(`path.tread.${tone}`, { d: `M${at * width} ${height(at)}h${width}` }),
    ];
  });
  const x = (it.stage + 0.5) * width;
  return s(
    "svg.line-steps",
    { viewBox: "-4 0 168 34", "aria-hidden": "true" },
    parts.flat(),
    s(`circle.${it.failed ? "bad" : isUp(it) ? "rises" : "sinks"}`, { cx: x, cy: height(it.stage), r: 4.5 }),
  );
}
