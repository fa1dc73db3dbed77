/** What a transaction did: in a sentence, which is the title of its page, and the bundles and roots that it is about. */

import { called, ofHouse, PRIORITY, tokenOf, what } from "./describe.js";
import { h } from "./dom.js";
import { amount, big, byteLength, count, int, plural, short } from "./format.js";
import { ROOT_IMPORT } from "./houses.js";
import { decodeCall, decodeLog } from "./known.js";
import { ETHER, floorOf, isUpper, node, tokenAt } from "./rpc.js";
import { BASE_TOKEN } from "./system.js";
import { blockLink, hashLink } from "./view.js";

/**
 * The title of a transaction's page.
 * @param {any} tx
 * @param {string} layer
 * @param {boolean} failed
 * @returns {Promise<(string | Node)[]>}
 */
export async function sentence(tx, layer, failed) {
  if (failed) return attempt(tx, layer);
  const from = called(tx.from, layer);
  const value = big(tx.value);
  const strong = (/** @type {string} */ text) => h("strong", text);
  const ether = strong(amount(value, tokenAt(layer)));
  const upper = (/** @type {import("./rpc.js").Floor | undefined} */ it) =>
    node.several && it ? ` in ${it.title}` : " on layer 2";
  if (int(tx.type) === PRIORITY && isUpper(layer))
    return tx.input === "0x"
      ? [ether, " arrived from layer 1 for ", called(tx.to, layer)]
      : ["Layer 1 called ", called(tx.to, layer)];
  if (int(tx.type) === ROOT_IMPORT) return rootsSentence(tx, layer);
  if (!tx.to) return [from, " made a contract"];
  const to = called(tx.to, layer);
  if (tx.input === "0x") return [from, " sent ", ether, " to ", to];
  const decoded = decodeCall(tx.to, tx.input, layer);
  if (!decoded) return [h("span.mono", tx.input.slice(0, 10)), " on ", to];
  const { entry, values } = decoded;
  const { verb, batch, floor } = what(tx, layer);
  if (batch !== undefined)
    return [
      `The operator ${verb === "commit" ? "committed" : verb === "settle" ? "settled the books of" : `${verb}d`} batch `,
      strong(count(batch)),
      `${ofHouse(floor)} on layer 1`,
    ];
  if (entry.name === "transfer" && values.length === 2) {
    const token = await tokenOf(layer, tx.to);
    if (token)
      return [
        from,
        " sent ",
        strong(token.isRaw ? `${count(values[1])} units of ${token.symbol}` : amount(values[1], token, 2)),
        " to ",
        called(values[0], layer),
      ];
  }
  if (tx.to.toLowerCase() === BASE_TOKEN && entry.name === "withdraw")
    return [from, " withdrew ", ether, " to ", called(values[0], "l1"), " on layer 1"];
  if (entry.name === "sendToL1")
    return [from, " sent a message of ", strong(`${byteLength(values[0])} bytes`), " to layer 1"];
  if (entry.name === "requestL2TransactionDirect")
    return [
      from,
      " deposited ",
      strong(amount(values[0][3], floor?.token ?? ETHER)),
      " for ",
      called(values[0][2], floor?.name ?? "l2"),
      upper(floor),
    ];
  const bundle = bundleSentence(entry, values, layer);
  return bundle ? [from, ...bundle] : [from, " called ", strong(entry.name), " on ", to];
}

/**
 * @param {import("./abi.js").Entry} entry
 * @param {any[]} values
 * @param {string} layer
 */
function bundleSentence({ contract, name }, values, layer) {
  const title = (/** @type {any} */ chain) =>
    node.several && floorOf(String(chain)) ? floorOf(String(chain))?.title : `chain ${chain}`;
  const here = title(floorOf(layer)?.chainId);
  if (contract === "InteropCenter" && /^send(Bundle|Message)$/.test(name)) {
    const size = 2 * Number.parseInt(values[0].slice(10, 12), 16);
    const calls = name === "sendBundle" ? values[1].length : 1;
    const to = title(Number.parseInt(values[0].slice(12, 12 + size), 16));
    return [" sent ", h("strong", plural(calls, "call")), ` from ${here} to ${to}`];
  }
  const verbs = /** @type {Record<string, string>} */ ({
    executeBundle: " ran ",
    verifyBundle: " verified ",
    unbundleBundle: " unbundled ",
  });
  if (contract !== "InteropHandler" || !verbs[name]) return null;
  const source = name === "unbundleBundle" ? values[0] : values[1][0];
  return [verbs[name], h("strong", "a bundle"), ` from ${title(source)} in ${here}`];
}

/**
 * The title of the node's own transaction, which brings roots.
 * @param {any} tx
 * @param {string} layer
 */
function rootsSentence(tx, layer) {
  const total = decodeCall(tx.to, tx.input, layer)?.values[0]?.length ?? 0;
  return [
    h("strong", plural(total, "root")),
    " of all chains arrived from layer 1",
    node.several ? ` in ${floorOf(layer)?.title}` : "",
  ];
}

/**
 * The title of a transaction that failed, so that nothing moved.
 * @param {any} tx
 * @param {string} layer
 */
function attempt(tx, layer) {
  const isDeposit = int(tx.type) === PRIORITY && isUpper(layer);
  const from = isDeposit ? "Layer 1" : called(tx.from, layer);
  if (!tx.to) return [from, " tried to make a contract"];
  const to = called(tx.to, layer);
  const ether = h("strong", amount(big(tx.value), tokenAt(layer)));
  if (tx.input === "0x") return [from, " tried to send ", ether, " to ", to];
  const entry = decodeCall(tx.to, tx.input, layer)?.entry;
  return [from, " tried to call ", h("strong", entry?.name ?? tx.input.slice(0, 10)), " on ", to];
}

/**
 * The bundles that a transaction sent, verified, ran or unbundled.
 * @param {any} receipt
 * @param {string} layer
 */
export function bundleLinks(receipt, layer) {
  const names = /^(InteropBundleSent|Bundle(Verified|Executed|Unbundled))$/;
  const hashes = (receipt?.logs ?? []).flatMap((/** @type {any} */ log) => {
    const { entry, values } = decodeLog(log, layer) ?? {};
    const isOurs = entry && /^Interop/.test(entry.contract) && names.test(entry.name);
    return isOurs ? [String(entry.name === "InteropBundleSent" ? values?.[1] : values?.[0])] : [];
  });
  const links = [...new Set(hashes)].slice(0, 20).map((it) => [hashLink(`${it}`, `#/bundle/${it}`, "the hash"), " "]);
  return links.length ? links : null;
}

/**
 * The roots that a transaction of the node imported, by their blocks of layer 1.
 * @param {any} tx
 * @param {string} layer
 */
export function rootLinks(tx, layer) {
  const roots = decodeCall(tx.to, tx.input, layer)?.values[0] ?? [];
  return h(
    "ol",
    roots.map((/** @type {any[]} */ [, block, , [root]]) =>
      h("li", "block ", blockLink("l1", Number(block)), " ", h("span.mono", { title: root }, short(root ?? ""))),
    ),
  );
}
