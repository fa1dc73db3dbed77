/** A fork: what it stands on, brick by brick, and what it has read of the chain below. */

import { choice, differs, h, isHeld, keyed, show, table } from "./dom.js";
import { age, clockTime, count, hex, moment, plural, short, size } from "./format.js";
import { anchorFacts, masonry } from "./foundation.js";
import { house } from "./house.js";
import { houseOf } from "./houses.js";
import { nameOf } from "./known.js";
import { watch } from "./live.js";
import { node } from "./rpc.js";
import { addressLink, empty } from "./view.js";

/**
 * @typedef {import("./rpc.js").Floor} Floor
 * @typedef {{what: string, which: string, size: number, at: number, kept: boolean}} Read
 * @typedef {{chainId: number, blockNumber: number, blockHash: string, timestamp: number, isOffline: boolean,
 *   isReachable: boolean | null, unreachableSeconds: number, waiting: number, waitingSeconds: number, cached: number,
 *   missed: number, kept: number, keptBytes: number, reads: Read[]}} Report
 */

const REFRESH_MS = 2000;
const ROWS = 12;

/**
 * What the node says of a fork; its remote is known to the node only.
 * @param {Floor} floor
 * @returns {Promise<Report | null>}
 */
async function reportOf(floor) {
  const path = floor.layer === 2 && floor.chain ? `${floor.chain.path}/fork.json` : "/explorer/fork.json";
  const response = await fetch(path).catch(() => null);
  const found = response?.ok ? await response.json().catch(() => null) : null;
  return (floor.layer === 1 && node.own.layer === 2 ? found?.l1Fork : found?.fork) ?? null;
}

/**
 * @param {string} [name] of one of several chains
 * @returns {import("./main.js").Page}
 */
export function page(name = "l2") {
  const of = node.l2 ? houseOf(name) : null;
  const forks = /** @type {Floor[]} */ ([of?.floor, node.l1].filter((it) => it?.fork));
  const drawing = house(of);
  const parts = forks.map(forkPart);
  const load = () => {
    if (!document.hidden) for (const it of parts) it.load();
  };
  const stop = watch(drawing.draw);
  const timer = setInterval(load, REFRESH_MS);
  load();
  return {
    title: "Fork",
    leave: () => {
      clearInterval(timer);
      stop();
    },
    body: forks.length
      ? [
          h("h1.unseen", "Fork"),
          ...parts.map((it) => it.banner),
          drawing.element,
          ...parts.flatMap((it) => [it.courses, it.columns]),
        ]
      : [h("h1.unseen", "Fork"), empty("No copy", "No chain of this node is a fork of another one.")],
  };
}

/** @param {Floor} floor */
function forkPart(floor) {
  const whose = node.several || node.l1?.fork !== floor.fork ? "" : node.l2 ? " of L1" : "";
  const banner = h("div");
  const courses = h("div");
  const aside = h("aside");
  const rows = h("tbody");
  const chooser = h("div");
  const grid = table(`Read from chain ${floor.fork?.chainId}`, COLUMNS, []);
  grid.querySelector("tbody")?.replaceWith(rows);
  /** @type {Report | null} */
  let report = null;
  let only = "all";
  let limit = ROWS;
  const more = h("button.small", { type: "button", hidden: true });
  more.addEventListener("click", () => {
    limit = Number.POSITIVE_INFINITY;
    drawRows();
  });
  const list = h(
    "section.part.reads",
    h("header", h("h2", `Read from chain ${floor.fork?.chainId}`), chooser),
    grid,
    more,
  );
  const drawRows = () => {
    const all = report?.reads ?? [];
    const missing = all.filter((it) => !it.kept);
    if (differs(chooser, `${all.length} ${missing.length}`))
      show(
        chooser,
        choice(
          "Which",
          [
            ["all", `All ${count(all.length)}`],
            ["missing", `Not kept ${count(missing.length)}`],
          ],
          only,
          (it) => {
            only = it;
            drawRows();
          },
        ),
      );
    const chosen = only === "all" ? all : missing;
    const shown = chosen.slice(0, limit);
    more.hidden = shown.length === chosen.length;
    show(more, `Show all ${count(chosen.length)}, newest first`);
    // Age is what moves, and only once somebody looks away.
    if (!isHeld(rows) || !rows.firstChild)
      keyed(
        rows,
        shown,
        (it) => `${it.what} ${it.which} ${it.at}`,
        (it) => [it.kept, age(Date.now() / 1000 - it.at)],
        (it) => row(it, floor),
      );
  };
  return {
    banner,
    courses,
    columns: h("div.columns", list, aside),
    load: async () => {
      report = await reportOf(floor);
      if (!report) return;
      const { reads, waitingSeconds, unreachableSeconds, ...rest } = report;
      if (differs(banner, JSON.stringify([rest, !unreachableSeconds, reads.filter((it) => !it.kept).length])))
        show(banner, awayBanner(floor, report, whose));
      if (differs(courses, JSON.stringify(reads))) show(courses, masonry(floor, coursesOf(floor, reads)));
      if (differs(aside, JSON.stringify([rest, Math.round(waitingSeconds)]))) show(aside, panel(floor, report));
      drawRows();
    },
  };
}

/** @type {[string, string?][]} */
const COLUMNS = [["What"], ["Which"], ["How much", "mid-column"], ["Age", "end"], ["State", "end"]];
const KINDS = { account: "Account", code: "Code", slot: "Storage" };

/** @param {string} what */
const isBlock = (what) => what === "hash" || what.startsWith("eth_getBlockBy");
/** @param {string} it a number or a hash */
const blockName = (it) => (it.length < 66 ? Number(it) : it);
/** @param {string} it */
const blockText = (it) => (it.length < 66 ? count(Number(it)) : h("span.mono", { title: it }, short(it)));

/**
 * @param {Read} read
 * @param {Floor} floor
 */
function row(read, floor) {
  const [address, slot] = read.which.split("/");
  const isState = read.what === "account" || read.what === "code" || read.what === "slot";
  const number = isBlock(read.what) ? read.which.split(",")[0] : null;
  const which = isState
    ? [addressLink(address, floor.name, { copies: false }), slot ? `, slot ${slotName(slot)}` : null]
    : number
      ? h("a", { href: `#/${floor.name}/block/${blockName(number)}` }, blockText(number))
      : h("span.mono.wrap", read.which.slice(0, 24));
  return h(
    "tr",
    h(
      "td",
      isBlock(read.what)
        ? "Block"
        : (KINDS[/** @type {keyof typeof KINDS} */ (read.what)] ?? h("span.mono", read.what)),
    ),
    h("td", which),
    h("td.mid-column", read.kept ? amountOf(read) : ""),
    h("td.end", { title: moment(read.at) }, age(Date.now() / 1000 - read.at)),
    h("td.end", read.kept ? h("span.muted", "kept") : h("span.bad", "not kept")),
  );
}

/** @param {Read} read */
const amountOf = (read) =>
  ({ account: "balance and nonce", slot: "1 word", hash: "its hash" })[read.what] ?? plural(read.size, "byte");

/** @param {string} slot */
const slotName = (slot) => {
  const number = BigInt(slot);
  return number < 1n << 32n ? hex(number) : short(slot);
};

/**
 * The bricks of each course: blocks, accounts, code, storage.
 * @param {Floor} floor
 * @param {Read[]} reads
 * @returns {[string, import("./foundation.js").Brick[]][]}
 */
function coursesOf(floor, reads) {
  const named = (/** @type {string} */ it) => nameOf(it, floor.name) ?? short(it);
  const linked = (/** @type {string} */ it) => `#/address/${it}`;
  /** @type {Map<string | number, boolean>} */
  const blocks = new Map([[floor.fork?.number ?? 0, true]]);
  for (const { what, which, kept } of reads) if (isBlock(what)) blocks.set(blockName(which.split(",")[0]), kept);
  /** @param {string} what */
  const accounts = (what) => {
    /** @type {Map<string, {kept: boolean, slots: number}>} */
    const found = new Map();
    for (const it of reads) {
      if (it.what !== what) continue;
      const address = it.which.split("/")[0];
      const known = found.get(address);
      if (known) known.slots++;
      else found.set(address, { kept: it.kept, slots: 1 });
    }
    return [...found];
  };
  return [
    [
      "Blocks",
      [...blocks].map(([at, kept]) => ({
        text: typeof at === "number" ? count(at) : short(at),
        href: `#/${floor.name}/block/${at}`,
        kept,
      })),
    ],
    ["Accounts", accounts("account").map(([it, { kept }]) => ({ text: named(it), href: linked(it), kept }))],
    ["Code", accounts("code").map(([it, { kept }]) => ({ text: named(it), href: linked(it), kept }))],
    [
      "Storage",
      accounts("slot").map(([it, { kept, slots }]) => ({
        text: `${named(it)}, ${plural(slots, "slot")}`,
        href: linked(it),
        kept,
      })),
    ],
  ];
}

/**
 * @param {Floor} floor
 * @param {Report} report
 * @param {string} whose
 */
function awayBanner(floor, report, whose) {
  if (!report.isOffline && report.isReachable !== false) return null;
  const missing = report.reads.filter((it) => !it.kept);
  const asked = missing.length
    ? `; ${missing.length === 1 ? "one request" : `${count(missing.length)} requests`} asked for what is not kept`
    : "";
  const since = clockTime(Date.now() - 1000 * report.unreachableSeconds);
  return h(
    "div.box.away",
    { role: "status" },
    h(
      "p",
      h("strong", report.isOffline ? `Offline${whose}. ` : `Away since ${since}${whose}. `),
      report.isOffline
        ? `No request leaves this machine. What was read stays and the node goes on${asked}.`
        : `Chain ${report.chainId} does not respond. What was read stays and the node goes on${asked}.`,
    ),
    report.isOffline ? null : h("button", { type: "button", onclick: () => askAgain(floor, missing[0]) }, "Try again"),
  );
}

/**
 * Ask for something that is not kept: the node asks its remote again.
 * @param {Floor} floor
 * @param {Read | undefined} missing
 */
async function askAgain(floor, missing) {
  const address = missing?.what.length && missing.which.startsWith("0x") ? missing.which.slice(0, 42) : null;
  if (address?.length === 42) await floor.maybe("eth_getBalance", address, "latest");
  else await floor.maybe("eth_getBlockByNumber", hex(Math.max(0, (floor.fork?.number ?? 1) - 1)), false);
}

/**
 * @param {Floor} floor
 * @param {Report} report
 */
function panel(floor, report) {
  const asked = report.cached + report.missed;
  const share = asked ? `, ${Math.round((100 * report.cached) / asked)} %` : "";
  return h(
    "section.part.node.anchor",
    h("header", h("h2", `Anchor of L${floor.layer}`), h("span.muted", `chain ${report.chainId}`)),
    anchorFacts(floor, [
      ["From the cache", `${count(report.cached)} of ${count(asked)}${share}`],
      ["Kept", `${size(report.keptBytes)}, ${plural(report.kept, "value")}`],
      ["Waiting", report.waiting ? h("span.warn", `${report.waiting}, ${Math.round(report.waitingSeconds)} s`) : null],
    ]),
  );
}
