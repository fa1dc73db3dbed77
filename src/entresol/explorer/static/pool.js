/** The pool: what is pending on each floor, and what is queued behind a missing nonce. */

import { what } from "./describe.js";
import { h, keyed, show } from "./dom.js";
import { big, count, gwei, int, plural, units } from "./format.js";
import { live, watch } from "./live.js";
import { floors } from "./rpc.js";
import { addressLink, empty, errorBox, table, txLink } from "./view.js";

const MAX = 200;

/** @returns {import("./main.js").Page} */
export function page() {
  const parts = floors()
    .filter((it) => !it.remote)
    .map(floorPart);
  let loaded = "";
  const load = () => {
    const now = `${live.l1.head}/${live.l2.head}/${live.pending}`;
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
    `Pool of layer ${floor.layer}`,
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
    h("header", h("h2", floor.layer === 2 ? "Upper floor" : "Ground floor"), note),
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
            h("td.end", `${gwei(tip(tx))} gwei`),
            h("td.end", `${units(big(tx.value))} ETH`),
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
