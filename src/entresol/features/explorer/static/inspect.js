/** What holds at a step: variables, storage, memory and stack, with what the last move has changed. */

import { called } from "./describe.js";
import { h } from "./dom.js";
import { checksum, count, plain, plural } from "./format.js";
import { wordText } from "./source.js";
import { readable } from "./stack.js";
import { copyButton } from "./view.js";

/** @typedef {import("./execution.js").Detail} Detail */
/** @typedef {import("./execution.js").Slot} Slot */
/** @typedef {import("./execution.js").Variable} Variable */

const MAX_VALUE = 160;
const MAX_ROWS = 24;
const WORD_DIGITS = 64;
const ADDRESS = /^0x[0-9a-f]{40}$/i;

/**
 * @param {Detail} now
 * @param {Detail | null} before where the last move began, to tell what has changed
 * @param {{layer: string, account: string, withStack: boolean}} shown
 */
export const inspected = (now, before, { layer, account, withStack }) => [
  withStack ? stackOf(now, before) : null,
  variables(now, before, layer),
  storage(now, before, layer, account),
  memory(now, before),
  withStack ? null : details("Stack", stackOf(now, before)),
];

/**
 * @param {string} title
 * @param {Node} body
 */
const details = (title, body) => h("details.rest", h("summary", title), body);

/**
 * @param {string} title
 * @param {string} aside
 * @param {any[]} rows
 * @param {string} none what is said if there are no rows
 */
function part(title, aside, rows, none) {
  const [first, rest] = [rows.slice(0, MAX_ROWS), rows.slice(MAX_ROWS)];
  return h(
    "section.values",
    h("header", h("h2", title), h("span.small.muted", aside)),
    rows.length ? h("ul", first) : h("p.small.muted", none),
    rest.length ? details(`${count(rest.length)} more`, h("ul", rest)) : null,
  );
}

/**
 * @param {any} name
 * @param {any} kind
 * @param {any} value
 * @param {boolean} isChanged
 */
const row = (name, kind, value, isChanged) =>
  h(
    "li",
    h("span.name", name),
    h("span.kind", kind),
    h(isChanged ? "span.value.warn" : "span.value", value, isChanged ? h("span.unseen", " changed") : null),
  );

/**
 * @param {Variable} it
 * @param {string} layer
 */
function valueText({ type, value, isCertain }, layer) {
  if (value === null)
    return h("span.faint", { title: "The compiler's output does not say where it is kept." }, "not known");
  if (ADDRESS.test(value) && /^(address|contract)/.test(type))
    return h("a", { href: `#/address/${checksum(value)}`, title: checksum(value) }, called(value, layer));
  const text = plain(value);
  const cut = text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text;
  return [
    cut,
    isCertain === false ? h("span.faint", { title: "It may be kept elsewhere." }, " ?") : null,
    text.length > 20 ? copyButton(value, "the value") : null,
  ];
}

/**
 * @param {Detail} now
 * @param {Detail | null} before
 * @param {string} layer
 */
function variables(now, before, layer) {
  const innermost = now.callStack.at(-1);
  const other = before?.callStack.at(-1);
  const isSame = before?.frame === now.frame && other?.function === innermost?.function;
  const old = new Map(isSame ? before.variables.map((it) => [it.name, it.value]) : []);
  const rows = now.variables.map((it) =>
    row(readable(it.name), readable(it.type), valueText(it, layer), old.has(it.name) && old.get(it.name) !== it.value),
  );
  return part(
    "Variables",
    rows.length ? "" : "",
    rows,
    innermost?.contract ? "None are known in this function." : "No source is known here.",
  );
}

/**
 * @param {Detail} now
 * @param {Detail | null} before
 * @param {string} layer
 * @param {string} account the name of whose storage it is
 */
function storage(now, before, layer, account) {
  const title = `Storage of ${account}`;
  if (now.storage === null) return part(title, "", [], "It was not recorded here.");
  const isSame = before !== null && before.storageAddress === now.storageAddress;
  const keyOf = (/** @type {Slot} */ it) => `${it.transient} ${it.slot}`;
  const old = new Map(isSame ? before.storage?.map((it) => [keyOf(it), it.value]) : []);
  // What the last move has reached first had the value from before the transaction.
  const isMoved = (/** @type {Slot} */ it) => isSame && (old.get(keyOf(it)) ?? it.before) !== it.value;
  const rows = now.storage.flatMap((it) => {
    const slot = `${it.transient ? "transient" : "slot"} ${slotText(it.slot)}`;
    const hint = it.before === it.value ? it.slot : `${it.slot}, ${wordText(it.before)} before the transaction`;
    const kind = h("span", { title: hint }, it.variables.length ? slot : "");
    if (!it.variables.length)
      return [row(h("span.muted", slot), kind, h("span", { title: it.value }, wordText(it.value)), isMoved(it))];
    return it.variables.map((variable) => row(readable(variable.name), kind, valueText(variable, layer), isMoved(it)));
  });
  const written = now.storage.filter((it) => it.before !== it.value).length;
  const aside = now.storage.length ? `${plural(now.storage.length, "slot")}, ${count(written)} changed` : "";
  return part(title, aside, rows, "Nothing was read or written yet.");
}

/** @param {string} slot */
const slotText = (slot) => {
  const value = BigInt(slot);
  return value < 1_000_000n ? `0x${value.toString(16)}` : wordText(slot);
};

/**
 * The words of the memory that are not zero.
 * @param {Detail} now
 * @param {Detail | null} before
 */
function memory(now, before) {
  const aside = now.memorySize === null ? "" : plural(now.memorySize, "byte");
  if (now.memory === null) return part("Memory", aside, [], "It was not recorded here.");
  const words = (now.memory.slice(2).match(/.{1,64}/g) ?? []).map((it) => it.padEnd(WORD_DIGITS, "0"));
  const old = before?.memory && before.frame === now.frame ? before.memory.slice(2) : null;
  const rows = words.flatMap((word, at) => {
    const was = old?.slice(at * WORD_DIGITS, (at + 1) * WORD_DIGITS).padEnd(WORD_DIGITS, "0");
    const isChanged = was !== undefined && was !== word;
    return isChanged || /[^0]/.test(word) ? [wordRow(`0x${(32 * at).toString(16)}`, `0x${word}`, isChanged)] : [];
  });
  return part("Memory", aside, rows, now.memorySize ? "All of it is zero." : "None is in use.");
}

/**
 * The ends of a word, or what is between them if they are zero.
 * @param {string} digits
 */
function shortWord(digits) {
  const at = digits.search(/[^0]/);
  return at > 3 && /^0+$/.test(digits.slice(-8))
    ? `…${digits.slice(at, at + 8)}…`
    : `${digits.slice(0, 4)}…${digits.slice(-8)}`;
}

/**
 * @param {string} name
 * @param {string} word
 * @param {boolean} isChanged
 */
const wordRow = (name, word, isChanged) =>
  h(
    "li.word",
    h("span.faint", name),
    h(
      isChanged ? "span.warn" : "span",
      { title: word },
      shortWord(word.slice(2)),
      isChanged ? h("span.unseen", " changed") : null,
    ),
    copyButton(word, "the word"),
  );

/**
 * The stack, the top first.
 * @param {Detail} now
 * @param {Detail | null} before
 */
function stackOf(now, before) {
  if (now.stack === null) return part("Stack", "", [], "It was not recorded here.");
  const old = before?.frame === now.frame ? before.stack : null;
  const rows = now.stack
    .map((it, at) =>
      row(h("span.muted", String(at)), "", h("span", { title: it }, wordText(it)), old !== null && old[at] !== it),
    )
    .reverse();
  return part("Stack", plural(rows.length, "word"), rows, "It is empty.");
}
