/** Proofs of messages: checked here, hash by hash, against the root that layer 1 stores. */

import { h, ICONS, icon, s, show } from "./dom.js";
import { count, int, plural, short } from "./format.js";
import { bytesOf, hexOf, keccak, keccakHex, packed } from "./keccak.js";
import { callData } from "./known.js";
import { contractOf, floorOf, node } from "./rpc.js";
import { errorBox } from "./view.js";

const MAX_BLOCKS = 64;
const DEPTH = 14;

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
 * @param {import("./rpc.js").Floor} floor
 * @param {import("./houses.js").Batch} batch
 * @returns {Promise<string[] | null>}
 */
export async function leavesOf(floor, batch) {
  if (batch.last - batch.first >= MAX_BLOCKS) return null;
  const numbers = Array.from(
    { length: batch.last - batch.first + 1 },
    (_, at) => `0x${(batch.first + at).toString(16)}`,
  );
  const blocks = await Promise.all(numbers.map((it) => floor.call("eth_getBlockReceipts", it)));
  const logs = blocks.flat().flatMap((receipt) => receipt.l2ToL1Logs ?? []);
  return logs.map((log) => keccakHex(packedLog(log)));
}

/**
 * Check the proof of a message, and draw it.
 * @param {import("./crossings.js").Crossing} it
 * @param {import("./houses.js").Batch | null} batch
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
      const leaves = batch ? await leavesOf(/** @type {any} */ (floorOf(it.house)), batch) : null;
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
  const [l1, l2] = /** @type {import("./rpc.js").Floor[]} */ ([node.l1, floorOf(it.house)]);
  const proof = await l2.call("zks_getL2ToL1LogProof", it.tx, it.log);
  if (!proof) throw new Error("Layer 1 has not executed the batch yet.");
  const chain = contractOf(l2);
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

// A message tree, drawn: leaves above, the root in the ground.
const WIDTH = 480;
const LEVEL = 44;
const TOP = 14;

/**
 * @param {number} total how many leaves the tree has
 * @param {{index: number, siblings: string[], root: string} | null} path the proof of one of them
 */
export function drawTree(total, path) {
  const seen = total > 8 ? 16 : 8;
  const levels = Math.log2(seen);
  const index = path?.index ?? 0;
  const first = Math.floor(index / seen) * seen;
  const step = (WIDTH - 40) / seen;
  const half = Math.min(16, step / 2 - 3);
  const x = (/** @type {number} */ at, /** @type {number} */ height) => 20 + step * ((at + 0.5) * 2 ** height);
  const y = (/** @type {number} */ height) => TOP + 10 + height * LEVEL;
  /** @type {SVGElement[]} */
  const lines = [];
  /** @type {SVGElement[]} */
  const nodes = [];
  for (let height = 0; height <= levels; height++) {
    for (let at = 0; at < seen >> height; at++) {
      const isPath = path !== null && at === (index - first) >> height;
      const isSibling = path !== null && height < levels && at === (((index - first) >> height) ^ 1);
      const isEmpty = first + at * 2 ** height >= total;
      const kind = isPath ? "path" : isSibling ? "sibling" : isEmpty ? "void" : "plain";
      if (height < levels) {
        const middle = y(height) + 24;
        lines.push(
          s(`path.${isPath ? "path" : isSibling ? "sibling" : "plain"}`, {
            d: `M${x(at, height)} ${y(height) + 9}V${middle}H${x(at >> 1, height + 1)}V${y(height + 1) - 9}`,
          }),
        );
      }
      nodes.push(
        box(x(at, height), y(height), height ? 9 : half, kind, height ? "" : isEmpty ? "–" : count(first + at)),
      );
    }
  }
  const trunk = x(0, levels);
  const [from, to] = [y(levels) + 9, y(levels) + 130];
  const rest = DEPTH - levels;
  const twigs = Array.from({ length: rest }, (_, at) => {
    const height = from + 14 + (at * 92) / rest;
    return [s("path.twig", { d: `M${trunk} ${height}h28` }), s("circle.twig", { cx: trunk + 31, cy: height, r: 3 })];
  });
  const order = (/** @type {SVGElement} */ it) => (it.getAttribute("class") === "path" ? 1 : 0);
  const label = path
    ? `The path from leaf ${path.index} to the root ${path.root}, with ${path.siblings.length} siblings.`
    : `The message tree, with ${total} leaves.`;
  return s(
    "svg.message-tree",
    { viewBox: `0 0 ${WIDTH} ${to + 24}`, role: "img", "aria-label": label },
    lines.sort((a, b) => order(a) - order(b)),
    path ? twigs.flat() : null,
    s(`path.trunk${path ? ".path" : ""}`, { d: `M${trunk} ${from}V${to}` }),
    s("text", { x: trunk + 48, y: from + 56 }, `${rest} more levels,`),
    s("text", { x: trunk + 48, y: from + 72 }, "empty beside"),
    s("circle.root", { cx: trunk, cy: to, r: 6 }),
    s("path.ground", { d: `M0 ${to + 2}H${WIDTH}` }),
    path ? s("text.mono", { x: trunk - 12, y: to - 8, "text-anchor": "end" }, short(path.root)) : null,
    path
      ? [
          s("rect.path", { x: 0, y: from + 44, width: 10, height: 10, rx: 2 }),
          s("text", { x: 18, y: from + 54 }, "its path"),
          s("rect.sibling", { x: 0, y: from + 62, width: 10, height: 10, rx: 2 }),
          s("text", { x: 18, y: from + 72 }, "siblings: the proof"),
        ]
      : null,
    nodes,
  );
}

/**
 * @param {number} x
 * @param {number} y
 * @param {number} half
 * @param {string} kind
 * @param {string} text
 */
function box(x, y, half, kind, text) {
  return s(
    "g",
    s(`rect.${kind}`, { x: x - half, y: y - 9, width: 2 * half, height: 18, rx: 4 }),
    text ? s(`text.at.${kind}`, { x, y: y + 4, "text-anchor": "middle" }, text) : null,
  );
}
