/** The console: every method as a form, made from the OpenRPC document that the node serves. */

import { choice, h, keyed, say, show } from "./dom.js";
import { count, size } from "./format.js";
import { exactly, whileDisabled } from "./input.js";
import { paramField } from "./params.js";
import { floorOf, floors, isUpper, node } from "./rpc.js";
import { jsonView, snippet } from "./snippets.js";
import { copyButton } from "./view.js";

/** @typedef {{name: string, summary: string, description?: string, params: {name: string, required: boolean, schema: any}[], result: any}} Method */

/** @type {Map<string, Promise<Method[]>>} */
const documents = new Map();
/** @type {{method: string, params: any[], text: string, ms: number, ok: boolean, layer: string}[]} */
const before = [];
let language = "curl";

/**
 * The methods of a floor; the other floor's are read from itself.
 * @param {string} layer
 * @returns {Promise<Method[]>}
 */
function methodsOf(layer) {
  let found = documents.get(layer);
  if (!found) {
    const floor = floorOf(layer);
    found = (
      floor === node.own
        ? fetch("/openrpc.json").then((it) => it.json())
        : /** @type {any} */ (floor).call("rpc.discover")
    ).then((/** @type {any} */ it) => it.methods);
    documents.set(layer, /** @type {any} */ (found));
  }
  return /** @type {Promise<Method[]>} */ (found);
}

/**
 * @param {string} [name]
 * @param {URLSearchParams} [query]
 * @returns {Promise<import("./main.js").Page>}
 */
export async function page(name, query = new URLSearchParams()) {
  const layer = floorOf(query.get("l") ?? "")?.name ?? node.own.name;
  const methods = await methodsOf(layer);
  const method = methods.find((it) => it.name === (name ?? "eth_blockNumber")) ?? null;
  const filter = h("input", {
    type: "search",
    placeholder: `Filter ${count(methods.length)} methods`,
    "aria-label": "Filter the methods",
  });
  const list = h("div.methods");
  const draw = () => drawList(list, methods, filter.value.toLowerCase(), method?.name ?? "", layer);
  filter.addEventListener("input", draw);
  draw();
  const shown = h("section.response", { "aria-label": "Response" });
  drawResponse(shown, null);
  const form = method
    ? methodForm(method, layer, given(query.get("p")), shown)
    : h("p.muted", `${floorOf(layer)?.title} has no method ${name}.`);
  return {
    title: name ?? "Console",
    body: h(
      "div.console",
      h("nav", { "aria-label": "Methods" }, filter, list),
      h("section.parameters", { "aria-label": "Request" }, form),
      shown,
    ),
  };
}

/**
 * @param {string | null} text
 * @returns {any[]}
 */
function given(text) {
  try {
    const found = JSON.parse(exactly(text ?? "[]"));
    return Array.isArray(found) ? found : [];
  } catch {
    return [];
  }
}

/**
 * @param {Element} list
 * @param {Method[]} methods
 * @param {string} text
 * @param {string} chosen
 * @param {string} layer
 */
function drawList(list, methods, text, chosen, layer) {
  const found = methods.filter((it) => it.name.toLowerCase().includes(text));
  const groups = Map.groupBy ? Map.groupBy(found, groupOf) : new Map([["methods", found]]);
  const order = ["zks", "eth", "anvil", "debug"];
  const rank = (/** @type {string} */ it) => (order.includes(it) ? order.indexOf(it) : order.length);
  const names = [...groups.keys()].sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
  keyed(
    list,
    names,
    (it) => it,
    (it) => [groups.get(it)?.map((one) => one.name), chosen],
    (it) =>
      h(
        "details",
        { open: Boolean(text) || chosen.startsWith(it) || rank(it) < 2 },
        h("summary", h("span", it), h("span", count(groups.get(it)?.length ?? 0))),
        h(
          "ul",
          (groups.get(it) ?? []).map((one) =>
            h(
              "li",
              h(
                "a",
                { href: `#/console/${one.name}?l=${layer}`, "aria-current": one.name === chosen ? "page" : null },
                one.name,
              ),
            ),
          ),
        ),
      ),
  );
}

/**
 * A sentence with its `code` in monospace.
 * @param {string} text
 */
const words = (text) => text.split("`").map((it, at) => (at % 2 ? h("code", it) : it));

/** @param {Method} it */
const groupOf = (it) => it.name.split(/[_.]/)[0];

/**
 * @param {Method} method
 * @param {string} layer
 * @param {any[]} values
 * @param {Element} shown
 */
function methodForm(method, layer, values, shown) {
  const inputs = method.params.map((param, at) => paramField(param, values[at]));
  const code = h("pre", { tabindex: 0 });
  const holder = h("div.snippet", code);
  const params = () => {
    const read = inputs.map((it) => it.read());
    while (read.length && read.at(-1) === undefined) read.pop();
    return read.map((it) => (it === undefined ? null : it));
  };
  const redraw = () => {
    try {
      const text = snippet(language, method.name, params(), layer);
      show(code, text);
      holder.querySelector("button")?.remove();
      holder.append(copyButton(text, "the request"));
    } catch (error) {
      show(code, /** @type {Error} */ (error).message);
    }
  };
  const run = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const problem = inputs.map((it) => it.check()).find(Boolean);
    if (problem) {
      say(problem);
      return;
    }
    if (!sender.disabled) await whileDisabled(sender, () => send(method, layer, params(), shown));
  };
  const sender = h("button.primary.acts", { type: "submit" }, "Send", h("kbd", "Ctrl ↵"));
  const link = () =>
    `${location.origin}/#/console/${method.name}?l=${layer}&p=${encodeURIComponent(JSON.stringify(params()))}`;
  const copied = h(
    "button",
    {
      type: "button",
      onclick: async () => {
        await navigator.clipboard.writeText(link());
        say("Copied the link.");
      },
    },
    "Copy link",
  );
  const form = h(
    "form",
    { onsubmit: run, oninput: redraw },
    inputs.map((it) => it.element),
    h("div.actions", sender, copied),
  );
  form.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run(event);
  });
  const layers =
    floors().length > 1
      ? choice(
          "Layer",
          floors().map((it) => [
            it.name,
            node.several ? (isUpper(it.name) ? it.name : "L1") : `L${it.layer} ${it.title.toLowerCase()}`,
          ]),
          layer,
          (it) => {
            location.hash = `#/console/${method.name}?l=${it}`;
          },
        )
      : null;
  const languages = choice(
    "Language",
    /** @type {any} */ ([
      ["curl", "curl"],
      ["python", "Python"],
      ["javascript", "JavaScript"],
    ]),
    language,
    (it) => {
      language = it;
      redraw();
    },
  );
  redraw();
  return h(
    "div",
    h("div.crumbs", layers, h("span.mono.faint", location.host)),
    h("h1.mono.plain", method.name),
    h("p.muted", words(`${method.summary} ${method.description ?? ""}`)),
    form,
    h("header.same", h("h2", "The same request"), languages),
    holder,
  );
}

/**
 * @param {Method} method
 * @param {string} layer
 * @param {any[]} params
 * @param {Element} shown
 */
async function send(method, layer, params, shown) {
  const floor = /** @type {import("./rpc.js").Floor} */ (floorOf(layer));
  const started = performance.now();
  const response = await fetch(floor.path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: before.length + 1, method: method.name, params }),
  }).catch(() => null);
  const text = response ? await response.text() : '{"error":{"code":0,"message":"the node does not respond"}}';
  const ms = performance.now() - started;
  const found = JSON.parse(text);
  const one = { method: method.name, params, text, ms, ok: !found.error, layer };
  before.unshift(one);
  before.splice(20);
  drawResponse(shown, one);
  say(one.ok ? "There is a result." : "There is an error.");
}

/**
 * @param {Element} element
 * @param {typeof before[0] | null} one
 */
function drawResponse(element, one) {
  const rows = before.map((it) =>
    h(
      "li",
      h(
        "a.mono",
        { href: `#/console/${it.method}?l=${it.layer}&p=${encodeURIComponent(JSON.stringify(it.params))}` },
        it.method,
      ),
      h("span.mono.muted", JSON.stringify(it.params).slice(0, 40)),
      h(it.ok ? "span.muted" : "span.bad", it.ok ? `${it.ms.toFixed(1)} ms` : "error"),
    ),
  );
  show(
    element,
    h(
      "header",
      h("h2", "Response"),
      one
        ? h(
            "span",
            h(one.ok ? "span.badge.ok" : "span.badge.bad", one.ok ? "result" : "error"),
            h("span.muted", ` ${one.ms.toFixed(1)} ms, ${size(one.text.length)}`),
            copyButton(one.text, "the response"),
          )
        : null,
    ),
    one ? jsonView(JSON.parse(one.text)) : h("p.muted", "Send a request, and its response stands here."),
    one?.ok && one.method === "zks_getL2ToL1LogProof" && JSON.parse(one.text).result
      ? h(
          "p",
          h(
            "a.button",
            { href: `#/bridge/${one.params[0]}/${Number(one.params[1] ?? 0)}` },
            "Check and draw this proof",
          ),
        )
      : null,
    rows.length
      ? h("section.part", h("header", h("h2", "Before"), h("span.muted", "this tab only")), h("ol.before-list", rows))
      : null,
  );
}
