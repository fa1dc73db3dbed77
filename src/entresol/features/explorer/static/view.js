/** Parts of pages: hashes, addresses, times, values, sections with their states. */

import { h, ICONS, icon, say, show, styled } from "./dom.js";
import { checksum, count, plain, short } from "./format.js";
import { nameOf } from "./known.js";
import { floorOf, isUpper, node, RpcError, toneOf } from "./rpc.js";

const SKELETON_MS = 150;
// Between attempts to load what did not load.
export const FIRST_DELAY_MS = 1000;
export const MAX_DELAY_MS = 8000;
const MAX_MESSAGE = 2000;

/**
 * @param {string} text what is copied
 * @param {string} what
 */
export function copyButton(text, what) {
  const button = h(
    "button.copy",
    { type: "button", "aria-label": `Copy ${what}`, title: `Copy ${what}` },
    icon(ICONS.copy),
  );
  button.addEventListener("click", async (/** @type {Event} */ event) => {
    event.preventDefault();
    event.stopPropagation();
    await copy(text, what);
    show(button, icon(ICONS.check));
    setTimeout(() => show(button, icon(ICONS.copy)), 1200);
  });
  return button;
}

/**
 * @param {string} text
 * @param {string} what
 */
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    say(`Copied ${what}.`);
  } catch {
    say("The browser did not allow copying.");
  }
}

/**
 * @param {string} hash
 * @param {string} href
 * @param {string} what
 */
export const hashLink = (hash, href, what) =>
  h("span.hash", h("a.mono", { href, title: hash }, short(hash)), copyButton(hash, what));

/**
 * @param {string} layer
 * @param {string} hash
 */
export const txLink = (layer, hash) => hashLink(hash, `#/${layer}/tx/${hash}`, "the hash");

/**
 * An address by its name, if it has one.
 * @param {string | null} address
 * @param {string} layer
 * @param {{both?: boolean, copies?: boolean}} [options]
 */
export function addressLink(address, layer, { both = false, copies = true } = {}) {
  if (!address) return h("span.muted", "new contract");
  const full = checksum(address);
  const name = nameOf(address, layer);
  const link = h(
    name && !both ? "a" : "a.mono",
    { href: `#/address/${full}`, title: full },
    name && !both ? name : short(full),
  );
  return h("span.hash", both && name ? [name, " "] : null, link, copies ? copyButton(full, "the address") : null);
}

/**
 * @param {string} layer
 * @param {number} number
 */
export const blockLink = (layer, number) => h("a.mono", { href: `#/${layer}/block/${number}` }, count(number));

/**
 * The number of a house on its enamel plate; of a node with one chain, the layer.
 * @param {string} layer
 */
export const badge = (layer) =>
  node.several
    ? h(`span.plate.${toneOf(layer)}`, { title: floorOf(layer)?.title }, isUpper(layer) ? layer : "L1")
    : h(`span.badge.${layer}`, layer.toUpperCase());

/**
 * A floor by its name, for the way to a page.
 * @param {string} layer
 */
export const crumb = (layer) =>
  node.several && isUpper(layer)
    ? h("a", { href: `#/${layer}` }, badge(layer), " ", floorOf(layer)?.title)
    : (floorOf(layer)?.title ?? "");

/**
 * Why a request failed. What decodes it is loaded if there is something to decode.
 * @param {unknown} error
 * @returns {Promise<string>}
 */
export const explained = (error) =>
  /** @type {any} */ (error)?.code
    ? import("./reasons.js").then(
        (it) => it.explain(error),
        () => messageOf(error),
      )
    : Promise.resolve(messageOf(error));

/**
 * What an error says, which may be the words of a contract.
 * @param {any} error
 */
const messageOf = (error) => plain(String(error?.message ?? error).slice(0, MAX_MESSAGE));

/**
 * @param {unknown} error
 * @param {() => void} [again]
 */
export function errorBox(error, again) {
  const known = error instanceof RpcError;
  const text = h("span", messageOf(error));
  if (known && error.data) explained(error).then((it) => show(text, it));
  return h(
    "div.box.bad",
    { role: "alert" },
    h(
      "div",
      h("strong", known ? `${error.method} failed` : "This did not work"),
      h("p", known && error.code ? `${error.code}, ` : null, text),
    ),
    again ? h("button", { type: "button", onclick: again }, "Try again") : null,
  );
}

/** What opens the dialog of wallets and phones. */
export const walletButton = () =>
  h(
    "button.small",
    {
      type: "button",
      onclick: async () => (await styled("tools", import("./chains.js"))).walletDialog(),
    },
    "Use a wallet or a phone",
  );

/**
 * A batch as it is built down to the ground.
 * @param {number} stage
 * @param {boolean} [stopped]
 */
export function pillar(stage, stopped = false) {
  const segments = [0, 1, 2, 3].map((at) => {
    if (stage === 4) return "over";
    if (at < stage) return "done";
    return at === stage && stage > 0 ? (stopped ? "stopped" : "work") : "";
  });
  return h(
    "span.pillar",
    { "aria-hidden": "true" },
    segments.map((it) => h(it ? `i.${it}` : "i")),
  );
}

/**
 * @param {string} title
 * @param {string} text
 * @param {...Node} actions
 */
export const empty = (title, text, ...actions) =>
  h("div.empty", h("p.title", title), h("p", text), actions.length ? h("div.actions", actions) : null);

/** @param {number} rows */
const skeleton = (rows) =>
  h(
    "div.skeleton",
    { "aria-hidden": "true" },
    Array.from({ length: rows }, () => h("div", h("i"), h("i"), h("i"), h("i"))),
  );

/**
 * A section that loads what it shows, and has states of its own.
 * @param {string} title
 * @param {() => Promise<Node | Node[] | null>} load returns null if there is nothing to show
 * @param {{id?: string, aside?: any, rows?: number}} [options]
 */
export function section(title, load, { id, aside, rows = 3 } = {}) {
  const body = h("div.body");
  const element = h(
    "section.part",
    { id: id ?? null, "aria-busy": "true" },
    title ? h("header", h("h2", title), aside ?? null) : null,
    body,
  );
  let delay = FIRST_DELAY_MS;
  let retry = 0;
  const run = async () => {
    clearTimeout(retry);
    const timer = setTimeout(() => show(body, skeleton(rows)), SKELETON_MS);
    try {
      const found = await load();
      if (found === null) element.remove();
      else show(body, /** @type {any} */ (found));
    } catch (error) {
      console.info(error);
      show(body, errorBox(error, run));
      // Without a code the node did not respond: it may come back.
      if (error instanceof RpcError && !error.code) {
        retry = window.setTimeout(() => element.isConnected && run(), delay);
        delay = Math.min(MAX_DELAY_MS, 2 * delay);
      }
    } finally {
      clearTimeout(timer);
      element.removeAttribute("aria-busy");
    }
  };
  element.load = run;
  run();
  return element;
}

/**
 * @param {[string, any][]} rows
 */
export const facts = (rows) =>
  h(
    "dl.facts",
    rows
      .filter(([, value]) => value !== null && value !== undefined)
      .map(([name, value]) => h("div", h("dt", name), h("dd", value))),
  );
