/** Proofs of messages: checked here, hash by hash, against the root that layer 1 stores. */

import { addressOf } from "./crossings.js";
import { h, ICONS, icon, show } from "./dom.js";
import { count, int, plural, short } from "./format.js";
import { bytesOf, hexOf, keccak, keccakHex } from "./keccak.js";
import { callData } from "./known.js";
import { node } from "./rpc.js";
import { drawTree } from "./tree.js";
import { errorBox } from "./view.js";

const MESSENGER = "8008".padStart(40, "0");
const MAX_BLOCKS = 64;
const DEPTH = 14;

/**
 * @param {{txIndex: number, sender: string, message: string}} it
 * @returns {string} the 88 bytes of the log that a message leaves
 */
export function packed(it) {
  const value = keccakHex(it.message).slice(2);
  return `0x0001${it.txIndex.toString(16).padStart(4, "0")}${MESSENGER}${it.sender.slice(2).padStart(64, "0")}${value}`;
}

/**
 * @param {any} log an L2-to-L1 log of a receipt
 */
function packedLog(log) {
  const number = (/** @type {any} */ it, /** @type {number} */ digits) => int(it).toString(16).padStart(digits, "0");
  const service = log.isService ? "01" : "00";
  return `0x${number(log.shardId, 2)}${service}${number(log.txIndexInL1Batch, 4)}${log.sender.slice(2)}${log.key.slice(2)}${log.value.slice(2)}`;
}

/**
 * The root that a leaf and its siblings give.
 * @param {string} leaf
 * @param {number} index
 * @param {string[]} siblings
 */
export function rootOf(leaf, index, siblings) {
  let node = bytesOf(leaf);
  siblings.forEach((text, height) => {
    const sibling = bytesOf(text);
    const pair = new Uint8Array(64);
    const isRight = (index >> height) & 1;
    pair.set(isRight ? sibling : node, 0);
    pair.set(isRight ? node : sibling, 32);
    node = /** @type {any} */ (keccak(pair));
  });
  return hexOf(node);
}

/**
 * The leaves of a batch, from the receipts of its blocks; null if there are too many.
 * @param {import("./live.js").Batch} batch
 * @returns {Promise<string[] | null>}
 */
export async function leavesOf(batch) {
  if (batch.last - batch.first >= MAX_BLOCKS) return null;
  const numbers = Array.from(
    { length: batch.last - batch.first + 1 },
    (_, at) => `0x${(batch.first + at).toString(16)}`,
  );
  const blocks = await Promise.all(numbers.map((it) => node.l2?.call("eth_getBlockReceipts", it)));
  const logs = blocks.flat().flatMap((receipt) => receipt.l2ToL1Logs ?? []);
  return logs.map((log) => keccakHex(packedLog(log)));
}

/**
 * Check the proof of a message, and draw it.
 * @param {import("./crossings.js").Crossing} it
 * @param {import("./live.js").Batch | null} batch
 * @returns {Node}
 */
export function proofView(it, batch) {
  const element = h("div.proof", h("p.muted", { role: "status" }, "Checking…"));
  check(it)
    .then(async (found) => {
      const verdict = found.verified
        ? h(
            "div.box.ok",
            icon(ICONS.check),
            h(
              "div",
              h("strong.ok", "Verified in your browser"),
              h(
                "p.small",
                `It is in batch ${count(it.batch)}, which layer 1 has executed. ${plural(found.hashes, "hash", "hashes")}, ${found.ms.toFixed(1)} ms.`,
              ),
            ),
          )
        : h(
            "div.box.bad",
            h(
              "div",
              h("strong", "The proof differs"),
              h("p.mono", `here ${found.root}`),
              h("p.mono", `on layer 1 ${found.stored}`),
            ),
          );
      const rows = found.steps.map(([text, holds, value]) =>
        h(
          "li",
          h(
            holds ? "span.ok" : "span.bad",
            icon(holds ? ICONS.check : ICONS.cross),
            h("span.unseen", holds ? "holds: " : "fails: "),
          ),
          h("span", text),
          h("span.mono.muted", value),
        ),
      );
      show(
        element,
        verdict,
        h("ol.steps", rows),
        h(
          "p.small.faint",
          "This shows that it was said and settled. It does not show that layer 2 computed rightly: there is no validity proof.",
        ),
      );
      const leaves = batch ? await leavesOf(batch) : null;
      element.append(
        treePart(it.batch, leaves, {
          index: found.index,
          siblings: found.siblings,
          root: found.root,
          leaf: found.leaf,
        }),
      );
    })
    .catch((error) => show(element, errorBox(error)));
  return element;
}

/**
 * @param {number} batch
 * @param {string[] | null} leaves
 * @param {{index: number, siblings: string[], root: string, leaf: string} | null} path
 */
export function treePart(batch, leaves, path) {
  const total = leaves ? leaves.length : path ? path.index + 1 : 0;
  return h(
    "section.tree",
    h(
      "header",
      h("h3", `Message tree of batch ${count(batch)}`),
      path ? h("span.muted", "leaf ", h("b", count(path.index))) : null,
    ),
    h(
      "p.small.muted",
      leaves ? `${plural(total, "leaf", "leaves")} of ${count(1 << DEPTH)}` : `${count(1 << DEPTH)} leaves`,
    ),
    drawTree(total, path),
    path
      ? h(
          "details",
          h("summary", "The siblings, as a list"),
          h(
            "ol.mono.siblings",
            path.siblings.map((sibling) => h("li", sibling)),
          ),
        )
      : null,
  );
}

/** @param {import("./crossings.js").Crossing} it */
async function check(it) {
  const [l1, l2] = /** @type {import("./rpc.js").Floor[]} */ ([node.l1, node.l2]);
  const proof = await l2.call("zks_getL2ToL1LogProof", it.tx, it.log);
  if (!proof) throw new Error("Layer 1 has not executed the batch yet.");
  const chain = addressOf("ZKChain");
  const number = BigInt(it.batch);
  const message = [BigInt(it.txIndex), it.sender, it.message];
  const [stored, agreed] = await Promise.all([
    l1.call("eth_call", { to: chain, data: callData("ZKChain", "l2LogsRootHash", number) }, "latest"),
    l1.maybe(
      "eth_call",
      {
        to: chain,
        data: callData("ZKChain", "proveL2MessageInclusion", number, BigInt(proof.id), message, proof.proof),
      },
      "latest",
    ),
  ]);
  const started = performance.now();
  const leaf = keccakHex(packed(it));
  const siblings = proof.proof.slice(1);
  const root = rootOf(leaf, proof.id, siblings);
  const ms = performance.now() - started;
  const agrees = agreed !== null && BigInt(agreed) === 1n;
  /** @type {[string, boolean, string][]} */
  const steps = [
    ["Leaf is the hash of the log’s 88 bytes", true, short(leaf)],
    [`Leaf and ${siblings.length} siblings give the root`, root === proof.root, short(root)],
    [`Root is the one that L1 stores for batch ${count(it.batch)}`, root === stored, short(stored)],
    ["L1’s contract agrees", agrees, String(agrees)],
  ];
  return {
    steps,
    verified: steps.every(([, holds]) => holds),
    hashes: siblings.length + 2,
    ms,
    root,
    stored,
    leaf,
    index: proof.id,
    siblings,
  };
}
