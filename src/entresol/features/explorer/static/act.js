/** Acting: dialogs that say what is sent, and what it costs, before the one button is pressed. */

import { append, h, say, show } from "./dom.js";
import { big, checksum, parseUnits, units, amount as written } from "./format.js";
import { whileDisabled } from "./input.js";
import { notify, refresh } from "./live.js";
import { accountSelect, failureOf, receiptOf, send, signers } from "./signers.js";
import { explained } from "./view.js";

// How often the gas of a transaction is kept back from all that an account has.
const RESERVE = 2n;
const PLACES = 6;

/**
 * Say so if a transaction fails that a dialog has sent, which is closed by then.
 * @param {string} title
 * @param {import("./rpc.js").Floor} floor
 * @param {string} hash
 */
async function tellFailure(title, floor, hash) {
  const receipt = await receiptOf(floor, hash).catch(() => null);
  if (receipt && big(receipt.status) === 0n) notify(`${title} failed: ${await failureOf(floor, receipt)}`);
}

/**
 * @typedef {import("./rpc.js").Token} Token
 * @typedef {{floor: import("./rpc.js").Floor, tx: any, note: string, before?: any[], extra?: bigint}} Plan a transaction,
 *   those that have to succeed before it, and how much of the token it takes besides the amount
 *
 * A dialog with an account and an amount; the fee is shown before the one button is pressed.
 * @param {string} title
 * @param {() => import("./rpc.js").Floor} floor where it is sent
 * @param {{from?: string, to?: string, verb: string, fields?: any[], token?: () => Promise<Token>,
 *   plan: (from: string, to: string, amount: bigint) => Promise<Plan>}} options
 */
export function amountDialog(title, floor, { from, to, verb, plan, fields, token = async () => floor().token }) {
  const account = accountSelect(floor(), from);
  const amount = h("input", { value: "1", inputmode: "decimal" });
  const most = h("button.small", { type: "button" }, "Max");
  const have = h("span.small.muted", { "aria-live": "polite" });
  const unit = h("span", "Amount");
  const target = h("input.mono", {
    value: to ?? from ?? checksum(signers(floor())[0] ?? ""),
    "aria-label": "Receiver",
    spellcheck: "false",
  });
  const note = h("p.small.muted", "\u00a0");
  const problem = h("p.small.bad", { role: "alert" });
  const button = h("button.primary.acts", { type: "submit" }, verb);
  const form = h(
    "form",
    h("h2.title", title),
    fields ?? null,
    label("From", account),
    h("label.field", unit, amount),
    h("div.split.have", have, most),
    label("To", target),
    note,
    problem,
    h("div.actions", button, h("button", { type: "button", onclick: () => dialog.close() }, "Cancel")),
  );
  const dialog = /** @type {any} */ (h("dialog.act", { "aria-label": title }, form));
  const name = (/** @type {Token} */ it) => {
    show(unit, `Amount, ${it.symbol}`);
    amount.setAttribute("aria-label", `Amount in ${it.symbol === "ETH" ? "ether" : it.symbol}`);
  };
  const prepare = async (/** @type {bigint} */ wanted) => {
    if (!account.value.startsWith("0x")) throw new Error("Choose an account, and confirm it in the wallet.");
    if (!/^0x[0-9a-fA-F]{40}$/.test(target.value)) throw new Error("An address has 40 digits after 0x.");
    return plan(account.value, target.value.toLowerCase(), wanted);
  };
  const choose = async () => {
    account.moveTo(floor());
    const chosen = await token();
    name(chosen);
    return chosen;
  };
  const typed = async () => prepare(parseUnits(amount.value, (await choose()).decimals));
  const takeAll = async () => {
    try {
      const chosen = await choose();
      const left = await mostOf(floor(), chosen, account.value, await prepare(1n));
      amount.value = units(left, chosen.decimals, chosen.decimals).replaceAll(",", "");
    } catch (error) {
      show(problem, await explained(error));
      return;
    }
    await estimate();
  };
  most.addEventListener("click", () => whileDisabled(most, takeAll));
  let turn = 0;
  const estimate = async () => {
    const mine = ++turn;
    const balance = choose().then(async (it) => written(await balanceOn(floor(), it, account.value), it, PLACES));
    balance.then(
      (it) => mine === turn && show(have, `has ${it}`),
      () => mine === turn && show(have),
    );
    const [text, wrong] = await typed().then(
      (made) => [made.note, ""],
      async (error) => ["\u00a0", await explained(error)],
    );
    if (mine !== turn) return;
    show(note, text);
    show(problem, wrong);
  };
  form.addEventListener("input", estimate);
  form.addEventListener("submit", async (/** @type {Event} */ event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      const made = await typed();
      for (const tx of made.before ?? []) {
        const receipt = await receiptOf(made.floor, await send(made.floor, tx));
        if (big(receipt.status) === 0n)
          throw new Error(`The token does not allow the bridge to take it: ${await failureOf(made.floor, receipt)}`);
      }
      tellFailure(title, made.floor, await send(made.floor, made.tx));
      say(`${title}: sent.`);
      dialog.close();
      refresh();
    } catch (error) {
      show(problem, await explained(error));
    }
    button.disabled = false;
  });
  dialog.addEventListener("close", () => dialog.remove());
  name(floor().token);
  document.body.append(dialog);
  dialog.showModal();
  estimate();
}

/**
 * @param {string} text
 * @param {Element} field
 */
export function label(text, field) {
  const element = h("label.field", h("span", text));
  append(element, field);
  return element;
}

/**
 * @param {string} [from]
 * @param {string} [house]
 */
export const depositDialog = async (from, house) => (await import("./cross.js")).depositDialog(from, house);

/**
 * @param {string} [from]
 * @param {string} [house]
 */
export const withdrawDialog = async (from, house) => (await import("./cross.js")).withdrawDialog(from, house);

/**
 * @param {import("./rpc.js").Floor} floor
 * @param {string} [from]
 */
export const sendDialog = async (floor, from) => (await import("./cross.js")).sendDialog(floor, from);

/**
 * What an account has of a token on a floor, where that which pays for gas has no contract to ask.
 * @param {import("./rpc.js").Floor} floor
 * @param {Token} token
 * @param {string} account
 */
async function balanceOn(floor, token, account) {
  if (isNative(floor, token)) return big(await floor.call("eth_getBalance", account, "latest"));
  return (await import("./tokens.js")).balanceOf(floor.name, token.address, account);
}

/**
 * @param {import("./rpc.js").Floor} floor
 * @param {Token} token
 */
const isNative = (floor, token) => token.address === floor.token.address;

/**
 * The most that can be sent: what pays for gas keeps twice what gas costs now, since its price may rise.
 * @param {import("./rpc.js").Floor} floor
 * @param {Token} token
 * @param {string} account
 * @param {Plan} plan of the smallest amount
 */
async function mostOf(floor, token, account, plan) {
  let left = (await balanceOn(floor, token, account)) - (plan.extra ?? 0n);
  if (isNative(floor, token)) {
    const [gas, price] = await Promise.all([floor.call("eth_estimateGas", plan.tx), floor.call("eth_gasPrice")]);
    left -= RESERVE * big(gas) * big(price);
  }
  if (left <= 0n) throw new Error(`There is not enough ${token.symbol} for the gas.`);
  return left;
}

/**
 * @param {import("./rpc.js").Floor} floor
 * @param {any} tx
 */
export async function feeOf(floor, tx) {
  const [gas, price] = await Promise.all([floor.call("eth_estimateGas", tx), floor.call("eth_gasPrice")]);
  return `The fee is about ${written(big(gas) * big(price), floor.token)}.`;
}
