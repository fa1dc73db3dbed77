/** A transaction: one page to scroll, so that the browser's own search finds everything. */

import { amountsIn, learnTokens } from "./amounts.js";
import { learnContracts } from "./compiled.js";
import { hasFailedIn, pastNote } from "./describe.js";
import { choice, h, show } from "./dom.js";
import { byteLength, count, int, short, textOf } from "./format.js";
import { isPast } from "./houses.js";
import { contractName, decodeCall, decodeLog } from "./known.js";
import { overview, reasonFor } from "./overview.js";
import { floorOf, isUpper } from "./rpc.js";
import { sentence } from "./sentence.js";
import { standing } from "./standing.js";
import { callTree, stateChanges } from "./traces.js";
import { fields } from "./values.js";
import { addressLink, copyButton, crumb, section } from "./view.js";

/**
 * @param {string} layer
 * @param {string} hash
 * @returns {Promise<import("./main.js").Page>}
 */
export async function page(layer, hash) {
  const floor = /** @type {import("./rpc.js").Floor} */ (floorOf(layer));
  let [tx, receipt] = /** @type {any[]} */ ([]);
  try {
    const both = ["eth_getTransactionByHash", "eth_getTransactionReceipt"].map((it) => floor?.call(it, hash));
    [tx, receipt] = await Promise.all(both);
  } catch (error) {
    if (!floor.fork) throw error;
    return (await import("./foundation.js")).notKept(`Transaction ${short(hash)}`, error);
  }
  if (!tx) return missing(hash);
  const logging = (receipt?.logs ?? []).map((/** @type {any} */ it) => it.address);
  const [block] = await Promise.all([
    tx.blockNumber ? floor.maybe("eth_getBlockByNumber", tx.blockNumber, false) : null,
    learnContracts(floor, [tx.to, receipt?.contractAddress, ...logging]),
  ]);
  const status = receipt
    ? hasFailedIn(receipt)
      ? h("span.badge.bad", "Failed")
      : h("span.badge.ok", "Succeeded")
    : h("span.badge.mid", "Pending");
  const failed = hasFailedIn(receipt);
  const traced = once(() => floor.call("debug_traceTransaction", hash, { tracer: "callTracer" }));
  const reason = failed && !floor.remote ? reasonFor(traced, floor, hash) : null;
  const number = int(tx.blockNumber);
  const crumbs = [
    crumb(layer),
    " / ",
    tx.blockNumber ? h("a", { href: `#/${layer}/block/${number}` }, `block ${count(number)}`) : "pool",
    " / transaction",
  ];
  const parts = [
    h("section.part", { id: "overview" }, overview(tx, receipt, block, layer, reason)),
    inputSection(tx, layer),
    receipt?.logs.length
      ? section("Events", () => eventList(receipt.logs, layer), { id: "events", rows: receipt.logs.length })
      : null,
    receipt
      ? section("Calls", () => callTree(floor, tx, traced), { id: "calls", aside: h("span.muted", "gas used") })
      : null,
    receipt ? section("State", () => stateChanges(floor, tx, receipt.logs), { id: "state" }) : null,
    h(
      "section.part",
      { id: "raw" },
      h("header", h("h2", "Raw")),
      h("pre.raw", { tabindex: 0 }, JSON.stringify({ transaction: tx, receipt }, null, 2)),
    ),
  ];
  const rail = isUpper(layer) && !isPast(layer, tx.blockNumber ?? Infinity) ? standing(layer, tx) : null;
  const hasSteps = receipt && !floor.remote && (tx.input !== "0x" || !tx.to);
  const console = `#/console/eth_getTransactionByHash?l=${layer}&p=${encodeURIComponent(JSON.stringify([hash]))}`;
  /** @type {import("./main.js").Page} */
  const made = {
    title: `Transaction ${short(hash)}`,
    leave: rail?.leave,
    body: [
      h("p.crumbs", h("span", crumbs)),
      h(
        "div.head.tx",
        h(
          "div",
          h("h1.plain", await sentence(tx, layer, failed), reason?.title, " ", status),
          h("p.whole-line", h("span.whole", hash), copyButton(hash, "the hash")),
          tx.blockNumber ? pastNote(floor, number) : null,
        ),
        h(
          "div.actions",
          hasSteps ? h("a.button.small", { href: `#/${layer}/tx/${hash}/steps` }, "Step by step") : null,
          h("a.button.small", { href: console }, "Open in console"),
        ),
      ),
      index(parts),
      h("div.with-rail", h("div", parts), rail ? h("aside.rail", rail.element) : null),
    ],
  };
  reason?.known.then(
    (text) => {
      made.title = `${text} · ${made.title}`;
      if (reason.title.isConnected) document.title = `${made.title} · Entresol`;
    },
    () => {},
  );
  return made;
}

/**
 * Load something once for all that need it; after a failure the next one tries again.
 * @template T
 * @param {() => Promise<T>} load
 */
function once(load) {
  /** @type {Promise<T> | null} */
  let found = null;
  return () => {
    found ??= load().catch((error) => {
      found = null;
      throw error;
    });
    return found;
  };
}

/** @param {(any)[]} parts */
function index(parts) {
  const names = /** @type {Record<string, string>} */ ({
    overview: "Overview",
    input: "Input",
    events: "Events",
    calls: "Calls",
    state: "State",
    raw: "Raw",
  });
  const links = parts.filter(Boolean).map((part) => {
    const link = h("a", { href: location.hash, role: "link" }, names[part.id]);
    link.addEventListener("click", (/** @type {Event} */ event) => {
      event.preventDefault();
      part.scrollIntoView({ behavior: "smooth" });
    });
    return { part, link };
  });
  const seen = new IntersectionObserver(
    (found) => {
      for (const it of found)
        if (it.isIntersecting)
          for (const { part, link } of links)
            part === it.target ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current");
    },
    { rootMargin: "-120px 0px -70% 0px" },
  );
  for (const { part } of links) seen.observe(part);
  return h(
    "nav.index",
    { "aria-label": "Parts of this page" },
    links.map((it) => it.link),
  );
}

/**
 * @param {any} tx
 * @param {string} layer
 */
function inputSection(tx, layer) {
  if (tx.input === "0x") return null;
  const decoded = decodeCall(tx.to, tx.input, layer);
  const body = h("div");
  const text = textOf(tx.input);
  let shown = decoded ? "decoded" : "hex";
  const draw = (/** @type {string} */ mode) => {
    shown = mode;
    if (mode === "hex" || !decoded) {
      show(body, h("pre.raw", { tabindex: 0 }, tx.input), text ? h("p", h("span.muted", "As text: "), text) : null);
      return;
    }
    const { entry, values } = decoded;
    show(
      body,
      h(
        "p.signature",
        h("b", entry.name),
        `(${entry.inputs.map((it) => `${it.name}`).join(", ")}) `,
        h("span.faint", `of ${contractName(entry)}`),
      ),
      fields(entry.inputs, values, layer, amountsIn(entry, layer, tx.to)),
    );
  };
  draw(shown);
  if (decoded) learnTokens(layer, [tx.to]).then((found) => found && draw(shown));
  const options = /** @type {["decoded" | "hex", string][]} */ ([
    ["decoded", "Decoded"],
    ["hex", "Hex"],
  ]);
  const aside = decoded
    ? choice("Form of the input", options, "decoded", draw)
    : h("span.muted", tx.to ? `${count(byteLength(tx.input))} bytes; drop an ABI file to decode them` : "init code");
  return h("section.part", { id: "input" }, h("header", h("h2", "Input"), aside), body);
}

/**
 * The amounts in an event; what is a topic is an item.
 * @param {import("./abi.js").Entry} entry
 * @param {any} log
 * @param {string} layer
 */
function eventAmounts(entry, log, layer) {
  const found = amountsIn(entry, layer, log.address);
  return [...found.keys()].some((at) => entry.inputs[at].indexed) ? new Map() : found;
}

/**
 * @param {any[]} logs
 * @param {string} layer
 */
async function eventList(logs, layer) {
  await learnTokens(
    layer,
    logs.map((it) => it.address),
  );
  return h(
    "ol.events",
    logs.slice(0, 200).map((log, at) => {
      const decoded = decodeLog(log, layer);
      return h(
        "li",
        h("span.muted", count(at)),
        h("div", h("b", decoded ? decoded.entry.name : "Unknown event"), h("p.small", addressLink(log.address, layer))),
        decoded
          ? fields(decoded.entry.inputs, decoded.values, layer, eventAmounts(decoded.entry, log, layer))
          : h("pre", log.topics.join("\n"), log.data === "0x" ? "" : `\n${log.data.slice(0, 2000)}`),
      );
    }),
    logs.length > 200 ? h("li.muted", `${count(logs.length - 200)} more`) : null,
  );
}

/**
 * @param {string} hash
 * @returns {import("./main.js").Page}
 */
function missing(hash) {
  return {
    title: "No such transaction",
    body: h(
      "div.empty",
      h("h1", "No such transaction"),
      h(
        "p",
        "The layer does not know ",
        h("span.mono", short(hash)),
        ". It may have gone with a revert, or be of another chain.",
      ),
      h(
        "div.actions",
        h("a.button", { href: "#/pool" }, "Look in the pool"),
        h("a.button", { href: "#/" }, "Latest blocks"),
      ),
    ),
  };
}
