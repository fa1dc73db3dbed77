/** Acting: send as a development account, whose key the node has, or through the browser's wallet. */

import { append, h, say, show } from "./dom.js";
import { big, checksum, hex, parseUnits, short, amount as written } from "./format.js";
import { nameOf } from "./known.js";
import { refresh } from "./live.js";
import { node } from "./rpc.js";
import { explained } from "./view.js";

const RECEIPT_TRIES = 100;

/** @returns {any} the browser's wallet, if it has one */
const wallet = () => /** @type {any} */ (window).ethereum;

/** @type {string[]} */
let connected = [];

/**
 * @param {import("./rpc.js").Floor} floor
 * @returns {string[]} the accounts that can send on this floor
 */
export const signers = (floor) => [...floor.accounts, ...connected.filter((it) => !floor.accounts.includes(it))];

/**
 * Whether any account can send on a floor.
 * @param {import("./rpc.js").Floor | null} floor
 */
export const canSend = (floor) => floor !== null && (Boolean(wallet()) || signers(floor).length > 0);

/**
 * @param {import("./rpc.js").Floor} floor
 * @param {any} tx
 * @returns {Promise<string>} the hash
 */
export async function send(floor, tx) {
  if (floor.accounts.includes(tx.from)) return floor.call("eth_sendTransaction", tx);
  if (!wallet()) throw new Error("This account is not unlocked, and the browser has no wallet.");
  await wallet().request({ method: "wallet_switchEthereumChain", params: [{ chainId: hex(floor.chainId) }] });
  return wallet().request({ method: "eth_sendTransaction", params: [tx] });
}

/**
 * @param {import("./rpc.js").Floor} floor
 * @param {string} hash
 */
export async function receiptOf(floor, hash) {
  for (let i = 0; i < RECEIPT_TRIES; i++) {
    const receipt = await floor.maybe("eth_getTransactionReceipt", hash);
    if (receipt) return receipt;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error("It is still pending.");
}

/**
 * A choice among the accounts that can send.
 * @param {import("./rpc.js").Floor} floor
 * @param {string} [chosen]
 */
export function accountSelect(floor, chosen) {
  const select = /** @type {any} */ (h("select", { "aria-label": "Account" }));
  const fill = (/** @type {import("./rpc.js").Floor} */ on) => {
    show(
      select,
      signers(on).map((it) =>
        h(
          "option",
          { value: it, selected: it === chosen?.toLowerCase() },
          `${nameOf(it, on.name) ?? "Account"} ${short(checksum(it))}`,
        ),
      ),
    );
    if (wallet()) select.append(h("option", { value: "wallet" }, "Connect the browser's wallet…"));
  };
  select.addEventListener("change", async () => {
    chosen = select.value;
    if (select.value !== "wallet") return;
    connected = await wallet().request({ method: "eth_requestAccounts" });
    chosen = connected[0];
    fill(floor);
  });
  // The accounts of another floor, of which the chosen one stays chosen.
  select.moveTo = (/** @type {import("./rpc.js").Floor} */ other) => {
    if (other !== floor) fill(other);
    floor = other;
  };
  fill(floor);
  return select;
}

/**
 * @typedef {import("./rpc.js").Token} Token
 * @typedef {{floor: import("./rpc.js").Floor, tx: any, note: string, before?: any[]}} Plan a transaction, and those that
 *   have to succeed before it
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
  const prepare = async () => {
    account.moveTo(floor());
    const chosen = await token();
    name(chosen);
    if (!/^0x[0-9a-fA-F]{40}$/.test(target.value)) throw new Error("An address has 40 digits after 0x.");
    return plan(account.value, target.value.toLowerCase(), parseUnits(amount.value, chosen.decimals));
  };
  let turn = 0;
  const estimate = async () => {
    const mine = ++turn;
    const [text, wrong] = await prepare().then(
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
      const made = await prepare();
      for (const tx of made.before ?? []) {
        const receipt = await receiptOf(made.floor, await send(made.floor, tx));
        if (big(receipt.status) === 0n) throw new Error("The token does not allow the bridge to take it.");
      }
      await send(made.floor, made.tx);
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
export function sendDialog(floor, from) {
  amountDialog(node.several ? `Send: ${floor.title}` : `Send on layer ${floor.layer}`, () => floor, {
    from,
    to: checksum(floor.accounts.find((it) => it !== from?.toLowerCase()) ?? from ?? ""),
    verb: "Send",
    plan: async (sender, to, amount) => {
      const tx = { from: sender, to, value: hex(amount) };
      return { floor, tx, note: await feeOf(floor, tx) };
    },
  });
}

/**
 * @param {import("./rpc.js").Floor} floor
 * @param {any} tx
 */
export async function feeOf(floor, tx) {
  const [gas, price] = await Promise.all([floor.call("eth_estimateGas", tx), floor.call("eth_gasPrice")]);
  return `The fee is about ${written(big(gas) * big(price), floor.token)}.`;
}
