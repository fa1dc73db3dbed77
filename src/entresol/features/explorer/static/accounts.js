/** Panels that edit accounts: what they have, and who may send for them. */

import { choice, differs, h, show } from "./dom.js";
import { amount, big, count, hex, int, isBytes, parseUnits, plural } from "./format.js";
import { addressIn, addressInput, formPanel, numberIn, textInput } from "./forms.js";
import { isPerson } from "./known.js";
import { greet } from "./rpc.js";
import { addressLink } from "./view.js";

/** @typedef {import("./forms.js").Floor} Floor */
/** @typedef {import("./forms.js").Tools} Tools */
/** @typedef {import("./forms.js").Request} Request */

/** @type {[string, string, string, string][]} what is set: a key, a word, the labels of one or two fields */
const PARTS = [
  ["balance", "Balance", "", "New balance"],
  ["nonce", "Nonce", "", "New nonce"],
  ["code", "Code", "", "New code"],
  ["storage", "Storage", "Slot", "New value"],
  ["token", "Token", "Token’s address", "New amount, in its smallest unit"],
];

/** @param {Tools} tools */
export function accountPanel(tools) {
  const of = addressInput("Account to edit", tools.floor);
  const place = textInput("Slot or token", "0");
  const value = textInput("New value", "");
  const placeName = h("span");
  const valueName = h("span");
  const placeField = h("label.field", placeName, place);
  const now = h("p.small.muted");
  let part = PARTS[0][0];
  /** @returns {Request} */
  const request = () => {
    const { token } = tools.floor();
    const at = of.read();
    if (part === "balance")
      return { method: "anvil_setBalance", params: [at, hex(parseUnits(value.value, token.decimals))] };
    if (part === "nonce") return { method: "anvil_setNonce", params: [at, hex(numberIn(value.value, "A nonce"))] };
    if (part === "code") {
      if (!isBytes(value.value.trim())) throw new Error("Code is hexadecimal: 0x and whole bytes.");
      return { method: "anvil_setCode", params: [at, value.value.trim()] };
    }
    const number = numberIn(value.value, "The value");
    if (part === "token") return { method: "anvil_dealERC20", params: [at, addressIn(place.value), hex(number)] };
    const word = `0x${number.toString(16).padStart(64, "0")}`;
    return { method: "anvil_setStorageAt", params: [at, hex(numberIn(place.value, "A slot")), word] };
  };
  const read = async () => {
    const floor = tools.floor();
    show(now, await currentOf(floor, part, of.input.value.trim(), place.value.trim()).catch(() => ""));
  };
  const form = formPanel(tools, {
    title: "Account",
    aside: null,
    fields: [
      of.element,
      choice(
        "What is set",
        PARTS.map(([key, word]) => [key, word]),
        part,
        (it) => {
          part = it;
          place.value = part === "storage" ? "0" : "";
          value.value = "";
          name();
        },
      ),
      placeField,
      h("label.field", valueName, value),
      now,
    ],
    verb: "Set",
    request,
    done: read,
  });
  const name = () => {
    const [, , first, second] = /** @type {any} */ (PARTS.find(([key]) => key === part));
    placeField.hidden = !first;
    show(placeName, first);
    show(valueName, part === "balance" ? `${second}, ${tools.floor().token.symbol}` : second);
    place.setAttribute("aria-label", first);
    value.setAttribute("aria-label", second);
    read();
  };
  form.element.addEventListener("input", read);
  let drawn = "";
  const draw = () => {
    if (drawn === tools.floor().name) return;
    drawn = tools.floor().name;
    of.fill();
    name();
  };
  return { ...form, draw };
}

/**
 * What an account has now, in words.
 * @param {Floor} floor
 * @param {string} part
 * @param {string} address
 * @param {string} place
 */
async function currentOf(floor, part, address, place) {
  const at = addressIn(address);
  if (part === "balance") return `now ${amount(big(await floor.call("eth_getBalance", at, "latest")), floor.token)}`;
  if (part === "nonce") return `now ${count(int(await floor.call("eth_getTransactionCount", at, "latest")))}`;
  if (part === "code") return `now ${plural((await floor.call("eth_getCode", at, "latest")).length / 2 - 1, "byte")}`;
  if (part === "storage")
    return `now ${await floor.call("eth_getStorageAt", at, hex(numberIn(place, "A slot")), "latest")}`;
  return "";
}

/** @param {Tools} tools */
export function impersonationPanel(tools) {
  const { act, button, floor } = tools;
  const who = addressInput("Account to impersonate", floor);
  const list = h("ul.unlocked");
  const shownAll = h("div.request", { "aria-live": "polite" });
  const learn = async () => {
    await greet(floor());
    draw();
  };
  const form = formPanel(tools, {
    title: "Impersonation",
    aside: h("span.muted", "send without a key"),
    fields: who.element,
    verb: "Impersonate",
    request: () => ({ method: "anvil_impersonateAccount", params: [who.read()] }),
    done: learn,
  });
  const stop = async (/** @type {string} */ it) => {
    await act(shownAll, floor().name, "anvil_stopImpersonatingAccount", [it]);
    await learn();
  };
  const every = (/** @type {boolean} */ on) => act(shownAll, floor().name, "anvil_autoImpersonateAccount", [on]);
  form.element.append(
    list,
    h(
      "div.actions",
      button("Any account may send", () => every(true), ".small"),
      button("No longer", () => every(false), ".small"),
    ),
    shownAll,
  );
  const draw = () => {
    const { accounts, name } = floor();
    if (!differs(list, `${name}${accounts}`)) return;
    who.fill();
    show(
      list,
      accounts
        .filter((it) => !isPerson(it))
        .slice(0, 20)
        .map((it) =>
          h(
            "li.split",
            addressLink(it, name),
            button("Stop", () => stop(it), ".small"),
          ),
        ),
    );
  };
  return { ...form, draw };
}
