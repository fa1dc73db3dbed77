/** The transfers of a token on all floors, and its holders. */

import { called } from "./describe.js";
import { h, s } from "./dom.js";
import { feed, pages } from "./feed.js";
import { ago, big, checksum, count, hex, int, units } from "./format.js";
import { stateOf } from "./houses.js";
import { decodeLog, topicOf } from "./known.js";
import { moved, movementsOf, side, timeOf } from "./movements.js";
import { addressOf, firstOf } from "./rpc.js";
import { BASE_TOKEN_HOLDER, L2_NATIVE_TOKEN_VAULT } from "./system.js";
import { balanceOf } from "./tokens.js";
import { badge, empty, txLink } from "./view.js";

/** @typedef {import("./rpc.js").Floor} Floor */
/** @typedef {import("./rpc.js").Token} Token */
/** @typedef {import("./token.js").Place} Place */

const MAX_LOGS = 5000;
const MAX_HOLDERS = 8;
const MAX_LISTED = 100;
const MAX_PEOPLE = 60;

const NOBODY = `0x${"0".repeat(40)}`;

/**
 * @param {Place} place
 * @returns {import("./feed.js").Source<import("./movements.js").Movement>}
 */
const sourceOf = ({ floor, address }) =>
  floor.remote ? logsOf(floor, address) : movementsOf(floor, "entresol_getTokenTransfers", address);

/**
 * The last transfers of a layer 1 elsewhere, by its logs.
 * @param {Floor} floor
 * @param {string} address
 * @returns {import("./feed.js").Source<import("./movements.js").Movement>}
 */
const logsOf = (floor, address) => async () => {
  const fromBlock = hex(firstOf(floor));
  const filter = { address, topics: [topicOf("TestERC20", "Transfer")], fromBlock, toBlock: "latest" };
  const logs = await floor.call("eth_getLogs", filter);
  const items = logs.slice(-MAX_LOGS).map((/** @type {any} */ log) => {
    const [from, to, amount] = decodeLog(log, floor.name)?.values ?? [NOBODY, NOBODY, 0n];
    const timestamp = int(log.blockTimestamp) || (stateOf(floor.name).blocks.get(int(log.blockNumber))?.at ?? 0);
    const { transactionHash } = log;
    return { floor, it: { transactionHash, from, to, values: [hex(BigInt(amount))], ids: [], timestamp } };
  });
  return { items: items.reverse(), next: null };
};

/**
 * @param {Place[]} places
 * @param {Token} token
 * @param {string} birthplace the floor where it was born, and nobody mints but its contract
 */
export async function transferTable(places, token, birthplace) {
  const list = feed(places.map(sourceOf), timeOf);
  await list.load(1);
  if (!list.all.length) return empty("Nothing has moved", "A transfer shows here as soon as a block has it.");
  return pages(
    list,
    "Transfers",
    [["", ""], ["Transaction"], ["From", "mid-column"], ["To", "mid-column"], ["Amount", "end"], ["Age", "end"]],
    ({ floor, it }) =>
      h(
        "tr",
        h("td", badge(floor.name)),
        h("td", txLink(floor.name, it.transactionHash)),
        h("td.mid-column", sideOf(it.from.toLowerCase(), floor, birthplace, "minted")),
        h("td.mid-column", sideOf(it.to.toLowerCase(), floor, birthplace, "burnt")),
        h("td.end", moved(it, token.decimals)),
        h("td.end.muted", int(it.timestamp) ? ago(int(it.timestamp), floor.name) : ""),
      ),
  );
}

/**
 * @param {string} address
 * @param {Floor} floor
 * @param {string} birthplace
 * @param {string} nobody what it means if it is nobody
 */
function sideOf(address, floor, birthplace, nobody) {
  if (isBridge(address, floor)) return h("span.muted", "Bridge");
  return side(address, floor, floor.name === birthplace ? nobody : "the stairs");
}

/**
 * @param {string} address
 * @param {Floor} floor
 */
const isBridge = (address, floor) =>
  floor.layer === 1
    ? [addressOf("L1NativeTokenVault"), addressOf("L1AssetRouter")].includes(address)
    : address === L2_NATIVE_TOKEN_VAULT || address === BASE_TOKEN_HOLDER;

/**
 * @param {Place} place
 * @param {string} who
 */
const balanceAt = async ({ floor, address, isBase }, who) =>
  isBase ? big(await floor.maybe("eth_getBalance", who, "latest")) : balanceOf(floor.name, address, who);

/**
 * Who has a token on a floor: by the index, else those whom the last transfers name.
 * @param {Place} place
 * @returns {Promise<{people: [string, bigint | null][], more: number | null, isSorted: boolean}>} more than are listed;
 *   null if that is not known
 */
async function holdersAt(place) {
  const { floor, address, isBase } = place;
  if (!floor.remote && !isBase) {
    const {
      holders: found,
      count: total,
      isSorted,
    } = await floor.call("entresol_getTokenHolders", address, null, MAX_LISTED);
    const people = found.map((/** @type {any} */ it) => [it.address.toLowerCase(), it.balance && big(it.balance)]);
    return { people, more: total === null ? null : int(total) - people.length, isSorted };
  }
  const { items } = await sourceOf(place)(null, MAX_LISTED);
  const names = items.flatMap(({ it }) => [it.from.toLowerCase(), it.to.toLowerCase()]);
  const seen = [...new Set(names)].filter((it) => BigInt(it)).slice(0, MAX_PEOPLE);
  const people = await Promise.all(
    seen.map(async (it) => /** @type {[string, bigint]} */ ([it, await balanceAt(place, it)])),
  );
  return { people, more: null, isSorted: true };
}

/**
 * Who has most of it, in all houses together.
 * @param {Place[]} places
 * @param {Token} token
 * @param {bigint | null} supply of all floors together, if it is known
 */
export async function holders(places, token, supply) {
  const lists = await Promise.all(places.map(holdersAt));
  /** @type {Map<string, {who: string, at: string[], total: bigint, says: boolean}>} */
  const byName = new Map();
  lists.forEach(({ people }, index) => {
    const { floor } = places[index];
    for (const [who, balance] of people) {
      if (isBridge(who, floor) || balance === 0n) continue;
      const entry = byName.get(who) ?? { who, at: [], total: 0n, says: balance !== null };
      entry.at.push(floor.name);
      entry.total += balance ?? 0n;
      byName.set(who, entry);
    }
  });
  const unsorted = lists.some((it) => !it.isSorted);
  const found = [...byName.values()];
  const hidden = lists.reduce((sum, it) => sum + (it.more ?? 0), 0);
  const rich = found.sort((a, b) => (a.total < b.total ? 1 : -1));
  if (!rich.length) return places.some((it) => it.floor.fork) ? h("p.muted", "Nobody has received it yet.") : null;
  const total = supply || rich.reduce((sum, it) => sum + it.total, 0n) || 1n;
  const more = rich.length - MAX_HOLDERS + hidden;
  return h(
    "ol.holders",
    rich.slice(0, MAX_HOLDERS).map(({ who, at: [first, ...others], total: its, says }) => {
      const share = Math.min(100, Number((its * 1000n) / total) / 10);
      return h(
        "li",
        h(
          "span.split",
          h(
            "span",
            h("a", { href: `#/address/${checksum(who)}` }, called(who, first)),
            " ",
            others.length ? null : badge(first),
          ),
          says
            ? h("span", units(its, token.decimals, 2), h("span.small.muted", ` ${share.toFixed(1)} %`))
            : h("span.muted", "does not say"),
        ),
        s(
          "svg.share",
          { viewBox: "0 0 100 3", preserveAspectRatio: "none", "aria-hidden": "true" },
          s("path", { d: `M0 1.5h${share}` }),
        ),
      );
    }),
    unsorted
      ? h("li.muted", "Too many to sort: these are the first by address.")
      : more > 0
        ? h("li.muted", `${count(more)} more`)
        : null,
  );
}
