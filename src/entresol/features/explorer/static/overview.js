/** The overview of a transaction: its facts, who paid for it, and why it failed. */

import { hasFailedIn, PRIORITY } from "./describe.js";
import { h, show } from "./dom.js";
import { ago, amount, big, count, int, moment, price } from "./format.js";
import { ROOT_IMPORT } from "./houses.js";
import { floorOf, node, tokenAt } from "./rpc.js";
import { bundleLinks, rootLinks } from "./sentence.js";
import { addressLink, blockLink, facts } from "./view.js";

/** The type whose signed bytes may name a paymaster. */
export const SPONSORED = 0x71;

const TYPES = /** @type {Record<number, string>} */ ({
  0: "legacy",
  1: "access list",
  2: "fee market",
  3: "blobs",
  4: "set code",
  113: "EIP-712",
  125: "root import",
  255: "from layer 1",
});

/**
 * @param {any} tx
 * @param {any} receipt
 * @param {import("./rpc.js").Token} token
 */
function moved(tx, receipt, token) {
  const sent = amount(big(tx.value), token, token.decimals);
  if (!hasFailedIn(receipt)) return sent;
  const stays = int(tx.type) === PRIORITY ? "it was refunded" : "it stayed with the sender";
  return [`0 ${token.symbol} `, h("span.muted", `of ${sent}: ${stays}`)];
}

/**
 * @param {any} tx
 * @param {any} receipt
 * @param {any} block
 * @param {string} layer
 * @param {{fact: Node} | null} reason why it failed
 */
export function overview(tx, receipt, block, layer, reason) {
  const at = int(block?.timestamp);
  const used = int(receipt?.gasUsed);
  const paid = big(receipt?.effectiveGasPrice ?? tx.gasPrice);
  const token = tokenAt(layer);
  const kind = int(tx.type);
  return facts([
    ["Reason", reason?.fact],
    [
      "When",
      block
        ? [moment(at), " ", h("span.muted", ago(at, layer, " ago"), ", block "), blockLink(layer, int(block.number))]
        : "it is pending",
    ],
    ["From", addressLink(tx.from, layer, { both: true })],
    [
      "To",
      tx.to
        ? [addressLink(tx.to, layer, { both: true }), tx.input === "0x" ? null : h("span.badge", "contract")]
        : [
            "new contract ",
            receipt?.contractAddress ? addressLink(receipt.contractAddress, layer, { both: true }) : null,
          ],
    ],
    ["Value", big(tx.value) ? moved(tx, receipt, token) : null],
    [
      "Fee",
      receipt
        ? [
            `${amount(BigInt(used) * paid, token, 12)} `,
            h(
              "span.muted",
              `${count(used)} gas at ${price(paid, token).join(" ")}, ${Math.round((100 * used) / int(tx.gas))} % of the limit`,
            ),
          ]
        : `at most ${count(int(tx.gas))} gas`,
    ],
    ["Fee paid by", kind === SPONSORED ? payer(tx.hash, layer) : null],
    [
      "Type",
      [
        `${kind}, ${TYPES[kind] ?? "unknown"} `,
        h("span.muted", kind === PRIORITY ? "" : `nonce ${count(int(tx.nonce))}`),
      ],
    ],
    ["Bundle", bundleLinks(receipt, layer)],
    ["Roots", kind === ROOT_IMPORT ? rootLinks(tx, layer) : null],
    ["From L1", kind === PRIORITY && node.l1 ? h("a", { href: "#/bridge" }, "Show it on the bridge") : null],
  ]);
}

/**
 * Why and where it failed, for the title and the overview, as soon as the trace is there.
 * @param {() => Promise<any>} traced
 * @param {import("./rpc.js").Floor} floor
 * @param {string} hash
 */
export function reasonFor(traced, floor, hash) {
  const title = h("span.reason");
  const reasoned = h("div", h("span.muted", "…"));
  const fact = h("div", reasoned);
  const stack = import("./stack.js").then((it) => it.stackLater(floor, hash));
  const known = import("./reasons.js").then(async ({ reasonByTrace, reasonView }) => {
    const reason = await reasonByTrace(traced(), floor.name);
    if (!reason) throw new Error("nothing in the trace has failed");
    const draw = (/** @type {typeof reason} */ it) => {
      show(title, ": ", h("span.bad", it.text));
      show(reasoned, reasonView(it, floor.name));
    };
    draw(reason);
    // Who has the source knows errors that no ABI explains, and what the compiler checks.
    const said = reason.decoded ? null : (await stack).said;
    const text = (await said) ?? reason.text;
    if (text !== reason.text) draw({ ...reason, text, data: "0x" });
    return text;
  });
  known.catch((error) => show(reasoned, h("span.muted", `The node did not trace it: ${error.message}`)));
  stack.then((it) => fact.append(it.place), console.info);
  return { title, fact, known };
}

/**
 * Who pays the fee in place of the sender; the row goes if the sender does.
 * @param {string} hash
 * @param {string} layer
 */
function payer(hash, layer) {
  const place = h("span", h("span.muted", "…"));
  const floor = /** @type {import("./rpc.js").Floor} */ (floorOf(layer));
  import("./sponsored.js")
    .then((it) => it.paymasterOf(floor, hash))
    .then(
      (found) => (found ? show(place, found) : place.closest(".facts > div")?.remove()),
      (error) => show(place, h("span.muted", `The node did not say: ${error.message}`)),
    );
  return place;
}
