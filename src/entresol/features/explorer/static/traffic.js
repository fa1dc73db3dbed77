/** The bundles between all houses: found by the events of their sending, followed until nothing can happen to them. */

import { advance, bundleOf, doneBy } from "./bundles.js";
import { byOurClock, hasSeen, hex } from "./format.js";
import { live, reverts } from "./houses.js";
import { topicOf } from "./known.js";
import { alsoLoad, changed } from "./live.js";
import { node } from "./rpc.js";
import { INTEROP_CENTER, INTEROP_HANDLER } from "./system.js";

/** @typedef {import("./bundles.js").Bundle} Bundle */
/** @typedef {import("./houses.js").House} House */

const PAGE_BLOCKS = 2000;
const MAX = 100;
const MAX_OPEN = 40;

/** @type {Map<string, Bundle>} by their hashes */
const all = new Map();
/** @type {Map<string, import("./bundles.js").Done>} what last happened to bundles in their destinations */
const ends = new Map();
/** @type {Map<House, number>} the last block of each house that was searched */
const searched = new Map();
let before = 0;

/** @returns {Bundle[]} the newest first */
export const bundles = () => [...all.values()].sort((a, b) => sentAt(b) - sentAt(a) || b.block - a.block);

/** Those that are under way. */
export const passing = () => bundles().filter((it) => it.stage < 5);

/** @param {Bundle} it */
const sentAt = (it) => byOurClock(it.at, it.house);

/**
 * How many seconds passed from sent to executed, by our clock: chains have clocks of their own, so only what has
 * happened since the page was opened counts.
 * @returns {number[]}
 */
export const durations = () =>
  bundles().flatMap((it) => {
    const there = String(it.destination);
    if (it.status !== 2 || !it.done?.at || !hasSeen(it.at, it.house) || !hasSeen(it.done.at, there)) return [];
    return Math.max(0, Math.round(byOurClock(it.done.at, there) - sentAt(it)));
  });

let started = false;

/** Follow the bundles of all houses from now on. */
export function followBundles() {
  if (started || !node.l1) return;
  started = true;
  alsoLoad(update);
  update(live.houses).then(changed, () => {});
}

/** @param {House[]} houses those that have changed */
async function update(houses) {
  // Once any layer has gone back, all that was found may be gone.
  const isWhole = before === reverts();
  if (!isWhole) for (const it of [all, ends, searched]) it.clear();
  before = reverts();
  await Promise.all((isWhole ? houses : live.houses).map((it) => search(it).catch(() => {})));
  const open = bundles().filter((it) => !it.final);
  await Promise.all(open.slice(0, MAX_OPEN).map((it) => advance(it).catch(() => {})));
  for (const it of all.values()) it.done = ends.get(it.hash) ?? it.done;
}

/** @param {House} house */
async function search(house) {
  const { head } = house.l2;
  const from = (searched.get(house) ?? Math.max(-1, head - PAGE_BLOCKS)) + 1;
  if (head < from) return;
  const topics = ["BundleVerified", "BundleExecuted", "BundleUnbundled"].map((it) => topicOf("InteropHandler", it));
  const logs = await house.floor.call("eth_getLogs", {
    address: [INTEROP_CENTER, INTEROP_HANDLER],
    topics: [[topicOf("InteropCenter", "InteropBundleSent"), ...topics]],
    fromBlock: hex(from),
    toBlock: hex(head),
  });
  const found = await Promise.all(logs.slice(-MAX).map((/** @type {any} */ log) => bundleOf(log, house)));
  for (const it of found) if (it && !all.has(it.hash)) all.set(it.hash, it);
  for (const log of logs.filter((/** @type {any} */ it) => it.address === INTEROP_HANDLER))
    ends.set(log.topics[1], doneBy(log));
  for (const it of bundles().slice(MAX)) all.delete(it.hash);
  while (ends.size > 5 * MAX) ends.delete(/** @type {any} */ (ends.keys().next().value));
  searched.set(house, head);
}
