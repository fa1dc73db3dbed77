/** What an account has in every house and on the ground: a row for each token, a column for each floor. */

import { depositDialog, sendDialog, withdrawDialog } from "./act.js";
import { crossings, isMoving } from "./crossings.js";
import { differs, h, ICONS, icon, show } from "./dom.js";
import { count, units } from "./format.js";
import { heads } from "./houses.js";
import { itemsView, tokensOf } from "./movements.js";
import { ETHER, floors, node } from "./rpc.js";
import { BASE_TOKEN_HOLDER } from "./system.js";
import { addressIn, balanceOf, inVault } from "./tokens.js";
import { badge } from "./view.js";

/** @typedef {import("./rpc.js").Token} Token */
/** @typedef {import("./rpc.js").Floor} Floor */
/** @typedef {{key: string, token: Token, href: string, at: Map<string, bigint | null>}} Row what each floor has of a token;
 *   null of items, which have no sum */

const PLACES = 4;
const MAX_ROWS = 50;

/**
 * @param {string} address
 * @param {import("./address.js").States} states
 */
export function holdings(address, states) {
  const body = h("div.scroll", { tabindex: 0, role: "region", "aria-label": "Holdings" });
  const element = h("section.part.holdings", h("header", h("h2", "Holdings"), h("span.muted", "in every house")), body);
  /** @type {Row[]} */
  let received = [];
  let loadedAt = "";
  const load = async () => {
    if (loadedAt === heads()) return;
    loadedAt = heads();
    received = await tokenRows(address);
    draw();
  };
  const draw = () => {
    load();
    const rows = [...nativeRows(states), ...received].reduce(joined, /** @type {Row[]} */ ([]));
    const moving = crossings().filter((it) => isMoving(it) && (it.from === address || it.to === address));
    const text = JSON.stringify([
      rows.map((it) => [it.token.symbol, [...it.at].map(([name, value]) => `${name}${value}`)]),
      moving.map((it) => [it.id, it.house]),
      [...states.values()].map((it) => it.nonce),
    ]);
    if (differs(body, text)) show(body, grid(address, rows, moving, states));
  };
  return { element, draw, actions };
}

/** The ground first. */
const columns = () => [...(node.l1 ? [node.l1] : []), ...node.l2s];

/**
 * @param {string} address
 * @param {Row[]} rows
 * @param {import("./crossings.js").Crossing[]} moving
 * @param {import("./address.js").States} states
 */
function grid(address, rows, moving, states) {
  const between = (/** @type {import("./rpc.js").Floor} */ floor) =>
    moving
      .filter((it) => (it.kind === "deposit" ? floor === node.l1 : it.house === floor.name))
      .slice(0, 3)
      .map((it) =>
        h(`div.small.${it.kind === "deposit" ? "up" : "down"}`, it.kind === "deposit" ? "↑ " : "↓ ", it.what),
      );
  const row = (/** @type {any} */ name, /** @type {any} */ total, /** @type {(floor: any) => any} */ cell) =>
    h(
      "tr",
      h("th", { scope: "row" }, name),
      h("td.end", total),
      columns().map((it) => h("td.end", cell(it))),
    );
  const hasCode = [...states.values()].some((it) => it.code !== "0x");
  return h(
    "table",
    { "aria-label": "Holdings" },
    h(
      "thead",
      h(
        "tr",
        h("th", { scope: "col" }, h("span.unseen", "Token")),
        h("th.end", { scope: "col" }, "All floors"),
        columns().map((it) => h("th.end", { scope: "col" }, badge(it.name), " ", it.title)),
      ),
    ),
    h(
      "tbody",
      rows.slice(0, MAX_ROWS).map(({ token, href, at }) => {
        const write = (/** @type {bigint | null} */ it, /** @type {Floor | null} */ floor = null) =>
          it === null
            ? floor && itemsView(floor, token.address, address)
            : it
              ? units(it, token.decimals, PLACES)
              : h("span.faint", "–");
        const total = address === BASE_TOKEN_HOLDER ? 0n : [...at.values()].reduce((a, b) => (a ?? 0n) + (b ?? 0n), 0n);
        const name = [h("b", href ? h("a", { href }, token.symbol) : token.symbol), " ", h("span.muted", token.name)];
        return row(name, h("b", write(total)), (floor) =>
          write(at.has(floor.name) ? (at.get(floor.name) ?? null) : 0n, floor),
        );
      }),
      rows.length > MAX_ROWS ? row(h("span.muted", `${count(rows.length - MAX_ROWS)} more`), "", () => "") : null,
      moving.length ? row(h("span.muted", "Between"), "", between) : null,
      row(h("span.muted", "Nonce"), "", (floor) => h("span.muted", count(states.get(floor.name)?.nonce ?? 0))),
      hasCode
        ? row(h("span.muted", "Code"), "", (floor) => {
            const code = states.get(floor.name)?.code ?? "0x";
            return h("span.muted", code === "0x" ? "none" : `${count((code.length - 2) / 2)} bytes`);
          })
        : null,
    ),
  );
}

/**
 * @param {number} chain
 * @param {string} address
 */
const keyOf = (chain, address) => `${chain}:${address.toLowerCase()}`;

/**
 * What each floor has of the token that pays for its gas; ether comes first.
 * @param {import("./address.js").States} states
 * @returns {Row[]}
 */
const nativeRows = (states) =>
  columns().map((floor) => ({
    key: keyOf(node.l1?.chainId ?? 0, floor.token.address),
    token: floor.token,
    href: floor.token.address === ETHER.address ? "" : `#/token/l1/${floor.token.address}`,
    at: new Map([[floor.name, states.get(floor.name)?.balance ?? 0n]]),
  }));

/**
 * What each floor has of the tokens that an account ever received there, by the index of its node.
 * @param {string} address
 * @returns {Promise<Row[]>}
 */
async function tokenRows(address) {
  const found = await tokensOf(address);
  const rows = await Promise.all(
    found.map(async ({ floor, token, balance }) => ({
      key: await originOf(floor, token.address.toLowerCase()),
      token,
      href: `#/token/${floor.name}/${token.address}`,
      at: new Map([[floor.name, balance]]),
    })),
  );
  return node.l1?.remote ? [...rows, ...(await groundRows(rows, node.l1, address))] : rows;
}

/**
 * What a layer 1 without an index has of the tokens that came from there, and of those that pay for gas above.
 * @param {Row[]} rows
 * @param {Floor} ground
 * @param {string} address
 * @returns {Promise<Row[]>}
 */
async function groundRows(rows, ground, address) {
  const prefix = keyOf(ground.chainId, "");
  const wanted = new Map([...nativeRows(new Map()), ...rows].map((it) => [it.key, it]));
  const known = [...wanted].filter(([key]) => key.startsWith(prefix) && !key.endsWith(ETHER.address));
  const found = await Promise.all(
    known.map(async ([key, { token }]) => {
      const at = key.slice(prefix.length);
      const balance = await balanceOf("l1", at, address);
      return { key, token, href: `#/token/l1/${at}`, at: new Map([["l1", balance]]) };
    }),
  );
  return found.filter((it) => it.at.get("l1"));
}

/** @type {Map<string, Promise<string>>} */
const origins = new Map();

/**
 * What is the same token on every floor: the chain and the address where it was born.
 * @param {Floor} floor
 * @param {string} address
 */
function originOf(floor, address) {
  const own = keyOf(floor.chainId, address);
  if (floor.layer === 1) return own;
  const found =
    origins.get(own) ??
    inVault(floor, "assetId", address).then(async (asset) => {
      if (!asset || !BigInt(asset)) return own;
      const [chain, origin] = await Promise.all(
        ["originChainId", "originToken"].map((it) => inVault(floor, it, asset)),
      );
      // A token of its own is registered with its first withdrawal.
      return chain && BigInt(chain) ? keyOf(Number(BigInt(chain)), addressIn(origin)) : own;
    });
  if (origins.size > 500) origins.clear();
  origins.set(own, found);
  return found;
}

/**
 * Add a row to those of other tokens, or its amounts to the one of the same token.
 * @param {Row[]} rows
 * @param {Row} row
 */
function joined(rows, row) {
  const same = rows.find((it) => it.key === row.key);
  if (!same) return [...rows, { ...row, at: new Map(row.at) }];
  for (const [name, value] of row.at) same.at.set(name, value === null ? null : (same.at.get(name) ?? 0n) + value);
  return rows;
}

/** @param {string} address */
function actions(address) {
  const button = (/** @type {any} */ text, /** @type {() => void} */ onclick, kind = "") =>
    h(`button.acts${kind}`, { type: "button", onclick }, text);
  const able = floors().filter((it) => it.accounts.includes(address.toLowerCase()));
  const where = h(
    "select",
    { "aria-label": "Where to send" },
    able.map((it) => h("option", { value: it.name }, it.layer === 1 ? "on layer 1" : `in ${it.title}`)),
  );
  const chosen = () => /** @type {any} */ (able.find((it) => it.name === where.value));
  return h(
    "div.actions",
    where,
    button("Send", () => sendDialog(chosen(), address)),
    button([icon(ICONS.down), "Withdraw"], () =>
      withdrawDialog(address, chosen().layer === 2 ? where.value : undefined),
    ),
    node.l1?.accounts.includes(address.toLowerCase())
      ? button(
          [icon(ICONS.up), "Deposit"],
          () => depositDialog(address, chosen().layer === 2 ? where.value : undefined),
          ".primary",
        )
      : null,
  );
}
