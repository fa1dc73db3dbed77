/** The panel that moves the clocks of both layers. */

import { h, show } from "./dom.js";
import { clockOffset, moment, timeOf } from "./format.js";
import { floors, node } from "./rpc.js";

/**
 * @param {(shown: Element, where: string, method: string, params: any[]) => Promise<any>} act
 * @param {(text: string, onclick: () => unknown) => Node} button
 */
export function timePanel(act, button) {
  const shown = h("div.request", { "aria-live": "polite" });
  const now = h("span.muted");
  const warning = h("p.small.warn");
  const next = h("input.mono", { "aria-label": "The next block’s time, UTC", placeholder: "2026-11-16 00:00:00" });
  // Layer 1 first: it does not take a batch of layer 2 from its future.
  const movable = floors()
    .filter((it) => !it.remote)
    .reverse();
  const on = async (/** @type {typeof movable} */ where, /** @type {string} */ method, /** @type {any[]} */ params) => {
    for (const floor of where) if ((await act(shown, floor.name, method, params)) === undefined) return false;
    return true;
  };
  const by = async (/** @type {number} */ seconds) => {
    // Several L2s and their L1 have one clock, a pair has two.
    const clocks = node.several ? movable.slice(0, 1) : movable;
    if (await on(clocks, "evm_increaseTime", [seconds])) for (const floor of movable) await floor.maybe("evm_mine");
  };
  const set = () => {
    const at = Date.parse(`${next.value.trim().replace(" ", "T")}Z`) / 1000;
    if (Number.isNaN(at)) show(shown, h("p.bad.small", "A time is written 2026-11-16 00:00:00."));
    else on(movable, "evm_setNextBlockTimestamp", [at]);
  };
  const steps = /** @type {[string, number][]} */ ([
    ["+1 minute", 60],
    ["+1 hour", 3600],
    ["+1 day", 86400],
    ["+1 month", 2592000],
  ]);
  const element = h(
    "section.panel",
    h("header", h("h2", "Time"), now),
    movable.length > 1 ? h("p.muted", `${node.several ? "All" : "Both"} floors move together.`) : null,
    h(
      "div.actions",
      steps.map(([text, seconds]) => button(text, () => by(seconds))),
    ),
    h("label.field", h("span", "The next block’s time, UTC"), h("span.mine", next, button("Set", set))),
    warning,
    shown,
  );
  return {
    element,
    draw: () => {
      show(now, moment(timeOf(node.own.name)));
      const ahead = node.l1 ? Math.max(0, ...node.l2s.map((it) => clockOffset(it.name))) - clockOffset("l1") : 0;
      show(
        warning,
        ahead > 600
          ? `L2 is ${Math.floor(ahead / 60)} min ahead of L1. Batches stay pending until L1’s clock is near enough.`
          : "",
      );
    },
  };
}
