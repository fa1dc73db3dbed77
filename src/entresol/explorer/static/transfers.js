/** The transfers of a token on all floors, and its holders. */

import { called } from "./describe.js";
import { h, s, show, table } from "./dom.js";
import { ago, big, byOurClock, checksum, count, hex, int, units } from "./format.js";
import { stateOf } from "./houses.js";
import { decodeLog, topicOf } from "./known.js";
import { addressOf, firstOf } from "./rpc.js";
import { balanceOf, HOLDER, L2_VAULT } from "./tokens.js";
import { addressLink, badge, empty, txLink } from "./view.js";

/** @typedef {import("./rpc.js").Floor} Floor */
/** @typedef {import("./rpc.js").Token} Token */
/** @typedef {import("./token.js").Place} Place */
/** @typedef {{floor: Floor, log: any, from: string, to: string, amount: bigint}} Transfer */

const MAX_LOGS = 5000;
const PAGE = 25;
const MAX_HOLDERS = 8;
const MAX_PEOPLE = 60;

/** @type {WeakMap<Place[], Promise<Transfer[]>>} */
const read = new WeakMap();

/**
 * All transfers, the newest first.
 * @param {Place[]} places
 */
function transfersOf(places) {
  const known = read.get(places) ?? readTransfers(places);
  read.set(places, known);
  return known;
}

/** @param {Place[]} places */
async function readTransfers(places) {
  const lists = await Promise.all(
    places.map(async ({ floor, address }) => {
      const fromBlock = hex(firstOf(floor));
      const filter = { address, topics: [topicOf("TestERC20", "Transfer")], fromBlock, toBlock: "latest" };
      const logs = await floor.call("eth_getLogs", filter);
      return logs.slice(-MAX_LOGS).map((/** @type {any} */ log) => {
        const [from, to, amount] = decodeLog(log, floor.name)?.values ?? ["", "", 0n];
        return { floor, log, from: String(from).toLowerCase(), to: String(to).toLowerCase(), amount: BigInt(amount) };
      });
    }),
  );
  return /** @type {Transfer[]} */ (lists.flat().sort((a, b) => at(b) - at(a)));
}

/** @param {Transfer} it */
const at = ({ log, floor }) => byOurClock(timeOf(log, floor.name), floor.name);

/**
 * @param {any} log
 * @param {string} layer
 */
const timeOf = (log, layer) => int(log.blockTimestamp) || (stateOf(layer).blocks.get(int(log.blockNumber))?.at ?? 0);

/**
 * @param {Place[]} places
 * @param {Token} token
 */
export async function transferTable(places, token) {
  const all = await transfersOf(places);
  if (!all.length) return empty("Nothing has moved", "A transfer shows here as soon as a block has it.");
  const holder = h("div");
  let start = 0;
  const draw = () => {
    const rows = all
      .slice(start, start + PAGE)
      .map(({ floor, log, from, to, amount }) =>
        h(
          "tr",
          h("td", badge(floor.name)),
          h("td", txLink(floor.name, log.transactionHash)),
          h("td.mid-column", sideOf(from, floor)),
          h("td.mid-column", sideOf(to, floor)),
          h("td.end", units(amount, token.decimals, 4)),
          h(
            "td.end.muted",
            timeOf(log, floor.name) ? ago(timeOf(log, floor.name), floor.name) : count(int(log.blockNumber)),
          ),
        ),
      );
    const turn = (/** @type {string} */ text, /** @type {number} */ by, /** @type {boolean} */ off) =>
      h(
        "button.small",
        {
          type: "button",
          disabled: off,
          onclick: () => {
            start += by;
            draw();
          },
        },
        text,
      );
    show(
      holder,
      table(
        "Transfers",
        [["", ""], ["Transaction"], ["From", "mid-column"], ["To", "mid-column"], ["Amount", "end"], ["Age", "end"]],
        rows,
      ),
      h(
        "p.pager.split",
        h("span.muted", `${start + 1} to ${Math.min(start + PAGE, all.length)} of ${count(all.length)}, newest first`),
        h("span", turn("Newer", -PAGE, start === 0), " ", turn("Older", PAGE, start + PAGE >= all.length)),
      ),
    );
  };
  draw();
  return holder;
}

/**
 * @param {string} address
 * @param {Floor} floor
 */
function sideOf(address, floor) {
  if (!BigInt(address)) return h("span.muted", floor.layer === 1 ? "minted or burnt" : "the stairs");
  return isBridge(address, floor) ? h("span.muted", "Bridge") : addressLink(address, floor.name, { copies: false });
}

/**
 * @param {string} address
 * @param {Floor} floor
 */
const isBridge = (address, floor) =>
  floor.layer === 1
    ? [addressOf("L1NativeTokenVault"), addressOf("L1AssetRouter")].includes(address)
    : address === L2_VAULT || address === HOLDER;

/**
 * @param {Place} place
 * @param {string} who
 */
const balanceAt = async ({ floor, address, isBase }, who) =>
  isBase ? big(await floor.maybe("eth_getBalance", who, "latest")) : balanceOf(floor.name, address, who);

/**
 * Who has most of it, in all houses together: those that a transfer names.
 * @param {Place[]} places
 * @param {Token} token
 * @param {bigint | null} supply of all floors together, if it is known
 */
export async function holders(places, token, supply) {
  const all = await transfersOf(places);
  const seen = all.flatMap(({ floor, from, to }) => [from, to].filter((it) => BigInt(it) && !isBridge(it, floor)));
  const people = [...new Set(seen)].slice(0, MAX_PEOPLE);
  const found = await Promise.all(
    people.map(async (who) => {
      const balances = await Promise.all(places.map((it) => balanceAt(it, who)));
      const at = places.filter((_, index) => balances[index]).map((it) => it.floor.name);
      return { who, at, total: balances.reduce((sum, it) => sum + it, 0n) };
    }),
  );
  const rich = found.filter((it) => it.total).sort((a, b) => (a.total < b.total ? 1 : -1));
  if (!rich.length) return null;
  const total = supply || rich.reduce((sum, it) => sum + it.total, 0n);
  return h(
    "ol.holders",
    rich.slice(0, MAX_HOLDERS).map(({ who, at: [first, ...more], total: its }) => {
      const share = Math.min(100, Number((its * 1000n) / total) / 10);
      return h(
        "li",
        h(
          "span.split",
          h(
            "span",
            h("a", { href: `#/address/${checksum(who)}` }, called(who, first)),
            " ",
            more.length ? null : badge(first),
          ),
          h("span", units(its, token.decimals, 2), h("span.small.muted", ` ${share.toFixed(1)} %`)),
        ),
        s(
          "svg.share",
          { viewBox: "0 0 100 3", preserveAspectRatio: "none", "aria-hidden": "true" },
          s("path", { d: `M0 1.5h${share}` }),
        ),
      );
    }),
    rich.length > MAX_HOLDERS ? h("li.muted", `${count(rich.length - MAX_HOLDERS)} more`) : null,
  );
}
