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
const MAX_REASON = 300;
const REVERTED = /^execution reverted(: |$)/;

/** @param {string} name */
export const readable = (name) => {
  const text = plain(name);
  return text.length > MAX_NAME ? `${text.slice(0, MAX_NAME)}…` : text;
};

/**
 * Why it failed, in words; null if they say no more than that it did.
 * @param {Trace} trace
 */
export function saidBy({ message }) {
  const reason = plain(message).replace(REVERTED, "");
  return reason.length > MAX_REASON ? `${reason.slice(0, MAX_REASON)}…` : reason || null;
}

/**
 * Where a transaction failed, as a place that is filled once the node has found it, and why. Nothing comes if it does
 * not know: a node without sources, or without developer methods, has an error for it.
 * @param {import("./rpc.js").Floor} floor
 * @param {string} hash
 */
export function stackLater(floor, hash) {
  const place = h("div");
  const said = floor.maybe("entresol_getStackTrace", hash).then((/** @type {Trace | null} */ trace) => {
    if (trace) show(place, stackView(trace, `#/${floor.name}/tx/${hash}/steps`));
    return trace && saidBy(trace);
  });
  return { place, said };
}

/**
 * The open functions, the innermost first; those with a line lead to it.
 * @param {Trace} trace
 * @param {string} steps the page of its steps
 * @param {(at: number) => void} [onchoose] what shows a frame, on that page itself
 */
export function stackView({ frames, omitted }, steps, onchoose) {
  const rows = frames.map((it, at) =>
    h("li", h("span.faint", "at "), frameWords(it, `${steps}?frame=${at}`, at, onchoose)),
  );
  rows.reverse();
  if (omitted) rows.splice(Math.floor(frames.length / 2), 0, h("li.muted", `… ${count(omitted)} more`));
  return h("ol.stack", { "aria-label": "Stack trace" }, rows);
}

/**
 * @param {Frame} frame
 * @param {string} href
 * @param {number} at
 * @param {((at: number) => void)} [onchoose]
 */
function frameWords({ contract, function: name, file, line, address }, href, at, onchoose) {
  if (file === null) return [address ? short(checksum(address)) : "a new contract", h("span.muted", " no source")];
  const owner = [contract, name].filter((it) => it !== null).map((it) => readable(String(it)));
  const words = [h("b", owner.join(".")), " ", h("span.muted", readable(file), line === null ? "" : `:${line}`)];
  if (line === null) return words;
  const choose = (/** @type {Event} */ event) => {
    if (!onchoose) return;
    event.preventDefault();
    onchoose(at);
  };
  return h("a", { href, onclick: choose }, words);
}
