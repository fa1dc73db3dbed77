/**
 * Encode and decode values by their types.
 *
 * Integers are BigInt, bytes and addresses hexadecimal text, tuples and arrays are arrays.
 *
 * @typedef {import("./abi.js").Type} Type
 */

import { typeName } from "./abi.js";
import { isBytes, plain } from "./format.js";

const WORD = 64;
const MAX_ITEMS = 10_000;

/**
 * @param {Type} type
 * @returns {boolean}
 */
function isDynamic(type) {
  if (type.base === "bytes" || type.base === "string") return true;
  if (type.base === "array") return type.length < 0 || isDynamic(/** @type {Type} */ (type.of));
  return type.parts?.some(isDynamic) ?? false;
}

/**
 * @param {Type} type
 * @returns {number} in hexadecimal digits
 */
function headSize(type) {
  if (isDynamic(type)) return WORD;
  if (type.base === "array") return type.length * headSize(/** @type {Type} */ (type.of));
  return type.parts ? type.parts.reduce((sum, it) => sum + headSize(it), 0) : WORD;
}

/**
 * @param {Type[]} types
 * @param {string} data with or without `0x`
 * @returns {any[]}
 */
export function decode(types, data) {
  const budget = { left: MAX_ITEMS };
  return decodeTuple(types, data.startsWith("0x") ? data.slice(2) : data, 0, budget);
}

/**
 * @param {Type[]} types
 * @param {string} data
 * @param {number} base
 * @param {{left: number}} budget
 * @returns {any[]}
 */
function decodeTuple(types, data, base, budget) {
  let at = base;
  return types.map((type) => {
    const start = isDynamic(type) ? base + 2 * number(data, at) : at;
    at += headSize(type);
    return decodeOne(type, data, start, budget);
  });
}

/**
 * @param {Type} type
 * @param {string} data
 * @param {number} at
 * @param {{left: number}} budget
 * @returns {any}
 */
function decodeOne(type, data, at, budget) {
  if (--budget.left < 0) throw new Error("too many values");
  if (type.parts) return decodeTuple(type.parts, data, at, budget);
  if (type.base === "array") {
    const length = type.length < 0 ? number(data, at) : type.length;
    if (length > budget.left) throw new Error("too many values");
    const items = Array.from({ length }, () => /** @type {Type} */ (type.of));
    return decodeTuple(items, data, type.length < 0 ? at + WORD : at, budget);
  }
  if (type.base === "bytes" || type.base === "string") {
    const bytes = slice(data, at + WORD, 2 * number(data, at));
    return type.base === "bytes" ? `0x${bytes}` : utf8(bytes);
  }
  const word = slice(data, at, WORD);
  if (type.base === "address") return `0x${word.slice(24)}`;
  if (type.base === "bool") return BigInt(`0x${word}`) !== 0n;
  if (type.base === "fixed") return `0x${word.slice(0, 2 * type.bits)}`;
  const value = BigInt(`0x${word}`);
  return type.base === "int" ? BigInt.asIntN(256, value) : value;
}

/**
 * @param {string} data
 * @param {number} at
 */
function number(data, at) {
  const value = BigInt(`0x${slice(data, at, WORD)}`);
  if (value > 0xffffffn) throw new Error("an offset is out of range");
  return Number(value);
}

/**
 * @param {string} data
 * @param {number} at
 * @param {number} size
 */
function slice(data, at, size) {
  if (at + size > data.length) throw new Error("the data is too short");
  return data.slice(at, at + size);
}

/** @param {string} digits of a text that people read */
function utf8(digits) {
  const bytes = Uint8Array.from(digits.match(/../g) ?? [], (it) => Number.parseInt(it, 16));
  return plain(new TextDecoder().decode(bytes));
}

/**
 * @param {Type[]} types
 * @param {any[]} values
 * @returns {string} without `0x`
 */
export function encode(types, values) {
  if (values.length !== types.length) throw new Error(`${types.length} values are needed, there are ${values.length}`);
  let offset = types.reduce((sum, it) => sum + headSize(it), 0);
  let head = "";
  let tail = "";
  types.forEach((type, index) => {
    const encoded = encodeOne(type, values[index]);
    if (!isDynamic(type)) head += encoded;
    else {
      head += word(BigInt(offset / 2));
      tail += encoded;
      offset += encoded.length;
    }
  });
  return head + tail;
}

/**
 * @param {Type} type
 * @param {any} value
 * @returns {string}
 */
function encodeOne(type, value) {
  if (type.parts) return encode(type.parts, value);
  if (type.base === "array") {
    const items = value.map(() => /** @type {Type} */ (type.of));
    if (type.length >= 0 && items.length !== type.length) throw new Error(`${type.length} items are needed`);
    return (type.length < 0 ? word(BigInt(items.length)) : "") + encode(items, value);
  }
  if (type.base === "string" || type.base === "bytes") {
    const digits =
      type.base === "bytes"
        ? hexDigits(value)
        : [...new TextEncoder().encode(value)].map((it) => it.toString(16).padStart(2, "0")).join("");
    return word(BigInt(digits.length / 2)) + digits.padEnd(Math.ceil(digits.length / WORD) * WORD, "0");
  }
  if (type.base === "bool") return word(value === true || value === "true" ? 1n : 0n);
  if (type.base === "fixed") return sized(hexDigits(value), 2 * type.bits).padEnd(WORD, "0");
  if (type.base === "address") return sized(hexDigits(value), 40).padStart(WORD, "0");
  const integer = BigInt(value);
  const wraps = type.base === "uint" ? BigInt.asUintN(type.bits, integer) : BigInt.asIntN(type.bits, integer);
  if (wraps !== integer) throw new Error(`${integer} does not fit ${typeName(type)}`);
  return word(BigInt.asUintN(256, integer));
}

/** @param {any} value */
function hexDigits(value) {
  if (!isBytes(String(value))) throw new Error(`“${String(value).slice(0, 40)}” is not hexadecimal`);
  return value.slice(2).toLowerCase();
}

/**
 * @param {string} digits
 * @param {number} length
 */
function sized(digits, length) {
  if (digits.length !== length) throw new Error(`${length} digits are needed after 0x, there are ${digits.length}`);
  return digits;
}

/** @param {bigint} value */
const word = (value) => value.toString(16).padStart(WORD, "0");
