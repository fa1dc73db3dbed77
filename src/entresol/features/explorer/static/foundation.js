/** Below a fork: the foundation, which others have made, and the anchor that the chain stands on. */

import { h } from "./dom.js";
import { count, moment, short } from "./format.js";
import { houseOf, live } from "./houses.js";
import { node } from "./rpc.js";
import { facts } from "./view.js";

/**
 * @typedef {import("./rpc.js").Floor} Floor
 * @typedef {{text: string, href: string, kept: boolean}} Brick
 */

const BRICKS = 6;
const GHOSTS = 4;

/** @param {Floor} floor a fork */
const forkOf = (floor) => /** @type {import("./rpc.js").Fork} */ (floor.fork);

/**
 * Where all that was read is listed.
 * @param {Floor} floor
 */
const readsOf = (floor) => (node.several && floor.layer === 2 ? `#/${floor.name}/fork` : "#/fork");

/**
 * The foundation on home: the blocks before the anchor.
 * @param {Floor} floor a fork
 * @returns {HTMLElement}
 */
export function foundation(floor) {
  const fork = forkOf(floor);
  const kept = [];
  for (let at = fork.number; at >= 0 && kept.length < BRICKS; at--)
    kept.push({
      text: count(at) + (at === fork.number ? " the anchor" : ""),
      href: `#/${floor.name}/block/${at}`,
      kept: true,
    });
  return masonry(floor, [["", kept]], h("a.small", { href: readsOf(floor) }, "What was read"));
}

/**
 * @param {Floor} floor a fork
 * @param {[string, Brick[]][]} courses
 * @param {Node} [more]
 * @returns {HTMLElement}
 */
export function masonry(floor, courses, more) {
  const isWhole = courses.length > 1;
  return h(
    "section.foundation",
    { "aria-label": `Foundation of layer ${floor.layer}` },
    h(
      "div",
      h("h2.title.muted", "Foundation"),
      h(
        "p.small.muted",
        `Chain ${forkOf(floor).chainId}, to the anchor; made by others. Layer ${floor.layer} is a copy.`,
      ),
      more,
    ),
    h(
      "div.courses",
      courses.map(([name, bricks], at) => [
        name ? h("span.small.muted", name) : null,
        h(
          "ol",
          { "aria-label": name || "Blocks" },
          at % 2 ? h("li.ghost.half", { "aria-hidden": "true" }) : null,
          bricks
            .slice(0, BRICKS)
            .map((it) =>
              h(it.kept ? "li" : "li.missing", h("a", { href: it.href }, it.text, it.kept ? null : ", not kept")),
            ),
          bricks.length > BRICKS ? h("li.more", `+${count(bricks.length - BRICKS)}`) : null,
          Array.from({ length: GHOSTS }, () => h("li.ghost", { "aria-hidden": "true" })),
        ),
      ]),
      isWhole
        ? h(
            "p.legend.small.muted",
            h("span.brick", "read and kept here"),
            h("span.brick.ghost", "not read yet"),
            h("span.brick.missing", "asked for, not kept"),
          )
        : null,
    ),
  );
}

/**
 * @param {Floor} floor
 * @param {string} text
 */
const anchorLink = (floor, text) => h("a", { href: `#/${floor.name}/block/${forkOf(floor).number}` }, text);

/**
 * What the chain stands on, in words. The URL of the remote is not among them: it is the node's.
 * @param {Floor} floor a fork
 * @param {[string, any][]} more
 */
export function anchorFacts(floor, more) {
  const fork = forkOf(floor);
  return facts([
    ["Block", anchorLink(floor, count(fork.number))],
    ["Hash", h("span.mono", { title: fork.hash }, short(fork.hash))],
    ["Time", fork.at ? moment(fork.at) : null],
    ...more,
    ["Remote", "known to the node only"],
  ]);
}

/**
 * @param {Floor} floor a fork
 */
export function anchor(floor) {
  const health = (node.several && floor.layer === 2 ? houseOf(floor.name).health : live.health)?.[
    floor.layer === 1 && floor.path !== "/" ? "l1Fork" : "fork"
  ];
  const waits = health?.waiting
    ? h("span.warn", `${health.waiting} waiting, ${Math.round(health.waitingSeconds)} s`)
    : null;
  const state =
    health?.remote === "offline" ? "offline" : health?.reachable === false ? h("span.warn", "does not respond") : null;
  return h(
    "section.part.node.anchor",
    h("header", h("h2", `Anchor of L${floor.layer}`), h("span.muted", `chain ${forkOf(floor).chainId}`)),
    anchorFacts(floor, [
      ["Requests", waits],
      ["State", state],
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
      h("a.button", { href: "#/fork" }, "What was read"),
    ),
  ),
});
