/** The call tree and the state changes of a transaction, from the tracers. */

import { amountsIn, amountView, learnTokens, tokenChanges } from "./amounts.js";
import { decode } from "./codec.js";
import { calledBy, learnContracts } from "./compiled.js";
import { called } from "./describe.js";
import { h, table } from "./dom.js";
import { amount, big, checksum, count, int, short, units } from "./format.js";
import { decodeCall, nameFacets } from "./known.js";
import { SPONSORED } from "./overview.js";
import { contractOf, node, tokenAt } from "./rpc.js";
import { partsOf, valueText } from "./values.js";
import { addressLink, empty } from "./view.js";

const MAX_CALLS = 200;
const KINDS = /** @type {Record<string, string>} */ ({
  CALL: "call",
  STATICCALL: "static",
  DELEGATECALL: "delegate",
  CALLCODE: "callcode",
  CREATE: "create",
  CREATE2: "create2",
  SELFDESTRUCT: "destroy",
});

/** @typedef {{reasonOfCall?: typeof import("./reasons.js").reasonOfCall,
 *   printedBy?: typeof import("./printed.js").printedBy}} Readers what only some traces need */

/**
 * @param {import("./rpc.js").Floor} floor
 * @param {any} tx
 * @param {() => Promise<any>} traced
 */
export async function callTree(floor, tx, traced) {
  if (floor.remote) return null;
  const [trace] = await Promise.all([traced(), floor.layer === 1 && node.l2 ? nameFacets(contractOf(node.l2)) : null]);
  const places = calledBy(trace);
  const [readers] = await Promise.all([
    readersOf(trace),
    learnTokens(floor.name, places),
    learnContracts(floor, places),
  ]);
  if (int(tx.type) === SPONSORED) (await import("./sponsored.js")).learnAccounts();
  /** @type {Node[]} */
  const rows = [];
  let hidden = 0;
  /**
   * @param {any} frame
   * @param {number} depth
   */
  const add = (frame, depth) => {
    if (rows.length >= MAX_CALLS) hidden++;
    else rows.push(callRow(frame, depth, floor.name, readers));
    for (const inner of frame.calls ?? []) add(inner, depth + 1);
  };
  add(trace, 0);
  return [
    h("ol.calls", rows),
    hidden ? h("p.muted.small", `${count(hidden)} more calls: the console has them all.`) : h("span"),
  ];
}

/**
 * Load what a trace needs to be read: reasons if a call failed, formats if one printed.
 * @param {any} trace
 * @returns {Promise<Readers>}
 */
async function readersOf(trace) {
  const [reasons, printed] = await Promise.all([
    has(trace, (it) => it.error) ? import("./reasons.js") : null,
    has(trace, isPrint) ? import("./printed.js") : null,
  ]);
  await reasons?.loadErrors();
  return { reasonOfCall: reasons?.reasonOfCall, printedBy: printed?.printedBy };
}

/**
 * @param {any} frame
 * @param {number} depth
 * @param {string} layer
 * @param {Readers} readers
 */
function callRow(frame, depth, layer, { reasonOfCall, printedBy }) {
  const printed = isPrint(frame) ? printedBy?.(frame.input) : null;
  if (printed !== null && printed !== undefined) return printRow(printed, depth);
  const decoded = decodeCall(frame.to, frame.input ?? "0x", layer);
  const amounts = (/** @type {"inputs" | "outputs"} */ part) =>
    decoded ? amountsIn(decoded.entry, layer, frame.to, part) : undefined;
  const text = decoded
    ? [h("b", decoded.entry.name), ["(", listed(decoded.entry.inputs, decoded.values, layer, amounts("inputs")), ")"]]
    : frame.type.startsWith("CREATE")
      ? [h("b", "new contract")]
      : [h("b", (frame.input ?? "0x").length > 2 ? frame.input.slice(0, 10) : "transfer")];
  const failure = frame.error ? (reasonOfCall?.(frame, layer) ?? frame.error) : null;
  let result = null;
  if (decoded?.entry.outputs.length && frame.output && !failure)
    try {
      const values = decode(decoded.entry.outputs, frame.output);
      result = [" → ", listed(decoded.entry.outputs, values, layer, amounts("outputs"))];
    } catch {
      result = null;
    }
  const value = big(frame.value);
  const line = h(
    "span",
    h("span.kind", depth ? "└ " : "", KINDS[frame.type] ?? frame.type.toLowerCase()),
    frame.to ? h("a", { href: `#/address/${frame.to}` }, called(frame.to, layer)) : "",
    ".",
    text,
    value ? h("span.muted", ` ${amount(value, tokenAt(layer))}`) : null,
    result,
    failure ? h("span.bad", ` ✕ ${failure}`) : null,
  );
  line.style.paddingLeft = `${Math.min(depth, 12) * 18}px`;
  return h(failure ? "li.bad" : "li", line, h("span.gas", count(int(frame.gasUsed))));
}

/**
 * Values in one line, in which addresses lead to their pages.
 * @param {import("./abi.js").Type[]} types
 * @param {any[]} values
 * @param {string} layer
 * @param {ReturnType<typeof amountsIn>} [amounts] which values are amounts of a token
 * @returns {any[]}
 */
const listed = (types, values, layer, amounts) =>
  types.map((type, at) => [
    at ? ", " : "",
    amounts?.has(at) ? amountView(values[at], amounts.get(at)) : valueLine(type, values[at], layer),
  ]);

/**
 * @param {import("./abi.js").Type} type
 * @param {any} value
 * @param {string} layer
 * @returns {any}
 */
function valueLine(type, value, layer) {
  if (type.base === "address") return h("a", { href: `#/address/${checksum(value)}` }, called(value, layer));
  return type.parts ? ["(", listed(...partsOf(type, value), layer), ")"] : valueText(type, value, layer);
}

/**
 * What a contract printed for its developer.
 * @param {string} text
 * @param {number} depth
 */
function printRow(text, depth) {
  const line = h("span", h("span.kind", depth ? "└ " : "", "prints"), h("b", "console.log"), " ", h("q", text));
  line.style.paddingLeft = `${Math.min(depth, 12) * 18}px`;
  return h("li.print", line);
}

// Solidity's console: `console.log` in ASCII.
const CONSOLE = "0x000000000000000000636f6e736f6c652e6c6f67";

/** @param {any} frame */
const isPrint = (frame) => frame.to === CONSOLE;

/**
 * @param {any} frame
 * @param {(frame: any) => boolean} test
 * @returns {boolean}
 */
const has = (frame, test) => Boolean(test(frame)) || (frame.calls ?? []).some((/** @type {any} */ it) => has(it, test));

/**
 * @param {import("./rpc.js").Floor} floor
 * @param {any} tx
 * @param {any[]} logs
 */
export async function stateChanges(floor, tx, logs) {
  if (floor.remote) return null;
  const [found] = await Promise.all([
    floor.call("debug_traceTransaction", tx.hash, { tracer: "prestateTracer", tracerConfig: { diffMode: true } }),
    learnTokens(
      floor.name,
      logs.map((it) => it.address),
    ),
  ]);
  /** @type {{address: string, slot: string, cell: Element}[]} */
  const cells = [];
  const rows = tokenChanges(logs, floor.name)
    .slice(0, 100)
    .map((it) => tokenRow(floor, it));
  for (const address of new Set([...Object.keys(found.pre), ...Object.keys(found.post)])) {
    const before = found.pre[address] ?? {};
    const after = found.post[address] ?? {};
    if (after.balance !== undefined)
      rows.push(
        amountRow(floor, address, `balance, ${floor.token.symbol}`, big(before.balance), big(after.balance), true),
      );
    if (after.nonce !== undefined)
      rows.push(amountRow(floor, address, "nonce", BigInt(before.nonce ?? 0), BigInt(after.nonce), false));
    if (after.code !== undefined)
      rows.push(row(floor, address, "code", before.code ? "code" : "none", `${(after.code.length - 2) / 2} bytes`, ""));
    const slots = new Set([...Object.keys(before.storage ?? {}), ...Object.keys(after.storage ?? {})]);
    for (const slot of [...slots].slice(0, 100)) {
      const cell = h("span", big(slot) < 1_000_000n ? `slot ${big(slot)}` : `slot ${short(slot)}`);
      cells.push({ address, slot, cell });
      rows.push(slotRow(floor, address, cell, before.storage?.[slot], after.storage?.[slot]));
    }
  }
  if (cells.length) import("./slots.js").then((it) => it.nameSlots(floor, tx.hash, cells)).catch(console.info);
  if (!rows.length) return empty("Nothing changed", "The transaction left the state as it was.");
  const grid = table(
    "State changes",
    [["Account"], ["What"], ["Before", "end"], ["After", "end"], ["Change", "end"]],
    rows.slice(0, 300),
  );
  grid.classList.add("diff");
  return grid;
}

/**
 * @param {import("./rpc.js").Floor} floor
 * @param {string} address
 * @param {string} name
 * @param {bigint} before
 * @param {bigint} after
 * @param {boolean} isEther
 */
function amountRow(floor, address, name, before, after, isEther) {
  const write = (/** @type {bigint} */ it) => (isEther ? units(it, floor.token.decimals, 7) : count(it));
  return row(floor, address, name, write(before), write(after), change(after - before, write));
}

/**
 * What a token's logs say that an account gained or lost.
 * @param {import("./rpc.js").Floor} floor
 * @param {ReturnType<typeof tokenChanges>[0]} it
 */
const tokenRow = (floor, { who, token, by, text }) =>
  row(
    floor,
    who,
    h("a", { href: `#/token/${floor.name}/${token.address}`, title: token.name }, token.symbol),
    h("span.faint", "by its logs"),
    "",
    h(by < 0n ? "span.bad" : "span.ok", { title: `${by}` }, text),
  );

/**
 * @param {bigint} by
 * @param {(it: bigint) => string} write
 */
const change = (by, write) => (by < 0n ? h("span.bad", `−${write(-by)}`) : h("span.ok", `+${write(by)}`));

/**
 * @param {import("./rpc.js").Floor} floor
 * @param {string} address
 * @param {Element} name
 * @param {string} [before]
 * @param {string} [after]
 */
function slotRow(floor, address, name, before = "0x0", after = "0x0") {
  const [from, to] = [big(before), big(after)];
  const isNumber = from < 2n ** 128n && to < 2n ** 128n;
  const write = (/** @type {bigint} */ it) =>
    isNumber ? it.toString() : short(`0x${it.toString(16).padStart(64, "0")}`);
  return row(floor, address, name, write(from), write(to), isNumber ? change(to - from, (it) => it.toString()) : "");
}

/**
 * @param {import("./rpc.js").Floor} floor
 * @param {string} address
 * @param {any} name
 * @param {any} before
 * @param {string} after
 * @param {any} by
 */
const row = (floor, address, name, before, after, by) =>
  h(
    "tr",
    h("td", addressLink(address, floor.name, { copies: false })),
    h("td.muted", name),
    h("td.end.muted", before),
    h("td.end", after),
    h("td.end", by),
  );
