/** The proof of a bundle: from its message to the root over all chains, checked here, hash by hash. */

import { titleOf } from "./bundles.js";
import { encode } from "./codec.js";
import { h, ICONS, icon, show } from "./dom.js";
import { count, plural, short } from "./format.js";
import { bytesOf, hexOf, keccak, keccakHex, keccakText, packed } from "./keccak.js";
import { callData, entry } from "./known.js";
import { addressOf, floorOf, node } from "./rpc.js";
import { INTEROP_CENTER, MESSAGE_VERIFICATION, ROOT_STORAGE } from "./system.js";
import { ask } from "./tokens.js";
import { errorBox } from "./view.js";

/** @typedef {import("./bundles.js").Bundle} Bundle */
/** @typedef {{leaf: string, batch: string, chain: string, street: string, block: number, layer: bigint,
 *   hashes: number[]}} Path the roots from the bundle to that of the street, and how many hashes led to each */

const BATCH_LEAF = keccakText("zkSync:BatchLeaf");
const CHAIN_LEAF = keccakText("zkSync:ChainIdLeaf");
const LOW = (1n << 128n) - 1n;

/**
 * The bytes of a bundle, as it was sent and is executed.
 * @param {Bundle} it
 */
export const encodedOf = (it) => `0x${encode([entry("InteropCenter", "InteropBundleSent").inputs[2]], [it.words])}`;

/**
 * What the handler takes: the message, and the proof that it was sent.
 * @param {Bundle} it
 */
export const inclusionOf = (it) => [
  BigInt(floorOf(it.house)?.chainId ?? 0),
  BigInt(it.batch),
  BigInt(it.proof.id),
  [BigInt(it.txIndex), INTEROP_CENTER, `0x01${encodedOf(it).slice(2)}`],
  it.proof.proof,
];

/** @param {bigint} value */
const word = (value) => value.toString(16).padStart(64, "0");

/**
 * @param {string} leaf
 * @param {bigint} mask whose bits say on which side each sibling is
 * @param {string[]} siblings
 */
function climb(leaf, mask, siblings) {
  let at = bytesOf(leaf);
  siblings.forEach((text, height) => {
    const sibling = bytesOf(text);
    const isRight = (mask >> BigInt(height)) & 1n;
    const pair = new Uint8Array(64);
    pair.set(isRight ? sibling : at, 0);
    pair.set(isRight ? at : sibling, 32);
    at = /** @type {any} */ (keccak(pair));
  });
  return hexOf(at);
}

/**
 * Follow a proof to the root over all chains; throws if it has another form.
 * @param {string} leaf
 * @param {bigint} index of the message in its batch
 * @param {bigint} batch
 * @param {bigint} chain
 * @param {string[]} proof
 * @returns {Path}
 */
export function pathOf(leaf, index, batch, chain, proof) {
  const lengths = (/** @type {number} */ at, /** @type {string} */ isFinal) => {
    const found = /^0x01(..)(..)(..)0{56}$/.exec(proof[at] ?? "");
    if (found?.[3] !== isFinal) throw new Error("The proof has another form.");
    return [Number.parseInt(found[1], 16), Number.parseInt(found[2], 16)];
  };
  const [logs, batches] = lengths(0, "00");
  const batchAt = 1 + logs;
  const chainAt = batchAt + 2 + batches;
  const [chains, none] = lengths(chainAt + 2, "01");
  if (none || proof.length !== chainAt + 3 + chains) throw new Error("The proof has another length.");
  const batchRoot = climb(leaf, index, proof.slice(1, batchAt));
  const batchLeaf = keccakHex(`${BATCH_LEAF}${batchRoot.slice(2)}${word(batch)}${proof[batchAt].slice(2)}`);
  const chainRoot = climb(batchLeaf, BigInt(proof[batchAt + 1]), proof.slice(batchAt + 2, chainAt));
  const chainLeaf = keccakHex(`${CHAIN_LEAF}${chainRoot.slice(2)}${word(chain)}`);
  const place = BigInt(proof[chainAt]);
  return {
    leaf,
    batch: batchRoot,
    chain: chainRoot,
    street: climb(chainLeaf, place & LOW, proof.slice(chainAt + 3)),
    block: Number(place >> 128n),
    layer: BigInt(proof[chainAt + 1]),
    hashes: [2, logs, batches + 1, chains + 1],
  };
}

/** @param {Bundle} it */
async function check(it) {
  const there = floorOf(String(it.destination));
  const l1 = /** @type {import("./rpc.js").Floor} */ (node.l1);
  const started = performance.now();
  const [chain, batch, index, message, words] = inclusionOf(it);
  const leaf = keccakHex(
    packed({ txIndex: it.txIndex, sender: INTEROP_CENTER, message: /** @type {any} */ (message)[2] }),
  );
  const path = pathOf(
    leaf,
    /** @type {bigint} */ (index),
    /** @type {bigint} */ (batch),
    /** @type {bigint} */ (chain),
    words,
  );
  const ms = performance.now() - started;
  const block = BigInt(path.block);
  const [kept, imported, agreed] = await Promise.all([
    ask(l1, addressOf("MessageRoot"), "MessageRoot", "historicalRoot", block),
    there ? ask(there, ROOT_STORAGE, "L2InteropRootStorage", "interopRoots", path.layer, block) : null,
    there?.maybe(
      "eth_call",
      {
        to: MESSAGE_VERIFICATION,
        data: callData("L2MessageVerification", "proveL2MessageInclusionShared", chain, batch, index, message, words),
      },
      "latest",
    ),
  ]);
  return { path, ms, kept: (kept ?? "").slice(0, 66), imported: imported ?? "", agrees: BigInt(agreed ?? 0) === 1n };
}

/**
 * @param {Bundle} it
 * @param {number} arrived the block of its destination that imported the root; 0 if it is not known
 */
export function streetProof(it, arrived) {
  const element = h("div", h("p.muted", { role: "status" }, "Checking…"));
  check(it).then(
    (found) => show(element, proofParts(it, found, arrived)),
    (error) => show(element, errorBox(error)),
  );
  return element;
}

/**
 * @param {Bundle} it
 * @param {Awaited<ReturnType<typeof check>>} found
 * @param {number} arrived
 */
function proofParts(it, { path, ms, kept, imported, agrees }, arrived) {
  const there = titleOf(it.destination);
  const home = titleOf(Number(floorOf(it.house)?.chainId));
  const isKept = kept === path.street;
  const isThere = Boolean(imported) && BigInt(imported) !== 0n;
  const isImported = imported === path.street;
  const total = path.hashes.reduce((sum, it) => sum + it, 0);
  const differs = !isKept || (isThere && !isImported);
  const known = isImported
    ? `${there} keeps the root it leads to.`
    : `Layer 1 keeps the root it leads to; ${there} has not got it yet.`;
  const times = (/** @type {number} */ number) => plural(number, "hash", "hashes");
  const verdict = differs
    ? h(
        "div.box.bad",
        h(
          "div",
          h("strong", "The proof differs"),
          h("p.mono", `here ${path.street}`),
          h("p.mono", `on layer 1 ${kept || "none"}`),
          isThere ? h("p.mono", `in ${there} ${imported}`) : null,
        ),
      )
    : h(
        "div.box.ok",
        icon(ICONS.check),
        h(
          "div",
          h("strong.ok", "Verified in your browser"),
          h("p.small", `${known} ${times(total)}, ${ms.toFixed(1)} ms.`),
        ),
      );
  /** @type {[string, string, string, string][]} */
  const rows = [
    ["l2", "Bundle", `leaf ${count(it.proof.id)} of batch ${count(it.batch)}`, path.leaf],
    ["mid", `Root of batch ${count(it.batch)}`, times(path.hashes[1]), path.batch],
    ["mid", `Root of ${home}`, `${times(path.hashes[2])}, all its batches`, path.chain],
    ["l1", "Root of the street", `${times(path.hashes[3])}, all chains`, path.street],
  ];
  /** @type {[string, boolean, string][]} */
  const checks = [
    [`Layer 1 keeps this root, block ${count(path.block)}`, isKept, kept ? short(kept) : "none"],
    [
      isThere
        ? `${there} imported this root${arrived ? `, block ${count(arrived)}` : ""}`
        : `${there} has not imported it yet`,
      isImported,
      isThere ? short(imported) : "none",
    ],
    [`${there}’s verifier agrees`, agrees, String(agrees)],
  ];
  return [
    verdict,
    h("h2", "Proof"),
    h(
      "ol.roots",
      rows.map(([tone, title, note, value]) =>
        h(
          `li.${tone}`,
          h("span", h("b", title), h("span.small.muted", note)),
          h("span.mono", { title: value }, short(value)),
        ),
      ),
    ),
    h(
      "ol.steps",
      checks.map(([text, holds, value]) =>
        h(
          "li",
          h(
            holds ? "span.ok" : isThere ? "span.bad" : "span.muted",
            icon(holds ? ICONS.check : ICONS.cross),
            h("span.unseen", holds ? "holds: " : "does not hold: "),
          ),
          h("span", text),
          h("span.mono.muted", value),
        ),
      ),
    ),
    h(
      "p.small.faint",
      `This shows that it was said and settled. It does not show that ${home} computed rightly: there is no validity proof.`,
    ),
  ];
}
