/** The calls of a bundle, each with its state, and what may be done with them. */

import { CALL_STATUSES, carried, isAllowed, leftOf, listed, partyOf, titleOf, transferIn } from "./bundles.js";
import { called } from "./describe.js";
import { h, say, show, table } from "./dom.js";
import { byteLength, count, int, plural } from "./format.js";
import { callData, decodeCall } from "./known.js";
import { refresh } from "./live.js";
import { encodedOf, inclusionOf } from "./roots.js";
import { floorOf } from "./rpc.js";
import { accountSelect, canSend, receiptOf, send, signers } from "./signers.js";
import { INTEROP_HANDLER } from "./system.js";
import { valueText } from "./values.js";
import { errorBox, explained } from "./view.js";

/** @typedef {import("./bundles.js").Bundle} Bundle */
/** @typedef {import("./bundles.js").Call} Call */
/** @typedef {import("./rpc.js").Floor} Floor */

const TONES = ["warn", "ok", "bad"];

/**
 * The calls, what was lost with those that were cancelled, and the buttons of who may run or cancel them.
 * @param {Bundle} it
 * @param {string[]} blocks where each was processed, in words
 */
export function callsView(it, blocks) {
  const there = floorOf(String(it.destination));
  const able = there ? signers(there) : [];
  const unbundler = able.find((account) => isAllowed(it.unbundler, account, it.destination));
  const mayUnbundle = Boolean(there && unbundler && (it.status === 1 || it.status === 3));
  const problem = h("div", { role: "alert" });
  const act = (/** @type {string} */ name, /** @type {any[]} */ values, /** @type {string} */ from) =>
    perform(/** @type {Floor} */ (there), problem, name, values, from);
  const unbundle = (/** @type {number} */ index, /** @type {1 | 2} */ status) =>
    act(
      "unbundleBundle",
      [
        BigInt(floorOf(it.house)?.chainId ?? 0),
        encodedOf(it),
        it.calls.map((_, at) => BigInt(at === index ? status : 0)),
      ],
      /** @type {string} */ (unbundler),
    );
  const rows = it.calls.map((call, at) =>
    callRow(it, call, at, blocks[at], mayUnbundle ? (status) => unbundle(at, status) : null),
  );
  const whole = there && canSend(there) ? runAll(it, there, act) : null;
  const party = partyOf(it.unbundler);
  return h(
    "section.part",
    h(
      "header",
      h("h2", "Calls"),
      leftOf(it) && party
        ? h("span.muted", `${called(party.address, String(it.destination))} may run or cancel each`)
        : null,
    ),
    table("Calls", [["No."], [`Call on ${titleOf(it.destination)}`], ["Value", "end"], ["Status"], ["", "end"]], rows),
    whole,
    problem,
    it.calls.map((call, at) => (call.status === 2 ? lossOf(it, call, at) : null)),
  );
}

/**
 * @param {Bundle} it
 * @param {Call} call
 * @param {number} at
 * @param {string} block
 * @param {((status: 1 | 2) => Promise<void>) | null} unbundle
 */
function callRow(it, call, at, block, unbundle) {
  const actions = h("div.actions");
  const button = (/** @type {string} */ text, /** @type {() => unknown} */ onclick, kind = "") =>
    h(`button.small.acts${kind}`, { type: "button", onclick }, text);
  const offer = () =>
    show(
      actions,
      button("Cancel…", askOnce),
      button("Run", () => /** @type {any} */ (unbundle)(1), ".primary"),
    );
  const askOnce = () => {
    const lost = listed(carried([call]));
    show(
      actions,
      h("span.small.bad", { role: "status" }, lost ? `${lost} will be lost.` : "It carries no value."),
      button("Keep", offer),
      button(lost ? `Cancel, lose ${lost}` : "Cancel for good", () => /** @type {any} */ (unbundle)(2), ".danger"),
    );
    actions.querySelector("button")?.focus();
  };
  if (unbundle && call.status === 0) offer();
  return h(
    "tr",
    h("td.muted", count(at)),
    h("td.call", callText(it, call)),
    h("td.end", listed(carried([call])) || "0"),
    h("td", h(`span.${TONES[call.status]}`, CALL_STATUSES[call.status]), h("span.small.muted", ` ${block ?? ""}`)),
    h("td.end", actions),
  );
}

/**
 * @param {Bundle} it
 * @param {Call} call
 */
function callText(it, { to, data, from }) {
  const layer = String(it.destination);
  const transfer = transferIn(to, data, layer);
  if (transfer && from === to) return h("span", "tokens to ", called(transfer.receiver, layer));
  if (data === "0x") return h("span", "value to ", called(to, layer));
  const decoded = decodeCall(to, data, layer);
  if (!decoded) return h("span.mono", called(to, layer), h("span.muted", ` ${plural(byteLength(data), "byte")}`));
  const { entry, values } = decoded;
  const given = entry.inputs.map((type, at) => valueText(type, values[at], layer)).join(", ");
  return h("span.mono", `${called(to, layer)}.`, h("b", entry.name), h("span.muted", `(${given.slice(0, 120)})`));
}

/**
 * @param {Bundle} it
 * @param {Call} call
 * @param {number} at
 */
function lossOf(it, call, at) {
  const lost = carried([call]);
  if (!lost.length) return null;
  return h(
    "div.box.bad.lost",
    h(
      "div",
      h("strong.bad", `${listed(lost)} ${lost.length > 1 ? "are" : "is"} lost`),
      h(
        "p",
        `Call ${at} was cancelled. Its value left ${titleOf(Number(floorOf(it.house)?.chainId))} and cannot arrive or be claimed back. A cancelled call is final.`,
      ),
    ),
  );
}

/**
 * Run all calls at once, or only prove the bundle, so that they can be run and cancelled one by one.
 * @param {Bundle} it
 * @param {Floor} there
 * @param {(name: string, values: any[], from: string) => Promise<void>} act
 */
function runAll(it, there, act) {
  if (it.stage < 4 || it.status > 1) return null;
  const executor = partyOf(it.executor);
  const may = signers(there).filter((account) => !executor || isAllowed(it.executor, account, it.destination));
  if (executor && !may.length)
    return h(
      "p.small.muted.acting",
      `Only ${called(executor.address, String(it.destination))} may run it, who is not here.`,
    );
  const select = accountSelect(there, may[0]);
  const button = (/** @type {string} */ text, /** @type {string} */ name, kind = "") =>
    h(
      `button.acts${kind}`,
      { type: "button", onclick: () => act(name, [encodedOf(it), inclusionOf(it)], executor ? may[0] : select.value) },
      text,
    );
  return h(
    "div.acting",
    button(it.calls.length > 1 ? "Run all" : "Run", "executeBundle", ".primary"),
    it.status === 0 ? button("Verify only", "verifyBundle") : null,
    executor ? h("span.small.muted", `as ${called(may[0], there.name)}`) : [h("span.small.muted", "as"), select],
  );
}

/**
 * @param {Floor} there
 * @param {Element} problem
 * @param {string} name
 * @param {any[]} values
 * @param {string} from
 */
async function perform(there, problem, name, values, from) {
  const buttons = /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll("main button.acts"));
  for (const it of buttons) it.disabled = true;
  show(problem);
  try {
    const tx = { from, to: INTEROP_HANDLER, data: callData("InteropHandler", name, ...values) };
    const receipt = await receiptOf(there, await send(there, tx));
    if (!int(receipt.status)) throw new Error("The transaction failed.");
    say("Done.");
    await refresh();
  } catch (error) {
    show(problem, errorBox(new Error(await explained(error))));
  }
  for (const it of buttons) it.disabled = false;
}
