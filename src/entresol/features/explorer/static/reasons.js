/** Why something failed: what a revert carries, decoded by every error that is known, with its arguments. */

import { parseLine } from "./abi.js";
import { decode } from "./codec.js";
import { calledBy, learnContracts } from "./compiled.js";
import { h, show } from "./dom.js";
import { byteLength, isBytes, plain } from "./format.js";
import { addEntries, decodeCall, findEntry } from "./known.js";
import { floorOf, RpcError } from "./rpc.js";
import { fields, valueText } from "./values.js";
import { addressLink } from "./view.js";

/**
 * @typedef {{text: string, data: string, decoded: import("./known.js").Decoded | null, by?: {to: string, name: string}}}
 *   Reason `by` is the call that raised it, if another one only passed it on
 */

const BUILT_IN = "Solidity";
const MAX_TEXT = 300;
const REJECTED = 4001;
// What the checks that the compiler adds find, by the code of their Panic.
const PANICS = /** @type {Record<string, string>} */ ({
  1: "an assertion failed",
  17: "arithmetic overflow or underflow",
  18: "division or modulo by zero",
  33: "a value is outside its enum",
  34: "bytes in storage are encoded wrongly",
  49: "pop of an empty array",
  50: "an index is out of bounds",
  65: "an array is too large for memory",
  81: "a function that was never set was called",
});

// What Solidity itself reverts with.
addEntries(
  BUILT_IN,
  ["x Error(string reason)", "x Panic(uint256 code)"].map((it) => parseLine(it, BUILT_IN)),
);

/** @type {Promise<void> | null} */
let errors = null;

/** Load the errors of the project's contracts, which most pages do not need. */
export function loadErrors() {
  errors ??= fetch("/explorer/errors.json").then(
    async (response) =>
      addEntries(
        "Errors",
        (await response.json()).map((/** @type {string} */ it) => parseLine(it, "Errors")),
      ),
    () => {
      errors = null;
    },
  );
  return errors;
}

/** @param {string} data what a failed call returned */
const decodeError = (data) => findEntry(data.slice(0, 10), "x", undefined, (it) => decode(it.inputs, data.slice(10)));

/**
 * @param {string} data what a failed call returned, at least one byte
 * @param {string} layer
 * @returns {Reason}
 */
function reasonIn(data, layer) {
  const decoded = decodeError(data);
  const text = decoded
    ? wordsOf(decoded, layer)
    : data.length < 10
      ? `it returned ${data}`
      : `an error that no ABI explains: ${data.slice(0, 10)}, ${byteLength(data)} bytes`;
  return { text: text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text, data, decoded };
}

/**
 * @param {import("./known.js").Decoded} decoded
 * @param {string} layer
 * @returns {string}
 */
function wordsOf({ entry, values }, layer) {
  if (entry.contract !== BUILT_IN) {
    const written = entry.inputs.map(
      (type, at) => `${type.name ? `${type.name}: ` : ""}${valueText(type, values[at], layer)}`,
    );
    return `${entry.name}(${written.join(", ")})`;
  }
  if (entry.name === "Error") return values[0] || "an empty reason";
  const code = `Panic 0x${values[0].toString(16).padStart(2, "0")}`;
  return PANICS[values[0]] ? `${PANICS[values[0]]} (${code})` : code;
}

/**
 * The reason of a call that failed, by its trace.
 * @param {any} trace
 * @param {string} layer
 * @returns {Reason | null}
 */
function reasonOf(trace, layer) {
  // What an account runs for a transaction of type 0x71 may fail below a call that does not.
  const top = trace.error ? trace : (trace.calls ?? []).findLast((/** @type {any} */ it) => it.error);
  if (!top) return null;
  const frame = raiserOf(top);
  const data = frame.output ?? "0x";
  const said = frame.error === "execution reverted" ? "no reason was given" : frame.error;
  const reason = data.length > 2 ? reasonIn(data, layer) : { text: said, data, decoded: null };
  if (frame === trace || !frame.to) return reason;
  const name = decodeCall(frame.to, frame.input ?? "0x", layer)?.entry.name ?? (frame.input ?? "0x").slice(0, 10);
  return { ...reason, by: { to: frame.to, name } };
}

/**
 * The innermost call that failed with what the outermost passed on.
 * @param {any} frame
 * @returns {any}
 */
function raiserOf(frame) {
  const inner = (frame.calls ?? []).findLast((/** @type {any} */ it) => it.error);
  return inner && (inner.output ?? "0x") === (frame.output ?? "0x") ? raiserOf(inner) : frame;
}

/**
 * Why one call of a trace failed, for its line.
 * @param {any} frame
 * @param {string} layer
 * @returns {string}
 */
export const reasonOfCall = (frame, layer) =>
  (frame.output ?? "0x").length > 2 ? reasonIn(frame.output, layer).text : frame.error;

/**
 * @param {Promise<any>} trace
 * @param {string} layer
 * @returns {Promise<Reason | null>}
 */
export async function reasonByTrace(trace, layer) {
  const [found] = await Promise.all([trace, loadErrors()]);
  if (found) await learnContracts(floorOf(layer), calledBy(found));
  return found && reasonOf(found, layer);
}

/**
 * Why a transaction failed; null if its floor does not say.
 * @param {import("./rpc.js").Floor} floor
 * @param {string} hash
 */
export const whyFailed = (floor, hash) =>
  floor.remote
    ? null
    : reasonByTrace(floor.maybe("debug_traceTransaction", hash, { tracer: "callTracer" }), floor.name);

/**
 * The same as a place in a sentence, filled once it is known.
 * @param {import("./rpc.js").Floor} floor
 * @param {string} hash
 */
export function reasonLater(floor, hash) {
  const place = h("span.reason");
  whyFailed(floor, hash)?.then((it) => it && show(place, h("span.bad", it.text)));
  return place;
}

/**
 * A reason as a row of facts: its text, where it was raised, and its arguments.
 * @param {Reason} reason
 * @param {string} layer
 */
export function reasonView({ text, data, decoded, by }, layer) {
  const isOwn = decoded && decoded.entry.contract !== BUILT_IN && decoded.entry.inputs.length;
  return h(
    "div.reason",
    h("span.bad", isOwn ? decoded.entry.name : text),
    by ? h("p.small.muted", "raised in ", addressLink(by.to, layer, { copies: false }), ".", by.name) : null,
    isOwn ? fields(decoded.entry.inputs, decoded.values, layer) : null,
    !decoded && data.length > 2 ? h("p.small.muted", "Drop the ABI of its contract here to decode it.") : null,
  );
}

/**
 * Why a request failed, of a node or of a wallet.
 * @param {unknown} error
 * @returns {Promise<string>}
 */
export async function explain(error) {
  const { code, message, data: found } = /** @type {any} */ (error ?? {});
  if (code === REJECTED) return "It was declined in the wallet.";
  // Wallets wrap what the node has said.
  const data = found?.originalError?.data?.data ?? found?.originalError?.data ?? found?.data ?? found;
  if (typeof data === "string" && data.length > 2 && isBytes(data)) {
    await loadErrors();
    const reason = reasonIn(data, "l2");
    if (reason.decoded || !(error instanceof RpcError)) return reason.text;
  }
  return plain(String(message ?? error));
}
