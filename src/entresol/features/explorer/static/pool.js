/** The pool: what is pending on each floor, and what is queued behind a missing nonce. */

import { what } from "./describe.js";
import { h, keyed, show, table } from "./dom.js";
import { amount, big, count, int, plural, price } from "./format.js";
import { heads, live } from "./houses.js";
import { watch } from "./live.js";
import { floors, node } from "./rpc.js";
import { addressLink, badge, empty, errorBox, txLink } from "./view.js";

const MAX = 200;

/** @returns {import("./main.js").Page} */
export function page() {
  const parts = floors()
    .filter((it) => !it.remote)
    .map(floorPart);
  let loaded = "";
  const load = () => {
    const now = `${heads()} ${live.houses.map((it) => it.l2.pending)}`;
    if (now === loaded) return;
    loaded = now;
    for (const part of parts) part.load();
  };
  // The pool changes without a block, and no subscription says so for all of it.
  const timer = setInterval(() => {
    if (!document.hidden) for (const part of parts) part.load();
  }, 2000);
  const stop = watch(load);
  return {
    title: "Pool",
    leave: () => {
      clearInterval(timer);
      stop();
    },
    body: [
      h(
        "div.head",
        h(
          "div",
          h("h1", "At the door"),
          h("p.muted", "Transactions that no block has yet. The best offer goes in first."),
        ),
      ),
      ...parts.map((it) => it.element),
    ],
  };
}

/** @param {import("./rpc.js").Floor} floor */
function floorPart(floor) {
  const body = h("tbody");
  const note = h("span.muted");
  const grid = table(
    node.several ? `Pool of ${floor.title}` : `Pool of layer ${floor.layer}`,
    [
      ["Hash"],
      ["What"],
      ["From"],
      ["To", "mid-column"],
      ["Nonce", "end"],
      ["Tip", "end"],
      ["Value", "end"],
      ["State", "end"],
    ],
    [],
  );
  grid.querySelector("tbody")?.replaceWith(body);
  const holder = h("div");
  const element = h(
    "section.part",
    h("header", h("h2", node.several ? [badge(floor.name), " "] : null, floor.title), note),
    holder,
  );
  const load = async () => {
    try {
      const content = await floor.call("txpool_content");
      const all = ["pending", "queued"].flatMap((state) =>
        Object.values(content[state]).flatMap((sender) =>
          Object.values(/** @type {any} */ (sender)).map((tx) => ({ tx: /** @type {any} */ (tx), state })),
        ),
      );
      all.sort((a, b) => a.state.localeCompare(b.state) || Number(tip(b.tx) - tip(a.tx)));
      show(
        note,
        `${plural(all.filter((it) => it.state === "pending").length, "pending", "pending")}, ${all.filter((it) => it.state === "queued").length} queued`,
      );
      if (!all.length) {
        show(holder, empty("None pending", "A transaction is in a block as soon as it comes, unless mining is off."));
        return;
      }
      if (!grid.isConnected) show(holder, grid);
      keyed(
        body,
        all.slice(0, MAX),
        (it) => it.tx.hash,
        (it) => it.state,
        ({ tx, state }) =>
          h(
            "tr",
            h("td", txLink(floor.name, tx.hash)),
            h("td", what(tx, floor.name).verb),
            h("td", addressLink(tx.from, floor.name)),
            h("td.mid-column", addressLink(tx.to, floor.name)),
            h("td.end", count(int(tx.nonce))),
            h("td.end", price(tip(tx), floor.token).join(" ")),
            h("td.end", amount(big(tx.value), floor.token)),
            h("td.end", h(state === "pending" ? "span.badge.mid" : "span.badge", state)),
          ),
      );
    } catch (error) {
      show(holder, errorBox(error, load));
    }
  };
  load();
  return { element, load };
}

/** @param {any} tx */
const tip = (tx) => big(tx.maxPriorityFeePerGas ?? tx.gasPrice);
