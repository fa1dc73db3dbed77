/** One line of the bridge: what it is, its steps, where it is, and the call that claims it. */

import { isClaimable, isMoving, linkOf, STEPS, stageName, update } from "./crossings.js";
import { called } from "./describe.js";
import { h, ICONS, icon, s, say, show } from "./dom.js";
import { big, count } from "./format.js";
import { houseOf } from "./houses.js";
import { callData } from "./known.js";
import { addressOf, node } from "./rpc.js";
import { failureOf, receiptOf, send } from "./signers.js";
import { badge, blockLink, txLink } from "./view.js";

/** @typedef {import("./crossings.js").Crossing} Crossing */

/** @param {Crossing} it */
export const isUp = (it) => it.kind === "deposit";

/** @param {Crossing} it */
export const title = (it) => `${it.kind[0].toUpperCase()}${it.kind.slice(1)}, ${it.what}`;

/** @param {Crossing} it */
function placeOf(it) {
  if (isUp(it)) return it.stage === 2 ? `block ${count(it.arrived)}` : `L1 block ${count(it.block)}`;
  return it.batch ? `batch ${count(it.batch)}` : `block ${count(it.block)}`;
}

/**
 * @param {Crossing} it
 * @param {boolean} isChosen
 */
export function lineView(it, isChosen) {
  const about =
    isUp(it) || it.kind === "withdrawal"
      ? ["to ", called(it.to, isUp(it) ? it.house : "l1")]
      : ["from ", called(it.from, it.house)];
  const tone = it.failed && !it.returned ? ".bad" : isClaimable(it) ? ".ok" : isMoving(it) ? "" : ".muted";
  return h(
    "li",
    h(
      "a",
      { href: linkOf(it), "aria-current": isChosen ? "true" : null },
      h(
        "span.what",
        h(isUp(it) ? "span.up" : "span.down", icon(isUp(it) ? ICONS.up : ICONS.down)),
        h("span", h("b", title(it)), h("span.small.muted", node.several ? [badge(it.house), " "] : null, about)),
      ),
      steps(it),
      h("span.where", h(`span${tone}`, stageName(it)), h("span.small.muted", placeOf(it))),
    ),
  );
}

/** @param {Crossing} it */
function steps(it) {
  const total = STEPS[it.kind].length;
  const width = 160 / total;
  const rise = isUp(it) ? -13 : 24 / (total - 1);
  const height = (/** @type {number} */ at) => (isUp(it) ? 29 : 4) + at * rise;
  const parts = STEPS[it.kind].map((_, at) => {
    const drop = at < total - 1 ? `V${height(at + 1)}` : "";
    const tone = it.failed && at === it.stage ? "bad" : at <= it.stage ? (isUp(it) ? "rises" : "sinks") : "rest";
    return [
      s(`path.riser`, { d: `M${(at + 1) * width} ${height(at)}${drop}` }),
      s(`path.tread.${tone}`, { d: `M${at * width} ${height(at)}h${width}` }),
    ];
  });
  const x = (it.stage + 0.5) * width;
  return s(
    "svg.line-steps",
    { viewBox: "-4 0 168 34", "aria-hidden": "true" },
    parts.flat(),
    s(`circle.${it.failed ? "bad" : isUp(it) ? "rises" : "sinks"}`, { cx: x, cy: height(it.stage), r: 4.5 }),
  );
}

/**
 * The call that pays a withdrawal out on layer 1.
 * @param {import("./crossings.js").Crossing} it
 * @param {string} from
 */
export async function claim(it, from) {
  const house = houseOf(it.house);
  const l2 = house.floor;
  const proof = await l2.call("zks_getL2ToL1LogProof", it.tx, it.log);
  if (!proof) throw new Error("Layer 1 has not executed the batch yet.");
  const values = [
    BigInt(l2.chainId),
    BigInt(it.batch),
    BigInt(proof.id),
    it.sender,
    BigInt(it.txIndex),
    it.message,
    proof.proof,
  ];
  await askNullifier(from, callData("L1Nullifier", "finalizeDeposit", values));
  say(`Paid: ${it.what}.`);
  await update(house);
}

/**
 * @param {string} from
 * @param {string} data
 */
async function askNullifier(from, data) {
  const l1 = /** @type {import("./rpc.js").Floor} */ (node.l1);
  const receipt = await receiptOf(l1, await send(l1, { from, to: addressOf("L1Nullifier"), data }));
  if (big(receipt.status) === 0n)
    throw new Error(`Layer 1 did not pay: ${(await failureOf(l1, receipt)) ?? "the transaction failed."}`);
}

/**
 * The call that gives the tokens of a failed deposit back.
 * @param {import("./crossings.js").Crossing} it
 * @param {string} from
 */
export async function claimBack(it, from) {
  const house = houseOf(it.house);
  const l2 = house.floor;
  const [proof, receipt] = await Promise.all([
    l2.call("zks_getL2ToL1LogProof", it.l2Tx, 0),
    l2.call("eth_getTransactionReceipt", it.l2Tx),
  ]);
  if (!proof) throw new Error("Layer 1 has not executed the batch yet.");
  const place = [it.l2Tx, big(receipt.l1BatchNumber), BigInt(proof.id), big(receipt.l1BatchTxIndex), proof.proof];
  const values = [BigInt(l2.chainId), it.from, it.asset?.id, it.asset?.data, ...place];
  await askNullifier(from, callData("L1Nullifier", "bridgeRecoverFailedTransfer", ...values));
  say(`Back on layer 1: ${it.what}.`);
  await update(house);
}

/**
 * Where a deposit is, and why it failed.
 * @param {import("./crossings.js").Crossing} it
 */
export function depositPart(it) {
  return h(
    "dl.fields",
    h("div", h("dt", "On layer 1"), h("dd", "block ", blockLink("l1", it.block))),
    h("div", h("dt", "On layer 2"), h("dd", it.stage === 2 ? txLink(it.house, it.l2Tx) : h("span.muted", "not yet"))),
    it.failed ? h("div", h("dt", "Reason"), reasonCell(it)) : null,
    it.returned ? h("div", h("dt", "Back on layer 1"), h("dd", it.what)) : null,
  );
}

/** @param {import("./crossings.js").Crossing} it */
function reasonCell(it) {
  const cell = h("dd");
  import("./reasons.js").then(({ reasonLater }) => show(cell, reasonLater(houseOf(it.house).floor, it.l2Tx)));
  return cell;
}
