/** Numbers, amounts, hashes and times as text; ages by the clock of their layer. */

import { h } from "./dom.js";
import { keccakText } from "./keccak.js";

const GWEI = 10n ** 9n;
const DIGITS = new Intl.NumberFormat("en-US");
// The last time that a browser's calendar has.
const LAST_SECOND = 8.64e12;
const YEAR = 31_556_952;

/** @param {any} hex a quantity, or null */
export const int = (hex) => (hex === null || hex === undefined ? 0 : Number(hex));

/** @param {any} hex */
export const big = (hex) => (hex === null || hex === undefined || hex === "0x" ? 0n : BigInt(hex));

/** @param {number | bigint} number */
export const hex = (number) => `0x${number.toString(16)}`;

/** @param {number | bigint} number */
export const count = (number) => DIGITS.format(number);

/**
 * @param {number} number
 * @param {string} one
 * @param {string} [many]
 */
export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

/**
 * An amount in units of 10^decimals, with at most `places` after the point.
 * @param {bigint} value
 * @param {number} [decimals]
 * @param {number} [places]
 */
export function units(value, decimals = 18, places = 4) {
  const sign = value < 0n ? "−" : "";
  const absolute = value < 0n ? -value : value;
  const one = 10n ** BigInt(decimals);
  const whole = absolute / one;
  let rest = (absolute % one).toString().padStart(decimals, "0");
  if (places < decimals) {
    const cut = rest.slice(0, places);
    // A small amount is not nothing: show its first digits wherever they are.
    const first = rest.search(/[1-9]/);
    rest = whole === 0n && first >= places ? rest.slice(0, first + 3) : cut;
  }
  rest = rest.replace(/0+$/, "");
  if (rest && rest.length < 2 && places >= 2) rest = rest.padEnd(2, "0");
  return `${sign}${DIGITS.format(whole)}${rest ? `.${rest}` : ""}`;
}

/**
 * An amount of a token with its symbol.
 * @param {bigint} value
 * @param {import("./rpc.js").Token} token
 * @param {number} [places]
 */
export const amount = (value, token, places = 4) =>
  token.symbol === "ETH" && value && value < GWEI && value > -GWEI
    ? `${units(value, 0)} wei`
    : `${units(value, token.decimals, places)} ${token.symbol}`;

/**
 * The price of gas in a token, and its unit: gwei is ether's.
 * @param {bigint} value
 * @param {import("./rpc.js").Token} token
 * @returns {[string, string]}
 */
export function price(value, token) {
  if (token.symbol === "ETH") return [units(value, 9, 2), "gwei"];
  const isFine = token.decimals > 12;
  return [
    units(value, token.decimals - (isFine ? 9 : 0), isFine ? 2 : 4),
    isFine ? `nano ${token.symbol}` : token.symbol,
  ];
}

/**
 * Parse an amount as it was typed.
 * @param {string} text
 * @param {number} [decimals]
 */
export function parseUnits(text, decimals = 18) {
  const match = /^(\d+)?(?:\.(\d*))?$/.exec(text.trim().replaceAll(",", ""));
  if (!match || (!match[1] && !match[2])) throw new Error("This is not an amount.");
  const rest = match[2] ?? "";
  if (rest.length > decimals) throw new Error(`At most ${decimals} digits after the point.`);
  return BigInt((match[1] ?? "0") + rest.padEnd(decimals, "0"));
}

/** @param {number[]} values */
export const medianOf = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

/** @param {string} value a hash or an address */
export const short = (value) => `${value.slice(0, 6)}…${value.slice(-4)}`;

/** @type {Map<string, string>} */
const checksums = new Map();

/** @param {string} address */
export function checksum(address) {
  const plain = address.toLowerCase();
  let found = checksums.get(plain);
  if (!found) {
    const hash = keccakText(plain.slice(2));
    found = `0x${[...plain.slice(2)].map((c, i) => (Number.parseInt(hash[i + 2], 16) > 7 ? c.toUpperCase() : c)).join("")}`;
    if (checksums.size > 5000) checksums.clear();
    checksums.set(plain, found);
  }
  return found;
}

/**
 * How long ago a time was, by the clock of the chain, which may be ahead of ours.
 * @param {number} seconds
 */
export function age(seconds) {
  if (seconds < 1) return "now";
  if (seconds < 90) return `${Math.floor(seconds)} s`;
  if (seconds < 5400) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h`;
  return `${count(Math.floor(seconds / 86400))} days`;
}

/**
 * A time as ISO 8601; null if it is beyond the calendar.
 * @param {number} timestamp
 */
const iso = (timestamp) => (timestamp <= LAST_SECOND ? new Date(timestamp * 1000).toISOString() : null);

/** @param {number} timestamp */
export const moment = (timestamp) =>
  iso(timestamp)
    ?.replace("T", " ")
    .replace(/\.\d+Z$/, " UTC") ?? `in the year ${count(1970 + Math.floor(timestamp / YEAR))}`;

/**
 * A time of the reader's day, with the zone that it is in.
 * @param {number} milliseconds
 */
export const clockTime = (milliseconds) =>
  new Date(milliseconds).toLocaleTimeString("en-GB", { timeZoneName: "short" });

/** @param {number} bytes */
export const size = (bytes) => (bytes < 1000 ? `${bytes} B` : `${(bytes / 1000).toFixed(1)} kB`);

/** @param {string} data */
export const byteLength = (data) => (data.length - 2) / 2;

/**
 * Whether a text is whole bytes in hexadecimal; a pattern of pairs would overflow the stack at megabytes.
 * @param {string} text
 */
export const isBytes = (text) => text.length % 2 === 0 && /^0x[0-9a-f]*$/i.test(text);

/**
 * A text without what hides, or turns the direction of what follows: controls, marks of direction, zero width but for
 * what joins two emoji.
 * @param {string} text
 */
export const plain = (text) =>
  text.replace(/[^\P{C}\n\t\u200D]|(?<!\p{So}(?:\p{Sk}|\uFE0F)?)\u200D|\u200D(?!\p{So})/gu, "");

const LETTERS = new Intl.Segmenter("en", { granularity: "grapheme" });
// Marks that are piled on a letter.
const MAX_MARKS = 30;

/**
 * The beginning of a text, by letters as readers see them: emoji that are joined stay together.
 * @param {string} text
 * @param {number} most
 */
export function cut(text, most) {
  if (text.length <= most) return text;
  const letters = [...LETTERS.segment(text.slice(0, most * MAX_MARKS))].map((it) => it.segment);
  return letters
    .filter((it) => it.length <= MAX_MARKS)
    .slice(0, most)
    .join("");
}

/**
 * The text in bytes, if they are text.
 * @param {string} data
 */
export function textOf(data) {
  if (data.length <= 2 || data.length > 4002) return null;
  try {
    const bytes = Uint8Array.from(data.slice(2).match(/../g) ?? [], (it) => Number.parseInt(it, 16));
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return plain(text) === text ? text : null;
  } catch {
    return null;
  }
}

// The clock of a chain may be ahead of ours: blocks of one second are a second apart, and developers move it. By how
// many seconds, up to which of its times, in order.
/** @type {Map<string, {until: number, ahead: number}[]>} */
const offsets = new Map();
/** @type {Map<string, number>} the newest times that were there before the page */
const visitedAt = new Map();
const MAX_OFFSETS = 1000;

/**
 * Learn the clock of a layer from its newest block.
 * @param {string} layer
 * @param {number} timestamp
 * @param {boolean} isFresh whether the block was sealed just now
 */
export function setClock(layer, timestamp, isFresh) {
  const ahead = timestamp - Date.now() / 1000;
  const known = offsets.get(layer);
  if (!known) visitedAt.set(layer, timestamp);
  // A block that was here before tells only how much the clock is ahead at least.
  if (known && !isFresh && ahead <= clockOffset(layer)) return;
  // Later times are gone with a revert.
  const before = known?.filter((it) => it.until < timestamp).slice(1 - MAX_OFFSETS) ?? [];
  offsets.set(layer, [...before, { until: timestamp, ahead: isFresh ? ahead : Math.max(0, ahead) }]);
}

/**
 * How far the clock of a layer is ahead now, or was when it showed a time; before all that is known, what it was first.
 * @param {string} layer
 * @param {number} [timestamp]
 */
export function clockOffset(layer, timestamp = Infinity) {
  const known = offsets.get(layer) ?? [];
  const at = known.findLastIndex((it) => it.until < timestamp) + 1;
  return (known[at] ?? known[at - 1])?.ahead ?? 0;
}

/**
 * The time by the clock of a layer, in seconds.
 * @param {string} layer
 */
export const timeOf = (layer) => Date.now() / 1000 + clockOffset(layer);

/**
 * A time of a layer by our own clock, so that times of both layers can be compared.
 * @param {number} timestamp
 * @param {string} layer
 */
export const byOurClock = (timestamp, layer) => timestamp - clockOffset(layer, timestamp);

/**
 * Whether the page was there when the clock of a layer showed a time.
 * @param {number} timestamp
 * @param {string} layer
 */
export const hasSeen = (timestamp, layer) => timestamp > (visitedAt.get(layer) ?? Infinity);

/**
 * Learn that something was before something else, by the clocks of two layers.
 * @param {number} timestamp
 * @param {string} layer
 * @param {number} later
 * @param {string} other
 */
export function learnOrder(timestamp, layer, later, other) {
  const latest = byOurClock(later, other);
  if (hasSeen(timestamp, layer) || byOurClock(timestamp, layer) <= latest) return;
  const known = (offsets.get(layer) ?? []).filter((it) => it.until !== timestamp);
  known.push({ until: timestamp, ahead: timestamp - latest });
  offsets.set(
    layer,
    known.sort((a, b) => a.until - b.until),
  );
}

/**
 * @param {number} timestamp
 * @param {string} [layer]
 * @param {string} [after]
 */
export function ago(timestamp, layer = "l2", after = "") {
  const element = h("time.age", { datetime: iso(timestamp), title: moment(timestamp) });
  Object.assign(element.dataset, { at: timestamp, layer, after });
  tick(element);
  return element;
}

/** @param {any} element */
function tick(element) {
  const { at, layer, after } = element.dataset;
  const text = age(Date.now() / 1000 - byOurClock(Number(at), layer));
  const full = text === "now" ? text : text + after;
  if (element.textContent !== full) element.textContent = full;
}

setInterval(() => {
  if (!document.hidden) for (const element of document.querySelectorAll("time.age")) tick(element);
}, 1000);
