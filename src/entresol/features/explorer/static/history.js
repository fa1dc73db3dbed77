/** The transactions of an address on both floors, live. */

import { learnContracts } from "./compiled.js";
import { deed, PRIORITY } from "./describe.js";
import { h, isHeld, keyed, show, table } from "./dom.js";
import { ago, amount, big, byOurClock, int } from "./format.js";
import { heads, stateOf } from "./houses.js";
import { floors, isUpper, tokenAt } from "./rpc.js";
import { addressLink, badge, empty, section, txLink } from "./view.js";

const PAGE = 25;
const AGAIN_MS = 1000;

/** @typedef {{tx: any, layer: string, receipt: any, change: bigint}} Item */

/**
 * @param {string} address
 * @returns {{element: HTMLElement, draw: () => void}}
 */
export function history(address) {
  const body = h("tbody");
  const grid = table(
    "Transactions of this address",
    [["", ""], ["Hash"], ["What"], ["With", "mid-column"], ["Value", "end"], ["Age", "end"]],
    [],
  );
  grid.querySelector("tbody")?.replaceWith(body);
  const nothing = empty("Nothing yet", "This address has sent and received no transaction.");
  const holder = h("div");
  const more = h("button.small.fresh", { type: "button", hidden: true });
  /** @type {Item[]} */
  let shown = [];
  /** @type {Item[]} */
  let found = [];
  let readAt = "";
  let timer = 0;
  /** @type {Map<string, {number: number, hash?: string}>} the last block of each layer that was searched */
  let searched = new Map();
  const load = async () => {
    readAt = heads();
    const next = new Map(readable().map((it) => [it.name, headOf(it)]));
    // There is no index by address: only what is new is searched, unless blocks were reverted.
    let fresh = readable().every((it) => isThere(it, searched.get(it.name))) ? await read(address, searched) : null;
    const old = fresh ? found.filter((it) => !fresh?.some((other) => keyOf(other) === keyOf(it))) : [];
    fresh = fresh ?? (await read(address, new Map())) ?? [];
    searched = next;
    found = [...fresh, ...old]
      .sort((a, b) => byOurClock(at(b), b.layer) - byOurClock(at(a), a.layer))
      .slice(0, 2 * PAGE);
    place(false);
    return holder;
  };
  /** @param {boolean} forced */
  const place = (forced) => {
    const fresh = found.filter((it) => !shown.some((old) => keyOf(old) === keyOf(it))).length;
    const held = !forced && fresh > 0 && shown.length > 0 && isHeld(body);
    more.hidden = !held;
    if (held) {
      show(more, `${fresh} new`);
      return;
    }
    shown = found;
    show(holder, found.length ? grid : nothing);
    keyed(
      body,
      found,
      keyOf,
      (it) => it.tx.blockHash,
      (it) => row(it, address),
    );
  };
  more.addEventListener("click", () => place(true));
  const element = section("Transactions", load, { aside: more });
  const draw = () => {
    if (timer || readAt === heads() || element.hasAttribute("aria-busy")) return;
    // A chain may seal many blocks a second.
    timer = window.setTimeout(() => {
      timer = 0;
      if (element.isConnected && readAt !== heads()) load().catch(() => {});
    }, AGAIN_MS);
  };
  return { element, draw };
}

/** @param {Item} it */
const keyOf = ({ tx, layer }) => layer + tx.hash;

const readable = () => floors().filter((it) => !it.remote);

/** @param {import("./rpc.js").Floor} floor */
function headOf({ name }) {
  const { head, blocks } = stateOf(name);
  return { number: head, hash: blocks.get(head)?.hash };
}

/**
 * Whether a block that was searched is still in the chain.
 * @param {import("./rpc.js").Floor} floor
 * @param {{number: number, hash?: string} | undefined} block
 */
function isThere(floor, block) {
  if (!block?.hash) return false;
  const { head, blocks } = stateOf(floor.name);
  return head >= block.number && (blocks.get(block.number)?.hash ?? block.hash) === block.hash;
}

/**
 * Read the newest transactions, or those after the blocks that were searched.
 * @param {string} address
 * @param {Map<string, {number: number}>} searched
 * @returns {Promise<Item[] | null>} null if there are more than a page has
 */
async function read(address, searched) {
  let isWhole = true;
  const found = await Promise.all(
    readable().map(async (floor) => {
      const after = searched.get(floor.name)?.number;
      const { txs, receipts, firstPage } =
        after === undefined
          ? await floor.call("ots_searchTransactionsBefore", address, 0, PAGE)
          : await floor.call("ots_searchTransactionsAfter", address, after, PAGE);
      isWhole = isWhole && firstPage;
      await learnContracts(
        floor,
        txs.map((/** @type {any} */ it) => it.to),
      );
      const byHash = new Map(receipts.map((/** @type {any} */ it) => [it.transactionHash, it]));
      return Promise.all(
        txs.map(async (/** @type {any} */ tx) => {
          const receipt = /** @type {any} */ (byHash.get(tx.hash));
          return { tx, layer: floor.name, receipt, change: await changeOf(floor, address, tx, receipt) };
        }),
      );
    }),
  );
  return isWhole ? found.flat() : null;
}

/**
 * What a transaction moved to or from an address: nothing if it failed, but for the refund of a deposit.
 * @param {import("./rpc.js").Floor} floor
 * @param {string} address
 * @param {any} tx
 * @param {any} receipt
 */
async function changeOf(floor, address, tx, receipt) {
  const isDeposit = int(tx.type) === PRIORITY && isUpper(floor.name);
  const failed = receipt && int(receipt.status) === 0;
  if (failed && !isDeposit) return 0n;
  if (failed) {
    const config = { tracer: "prestateTracer", tracerConfig: { diffMode: true } };
    const state = await floor.maybe("debug_traceTransaction", tx.hash, config);
    const after = state?.post[address]?.balance;
    return after === undefined ? 0n : big(after) - big(state.pre[address]?.balance);
  }
  // A deposit brings its own value along.
  const [sent, received] = [tx.from === address && !isDeposit, tx.to === address];
  return sent === received ? 0n : sent ? -big(tx.value) : big(tx.value);
}

/**
 * @param {Item} item
 * @param {string} address
 */
function row({ tx, layer, receipt, change }, address) {
  const isSender = tx.from === address;
  const failed = receipt && int(receipt.status) === 0;
  return h(
    "tr",
    h("td", badge(layer)),
    h("td", txLink(layer, tx.hash)),
    h("td", deed(tx, layer), failed ? h("span.badge.bad", "failed") : null),
    h("td.mid-column", isSender ? addressLink(tx.to ?? receipt?.contractAddress, layer) : addressLink(tx.from, layer)),
    h(
      "td.end.mono",
      change === 0n
        ? "0"
        : h(change > 0n ? "span.ok" : "span", `${change > 0n ? "+" : ""}${amount(change, tokenAt(layer))}`),
    ),
    h("td.end.muted", ago(at({ tx, receipt }), layer)),
  );
}

/** @param {{tx: any, receipt: any}} it */
const at = ({ tx, receipt }) => int(tx.blockTimestamp ?? receipt?.timestamp);
