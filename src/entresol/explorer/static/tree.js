/** A message tree, drawn: leaves above, the root in the ground. */

import { s } from "./dom.js";
import { count, short } from "./format.js";

const DEPTH = 14;
const WIDTH = 480;
const LEVEL = 44;
const TOP = 14;

/**
 * @param {number} total how many leaves the tree has
 * @param {{index: number, siblings: string[], root: string} | null} path the proof of one of them
 */
export function drawTree(total, path) {
  const seen = total > 8 ? 16 : 8;
  const levels = Math.log2(seen);
  const index = path?.index ?? 0;
  const first = Math.floor(index / seen) * seen;
  const step = (WIDTH - 40) / seen;
  const half = Math.min(16, step / 2 - 3);
  const x = (/** @type {number} */ at, /** @type {number} */ height) => 20 + step * ((at + 0.5) * 2 ** height);
  const y = (/** @type {number} */ height) => TOP + 10 + height * LEVEL;
  /** @type {SVGElement[]} */
  const lines = [];
  /** @type {SVGElement[]} */
  const nodes = [];
  for (let height = 0; height <= levels; height++) {
    for (let at = 0; at < seen >> height; at++) {
      const isPath = path !== null && at === (index - first) >> height;
      const isSibling = path !== null && height < levels && at === (((index - first) >> height) ^ 1);
      const isEmpty = first + at * 2 ** height >= total;
      const kind = isPath ? "path" : isSibling ? "sibling" : isEmpty ? "void" : "plain";
      if (height < levels) {
        const middle = y(height) + 24;
        lines.push(
          s(`path.${isPath ? "path" : isSibling ? "sibling" : "plain"}`, {
            d: `M${x(at, height)} ${y(height) + 9}V${middle}H${x(at >> 1, height + 1)}V${y(height + 1) - 9}`,
          }),
        );
      }
      nodes.push(
        box(x(at, height), y(height), height ? 9 : half, kind, height ? "" : isEmpty ? "–" : count(first + at)),
      );
    }
  }
  const trunk = x(0, levels);
  const [from, to] = [y(levels) + 9, y(levels) + 130];
  const rest = DEPTH - levels;
  const twigs = Array.from({ length: rest }, (_, at) => {
    const height = from + 14 + (at * 92) / rest;
    return [s("path.twig", { d: `M${trunk} ${height}h28` }), s("circle.twig", { cx: trunk + 31, cy: height, r: 3 })];
  });
  const order = (/** @type {SVGElement} */ it) => (it.getAttribute("class") === "path" ? 1 : 0);
  const label = path
    ? `The path from leaf ${path.index} to the root ${path.root}, with ${path.siblings.length} siblings.`
    : `The message tree, with ${total} leaves.`;
  return s(
    "svg.message-tree",
    { viewBox: `0 0 ${WIDTH} ${to + 24}`, role: "img", "aria-label": label },
    lines.sort((a, b) => order(a) - order(b)),
    path ? twigs.flat() : null,
    s(`path.trunk${path ? ".path" : ""}`, { d: `M${trunk} ${from}V${to}` }),
    s("text", { x: trunk + 48, y: from + 56 }, `${rest} more levels,`),
    s("text", { x: trunk + 48, y: from + 72 }, "empty beside"),
    s("circle.root", { cx: trunk, cy: to, r: 6 }),
    s("path.ground", { d: `M0 ${to + 2}H${WIDTH}` }),
    path ? s("text.mono", { x: trunk - 12, y: to - 8, "text-anchor": "end" }, short(path.root)) : null,
    path
      ? [
          s("rect.path", { x: 0, y: from + 44, width: 10, height: 10, rx: 2 }),
          s("text", { x: 18, y: from + 54 }, "its path"),
          s("rect.sibling", { x: 0, y: from + 62, width: 10, height: 10, rx: 2 }),
          s("text", { x: 18, y: from + 72 }, "siblings: the proof"),
        ]
      : null,
    nodes,
  );
}

/**
 * @param {number} x
 * @param {number} y
 * @param {number} half
 * @param {string} kind
 * @param {string} text
 */
function box(x, y, half, kind, text) {
  return s(
    "g",
    s(`rect.${kind}`, { x: x - half, y: y - 9, width: 2 * half, height: 18, rx: 4 }),
    text ? s(`text.at.${kind}`, { x, y: y + 4, "text-anchor": "middle" }, text) : null,
  );
}
