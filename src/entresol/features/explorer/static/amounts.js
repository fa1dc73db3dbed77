/** Amounts of tokens in calls, events and changes: with decimals and symbol, and the exact number as their title. */

import { signatureOf, typeName } from "./abi.js";
import { tokenOf } from "./describe.js";
import { h } from "./dom.js";
import { big, count, units } from "./format.js";
import { topicOf } from "./known.js";

/** @typedef {import("./describe.js").Details} Details */

const MAX_TOKENS = 50;
const PLACES = 6;
const UNLIMITED = 2n ** 256n - 1n;
// What takes, gives or says an amount of the token itself: the first number is it.
const NAMES =
  /^(Transfer|Approval|(increase|decrease)Allowance|transfer(From)?|approve|mint|burn(From)?|bridge(Mint|Burn)|permit|balanceOf|allowance|totalSupply)$/;
// So it is in wrapped ether; vaults have functions of these names, too, for amounts of another token.
const WRAPPED = ["Deposit(address,uint256)", "Withdrawal(address,uint256)", "withdraw(uint256)"];

/** @type {Map<string, Details>} those that were asked for, by layer and address */
const known = new Map();

/**
 * Learn what tokens say of themselves, so that `amountsIn` knows them; others are not tokens.
 * @param {string} layer
 * @param {(string | null | undefined)[]} addresses
 * @returns {Promise<boolean>} whether any is a token
 */
export async function learnTokens(layer, addresses) {
  const wanted = [...new Set(addresses.flatMap((it) => (it ? [it.toLowerCase()] : [])))].slice(0, MAX_TOKENS);
  if (known.size > 500) known.clear();
  const found = await Promise.all(
    wanted.map(async (it) => {
      const token = await tokenOf(layer, it);
      if (token?.standard === "ERC-20") known.set(`${layer}:${it}`, token);
      return token;
    }),
  );
  return found.some(Boolean);
}

/**
 * Which values of a call or an event are amounts, by their places.
 * @param {import("./abi.js").Entry} entry
 * @param {string} layer
 * @param {string | null} address the contract that is called or that logs
 * @param {"inputs" | "outputs"} [part]
 * @returns {Map<number, Details>}
 */
export function amountsIn(entry, layer, address, part = "inputs") {
  const token = known.get(`${layer}:${address?.toLowerCase()}`);
  const at = entry[part].findIndex((it) => /^uint(256)?$/.test(typeName(it)));
  const isAmount = NAMES.test(entry.name) || WRAPPED.includes(signatureOf(entry));
  return token && at >= 0 && isAmount ? new Map([[at, token]]) : new Map();
}

/**
 * @param {bigint} value
 * @param {Details} token
 */
const text = (value, token) =>
  value === UNLIMITED
    ? `unlimited ${token.symbol}`
    : token.isRaw
      ? `${count(value)} units of ${token.symbol}`
      : `${units(value, token.decimals, PLACES)} ${token.symbol}`;

/**
 * @param {bigint} value
 * @param {Details | undefined} token
 */
export const amountView = (value, token) =>
  h("span.value.mono", { title: `${value}` }, token ? text(value, token) : `${value}`);

/**
 * What accounts gain and lose of tokens by what their contracts log.
 * @param {any[]} logs
 * @param {string} layer
 * @returns {{who: string, token: Details, by: bigint, text: string}[]}
 */
export function tokenChanges(logs, layer) {
  const topic = topicOf("TestERC20", "Transfer");
  /** @type {Map<string, {who: string, token: Details, by: bigint, text: string}>} */
  const found = new Map();
  for (const { address, topics, data } of logs) {
    const token = known.get(`${layer}:${address.toLowerCase()}`);
    if (!token || topics[0] !== topic || topics.length !== 3 || data.length !== topic.length) continue;
    for (const [word, by] of /** @type {[string, bigint][]} */ ([
      [topics[1], -big(data)],
      [topics[2], big(data)],
    ])) {
      const who = `0x${word.slice(26)}`;
      // Who mints or burns is nobody.
      if (!BigInt(who)) continue;
      const one = found.get(address + who) ?? { who, token, by: 0n, text: "" };
      one.by += by;
      one.text = `${one.by < 0n ? "−" : "+"}${text(one.by < 0n ? -one.by : one.by, token)}`;
      found.set(address + who, one);
    }
  }
  return [...found.values()].filter((it) => it.by);
}
