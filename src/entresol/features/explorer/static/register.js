/** The register of the street: a row for each house, also for those that are not drawn. */

import { h, keyed, table } from "./dom.js";
import { count, medianOf, plural, units } from "./format.js";
import { isAway, settling } from "./homes.js";
import { live } from "./houses.js";
import { badge } from "./view.js";

/** @typedef {import("./houses.js").House} House */
/** @typedef {import("./homes.js").View} View */

/** @returns {View} */
export function register() {
  const body = h("tbody");
  const grid = table(
    "Houses",
    [
      ["Chain"],
      ["Base token", "mid-column"],
      ["Newest block", "end"],
      ["Settlement"],
      ["Not final", "end"],
      ["Final after", "end"],
      ["Held by the bridge", "end"],
    ],
    [],
  );
  grid.querySelector("tbody")?.replaceWith(body);
  const element = h(
    "section.part.houses",
    h("header", h("h2", "Houses"), h("span.muted", plural(live.houses.length, "chain"))),
    grid,
    h("p.small.warn", "Validity proof: none, the operators are trusted."),
  );
  const draw = () => {
    keyed(
      body,
      live.houses,
      (it) => it.name,
      (it) => [it.l2.head, it.early, settling(it), it.stopped, isAway(it), String(it.held), it.finalities().length],
      houseRow,
    );
  };
  return { element, draw };
}

/** @param {House} house */
function houseRow(house) {
  const { floor } = house;
  const durations = house.finalities();
  const problem = isAway(house) ? "away" : house.stopped;
  return h(
    "tr",
    h("td", h("a.whose", { href: `#/${house.name}` }, badge(house.name), " ", h("b", floor.title))),
    h("td.mid-column.muted", floor.token.symbol),
    h("td.end", h("a", { href: `#/${house.name}/block/${house.l2.head}` }, count(Math.max(0, house.l2.head)))),
    h("td", problem ? h("span.bad", { title: problem }, String(problem).slice(0, 60)) : settling(house)),
    h("td.end", count(house.early)),
    h("td.end.muted", durations.length ? `${count(medianOf(durations))} s` : "–"),
    h("td.end", house.held === null ? "–" : `${units(house.held, floor.token.decimals, 2)} ${floor.token.symbol}`),
  );
}
