/** The explorer: load what it knows, then show the page that the address names. */

import { h, icon, s, say, show, styled } from "./dom.js";
import { clockTime } from "./format.js";
import { houseOf, live, MAX_DRAWN } from "./houses.js";
import { keys } from "./keys.js";
import { learn, loadNames } from "./known.js";
import { follow, followHouses, notify, watch } from "./live.js";
import { connect, floorOf, node, RpcError } from "./rpc.js";
import { searchBox } from "./search.js";
import { errorBox, FIRST_DELAY_MS, MAX_DELAY_MS } from "./view.js";

/** @typedef {{title: string, body: Node | Node[], leave?: () => void}} Page */

/** @type {[string, string, string, string][]} the key, name, link and icon of each tab */
export const TABS = [
  ["f", "Floors", "#/", "M1 3h14M5 8h6M1 13h14"],
  ["b", "Bridge", "#/bridge", "M2 14h3v-4h3V6h3V2h3"],
  ["p", "Pool", "#/pool", "M2 4h12M4 8h8M6 12h4"],
  ["c", "Console", "#/console", "M2 4l4 4-4 4M8 12h6"],
  ["x", "Controls", "#/controls", "M2 4h7M13 4h1M11 2v4M2 12h1M7 12h7M5 10v4"],
];

/**
 * Layers in addresses are `l1`, the id of a chain, or `l2`, which is the first chain.
 * @type {[RegExp, (match: string[], query: URLSearchParams) => Promise<Page>][]}
 */
const ROUTES = [
  [
    /^$/,
    async () =>
      node.several ? (await styled("street", import("./street.js"))).page() : (await import("./home.js")).page(),
  ],
  [/^(\d+)$/, async ([, chain]) => (await import("./home.js")).page(chain)],
  [/^bridge$/, async () => (await import("./bridge.js")).page()],
  [
    /^(?:(l2|\d+)\/)?bridge\/(0x[0-9a-f]{64}|d\d+)(?:\/(\d+))?$/i,
    async ([, chain, id, log]) => (await import("./bridge.js")).page(log ? `${id}/${log}` : id, chain),
  ],
  [/^bundle\/(0x[0-9a-f]{64})$/i, async ([, hash]) => (await styled("bundle", import("./bundle.js"))).page(hash)],
  [
    /^(?:(l2|\d+)\/)?batch\/(\d+)$/,
    async ([, chain, number]) => (await import("./batch.js")).page(chain ?? "l2", Number(number)),
  ],
  [/^(l1|l2|\d+)\/block\/(\w+)$/, async ([, layer, id]) => (await import("./block.js")).page(layer, id)],
  [
    /^(l1|l2|\d+)\/tx\/(0x[0-9a-f]{64})$/i,
    async ([, layer, hash]) => (await styled("transaction", import("./transaction.js"))).page(layer, hash),
  ],
  [
    /^(l1|l2|\d+)\/tx\/(0x[0-9a-f]{64})\/steps$/i,
    async ([, layer, hash], query) => (await styled("steps", import("./steps.js"))).page(layer, hash, query),
  ],
  [
    /^token\/(l1|l2|\d+)\/(0x[0-9a-f]{40})$/i,
    async ([, layer, address]) => (await styled("tools", import("./token.js"))).page(layer, address),
  ],
  [
    /^address\/(0x[0-9a-f]{40})$/i,
    async ([, address]) =>
      (await (node.several ? styled("street", import("./address.js")) : import("./address.js"))).page(address),
  ],
  [/^(?:(\d+)\/)?fork$/, async ([, chain]) => (await styled("fork", import("./fork.js"))).page(chain)],
  [
    /^(?:(l1|l2|\d+)\/)?(blocks|transactions)$/,
    async ([, layer, what]) => (await styled("tools", import("./lists.js"))).page(layer, what),
  ],
  [/^(?:(l1|l2|\d+)\/)?charts$/, async ([, layer]) => (await styled("charts", import("./charts.js"))).page(layer)],
  [/^pool$/, async () => (await import("./pool.js")).page()],
  [
    /^console(?:\/([\w.]+))?$/,
    async ([, method], query) => (await styled("tools", import("./console.js"))).page(method, query),
  ],
  [/^controls$/, async () => (await styled("tools", import("./controls.js"))).page()],
];

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
/** @type {(() => void) | undefined} */
let leave;
let visit = 0;
// The delay before the next attempt to show a page that did not load.
let delay = FIRST_DELAY_MS;
let retry = 0;

/**
 * Try again by itself, and by the button that is returned.
 * @param {unknown} error
 * @param {() => void} attempt
 */
function tryAgain(error, attempt) {
  const now = async () => {
    clearTimeout(retry);
    if (error instanceof RpcError || !(await responds())) attempt();
    // The browser keeps a module that it could not load as failed for as long as the page lives.
    else location.reload();
  };
  clearTimeout(retry);
  retry = window.setTimeout(now, delay);
  delay = Math.min(MAX_DELAY_MS, 2 * delay);
  return errorBox(error, now);
}

const responds = () =>
  fetch("/explorer/node.json", { cache: "no-store" }).then(
    (response) => response.ok,
    () => false,
  );

async function route() {
  clearTimeout(retry);
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  if (path === "main") return;
  const mine = ++visit;
  const [first, second = ""] = path.split("/");
  for (const tab of document.querySelectorAll("#tabs a")) {
    const target = /** @type {HTMLAnchorElement} */ (tab).hash.slice(2);
    const isHere = target === (/^\d+$/.test(first) ? second : first);
    if (isHere) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  try {
    const known = !/^\d+$/.test(first) || floorOf(first);
    const found = ROUTES.map(([pattern, open]) => ({ match: pattern.exec(decodeURIComponent(path)), open })).find(
      (it) => it.match,
    );
    if (node.several && path) followHouses(floorOf(first) ? [houseOf(first)] : live.houses.slice(0, MAX_DRAWN));
    const page =
      found && known
        ? await found.open([.../** @type {any} */ (found.match)].map(nameIn), new URLSearchParams(query))
        : nowhere(path);
    if (mine !== visit) {
      page.leave?.();
      return;
    }
    delay = FIRST_DELAY_MS;
    leave?.();
    leave = page.leave;
    document.title = `${page.title} · Entresol`;
    main.className = `wide at-${path.split("/")[0] || "home"}`;
    show(main, page.body);
    if (mine > 1) {
      scrollTo(0, 0);
      const title = main.querySelector("h1");
      title?.setAttribute("tabindex", "-1");
      // A user who types already has the focus.
      if (!document.activeElement?.closest("input, textarea, select, dialog")) title?.focus({ preventScroll: true });
    }
  } catch (error) {
    console.info(error);
    if (mine === visit) show(main, h("h1", "This page did not load"), tryAgain(error, route));
  }
}

/** A chain by the name that its floor has, whichever the address of a page calls it by.
 * @param {string} part of an address
 * @param {number} at */
const nameIn = (part, at) => (at === 1 && /^(l2|\d+)$/.test(part ?? "") ? (floorOf(part)?.name ?? part) : part);

/**
 * @param {string} path
 * @returns {Page}
 */
const nowhere = (path) => ({
  title: "No such page",
  body: h(
    "div.empty",
    h("h1", "There is no such room"),
    h("p", `Nothing is at “${path.slice(0, 80)}”.`),
    h("div.actions", h("a.button", { href: "#/" }, node.several ? "To the street" : "To the floors")),
  ),
});

function tabs() {
  const nav = /** @type {HTMLElement} */ (document.getElementById("tabs"));
  if (node.several) TABS[0] = ["f", "Street", "#/", "M1 14h14M2 14V7l3-3 3 3v7M8 14V8l3-2 3 2v6"];
  const shown = TABS.filter(([, name]) => name !== "Bridge" || (node.l1 && node.l2));
  show(
    nav,
    shown.map(([, name, href, path]) => h(`a.tab-${name.toLowerCase()}`, { href }, icon(path), h("span", name))),
  );
}

const THEMES = ["system", "dark", "light"];

function theme() {
  const button = /** @type {HTMLButtonElement} */ (document.getElementById("theme"));
  let now = localStorage.getItem("entresol-theme") ?? "system";
  const apply = () => {
    if (now === "system") document.documentElement.removeAttribute("data-theme");
    else document.documentElement.dataset.theme = now;
    button.setAttribute("aria-label", `Theme: ${now}`);
    button.title = `Theme: ${now}`;
    show(
      button,
      s(
        "svg.icon",
        { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" },
        s("circle", { cx: 8, cy: 8, r: 6 }),
        s("path.half", { d: "M8 2a6 6 0 0 1 0 12z" }),
      ),
    );
  };
  button.addEventListener("click", () => {
    now = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length];
    localStorage.setItem("entresol-theme", now);
    apply();
    say(`Theme: ${now}`);
  });
  apply();
}

/** The lamp in the header, and the banner of a node that is away. */
function lamp() {
  const element = /** @type {HTMLElement} */ (document.getElementById("live"));
  const banner = /** @type {HTMLElement} */ (document.getElementById("banner"));
  let before = "";
  const draw = () => {
    const drawn = live.houses.filter((it) => it.floor.socket).map((it) => it.l2.state);
    // One of several houses that is away says so itself.
    const houses = node.several && drawn.some((it) => it === "live") ? ["live"] : drawn;
    const states = [...houses, node.l1 && live.l1.state];
    const state = states.includes("away") ? "away" : states.includes("connecting") ? "connecting" : "live";
    if (state !== before) {
      before = state;
      const words = { away: "Away", connecting: "Connecting", live: "Live" };
      element.className = `live ${state}`;
      show(element, h("i"), h("span", words[state]));
      document.documentElement.dataset.node = state;
      if (state === "away") say("The node does not respond.");
      const acting = /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll("button.acts"));
      for (const it of acting) it.disabled = state === "away";
    }
    const stopped = live.houses.filter((it) => it.stopped);
    const whose = node.several ? ` of ${stopped.map((it) => it.floor.title).join(", ")}` : "";
    const text =
      state === "away"
        ? `The node has not responded since ${clockTime(live.awaySince)}. What you see is from then. Trying again in ${Math.max(0, Math.ceil((live.retryAt - Date.now()) / 1000))} s.`
        : stopped.length
          ? `Settlement${whose} has stopped: ${stopped[0].stopped}`
          : live.notice;
    banner.hidden = !text;
    banner.className = text === live.notice ? "note" : "";
    if (banner.textContent !== text) show(banner, text);
  };
  watch(draw);
  setInterval(draw, 1000);
}

/** ABIs can be dropped anywhere. */
function drops() {
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", async (event) => {
    event.preventDefault();
    for (const file of event.dataTransfer?.files ?? []) {
      try {
        if (file.size > 5_000_000) throw new Error("The file is too large.");
        const here = /^#\/address\/(0x[0-9a-f]{40})/i.exec(location.hash);
        const at = here ? [`l1:${here[1]}`, `l2:${here[1]}`] : [];
        const name = learn(await file.text(), file.name, at);
        notify(`Learned the ABI of ${name}.`);
        dispatchEvent(new Event("learned"));
      } catch (error) {
        notify(`${file.name}: ${/** @type {Error} */ (error).message}`);
      }
    }
  });
}

async function start() {
  try {
    await connect();
    await loadNames();
  } catch (error) {
    show(main, h("h1", "The node is away"), tryAgain(error, start));
    return;
  }
  tabs();
  show(/** @type {Element} */ (document.getElementById("search")), searchBox());
  keys(TABS);
  lamp();
  drops();
  addEventListener("hashchange", route);
  addEventListener("learned", route);
  follow();
  await route();
}

theme();
start();
