/** Transfers of tokens as the node's index has them, and what accounts have. */

import { readDetails, tokenOf } from "./describe.js";
import { h } from "./dom.js";
import { feed, pages } from "./feed.js";
import { ago, big, byOurClock, int, units } from "./format.js";
import { floors, node } from "./rpc.js";
import { addressLink, badge, empty, txLink } from "./view.js";

/** @typedef {import("./rpc.js").Floor} Floor */
/** @typedef {{floor: Floor, it: any}} Movement a transfer on a floor */
/** @typedef {import("./describe.js").Details} Details */

const NOBODY = /^0x0{40}$/;
const ITEMS = 3;

/**
 * How much a transfer moves: an amount, or items by their numbers.
 * @param {any} it
 * @param {number} decimals
 */
export function moved(it, decimals) {
  if (!it.ids.length) return it.values.length ? units(big(it.values[0]), decimals, 4) : "";
  const item = (/** @type {string} */ id, /** @type {number} */ at) => {
    const digits = String(BigInt(id));
    const number = digits.length > 10 ? `${digits.slice(0, 4)}…${digits.slice(-4)}` : digits;
    return it.standard === "ERC-721" ? `#${number}` : `${units(big(it.values[at]), 0)} × #${number}`;
  };
  const more = it.ids.length - ITEMS;
  return it.ids.slice(0, ITEMS).map(item).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/**
 * @param {Floor} floor
 * @param {string} method
 * @param {string} about
 * @returns {import("./feed.js").Source<Movement>}
 */
export const movementsOf = (floor, method, about) => async (cursor, limit) => {
  const { transfers, next } = await floor.call(method, about, cursor, limit);
  return { items: transfers.map((/** @type {any} */ it) => ({ floor, it })), next };
};

/** @param {Movement} movement */
export const timeOf = ({ floor, it }) => byOurClock(int(it.timestamp), floor.name);

/** Floors that keep the index: a layer 1 elsewhere does not. */
const indexed = () => floors().filter((it) => !it.remote);

/**
 * The transfers of an account in all tokens.
 * @param {string} account
 */
export async function accountTransfers(account) {
  const list = feed(
    indexed().map((floor) => movementsOf(floor, "entresol_getAccountTransfers", account)),
    timeOf,
  );
  await list.load(1);
  if (!list.all.length) return empty("No token has moved", "A token that this address sends or receives shows here.");
  /** @type {Map<string, Details | null>} */
  const tokens = new Map();
  const load = list.load;
  list.load = async (wanted) => {
    await load(wanted);
    await Promise.all(
      list.all.map(async ({ floor, it }) => tokens.set(floor.name + it.token, await tokenOf(floor.name, it.token))),
    );
  };
  return pages(
    list,
    "Token transfers",
    [["", ""], ["Transaction"], ["From", "mid-column"], ["To", "mid-column"], ["Amount", "end"], ["Age", "end"]],
    ({ floor, it }) => {
      const token = tokens.get(floor.name + it.token);
      const isIn = it.to.toLowerCase() === account;
      return h(
        "tr",
        h("td", badge(floor.name)),
        h("td", txLink(floor.name, it.transactionHash)),
        h("td.mid-column", side(it.from, floor, "minted")),
        h("td.mid-column", side(it.to, floor, "burnt")),
        h(
          `td.end${isIn ? ".ok" : ""}`,
          `${isIn ? "+" : "−"}${moved(it, token?.decimals ?? 0)} `,
          h("a", { href: `#/token/${floor.name}/${it.token}` }, token?.symbol ?? "token"),
        ),
        h("td.end.muted", ago(int(it.timestamp), floor.name)),
      );
    },
  );
}

/**
 * @param {string} address
 * @param {Floor} floor
 * @param {string} nobody what it means if it is nobody
 */
export const side = (address, floor, nobody) =>
  NOBODY.test(address) ? h("span.muted", nobody) : addressLink(address, floor.name, { copies: false });

/**
 * What an account has of each token that it ever received, with the floors in the order of the page.
 * @param {string} account
 * @returns {Promise<{floor: Floor, token: Details, balance: bigint | null}[]>}
 */
export async function tokensOf(account) {
  const lists = await Promise.all(
    indexed().map(async (floor) => {
      return (await receivedOn(floor, account)).map((it) => ({
        floor,
        token: readDetails(it),
        balance: it.balance === null ? null : big(it.balance),
      }));
    }),
  );
  return lists.flat().filter((it) => it.balance !== 0n);
}

/**
 * The first tokens that an account ever received on a floor, as the node describes them.
 * @param {Floor} floor
 * @param {string} account
 * @returns {Promise<any[]>}
 */
export async function receivedOn(floor, account) {
  const found = [];
  let cursor = null;
  // A page ends after two seconds.
  for (let page = 0; page < MAX_PAGES && found.length < READ_TOKENS; page++) {
    const some = await floor.maybe("entresol_getAccountTokens", account, cursor, READ_TOKENS - found.length);
    found.push(...(some?.tokens ?? []));
    cursor = some?.next ?? null;
    if (cursor === null) break;
  }
  return found;
}

/**
 * What an account has of a token's items, by their numbers, as a place that is filled once they were asked for.
 * @param {Floor} floor
 * @param {string} token
 * @param {string} account
 */
export function itemsView(floor, token, account) {
  const place = h("span.muted", "items");
  readItems(floor, token, account).then((found) => {
    if (found) place.textContent = moved(found, 0) || "none";
  }, console.info);
  return place;
}

/**
 * @param {Floor} floor
 * @param {string} token
 * @param {string} account
 */
async function readItems(floor, token, account) {
  /** @type {Set<string>} */
  const received = new Set();
  let cursor = null;
  for (let page = 0; page < MAX_PAGES && received.size < READ_ITEMS; page++) {
    const some = await floor.call("entresol_getAccountTransfers", account, cursor, READ_TOKENS);
    for (const it of some.transfers)
      if (it.token.toLowerCase() === token.toLowerCase()) for (const id of it.ids) received.add(id);
    cursor = some.next;
    if (cursor === null) break;
  }
  const ids = [...received].slice(0, READ_ITEMS);
  const word = (/** @type {string} */ it) => it.slice(2).padStart(64, "0");
  const values = await Promise.all(
    ids.map((id) => floor.call("eth_call", { to: token, data: `${BALANCE_OF}${word(account)}${word(id)}` }, "latest")),
  );
  // A contract that returns nothing does not say.
  if (values.some((it) => it.length !== 66)) return null;
  const has = (/** @type {any} */ _, /** @type {number} */ at) => BigInt(values[at]) > 0n;
  return { standard: "ERC-1155", ids: ids.filter(has), values: values.filter(has) };
}

// balanceOf(address,uint256)
const BALANCE_OF = "0x00fdd58e";
const READ_ITEMS = 50;
const READ_TOKENS = 100;
const MAX_PAGES = 5;
const SHOWN = 30;

/**
 * The tokens of an account, in the rail of its page.
 * @param {string} account
 */
export async function tokenList(account) {
  const found = await tokensOf(account);
  if (!found.length) return h("p.muted.small", "none");
  return h(
    "ul.tokens",
    found
      .slice(0, SHOWN)
      .map(({ floor, token, balance }) =>
        h(
          "li",
          h(
            "span",
            h("a", { href: `#/token/${floor.name}/${token.address}`, title: token.name }, token.symbol),
            " ",
            h("span.small.muted", token.name),
          ),
          h(
            "span",
            balance === null ? itemsView(floor, token.address, account) : units(balance, token.decimals, 4),
            " ",
            node.l1 && node.l2 ? badge(floor.name) : null,
          ),
        ),
      ),
    found.length > SHOWN ? h("li.muted", `${found.length - SHOWN} more`) : null,
  );
}
