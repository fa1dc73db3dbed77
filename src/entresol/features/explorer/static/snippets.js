/** A request in other languages, and JSON with colours. */

import { h } from "./dom.js";
import { count } from "./format.js";
import { floorOf, node } from "./rpc.js";

const MAX_ITEMS = 100;
const MAX_TEXT = 300;

/**
 * @param {string} language
 * @param {string} method
 * @param {any[]} params
 * @param {string} layer
 */
export function snippet(language, method, params, layer) {
  const floor = floorOf(layer);
  const port = node.several && floor?.chain?.port;
  const url = port
    ? `${location.protocol}//${location.hostname}:${port}`
    : `${location.origin}${floor?.path ?? "/"}`.replace(/\/$/, "");
  const variable = /^\d/.test(layer) ? "l2" : layer;
  if (language === "python") {
    const list = params.map((it) => `    ${python(it)},\n`).join("");
    return `from web3 import Web3\n\n${variable} = Web3(Web3.HTTPProvider("${url}"))\n${variable}.provider.make_request(\n    "${method}",\n    [${list ? `\n${list.replace(/^/gm, "    ").trimEnd()}\n    ` : ""}],\n)`;
  }
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  if (language === "javascript")
    return `const response = await fetch("${url}", {\n  method: "POST",\n  headers: { "content-type": "application/json" },\n  body: JSON.stringify(${JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }, null, 2).replace(/\n/g, "\n  ")}),\n});\nconst { result, error } = await response.json();`;
  return `curl ${url} \\\n  -H 'content-type: application/json' \\\n  -d '${body.replaceAll("'", "'\\''")}'`;
}

/**
 * @param {any} value
 * @returns {string}
 */
function python(value) {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  if (typeof value === "object")
    return `{${Object.entries(value)
      .map(([key, it]) => `${JSON.stringify(key)}: ${python(it)}`)
      .join(", ")}}`;
  return JSON.stringify(value);
}

/**
 * A text as JSON, where what hides or turns the direction is written by its number.
 * @param {string} text
 */
const escaped = (text) =>
  JSON.stringify(text).replace(/\p{C}/gu, (it) =>
    it.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`),
  );

/** @param {any} value */
export const jsonView = (value) => h("pre.json", { tabindex: 0 }, view(value, ""));

/**
 * @param {any} value
 * @param {string} indent
 * @returns {any}
 */
function view(value, indent) {
  if (value !== null && typeof value === "object") {
    const isList = Array.isArray(value);
    const items = isList ? value.map((it) => [null, it]) : Object.entries(value);
    if (!items.length) return isList ? "[]" : "{}";
    const shown = items
      .slice(0, MAX_ITEMS)
      .map(([key, it], at) => [
        `\n${indent}  `,
        key === null ? null : [h("span.key", JSON.stringify(key)), ": "],
        view(it, `${indent}  `),
        at < items.length - 1 ? "," : "",
      ]);
    const rest =
      items.length > MAX_ITEMS ? [`\n${indent}  `, h("span.muted", `… ${count(items.length - MAX_ITEMS)} more`)] : null;
    return [isList ? "[" : "{", shown.flat(3), rest, `\n${indent}`, isList ? "]" : "}"].flat(3);
  }
  if (typeof value === "string")
    return h("span.text", escaped(value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT)}…` : value));
  return h("span.number", String(value));
}
