/** The keyboard: `g` and a letter for pages, `j` `k` for rows, `?` for help. */

import { h, show } from "./dom.js";
import { copy } from "./view.js";

const OFF = "entresol-keys-off";

/** Whether the user has switched the keys off. */
export const areOff = () => localStorage.getItem(OFF) !== null;

/** @param {[string, string, string, string][]} tabs */
export function keys(tabs) {
  // When "g" was pressed last.
  let went = -Infinity;
  document.addEventListener("keydown", (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    const typing = target.closest("input, textarea, select, [contenteditable]");
    if (event.key === "Escape") {
      if (typing) target.blur();
      return;
    }
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (areOff() && event.key !== "?") return;
    const tab = performance.now() - went < 1500 ? tabs.find(([key]) => key === event.key) : null;
    went = -Infinity;
    if (tab) location.hash = tab[2];
    else if (event.key === "g") went = performance.now();
    else if (event.key === "/") /** @type {HTMLElement} */ (document.querySelector("#search input"))?.focus();
    else if (event.key === "?") help(tabs);
    else if (event.key === "j" || event.key === "k") row(event.key === "j" ? 1 : -1);
    else if (event.key === "[" || event.key === "]")
      /** @type {HTMLElement} */ (document.querySelector(event.key === "[" ? "a.before" : "a.after"))?.click();
    else if (event.key === "y") yank();
    else return;
    event.preventDefault();
  });
}

/** @param {number} step */
function row(step) {
  const links = /** @type {HTMLElement[]} */ ([
    ...document.querySelectorAll("main tbody tr a:first-of-type, main .lines a"),
  ]);
  const rows = links.filter(
    (it, at) => links.findIndex((other) => other.closest("tr, li") === it.closest("tr, li")) === at,
  );
  const at = rows.findIndex((it) => it.closest("tr, li")?.contains(document.activeElement));
  rows[Math.max(0, Math.min(rows.length - 1, at + step))]?.focus();
}

function yank() {
  const text = document.querySelector("main .whole")?.textContent;
  if (text) copy(text, "what this page shows");
}

/** @param {[string, string, string, string][]} tabs */
function help(tabs) {
  const old = document.querySelector("dialog.help");
  if (old) {
    old.remove();
    return;
  }
  const rows = [
    ["/", "Search"],
    ...tabs.map(([key, name]) => [`g ${key}`, name]),
    ["j k", "Next and previous row"],
    ["Enter", "Open it"],
    ["[ ]", "Neighbours"],
    ["y", "Copy the hash or address of the page"],
    // What the page has of its own.
    ...[...document.querySelectorAll("main [aria-keyshortcuts]")].map((it) => [
      it.getAttribute("aria-keyshortcuts") ?? "",
      it.getAttribute("title") ?? "",
    ]),
    ["Ctrl Enter", "Send, in the console"],
    ["Esc", "Close"],
  ];
  const off = h("button", { type: "button" });
  const label = () => show(off, areOff() ? "Switch the keys on" : "Switch the keys off");
  off.addEventListener("click", () => {
    if (areOff()) localStorage.removeItem(OFF);
    else localStorage.setItem(OFF, "1");
    label();
  });
  label();
  const dialog = /** @type {any} */ (
    h(
      "dialog.help",
      { "aria-labelledby": "help" },
      h("h2.title", { id: "help" }, "Keys"),
      h(
        "dl",
        rows.map(([key, text]) =>
          h(
            "div",
            h(
              "dt",
              key.split(" ").map((it) => h("kbd", it)),
            ),
            h("dd", text),
          ),
        ),
      ),
      h("div.actions", off, h("button", { type: "button", onclick: () => dialog.close() }, "Close")),
    )
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
