/** What the search box finds by the node's index: tokens by symbol, and hashes by their beginning. */

import { short } from "./format.js";
import { floors, node } from "./rpc.js";

/** @typedef {import("./search.js").Hit} Hit */

const FEW = 4;
const LISTS = ["blocks", "transactions"];
const SELECTOR = 8;
const MIN_PREFIX = 4;
/** Longer numbers are not a block's. */
const MAX_NUMBER = 12;

const indexed = () => floors().filter((it) => !it.remote);

/** @param {import("./rpc.js").Floor} floor */
const whereOf = (floor) => (node.several ? floor.title : floor.name.toUpperCase());

/**
 * Tokens whose symbol begins with a text, or whose name has it.
 * @param {string} text
 * @returns {Promise<Hit[]>}
 */
async function tokensNamed(text) {
  const lists = await Promise.all(
    indexed().map(async (floor) => {
      const found = await floor.maybe("entresol_getTokens", text.slice(0, 64), null, FEW);
      return (found?.tokens ?? []).map((/** @type {any} */ it) => ({
        text: `${it.symbol ?? "Token"} ${short(it.address)}`,
        kind: `token, ${whereOf(floor)}`,
        href: `#/token/${floor.name}/${it.address}`,
      }));
    }),
  );
  return lists.flat();
}

/**
 * Transactions and blocks whose hashes begin with some digits.
 * @param {string} digits
 * @returns {Promise<Hit[]>}
 */
async function hashesFrom(digits) {
  const lists = await Promise.all(
    indexed().map(async (floor) => {
      const found = await floor.maybe("entresol_findHashes", `0x${digits}`);
      const hit = (/** @type {string} */ hash, /** @type {string} */ kind, /** @type {string} */ path) => ({
        text: short(hash),
        kind: `${kind}, ${whereOf(floor)}`,
        href: `#/${floor.name}/${path}/${hash}`,
      });
      return [
        ...(found?.transactions ?? []).map((/** @type {string} */ it) => hit(it, "transaction", "tx")),
        ...(found?.blocks ?? []).map((/** @type {string} */ it) => hit(it, "block", "block")),
      ];
    }),
  );
  return lists.flat();
}

/**
 * Lists and tokens by their names.
 * @param {string} text
 * @returns {Promise<Hit[]>}
 */
export async function byText(text) {
  const lists = LISTS.filter((it) => text.length > 2 && it.startsWith(text.toLowerCase()));
  return [...lists.map((it) => ({ text: `All ${it}`, kind: "list", href: `#/${it}` })), ...(await tokensNamed(text))];
}

/**
 * Hexadecimal digits that are not a whole hash: a block by its number, hashes that begin so, a selector.
 * @param {string} digits
 * @param {(number: number) => Hit[]} blocks
 * @returns {Promise<Hit[]>}
 */
export async function byBeginning(digits, blocks) {
  const numbered = digits.length <= MAX_NUMBER ? blocks(Number(`0x${digits}`)) : [];
  const hashes = digits.length >= MIN_PREFIX ? await hashesFrom(digits) : [];
  const selector = {
    text: `0x${digits}`,
    kind: "selector, in the console",
    href: `#/console/web3_sha3?p=["0x${digits}"]`,
  };
  return [...numbered, ...hashes, ...(digits.length === SELECTOR ? [selector] : [])];
}
