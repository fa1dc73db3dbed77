/** The search box: numbers, hashes, addresses, batches, names, methods. */

import { h, ICONS, icon, show } from "./dom.js";
import { checksum, count, int, short } from "./format.js";
import { stateOf } from "./houses.js";
import { named, nameOf, unshortened } from "./known.js";
import { batchHref, floorOf, floors, isUpper, node } from "./rpc.js";

/** @typedef {{text: string, kind: string, href: string}} Hit */

/** @returns {Node} */
export function searchBox() {
  const list = h("ul.hits", { id: "hits", role: "listbox", "aria-label": "Results", hidden: true });
  const input = h("input", {
    type: "search",
    role: "combobox",
    "aria-label": "Search",
    "aria-expanded": "false",
    "aria-controls": "hits",
    "aria-autocomplete": "list",
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "Hash, block, address, token, batch",
  });
  let turn = 0;
  let chosen = -1;
  const options = () =>
    /** @type {HTMLElement[]} */ ([...list.children].filter((it) => it.getAttribute("role") === "option"));
  const close = () => {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const choose = (/** @type {number} */ at) => {
    const all = options();
    chosen = all.length ? (at + all.length) % all.length : -1;
    all.forEach((it, index) => {
      it.setAttribute("aria-selected", String(index === chosen));
    });
    if (all[chosen]) input.setAttribute("aria-activedescendant", all[chosen].id);
  };
  const open = (/** @type {string} */ href) => {
    close();
    input.value = "";
    input.blur();
    location.hash = href;
  };
  const run = async () => {
    const mine = ++turn;
    const text = input.value.trim();
    if (!text) return close();
    const hits = await find(text);
    if (mine !== turn) return;
    show(
      list,
      hits.length
        ? hits.slice(0, 8).map((hit, at) =>
            h(
              "li",
              {
                id: `hit${at}`,
                role: "option",
                "aria-selected": "false",
                onmousedown: () => open(hit.href),
                "data-href": hit.href,
              },
              h("span.mono", hit.text),
              h("span.muted", hit.kind),
            ),
          )
        : h(
            "li.muted",
            { role: "option", "aria-disabled": "true", "aria-selected": "false" },
            node.several ? "No house knows this." : "Neither floor knows this.",
          ),
    );
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    choose(0);
  };
  input.addEventListener("input", run);
  input.addEventListener("focus", run);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", async (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "ArrowDown") choose(chosen + 1);
    else if (event.key === "ArrowUp") choose(chosen - 1);
    else if (event.key === "Enter") {
      if (list.hidden || chosen < 0) await run();
      const href = options()[chosen]?.dataset.href;
      if (href) open(href);
    } else return;
    event.preventDefault();
  });
  return h("div.search", icon(ICONS.search), input, h("kbd", { "aria-hidden": "true" }, "/"), list);
}

/**
 * @param {string} text
 * @returns {Promise<Hit[]>}
 */
export async function find(text) {
  const plain = text.replaceAll(",", "");
  const block = /^(?:(l[12]|\d+)\s+)?(?:block\s+)?(\d+)$/i.exec(plain);
  if (block) {
    const layer = block[1] && floorOf(block[1].toLowerCase())?.name;
    return [...(block[1] ? [] : houses(block[2])), ...(block[1] && !layer ? [] : blocks(Number(block[2]), layer))];
  }
  const batch = /^(?:(\d+)\s+)?(?:b|batch\s*)(\d+)$/i.exec(plain);
  if (batch && node.l2)
    return node.l2s
      .filter((it) => !batch[1] || it === floorOf(batch[1]))
      .map((it) => ({
        text: `Batch ${count(Number(batch[2]))}`,
        kind: node.several ? `batch of ${it.title}` : "batch",
        href: batchHref(it.name, Number(batch[2])),
      }));
  if (["latest", "safe", "finalized"].includes(plain))
    return floors().map((it) => ({
      text: plain,
      kind: `block of ${placeOf(it)}`,
      href: `#/${it.name}/block/${plain}`,
    }));
  const digits = /^(?:0x)?([0-9a-f]+)$/i.exec(plain)?.[1];
  if (digits?.length === 40) return [addressHit(`0x${digits}`)];
  if (digits?.length === 64) return byHash(`0x${digits.toLowerCase()}`);
  const begun =
    digits && (plain.startsWith("0x") || digits.length > 5)
      ? await (await import("./matches.js")).byBeginning(digits, blocks)
      : [];
  if (begun.length) return begun;
  const whole = unshortened(plain);
  if (whole) return [addressHit(whole)];
  const names = named(text).map(([layer, address]) => ({
    text: `${nameOf(address, layer)} ${short(address)}`,
    kind: layer.toUpperCase(),
    href: `#/address/${address}`,
  }));
  const [indexed, called] = await Promise.all([(await import("./matches.js")).byText(text), methods(text)]);
  return [...houses(text), ...unique(names), ...indexed, ...called];
}

/**
 * A floor as a hit names it.
 * @param {import("./rpc.js").Floor} floor
 */
const placeOf = (floor) => (node.several && isUpper(floor.name) ? floor.title : floor.name.toUpperCase());

/**
 * The houses that a text is the number or the beginning of the name of.
 * @param {string} text
 * @returns {Hit[]}
 */
const houses = (text) =>
  node.several
    ? node.l2s
        .filter((it) => it.name === text || it.title.toLowerCase().startsWith(text.toLowerCase()))
        .map((it) => ({ text: it.title, kind: `chain ${it.chainId}`, href: `#/${it.name}` }))
    : [];

/** @param {Hit[]} hits */
const unique = (hits) => hits.filter((it, at) => hits.findIndex((other) => other.href === it.href) === at);

/** @param {string} address */
const addressHit = (address) => ({
  text: short(checksum(address)),
  kind: nameOf(address, "l2") ?? nameOf(address, "l1") ?? "address",
  href: `#/address/${checksum(address)}`,
});

/**
 * @param {number} number
 * @param {string} [layer]
 */
function blocks(number, layer) {
  const wanted = floors().filter((it) => !layer || it.name === layer);
  const known = wanted.filter((it) => number <= stateOf(it.name).head);
  return known.map((it) => ({
    text: `Block ${count(number)}`,
    kind: placeOf(it),
    href: `#/${it.name}/block/${number}`,
  }));
}

/** @param {string} hash */
async function byHash(hash) {
  const found = await Promise.all(
    floors().map(async (floor) => {
      const [tx, block] = await Promise.all([
        floor.maybe("eth_getTransactionByHash", hash),
        floor.maybe("eth_getBlockByHash", hash, false),
      ]);
      if (tx)
        return {
          text: short(hash),
          kind: `transaction ${node.several && isUpper(floor.name) ? "in" : "on"} ${placeOf(floor)}`,
          href: `#/${floor.name}/tx/${hash}`,
        };
      return block
        ? {
            text: `Block ${count(int(block.number))}`,
            kind: placeOf(floor),
            href: `#/${floor.name}/block/${int(block.number)}`,
          }
        : null;
    }),
  );
  const hits = /** @type {Hit[]} */ (found.filter(Boolean));
  if (hits.length || !node.l2 || !node.l1) return hits;
  const bundle = await (await import("./lookup.js")).findBundle(hash);
  return bundle ? [{ text: short(hash), kind: "bundle", href: `#/bundle/${hash}` }] : [];
}

/** @type {Promise<string[]> | null} */
let methodNames = null;

/** @param {string} text */
async function methods(text) {
  if (!/^[a-z]{2,}[_.]?\w*$/i.test(text)) return [];
  methodNames ??= fetch("/openrpc.json").then(async (it) =>
    (await it.json()).methods.map((/** @type {any} */ one) => one.name),
  );
  const wanted = text.toLowerCase();
  const found = (await methodNames.catch(() => [])).filter((it) => it.toLowerCase().includes(wanted));
  return found.slice(0, 5).map((it) => ({ text: it, kind: "method", href: `#/console/${it}` }));
}
