/** Where in the source something failed: the functions that were open, as a node with sources finds them. */

import { h, show } from "./dom.js";
import { checksum, count, plain, short } from "./format.js";

/**
 * @typedef {{contract: string | null, function: string | null, file: string | null, line: number | null,
 *   address: string | null}} Frame
 * @typedef {{message: string, frames: Frame[], omitted: number}} Trace
 */

// Names are those of whoever wrote the source.
const MAX_NAME = 120;

/** @param {string} name */
export const named = (name) => {
  const text = plain(name);
  return text.length > MAX_NAME ? `${text.slice(0, MAX_NAME)}…` : text;
};

/**
 * A place as it is filled once the node has found where a transaction failed; nothing comes if it does not know.
 * @param {import("./rpc.js").Floor} floor
 * @param {string} hash
 */
export function stackLater(floor, hash) {
  const place = h("div");
  // A node without sources, or without developer methods, has an error for it.
  floor.maybe("entresol_getStackTrace", hash).then((trace) => trace && show(place, stackView(trace)));
  return place;
}

/**
 * The open functions, the innermost first.
 * @param {Trace} trace
 */
export function stackView({ frames, omitted }) {
  const rows = frames.map(frameRow).reverse();
  if (omitted) rows.splice(Math.floor(frames.length / 2), 0, h("li.muted", `… ${count(omitted)} more`));
  return h("ol.stack", { "aria-label": "Stack trace" }, rows);
}

/** @param {Frame} frame */
function frameRow({ contract, function: name, file, line, address }) {
  if (file === null)
    return h(
      "li",
      h("span.faint", "at "),
      address ? short(checksum(address)) : "a new contract",
      h("span.muted", " no source"),
    );
  const owner = [contract, name].filter((it) => it !== null).map((it) => named(String(it)));
  const where = line === null ? named(file) : `${named(file)}:${line}`;
  return h("li", h("span.faint", "at "), h("b", owner.join(".")), " ", h("span.muted", where));
}
