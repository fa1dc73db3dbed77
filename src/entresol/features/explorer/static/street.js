/** The street: a house for each chain, on one ground. One of them is drawn on a phone, and at most five elsewhere. */

import { followCrossings } from "./crossings.js";
import { differs, drawCells, h, keyed, show, styled } from "./dom.js";
import { big, byOurClock, count, medianOf, plural, units } from "./format.js";
import { isAway, NUMBERS, onStairs, outline, settling, streetView } from "./homes.js";
import { heads, live, MAX_DRAWN } from "./houses.js";
import { callData } from "./known.js";
import { followHouses, watch } from "./live.js";
import { transactions } from "./newest.js";
import { ETHER, floors, node } from "./rpc.js";
import { INTEROP_CENTER } from "./system.js";
import { walletButton } from "./view.js";

/** @typedef {import("./houses.js").House} House */
/** @typedef {{element: HTMLElement, draw: () => void}} View */

const RECENT_SECONDS = 600;

// The house that is drawn on a phone.
let chosen = "";

/** @returns {import("./main.js").Page} */
export function page() {
  const phone = matchMedia("(max-width: 719px)");
  const pulse = h("dl.pulse.of-street");
  const skyline = h("ol.skyline", { "aria-label": "Houses" });
  const place = h("div");
  const below = h("div");
  /** @type {View | null} */
  let street = null;
  /** @type {View | null} */
  let rest = null;
  /** @type {View[] | null} the passages, and the list of bundles */
  let ways = null;
  let laidOut = "";
  const layOut = () => {
    const drawn = phone.matches ? [chosenHouse()] : busiest();
    const kind = phone.matches ? "solo" : live.houses.length > 2 ? "terrace" : "pair";
    const now = `${kind} ${drawn.map((it) => it.name)}`;
    if (street && now === laidOut) return drawn;
    laidOut = now;
    followHouses(drawn);
    followCrossings(drawn);
    street = streetView(drawn, kind);
    rest = kind === "pair" ? pairBelow() : null;
    show(place, street.element);
    ways = null;
    show(below, rest?.element ?? null);
    if (kind === "terrace")
      import("./register.js").then((it) => {
        if (laidOut !== now) return;
        rest = it.register();
        show(below, rest.element);
        rest.draw();
      });
    return drawn;
  };
  const draw = () => {
    if (!live.ready) return;
    const drawn = layOut();
    if (phone.matches) drawSkyline(skyline, draw);
    skyline.hidden = !phone.matches;
    drawCells(pulse, phone.matches ? cellsOfOne(drawn[0]) : cellsOfAll(drawn));
    street?.draw();
    if (traffic && street) {
      ways ??= traffic.views(street.element, place, phone.matches);
      for (const it of ways) it.draw();
    } else loadTraffic().then((it) => it && draw());
    rest?.draw();
  };
  const stop = watch(draw);
  phone.addEventListener("change", draw);
  return {
    title: "Street",
    body: [h("h1.unseen", "Street"), skyline, pulse, place, below],
    leave: () => {
      phone.removeEventListener("change", draw);
      stop();
    },
  };
}

// Bundles and their passages are loaded once a house has sent one.
/** @type {typeof import("./passages.js") | null} */
let traffic = null;
let askedAt = "";

/** @returns {Promise<boolean>} whether they were loaded just now */
async function loadTraffic() {
  if (askedAt === heads()) return false;
  askedAt = heads();
  // Every bundle pays a fee, which is never taken back.
  const call = { to: INTEROP_CENTER, data: callData("InteropCenter", "burntFees") };
  const fees = await Promise.all(live.houses.map(({ floor }) => floor.maybe("eth_call", call, "latest")));
  if (traffic || !fees.some((it) => big(it))) return false;
  traffic = await styled("bundle", import("./passages.js"));
  return true;
}

const chosenHouse = () => live.houses.find((it) => it.name === chosen) ?? live.houses[0];

/** The houses that are drawn: those where most happened lately, in the order of the street. */
function busiest() {
  if (live.houses.length <= MAX_DRAWN) return live.houses;
  const now = Date.now() / 1000;
  const business = (/** @type {House} */ house) =>
    [...house.l2.blocks.values()]
      .filter((it) => now - byOurClock(it.at, house.name) < RECENT_SECONDS)
      .reduce((sum, it) => sum + it.txs.length, 0);
  busy ??= [...live.houses].sort((a, b) => business(b) - business(a)).slice(0, MAX_DRAWN);
  return live.houses.filter((it) => busy?.includes(it));
}

// They stay while the page lives: houses that come and go could not be watched.
/** @type {House[] | null} */
let busy = null;

/**
 * @param {House} house
 * @returns {[string, any[], any][]}
 */
function cellsOfOne(house) {
  const durations = house.finalities();
  const { ups, downs } = onStairs([house]);
  return [
    ["Final on L1 after", durations.length ? [`${count(medianOf(durations))} `, h("small", "s")] : ["–"], ""],
    ["Not yet final", [`${count(house.early)} `, h("small", house.early === 1 ? "block" : "blocks")], ""],
    ["On the stairs", [`${ups} `, h("small", "up"), ` ${downs} `, h("small", "down")], ""],
  ];
}

/**
 * @param {House[]} drawn
 * @returns {[string, any[], any][]}
 */
function cellsOfAll(drawn) {
  const all = live.houses;
  const medians = all
    .map((house) => ({ house, seconds: house.finalities() }))
    .filter((it) => it.seconds.length)
    .map(({ house, seconds }) => ({ house, seconds: medianOf(seconds) }));
  const slowest = medians.reduce((a, b) => (b.seconds > a.seconds ? b : a), medians[0]);
  const early = all.filter((it) => it.early);
  const blocks = early.reduce((sum, it) => sum + it.early, 0);
  const most = [...early].sort((a, b) => b.early - a.early)[0];
  const { ups, downs, claims } = onStairs(drawn);
  const stopped = all.filter((it) => it.stopped);
  return [
    [
      "Final on L1 after",
      medians.length ? [`${count(medianOf(medians.map((it) => it.seconds)))} `, h("small", "s")] : ["–"],
      all.length > 2 || !slowest
        ? `median of ${NUMBERS[medians.length] ?? medians.length} chain${medians.length === 1 ? "" : "s"}`
        : `slowest: ${slowest.house.floor.title}, ${count(slowest.seconds)} s`,
    ],
    [
      "Not yet final",
      [`${count(blocks)} `, h("small", blocks === 1 ? "block" : "blocks")],
      early.length > 2
        ? `${count(most.early)} of them in ${most.floor.title}`
        : early.map((it) => `${it.floor.title} ${count(it.early)}`).join(", ") || "all stand on the ground",
    ],
    [
      "On the stairs",
      [`${ups} `, h("small", "up"), ` ${downs} `, h("small", "down")],
      claims ? `${claims} to be claimed` : "none to be claimed",
    ],
    ...(traffic ? [traffic.cell()] : []),
    stopped.length
      ? ["Stopped", [`${stopped.length} `, h("small", stopped.length === 1 ? "chain" : "chains")], reasonOf(stopped[0])]
      : heldCell(),
  ];
}

/** @param {House} house */
const reasonOf = (house) => h("span.bad", `${house.floor.title}: ${String(house.stopped).slice(0, 60)}`);

/** @returns {[string, any[], string]} what the bridge holds of ether, and of how many other tokens */
function heldCell() {
  const inEther = live.houses.filter((it) => it.floor.token.address === ETHER.address);
  const held = inEther.reduce((sum, it) => sum + (it.held ?? 0n), 0n);
  const others = new Set(live.houses.map((it) => it.floor.token.address).filter((it) => it !== ETHER.address));
  const whom = live.houses.length === 2 ? "both chains" : "all chains";
  return [
    "Held by the bridge",
    [`${units(held, 18, 2)} `, h("small", "ETH")],
    others.size ? `and ${plural(others.size, "token")}, for ${whom}` : `for ${whom}`,
  ];
}

/**
 * @param {Element} element
 * @param {() => void} draw
 */
function drawSkyline(element, draw) {
  keyed(
    element,
    live.houses,
    (it) => it.name,
    (it) => [it === chosenHouse(), it.stopped, isAway(it)],
    (it) => {
      const word = isAway(it) ? "away" : it.stopped ? "stopped" : "";
      return h(
        "li",
        h(
          "button",
          {
            type: "button",
            "aria-pressed": String(it === chosenHouse()),
            onclick: () => {
              chosen = it.name;
              draw();
            },
          },
          outline("M.5 52V12L32 .5 63.5 12V52", "0 0 64 52"),
          h("b", it.floor.chainId),
          h(word ? "span.bad" : "span", word || it.floor.title),
        ),
      );
    },
  );
}

/**
 * Below two houses: the newest transactions, and what the node says of itself.
 * @returns {View}
 */
function pairBelow() {
  const list = transactions(floors());
  const state = h("dl");
  const element = h(
    "div.columns",
    list.element,
    h(
      "aside",
      h(
        "section.part.node",
        h("header", h("h2", "Node"), h("span.muted", node.info.version)),
        state,
        h("div.actions", walletButton(), h("a.button.small", { href: "#/charts" }, "Charts")),
      ),
    ),
  );
  const draw = () => {
    list.draw();
    /** @type {[string, any][]} */
    const rows = [
      [
        "Deposits",
        live.houses.find((it) => it.health?.deposits)?.health.deposits ?? `reading, L1 block ${count(live.l1.head)}`,
      ],
      ...live.houses.map(
        (it) =>
          /** @type {[string, any]} */ ([
            `${it.floor.title} settles`,
            it.stopped ? h("span.bad", it.stopped) : settling(it),
          ]),
      ),
      ...live.houses.map(
        (it) =>
          /** @type {[string, any]} */ ([
            `${it.floor.title}'s data`,
            it.floor.chain?.publishes ? "published on layer 1" : h("span.warn", "none on layer 1"),
          ]),
      ),
      ["Validity proof", h("span.warn", "none: the operators are trusted")],
    ];
    if (differs(state, JSON.stringify(rows.map(([, it]) => it.textContent ?? it))))
      show(
        state,
        rows.map(([name, value]) => h("div", h("dt", name), h("dd", value))),
      );
  };
  return { element, draw };
}
