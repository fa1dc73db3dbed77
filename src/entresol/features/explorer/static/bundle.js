/** A bundle: its life, its calls, who may run them, and its proof. */

import { advance, carried, doneBy, leftOf, listed, partyOf, stageName, titleOf } from "./bundles.js";
import { callsView } from "./calls.js";
import { called } from "./describe.js";
import { h, show } from "./dom.js";
import { count, hex, int, plural, short } from "./format.js";
import { heads, houseOf, reverts } from "./houses.js";
import { decodeLog, topicOf } from "./known.js";
import { lifeView } from "./life.js";
import { changed, watch } from "./live.js";
import { findBundle, SEARCHED_BLOCKS } from "./lookup.js";
import { streetProof } from "./roots.js";
import { floorOf, node } from "./rpc.js";
import { INTEROP_HANDLER, ROOT_STORAGE } from "./system.js";
import { addressLink, badge, copyButton, empty, facts, txLink } from "./view.js";

/** @typedef {import("./bundles.js").Bundle} Bundle */

const AGAIN_MS = 900;

/**
 * @param {string} hash
 * @returns {Promise<import("./main.js").Page>}
 */
export async function page(hash) {
  let it = await findBundle(hash.toLowerCase());
  if (!it) return missing(hash);
  const body = h("div");
  let before = reverts();
  let readAt = ["", 0];
  let drawn = "";
  let reading = false;
  const read = async () => {
    // A chain notes what layer 1 did a moment after the block, which may be the last one for long.
    if (reading || (readAt[0] === heads() && Date.now() - Number(readAt[1]) < AGAIN_MS)) return;
    reading = true;
    readAt = [heads(), Date.now()];
    try {
      if (before !== reverts()) it = await findBundle(hash.toLowerCase());
      before = reverts();
      if (!it) return void show(body, missing(hash).body);
      await advance(it);
      const moments = await momentsOf(it);
      const calls = it.calls.map((call) => call.status);
      const state = JSON.stringify([it.stage, it.batchStage, it.status, it.problem, it.failing, calls, moments]);
      if (state !== drawn) show(body, ...parts(it, moments));
      drawn = state;
    } finally {
      reading = false;
      if (readAt[0] !== heads()) changed();
    }
  };
  await read();
  return {
    title: `Bundle ${short(hash)}`,
    body,
    leave: watch(() => void read().catch(() => {})),
  };
}

/**
 * @param {Bundle} it
 * @param {Awaited<ReturnType<typeof momentsOf>>} moments
 */
function parts(it, moments) {
  const there = String(it.destination);
  const home = titleOf(Number(floorOf(it.house)?.chainId));
  const state = it.problem
    ? h("span.badge.bad", "Not booked")
    : it.stage === 5 && leftOf(it)
      ? h("span.badge.mid", `${plural(leftOf(it), "call")} left`)
      : h(it.status === 2 ? "span.badge.ok" : "span.badge.mid", stageName(it));
  const link = `#/console/zks_getL2ToL1LogProof?l=${it.house}&p=${encodeURIComponent(JSON.stringify([it.tx, it.log, "messageRoot"]))}`;
  const what = listed([plural(it.calls.length, "call"), ...carried(it.calls)]);
  const party = (/** @type {string} */ bytes, /** @type {string} */ nobody) => {
    const found = partyOf(bytes);
    return found ? addressLink(found.address, there, { both: true }) : nobody;
  };
  return [
    h("p.crumbs", h("span", h("a", { href: "#/" }, "Between the houses"), " / bundle")),
    h(
      "div.head.tx",
      h(
        "div",
        h(
          "h1.plain",
          called(it.from, it.house),
          " sent ",
          h("strong", what),
          ` from ${home} to ${titleOf(it.destination)} `,
          state,
        ),
        h("p.whole-line", h("span.whole", it.hash), copyButton(it.hash, "the hash")),
      ),
      h("div.actions", h("a.button.small", { href: link }, "Open in console")),
    ),
    lifeView(it, moments),
    it.problem
      ? h(
          "div.box.bad",
          h(
            "div",
            h("strong.bad", "Layer 1 has not booked it"),
            h(
              "p",
              `${it.problem}. No other chain learns of it until then. Other bundles of batch ${count(it.batch)} do not wait for it, and what the batch withdraws stays payable.`,
            ),
          ),
        )
      : null,
    it.failing
      ? h(
          "div.box.bad",
          h(
            "div",
            h("strong.bad", "The relay cannot run it"),
            h("p", `${it.failing}. It tries again, later each time.`),
          ),
        )
      : null,
    h(
      "div.with-panel.of-bundle",
      h(
        "div",
        callsView(it, moments.blocks),
        h(
          "section.part",
          h("header", h("h2", "Bundle")),
          facts([
            ["From", [addressLink(it.from, it.house, { both: true }), " on ", badge(it.house), " ", home]],
            ["To", floorOf(there) ? [badge(there), " ", titleOf(it.destination)] : titleOf(it.destination)],
            ["May be run by", party(it.executor, "anybody")],
            ["May be unbundled by", party(it.unbundler, "nobody")],
            ["Sent in", [txLink(it.house, it.tx), `, message ${count(it.log)}`]],
            [
              it.status === 2 ? "Run in" : "Last touched in",
              it.done ? [txLink(there, it.done.tx), ` on ${titleOf(it.destination)}`] : null,
            ],
          ]),
        ),
      ),
      h(
        "aside.panel",
        { "aria-label": "Proof" },
        it.proof && node.l1 ? streetProof(it, moments.arrived?.[0] ?? 0) : waiting(it),
      ),
    ),
  ];
}

/** @param {Bundle} it */
function waiting(it) {
  if (it.problem)
    return empty("No proof", "The root that other chains know leaves it out until Layer 1 has booked it.");
  const text = [
    "Its batch is not sealed yet.",
    `Batch ${count(it.batch)} has to be executed on layer 1.`,
    "Layer 1 has executed it. Its books have to be settled.",
  ][it.stage];
  return empty("Proof not there yet", text ?? "");
}

/**
 * When it was where: asked for once each.
 * @param {Bundle} it
 */
async function momentsOf(it) {
  const there = floorOf(String(it.destination));
  const batch = it.batch ? await houseOf(it.house).loadBatch(it.batch) : null;
  const l1 = /** @type {import("./rpc.js").Floor} */ (node.l1);
  const hash = batch?.hashes[2];
  const settled = it.proof ? int(it.proof.gatewayBlockNumber) : 0;
  const head = there ? houseOf(there.name).l2.head : 0;
  const from = hex(Math.max(0, head - SEARCHED_BLOCKS));
  const search = async (/** @type {string} */ address, /** @type {any[]} */ topics) =>
    (await there?.maybe("eth_getLogs", { address, topics, fromBlock: from, toBlock: "latest" })) ?? [];
  const [execution, ground, arrivals, events] = await Promise.all([
    hash ? l1.maybe("eth_getTransactionReceipt", hash) : null,
    settled ? l1.maybe("eth_getBlockByNumber", hex(settled), false) : null,
    it.stage >= 4
      ? search(ROOT_STORAGE, [topicOf("L2InteropRootStorage", "InteropRootAdded"), word(l1.chainId), word(settled)])
      : [],
    it.stage === 5 ? search(INTEROP_HANDLER, [null, it.hash]) : [],
  ]);
  if (events.length) it.done = doneBy(events[events.length - 1]);
  /** @type {string[]} */
  const blocks = [];
  for (const log of events) {
    const decoded = there && decodeLog(log, there.name);
    if (decoded?.entry.name === "CallProcessed")
      blocks[Number(decoded.values[1])] = `block ${count(int(log.blockNumber))}`;
  }
  return {
    batchAt: batch?.at ?? 0,
    executed: execution ? pair(int(execution.blockNumber), batch?.executed ?? 0) : null,
    settled: settled ? pair(settled, int(ground?.timestamp)) : null,
    arrived: arrivals.length ? pair(int(arrivals[0].blockNumber), int(arrivals[0].blockTimestamp)) : null,
    blocks,
  };
}

/**
 * @param {number} block
 * @param {number} at
 * @returns {[number, number]}
 */
const pair = (block, at) => [block, at];

/** @param {number} value */
const word = (value) => `0x${value.toString(16).padStart(64, "0")}`;

/**
 * @param {string} hash
 * @returns {import("./main.js").Page}
 */
const missing = (hash) => ({
  title: "No such bundle",
  body: h(
    "div.empty",
    h("h1", "No such bundle"),
    h(
      "p",
      "No house has sent ",
      h("span.mono", short(hash)),
      ` in its last ${count(SEARCHED_BLOCKS)} blocks, and none has run it.`,
    ),
    h("div.actions", h("a.button", { href: "#/" }, node.several ? "To the street" : "To the floors")),
  ),
});
