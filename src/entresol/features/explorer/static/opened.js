/** The functions that are open at a step, and what they and calls are called. */

import { called } from "./describe.js";
import { h } from "./dom.js";
import { checksum, short } from "./format.js";
import { readable } from "./stack.js";

/** @typedef {{contract: string | null, function: string | null}} Named */

/**
 * A contract with its function; empty if no source is known.
 * @param {Named} it
 */
const ownName = (it) =>
  [it.contract, it.function]
    .filter((part) => part !== null)
    .map((part) => readable(String(part)))
    .join(".");

/**
 * @param {import("./execution.js").Open} it
 * @param {string} layer
 */
export const openName = (it, layer) => ownName(it) || (it.address ? called(it.address, layer) : "new contract");

/**
 * @param {import("./execution.js").Frame} it
 * @param {string} layer
 */
export const frameName = (it, layer) => (it.contract && ownName(it)) || (it.to ? called(it.to, layer) : "new contract");

/**
 * The functions that are open, the innermost first, and who sent the transaction.
 * @param {import("./execution.js").Open[]} callStack
 * @param {number} shown
 * @param {string | null} sender
 * @param {string} layer
 * @param {(at: number) => void} onchoose
 */
export function openList(callStack, shown, sender, layer, onchoose) {
  const rows = callStack.map((it, at) =>
    h(
      "li",
      h(
        "button",
        { type: "button", "aria-pressed": String(at === shown), onclick: () => onchoose(at) },
        h("span.mono", openName(it, layer)),
        h("span.mono.small.muted", placeOf(it)),
      ),
    ),
  );
  const begin = h("div", h("span", sender ? called(sender, layer) : ""), h("span.small.muted", "transaction"));
  return h("ol", { "aria-label": "Call stack" }, rows.reverse(), h("li", begin));
}

/** @param {import("./execution.js").Open} it */
function placeOf({ file, line, address }) {
  if (file === null) return address ? short(checksum(address)) : "being created";
  return line === null ? readable(file) : `${readable(file)}:${line}`;
}
