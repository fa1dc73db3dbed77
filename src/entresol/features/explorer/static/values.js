/**
 * Decoded values, as rows of a page and as text in one line.
 *
 * @typedef {import("./abi.js").Type} Type
 */

import { typeName } from "./abi.js";
import { amountView } from "./amounts.js";
import { h } from "./dom.js";
import { checksum, count, cut, short, textOf } from "./format.js";
import { nameOf } from "./known.js";
import { addressLink, copyButton } from "./view.js";

// In the struct of a transaction of type 0x71, and of a deposit, addresses are numbers.
const TRANSACTION = /^\((uint256,){10}uint256\[4\],bytes,bytes,(uint256|bytes32)\[\],bytes,bytes\)$/;
const ACCOUNTS = [1, 2, 7];

/**
 * The parts of a tuple, with those that are addresses as such.
 * @param {Type} type
 * @param {any[]} values
 * @returns {[Type[], any[]]}
 */
export function partsOf(type, values) {
  const parts = /** @type {Type[]} */ (type.parts);
  if (!TRANSACTION.test(typeName(type))) return [parts, values];
  const isAddress = (/** @type {number} */ at) => ACCOUNTS.includes(at) && values[at] >> 160n === 0n;
  return [
    parts.map((it, at) => (isAddress(at) ? { ...it, base: "address", bits: 0 } : it)),
    values.map((it, at) => (isAddress(at) ? `0x${it.toString(16).padStart(40, "0")}` : it)),
  ];
}

/**
 * A decoded value.
 * @param {Type} type
 * @param {any} value
 * @param {string} layer
 * @returns {Node}
 */
function valueView(type, value, layer) {
  if (type.base === "address") return addressLink(value, layer, { both: true });
  if (type.parts) return fields(...partsOf(type, value), layer);
  if (type.base === "array") {
    const of = /** @type {Type} */ (type.of);
    const isNested = of.parts || of.base === "array";
    const items = value
      .slice(0, 50)
      .map((/** @type {any} */ it, /** @type {number} */ at) =>
        h("li", valueView(of, it, layer), isNested || at + 1 === value.length ? null : ", "),
      );
    if (value.length > 50) items.push(h("li.muted", `${count(value.length - 50)} more`));
    return value.length ? h(isNested ? "ol.items" : "ol.in-line", items) : h("span.muted", "none");
  }
  const text = type.base === "string" ? `“${value}”` : String(value);
  const readable = type.base === "bytes" ? textOf(value) : null;
  const shown = text.length > 400 ? `${text.slice(0, 400)}…` : text;
  return h(
    "span.value",
    h("span.mono", shown),
    readable ? h("span.muted", ` “${cut(readable, 200)}”`) : null,
    text.length > 12 ? copyButton(String(value), "the value") : null,
  );
}

/**
 * @param {Type[]} types
 * @param {any[]} values
 * @param {string} layer
 * @param {Map<number, import("./describe.js").Details>} [amounts] which values are amounts of a token
 */
export function fields(types, values, layer, amounts) {
  return h(
    "dl.fields",
    types.map((type, at) =>
      h(
        "div",
        h("dt", type.name || `${at}`, h("span.type", typeName(type))),
        h("dd", amounts?.has(at) ? amountView(values[at], amounts.get(at)) : valueView(type, values[at], layer)),
      ),
    ),
  );
}

/**
 * A value in one line, for calls.
 * @param {Type} type
 * @param {any} value
 * @param {string} layer
 * @returns {string}
 */
export function valueText(type, value, layer) {
  if (type.base === "address") return nameOf(value, layer) ?? short(checksum(value));
  if (type.parts) {
    const [parts, values] = partsOf(type, value);
    return `(${parts.map((it, at) => valueText(it, values[at], layer)).join(", ")})`;
  }
  if (type.base === "array")
    return `[${value
      .slice(0, 3)
      .map((/** @type {any} */ it) => valueText(/** @type {any} */ (type.of), it, layer))
      .join(", ")}${value.length > 3 ? `, … ${value.length}` : ""}]`;
  if (type.base === "string") return JSON.stringify(cut(value, 60));
  const text = String(value);
  return text.startsWith("0x") && text.length > 18
    ? `${text.slice(0, 10)}…${text.length > 66 ? ` ${(text.length - 2) / 2} bytes` : ""}`
    : text;
}
