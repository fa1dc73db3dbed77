/** Below a fork: the foundation, which others have made, and the anchor that the chain stands on. */

import { h } from "./dom.js";
import { count, moment, short } from "./format.js";
import { live } from "./houses.js";
import { facts } from "./view.js";

/** @typedef {import("./rpc.js").Floor} Floor */

const BRICKS = 6;
const GHOSTS = 4;

/**
 * @param {Floor} floor a fork
 * @returns {HTMLElement}
 */
export function foundation(floor) {
  const fork = /** @type {import("./rpc.js").Fork} */ (floor.fork);
  const kept = [];
  for (let at = fork.number; at >= 0 && kept.length < BRICKS; at--)
    kept.push(
      h("li", h("a", { href: `#/${floor.name}/block/${at}` }, count(at), at === fork.number ? " the anchor" : "")),
    );
  return h(
    "section.foundation",
    { "aria-label": `Foundation of layer ${floor.layer}` },
    h(
      "div",
      h("h2.title.muted", "Foundation"),
      h("p.small.muted", `Chain ${fork.chainId}, to the anchor; made by others. Layer ${floor.layer} is a copy.`),
    ),
    h(
      "ol",
      kept,
      Array.from({ length: GHOSTS }, () => h("li.ghost", { "aria-hidden": "true" })),
    ),
  );
}

/**
 * What the chain stands on, in words.
 * @param {Floor} floor a fork
 */
export function anchor(floor) {
  const fork = /** @type {import("./rpc.js").Fork} */ (floor.fork);
  const health = live.health?.[floor.layer === 1 && floor.path !== "/" ? "l1Fork" : "fork"];
  const waits = health?.waiting
    ? h("span.warn", `${health.waiting} waiting, ${Math.round(health.waitingSeconds)} s`)
    : null;
  const block = h("a", { href: `#/${floor.name}/block/${fork.number}` }, count(fork.number));
  return h(
    "section.part.node.anchor",
    h("header", h("h2", `Anchor of L${floor.layer}`), h("span.muted", `chain ${fork.chainId}`)),
    facts([
      ["Block", block],
      ["Hash", h("span.mono", { title: fork.hash }, short(fork.hash))],
      ["Time", fork.at ? moment(fork.at) : null],
      ["Remote", fork.host === "offline" ? "none: offline" : fork.host],
      ["Requests", waits],
    ]),
  );
}

/**
 * What a page shows that the remote has, and the node cannot get.
 * @param {string} what
 * @param {unknown} error
 * @returns {import("./main.js").Page}
 */
export const notKept = (what, error) => ({
  title: "Not kept here",
  body: h(
    "div.empty",
    h("h1", "Not kept here"),
    h("p", `${what} is below the anchor: the remote chain has it, and this node has not read it.`),
    h("p.small.muted", /** @type {Error} */ (error).message),
    h(
      "div.actions",
      h("button", { type: "button", onclick: () => dispatchEvent(new Event("hashchange")) }, "Try again"),
    ),
  ),
});
