/** An address: what it is and has on both floors, and a contract's functions. */

import { depositDialog, sendDialog, withdrawDialog } from "./act.js";
import { learnContracts } from "./compiled.js";
import { crossings, followCrossings, isMoving } from "./crossings.js";
import { h, ICONS, icon, show } from "./dom.js";
import { big, byteLength, checksum, count, int, units } from "./format.js";
import { history } from "./history.js";
import { heads } from "./houses.js";
import { nameOf } from "./known.js";
import { watch } from "./live.js";
import { floors, node, tokenAt } from "./rpc.js";
import { BASE_TOKEN_HOLDER } from "./system.js";
import { copyButton, section } from "./view.js";

/** @typedef {Map<string, {balance: bigint, nonce: number, code: string}>} States of an address, by floor */

/**
 * @param {string} text
 * @returns {Promise<import("./main.js").Page>}
 */
export async function page(text) {
  const address = text.toLowerCase();
  const whole = checksum(address);
  followCrossings();
  const states = new Map(
    await Promise.all(
      floors().map(async (floor) => {
        const [balance, nonce, code] = await Promise.all([
          floor.call("eth_getBalance", address, "latest"),
          floor.call("eth_getTransactionCount", address, "latest"),
          floor.call("eth_getCode", address, "latest"),
        ]);
        return /** @type {const} */ ([floor.name, { balance: big(balance), nonce: int(nonce), code }]);
      }),
    ),
  );
  const unlocked = floors().some((it) => it.accounts.includes(address));
  const hasCode = [...states.values()].some((it) => it.code !== "0x");
  const codes = floors().filter((it) => states.get(it.name)?.code !== "0x");
  await Promise.all(codes.map((it) => learnContracts(it, [address])));
  const name =
    codes.map((it) => nameOf(address, it.name)).find(Boolean) ?? nameOf(address, "l2") ?? nameOf(address, "l1");
  const transactions = history(address);
  const contracts = codes.length ? await contractParts(codes, address, states) : [];
  const everywhere = node.several ? (await import("./holdings.js")).holdings(address, states) : null;
  const house = h("div.both-floors");
  const draw = everywhere ? everywhere.draw : () => drawFloors(house, address, states);
  const transfers = async () => (await movements()).accountTransfers(address);
  const moved = section("Token transfers", transfers, { rows: 2 });
  const rail = h(
    "aside.rail",
    everywhere ? null : section("Tokens", async () => (await movements()).tokenList(address), { rows: 2 }),
    unlocked ? actions(whole, name) : null,
  );
  const title = h(
    "div",
    h("h1.plain", name ?? "Address"),
    h("p.whole-line", h("span.whole", whole), copyButton(whole, "the address")),
    address === BASE_TOKEN_HOLDER
      ? h("p.muted", "It backs native value between chains, and is counted nowhere.")
      : null,
  );
  return {
    title: name ?? `Address ${whole.slice(0, 6)}…${whole.slice(-4)}`,
    leave: watch(() => {
      refreshStates(address, states).then(draw);
      transactions.draw();
    }),
    body: [
      h("p.crumbs", h("span", hasCode ? "Contract" : unlocked ? "Account, unlocked here" : "Account")),
      everywhere && unlocked ? h("div.head", title, everywhere.actions(whole)) : title,
      everywhere
        ? [everywhere.element, contracts, transactions.element, moved]
        : h("div.with-rail", h("div", house, contracts, transactions.element, moved), rail),
    ].flat(2),
  };
}

/**
 * @param {import("./rpc.js").Floor[]} codes
 * @param {string} address
 * @param {States} states
 */
async function contractParts(codes, address, states) {
  const { contractPart } = await import("./contract.js");
  return codes.map((floor) => contractPart(floor, address, /** @type {any} */ (states.get(floor.name)).code));
}

const movements = () => import("./movements.js");

let drawnAt = "";

/**
 * @param {string} address
 * @param {States} states
 */
async function refreshStates(address, states) {
  const now = `${address}${heads()}`;
  if (now === drawnAt) return;
  drawnAt = now;
  await Promise.all(
    floors().map(async (floor) => {
      const [balance, nonce] = await Promise.all([
        floor.maybe("eth_getBalance", address, "latest"),
        floor.maybe("eth_getTransactionCount", address, "latest"),
      ]);
      const state = states.get(floor.name);
      if (state && balance) Object.assign(state, { balance: big(balance), nonce: int(nonce) });
    }),
  );
}

/**
 * @param {Element} element
 * @param {string} address
 * @param {States} states
 */
function drawFloors(element, address, states) {
  const row = (/** @type {string} */ layer, /** @type {string} */ title) => {
    const state = states.get(layer);
    if (!state) return null;
    const token = tokenAt(layer);
    const code = state.code === "0x" ? "no code" : `${count(byteLength(state.code))} bytes of code`;
    return h(
      `div.floor.${layer}`,
      h(`h2.title.${layer}`, title),
      h("p.amount", `${units(state.balance, token.decimals)} `, h("small", token.symbol)),
      h("p.muted", `nonce ${count(state.nonce)}, ${code}`),
    );
  };
  const moving = crossings().filter((it) => isMoving(it) && (it.from === address || it.to === address));
  const between = moving.length
    ? moving
        .slice(0, 4)
        .map((it) =>
          h("span", it.kind === "deposit" ? "↑ " : "↓ ", it.what, it.kind === "deposit" ? " rises  " : " descends  "),
        )
    : h("span.muted", "nothing on the stairs");
  show(
    element,
    row("l2", "Upper floor"),
    node.l1 && node.l2
      ? [
          h("div.slab.l2"),
          h(
            "div.floor.between",
            h("h2.title.mid", "Between"),
            h("p", between),
            h("a.down", { href: "#/bridge" }, "Show"),
          ),
          h("div.slab.l1"),
        ]
      : null,
    row("l1", "Ground floor"),
  );
}

/**
 * @param {string} address
 * @param {string | undefined} name
 */
function actions(address, name) {
  const both = node.l1 && node.l2;
  const button = (/** @type {any} */ text, /** @type {() => void} */ onclick) =>
    h("button.acts", { type: "button", onclick }, text);
  return h(
    "section.part.act-as",
    h("header", h("h2", `Act as ${name ?? "this account"}`)),
    both && node.l1?.accounts.includes(address.toLowerCase())
      ? button([icon(ICONS.up), "Deposit to L2"], () => depositDialog(address))
      : null,
    both ? button([icon(ICONS.down), "Withdraw to L1"], () => withdrawDialog(address)) : null,
    floors()
      .filter((it) => it.accounts.length)
      .map((floor) => button(`Send on L${floor.layer}`, () => sendDialog(floor, address))),
    h("p.small.muted", "The node signs for its development accounts. For others the page uses the browser’s wallet."),
  );
}
