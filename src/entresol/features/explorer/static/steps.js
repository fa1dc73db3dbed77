/** The page of the debugger: a transaction step by step, beside the source, with what holds at each step. */

import { Debugger } from "./debugger.js";
import { called, hasFailedIn } from "./describe.js";
import { choice, h, show } from "./dom.js";
import { Execution } from "./execution.js";
import { count, int, plain, short } from "./format.js";
import { patiently } from "./patience.js";
import { failureOf } from "./raised.js";
import { floorOf, RpcError } from "./rpc.js";
import { sentence } from "./sentence.js";
import { readable, saidBy, stackView } from "./stack.js";
import { crumb, empty, errorBox } from "./view.js";

/** @typedef {import("./execution.js").Found} Found */
/** @typedef {import("./rpc.js").Floor} Floor */

/**
 * @param {string} layer
 * @param {string} hash
 * @param {URLSearchParams} query
 * @returns {Promise<import("./main.js").Page>}
 */
export async function page(layer, hash, query) {
  const floor = /** @type {Floor} */ (floorOf(layer));
  const title = `Steps of ${short(hash)}`;
  const back = h("a.button", { href: `#/${layer}/tx/${hash}` }, "To the transaction");
  try {
    const [tx, receipt, found] = await Promise.all([
      floor.call("eth_getTransactionByHash", hash),
      floor.call("eth_getTransactionReceipt", hash),
      patiently(floor, "entresol_getExecution", hash),
    ]);
    const head = [way(layer, tx), h("h1.plain", await heading(layer, tx, receipt, found))];
    if (found.steps) return { title, ...(await opened(new Execution(floor, hash, found), head, query)) };
    return { title, body: [...head, empty("No code ran", "It only moved value.", back)] };
  } catch (error) {
    // Without a code the node is away, and the page tries again.
    if (!(error instanceof RpcError) || !error.code) throw error;
    const again = () => dispatchEvent(new Event("hashchange"));
    return {
      title,
      body: [h("h1.plain", "There are no steps to show"), errorBox(error, again), h("div.actions", back)],
    };
  }
}

/**
 * @param {string} layer
 * @param {any} tx
 */
function way(layer, tx) {
  const number = int(tx.blockNumber);
  const block = h("a", { href: `#/${layer}/block/${number}` }, `block ${count(number)}`);
  const transaction = h("a.mono", { href: `#/${layer}/tx/${tx.hash}`, title: tx.hash }, short(tx.hash));
  return h("p.crumbs", h("span", crumb(layer), " / ", block, " / ", transaction, " / steps"));
}

/**
 * @param {string} layer
 * @param {any} tx
 * @param {any} receipt
 * @param {Found} found
 */
async function heading(layer, tx, receipt, { failed: isKnown, frames }) {
  const failed = isKnown || hasFailedIn(receipt);
  const outer = tx.to && frames[0]?.contract ? frames[0] : null;
  const words = outer?.function
    ? [
        called(tx.from, layer),
        failed ? " tried to call " : " called ",
        h("strong", readable(outer.function)),
        ` on ${readable(outer.contract ?? "")}`,
      ]
    : await sentence(tx, layer, failed);
  return [words, " ", failed ? h("span.badge.bad", "Failed") : h("span.badge.ok", "Succeeded")];
}

/**
 * @param {Execution} execution
 * @param {Node[]} head
 * @param {URLSearchParams} query
 */
async function opened(execution, [crumbs, title], query) {
  const { found } = execution;
  const shown = new Debugger(execution, found.failed ? await failureOf(execution) : -1);
  const byLines = execution.hasLines && query.get("view") !== "opcodes";
  const forms = choice(
    "Shown",
    [
      ["source", "Source"],
      ["opcodes", "Opcodes"],
    ],
    byLines ? "source" : "opcodes",
    (it) => shown.turn(it === "source"),
  );
  await shown.begin(await wanted(execution, shown.failure, query), byLines);
  const [moves, depths, ...panes] = shown.elements;
  return {
    body: [
      crumbs,
      h("div.head.tx", title, execution.hasLines ? forms : h("span.muted", "no source is known")),
      failurePanel(shown),
      moves,
      depths,
      note(execution),
      ...panes,
    ].filter((it) => it !== null),
    leave: () => shown.leave(),
  };
}

/**
 * The step that the link names: by its number, or by a frame of the stack trace.
 * @param {Execution} execution
 * @param {number} failure
 * @param {URLSearchParams} query
 */
async function wanted(execution, failure, query) {
  const frame = query.has("frame") ? execution.found.stackTrace?.frames[Number(query.get("frame"))] : null;
  const at = frame && failure >= 0 ? await execution.lastAt(frame, failure) : -1;
  if (at >= 0) return at;
  const step = Number.parseInt(query.get("n") ?? "", 10);
  if (step >= 0) return execution.stepAt(execution.placeOf(step));
  return failure < 0 ? execution.stepAt(0) : failure;
}

/**
 * Why it failed, with the functions that were open.
 * @param {Debugger} shown
 */
function failurePanel(shown) {
  const { execution, failure } = shown;
  const { failed, error, stackTrace } = execution.found;
  if (!failed) return null;
  const text = h("strong.bad", (stackTrace && saidBy(stackTrace)) ?? plain(error ?? "it failed"));
  // Its errors have names of their arguments; those that no ABI explains are known to who has the source.
  import("./reasons.js")
    .then((it) => it.whyFailed(execution.floor, execution.hash))
    .then((it) => it && (it.decoded || !stackTrace) && show(text, it.text), console.info);
  const steps = location.hash.split("?")[0];
  const choose = (/** @type {number} */ at) =>
    shown.perform(() => execution.lastAt(/** @type {any} */ (stackTrace).frames[at], failure));
  const go = () => shown.perform(async () => failure);
  return h(
    "section.box.bad.failure",
    { "aria-label": "The failure" },
    h("div", text, stackTrace ? stackView(stackTrace, steps, failure < 0 ? undefined : choose) : null),
    failure < 0 ? null : h("button.small", { type: "button", onclick: go }, "Go to the failure"),
  );
}

/**
 * What would be otherwise with a shorter execution, or without an optimizer.
 * @param {Execution} execution
 */
function note({ found, length }) {
  const { steps, recorded, optimized, omittedFrames } = found;
  const kept = recorded.map((it, at) => `the ${at ? "last" : "first"} ${count(it.count)}`).join(" and ");
  const words = [
    length < steps ? `The trace is too long: of ${count(steps)} steps ${kept} are here.` : "",
    omittedFrames ? `${count(omittedFrames)} calls are not drawn.` : "",
    optimized ? "There are contracts that an optimizer has compiled: their lines may jump." : "",
  ].filter(Boolean);
  return words.length ? h("p.small.warn.note", words.join(" ")) : null;
}
