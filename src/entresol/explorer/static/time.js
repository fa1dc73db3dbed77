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
  const onBoth = async (/** @type {string} */ method, /** @type {any[]} */ params, mines = false) => {
    for (const floor of movable) {
      const done = await act(shown, floor.name, method, params);
      if (done === undefined) return;
      if (mines) await floor.maybe("evm_mine");
    }
  };
  const by = (/** @type {number} */ seconds) => onBoth("evm_increaseTime", [seconds], true);
  const set = () => {
    const at = Date.parse(`${next.value.trim().replace(" ", "T")}Z`) / 1000;
    if (Number.isNaN(at)) show(shown, h("p.bad.small", "A time is written 2026-11-16 00:00:00."));
    else onBoth("evm_setNextBlockTimestamp", [at]);
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
    h("label.field", h("span", "The next block’s time"), h("span.mine", next, button("Set", set))),
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
