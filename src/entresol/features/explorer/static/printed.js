/** What contracts print by `console.log`: the calls of Hardhat's and Foundry's libraries, decoded and formatted. */

import { parseType } from "./abi.js";
import { decode } from "./codec.js";
import { checksum } from "./format.js";
import { keccakText } from "./keccak.js";

const MAX_TEXT = 2000;
// The types that the libraries have all combinations of, up to four.
const MIXED = ["uint256", "string", "bool", "address"];
const ALONE = ["int256", "bytes", "string,int256", ...Array.from({ length: 32 }, (_, at) => `bytes${at + 1}`)];
const IN_TABLES = ["uint256", "int256", "string", "bool", "address", "bytes32", "bytes"];

/** @type {Map<string, import("./abi.js").Type[]> | null} by selector */
let signatures = null;

/** @returns {Map<string, import("./abi.js").Type[]>} */
function allSignatures() {
  const found = new Map();
  const add = (/** @type {string} */ name, /** @type {string} */ kinds) => {
    const types = kinds ? kinds.split(",").map(parseType) : [];
    found.set(keccakText(`${name}(${kinds})`).slice(0, 10), types);
    // Old versions of Hardhat's library derived selectors from the short name of the type.
    found.set(keccakText(`${name}(${kinds.replace(/int256/g, "int")})`).slice(0, 10), types);
  };
  let lists = [""];
  for (let size = 0; size <= 4; size++) {
    for (const it of lists) add("log", it);
    lists = lists.flatMap((it) => MIXED.map((kind) => (it ? `${it},${kind}` : kind)));
  }
  for (const it of ALONE) add("log", it);
  for (const it of IN_TABLES) for (const names of ["", "string[],"]) add("table", `${names}${it}[]`);
  return found;
}

/**
 * The text of one call; null if it is none of the libraries'.
 * @param {string} input
 */
export function printedBy(input) {
  signatures ??= allSignatures();
  const types = signatures.get(input.slice(0, 10));
  if (!types) return null;
  try {
    const values = decode(types, input.slice(10));
    const text = formatted(types.map((type, at) => ({ type, value: values[at] })));
    return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
  } catch {
    return null;
  }
}

/** @typedef {{type: import("./abi.js").Type, value: any}} Typed */

/**
 * The text of values; if the first is a string, it is the format of the others.
 * @param {Typed[]} values
 */
function formatted(values) {
  const rest = [...values];
  const parts = [];
  if (rest[0]?.type.base === "string") {
    const text = /** @type {Typed} */ (rest.shift()).value;
    const filled = text.replace(
      /%(?:([sdioxe%])|\d{1,3}e)/g,
      (/** @type {string} */ whole, /** @type {string} */ it) => {
        if (it === "%") return "%";
        const next = rest.shift();
        return next ? substituted(next, it ?? whole.slice(1)) : whole;
      },
    );
    if (text) parts.push(filled);
  }
  return [...parts, ...rest.map(asText)].join(" ");
}

/**
 * A value in the place of a specifier, in anvil's way where Hardhat's differs.
 * @param {Typed} it
 * @param {string} specifier `s`, `d`, `i`, `o`, `x`, `e` or a number of digits and `e`
 */
function substituted(it, specifier) {
  const isNumber = typeof it.value === "bigint";
  if (specifier === "s") return asText(it);
  if (specifier === "o") return isNumber ? asText(it) : `'${asText(it)}'`;
  if (specifier === "d" && it.type.base === "bool") return it.value ? "1" : "0";
  if (specifier === "x" && ["bytes", "fixed", "address"].includes(it.type.base)) return asText(it);
  if (!isNumber) return "NaN";
  if (specifier === "x") return `0x${BigInt.asUintN(256, it.value).toString(16)}`;
  return specifier.endsWith("e") ? scaled(it.value, specifier) : String(it.value);
}

/**
 * Move the decimal point to the left by some digits, or after the first digit with an exponent.
 * @param {bigint} value
 * @param {string} specifier
 */
function scaled(value, specifier) {
  const digits = String(value < 0n ? -value : value);
  const places = specifier === "e" ? digits.length - 1 : Math.min(Number.parseInt(specifier, 10), 78);
  const padded = digits.padStart(places + 1, "0");
  const fraction = padded.slice(padded.length - places).replace(/0+$/, "");
  const whole = padded.slice(0, padded.length - places);
  return `${value < 0n ? "-" : ""}${whole}${places && fraction ? `.${fraction}` : ""}${specifier === "e" ? `e${digits.length - 1}` : ""}`;
}

/** @param {Typed} it @returns {string} */
function asText({ type, value }) {
  if (type.base === "address") return checksum(value);
  if (type.base !== "array") return String(value);
  const of = /** @type {import("./abi.js").Type} */ (type.of);
  return `[${value.map((/** @type {any} */ it) => asText({ type: of, value: it })).join(", ")}]`;
}
