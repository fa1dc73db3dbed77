/**
 * Forms that edit a chain: each shows the request that its button sends, before it is pressed.
 *
 * @typedef {import("./rpc.js").Floor} Floor
 * @typedef {(shown: Element, where: string, method: string, params: any[]) => Promise<any>} Act
 * @typedef {(text: string, onclick: () => unknown, kind?: string) => HTMLElement & Record<string, any>} MakeButton
 * @typedef {{method: string, params: any[]}} Request
 * @typedef {{act: Act, button: MakeButton, floor: () => Floor}} Tools
 */

import { h, show } from "./dom.js";
import { checksum } from "./format.js";
import { whileDisabled } from "./input.js";
import { nameOf } from "./known.js";
import { copyButton } from "./view.js";

/**
 * The request that a button will send, to be read and copied before.
 * @param {Request} request
 */
function requestLine({ method, params }) {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  return h(
    "p.mono.faint.whole-line",
    h("span", `${method} ${JSON.stringify(params)}`),
    copyButton(body, "the request"),
  );
}

/**
 * A form with one button; what it will send stands below as soon as the fields say it.
 * @param {Tools} tools
 * @param {{title: string, aside?: any, fields: any, verb: string, request: () => Request, done?: () => unknown,
 *   confirm?: () => string}} options `confirm` says what is lost, which is asked once
 */
export function formPanel({ act, button, floor }, { title, aside, fields, verb, request, done, confirm }) {
  // Errors are alerts, and what was done is said: a preview is not read out at every key.
  const shown = h("div.request");
  const preview = () => {
    try {
      show(shown, requestLine(request()));
    } catch (error) {
      show(shown, h("p.small.bad", /** @type {Error} */ (error).message));
    }
  };
  const sent = async () => {
    const { method, params } = request();
    await act(shown, floor().name, method, params);
    await done?.();
  };
  const ask = () =>
    show(shown, h("p", confirm?.() ?? ""), h("div.actions", button(verb, sent, ".primary"), button("Keep", preview)));
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    preview();
    if (!shown.querySelector(".bad")) confirm ? ask() : whileDisabled(submitter, sent);
  };
  const submitter = h("button.acts", { type: "submit" }, verb);
  const form = h("form", { onsubmit: submit, oninput: preview }, fields, h("div.actions", submitter));
  return { element: h("section.panel", h("header", h("h2", title), aside ?? null), form, shown), preview };
}

/**
 * @param {string} label
 * @param {string} value
 * @param {Record<string, any>} [props]
 */
export const textInput = (label, value, props = {}) =>
  h("input.mono", { "aria-label": label, value, spellcheck: "false", autocomplete: "off", ...props });

/**
 * @param {any} label
 * @param {Element} input
 */
export const field = (label, input) => h("label.field", h("span", label), input);

/**
 * A field for an address; development accounts are offered.
 * @param {string} label
 * @param {() => Floor} floor
 */
export function addressInput(label, floor) {
  const list = h("datalist", { id: `known-${label.replace(/\W/g, "-")}` });
  const input = textInput(label, "", { list: list.id, placeholder: "0x…" });
  const fill = () =>
    show(
      list,
      floor().accounts.map((it) => h("option", { value: checksum(it) }, nameOf(it, floor().name) ?? "")),
    );
  return { element: h("div", field(label, input), list), input, fill, read: () => addressIn(input.value) };
}

/** @param {string} text */
export function addressIn(text) {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text.trim())) throw new Error("An address has 40 digits after 0x.");
  return text.trim().toLowerCase();
}

/**
 * @param {string} text
 * @param {string} what
 */
export function numberIn(text, what) {
  if (!/^(0x[0-9a-fA-F]{1,64}|\d{1,78})$/.test(text.trim())) throw new Error(`${what} is a whole number.`);
  return BigInt(text.trim());
}
