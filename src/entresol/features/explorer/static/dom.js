/**
 * Build elements. Text is only ever a text node, so nothing that a chain says can become markup.
 *
 * @typedef {Node | string | number | bigint | null | undefined | false} Leaf
 * @typedef {Leaf | Child[]} Child
 * @typedef {Record<string, any>} Props
 */

const SVG = "http://www.w3.org/2000/svg";

/**
 * Return an element: `h("a.mono", { href }, "text")`. Properties that begin with `on` are listeners.
 * @param {string} spec the tag, and classes after dots
 * @param {...(Child | Props)} rest
 * @returns {HTMLElement & Record<string, any>}
 */
export function h(spec, ...rest) {
  const [tag, ...classes] = spec.split(".");
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(" ");
  return /** @type {any} */ (fill(element, rest));
}

/**
 * Return an element of SVG.
 * @param {string} spec
 * @param {...(Child | Props)} rest
 * @returns {SVGElement}
 */
export function s(spec, ...rest) {
  const [tag, ...classes] = spec.split(".");
  const element = document.createElementNS(SVG, tag);
  if (classes.length) element.setAttribute("class", classes.join(" "));
  return /** @type {any} */ (fill(element, rest));
}

/**
 * @param {Element} element
 * @param {any[]} rest
 */
function fill(element, rest) {
  for (const item of rest) {
    if (item && item.constructor === Object) set(element, item);
    else append(element, item);
  }
  return element;
}

/**
 * @param {Element} element
 * @param {Props} props
 */
function set(element, props) {
  for (const [name, value] of Object.entries(props)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled" || name === "hidden")
      /** @type {any} */ (element)[name] = value;
    else if (value !== undefined && value !== null && value !== false)
      element.setAttribute(name, value === true ? "" : String(value));
  }
}

/**
 * @param {Element | DocumentFragment} parent
 * @param {Child} child
 */
export function append(parent, child) {
  if (Array.isArray(child)) for (const one of child) append(parent, one);
  else if (child instanceof Node) parent.append(child);
  else if (child !== null && child !== undefined && child !== false) parent.append(String(child));
}

/**
 * Replace what `parent` holds.
 * @template {Element} T
 * @param {T} parent
 * @param {...Child} children
 * @returns {T}
 */
export function show(parent, ...children) {
  parent.replaceChildren();
  append(parent, children);
  return parent;
}

/**
 * Make the children of `parent` those of `items`, and keep the elements of items that are as before.
 * @template T
 * @param {Element} parent
 * @param {T[]} items
 * @param {(item: T) => string | number} keyOf
 * @param {(item: T) => unknown} stateOf what the element depends on
 * @param {(item: T) => Element} make
 * @returns {Element[]} the elements whose key is new
 */
export function keyed(parent, items, keyOf, stateOf, make) {
  /** @type {Map<string, any>} */
  const old = new Map([...parent.children].map((it) => [/** @type {any} */ (it).itemKey, it]));
  const fresh = [];
  let at = /** @type {Element | null} */ (parent.firstElementChild);
  for (const item of items) {
    const key = String(keyOf(item));
    const state = JSON.stringify(stateOf(item), (_, it) => (typeof it === "bigint" ? `${it}` : it));
    let element = old.get(key);
    if (!element || element.itemState !== state) {
      const made = /** @type {any} */ (make(item));
      made.itemKey = key;
      made.itemState = state;
      if (element) {
        if (at === element) at = made;
        element.replaceWith(made);
      } else fresh.push(made);
      element = made;
    }
    old.delete(key);
    if (at === element) at = element.nextElementSibling;
    else parent.insertBefore(element, at);
  }
  for (const gone of old.values()) gone.remove();
  return fresh;
}

/**
 * The figures at the top of a page.
 * @param {Element} element
 * @param {[string, any[], any][]} cells a name, a value and a note
 */
export function drawCells(element, cells) {
  keyed(
    element,
    cells,
    (it) => it[0],
    (it) => it[1].map((part) => part.textContent ?? part).concat(it[2].textContent ?? it[2]),
    ([name, value, note]) => h("div", h("dt", name), h("dd", value), h("dd.small.faint", note)),
  );
}

/**
 * Return whether an element was drawn from another state, and remember this one.
 * @param {Element & {drawn?: string}} element
 * @param {string} state
 */
export function differs(element, state) {
  const before = element.drawn;
  element.drawn = state;
  return before !== state;
}

/**
 * Whether somebody points at, focuses or has selected rows, so that they must not move.
 * @param {Element} rows
 */
export const isHeld = (rows) =>
  rows.matches(":hover") || rows.contains(document.activeElement) || !getSelection()?.isCollapsed;

/**
 * Say something to screen readers.
 * @param {string} text
 */
export function say(text) {
  show(/** @type {Element} */ (document.getElementById("said")), text);
}

/**
 * A group of buttons of which one is chosen.
 * @template {string} T
 * @param {string} label
 * @param {[T, Child][]} options
 * @param {T} chosen
 * @param {(value: T) => void} onchange
 */
export function choice(label, options, chosen, onchange) {
  const group = h("div.choice", { role: "group", "aria-label": label });
  for (const [value, text] of options) {
    const button = h("button", { type: "button", "aria-pressed": value === chosen }, text);
    button.setAttribute("aria-pressed", String(value === chosen));
    button.addEventListener("click", () => {
      for (const other of group.children) other.setAttribute("aria-pressed", String(other === button));
      onchange(value);
    });
    group.append(button);
  }
  return group;
}

/**
 * A drawn icon: paths on a grid of 16.
 * @param {string} path
 */
export function icon(path) {
  return s("svg.icon", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }, s("path", { d: path }));
}

export const ICONS = {
  copy: "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z",
  check: "M3 8.5l3.5 3.5L13 4.5",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.7 10.7L14 14",
  up: "M8 13V3M4 7l4-4 4 4",
  down: "M8 3v10M4 9l4 4 4-4",
  cross: "M4 4l8 8M12 4l-8 8",
};

/**
 * @param {string} label
 * @param {[string, string?][]} columns their titles and classes
 * @param {Node[]} rows
 */
export const table = (label, columns, rows) =>
  h(
    "div.scroll",
    { tabindex: 0, role: "region", "aria-label": label },
    h(
      "table",
      { "aria-label": label },
      h(
        "thead",
        h(
          "tr",
          columns.map(([title, kind]) =>
            h(kind ? `th.${kind}` : "th", { scope: "col" }, title || h("span.unseen", "Layer")),
          ),
        ),
      ),
      h("tbody", rows),
    ),
  );

/**
 * Load the style of some pages with one of them.
 * @template T
 * @param {string} name
 * @param {Promise<T>} module
 */
export async function styled(name, module) {
  const href = `/explorer/${name}.css`;
  if (!document.querySelector(`link[href="${href}"]`)) {
    const link = h("link", { rel: "stylesheet", href });
    const loaded = new Promise((resolve) => {
      for (const event of ["load", "error"]) link.addEventListener(event, resolve);
    });
    document.head.append(link);
    await loaded;
  }
  return module;
}
