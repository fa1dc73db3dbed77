/** What an account has in every house and on the ground: a row for each token, a column for each floor. */

import { depositDialog, sendDialog, withdrawDialog } from "./act.js";
import { crossings, isMoving } from "./crossings.js";
import { differs, h, ICONS, icon, show } from "./dom.js";
import { count, units } from "./format.js";
import { heads } from "./houses.js";
import { ETHER, floors, node } from "./rpc.js";
import { balanceOf, bridgedTokens, HOLDER } from "./tokens.js";
import { badge } from "./view.js";

/** @typedef {import("./rpc.js").Token} Token */
/** @typedef {{token: Token, href: string, at: Map<string, bigint>}} Row what each floor has of a token */

const PLACES = 4;

/**
 * @param {string} address
 * @param {import("./address.js").States} states
 */
export function holdings(address, states) {
  const body = h("div.scroll", { tabindex: 0, role: "region", "aria-label": "Holdings" });
  const element = h("section.part.holdings", h("header", h("h2", "Holdings"), h("span.muted", "in every house")), body);
  /** @type {Row[]} */
  let bridged = [];
  let loadedAt = "";
  const load = async () => {
    if (loadedAt === heads()) return;
    loadedAt = heads();
    bridged = await bridgedRows(address);
    draw();
  };
  const draw = () => {
    load();
    const rows = [...nativeRows(states), ...bridged].reduce(joined, /** @type {Row[]} */ ([]));
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
      rows.map(({ token, href, at }) => {
        const write = (/** @type {bigint} */ it) => (it ? units(it, token.decimals, PLACES) : h("span.faint", "–"));
        const total = address === HOLDER ? 0n : [...at.values()].reduce((a, b) => a + b, 0n);
        const name = [h("b", href ? h("a", { href }, token.symbol) : token.symbol), " ", h("span.muted", token.name)];
        return row(name, h("b", write(total)), (floor) => write(at.get(floor.name) ?? 0n));
      }),
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

/** @param {Token} token */
const keyOf = (token) => token.address.toLowerCase();

/**
 * What each floor has of the token that pays for its gas; ether comes first.
 * @param {import("./address.js").States} states
 * @returns {Row[]}
 */
const nativeRows = (states) =>
  columns().map((floor) => ({
    token: floor.token,
    href: floor.token.address === ETHER.address ? "" : `#/token/l1/${floor.token.address}`,
    at: new Map([[floor.name, states.get(floor.name)?.balance ?? 0n]]),
  }));

/**
 * What each floor has of the tokens that have crossed, and the ground of those that pay for gas above.
 * @param {string} address
 * @returns {Promise<Row[]>} by their addresses where they were born
 */
async function bridgedRows(address) {
  const ground = BigInt(node.l1?.chainId ?? 0);
  const inHouses = await Promise.all(
    node.l2s.map(async (floor) => {
      const tokens = await bridgedTokens(floor);
      return Promise.all(
        tokens.map(async (it) => ({
          chain: it.chain,
          row: {
            token: { ...it.token, address: it.origin },
            href: `#/token/${floor.name}/${it.address}`,
            at: new Map([[floor.name, await balanceOf(floor.name, it.address, address)]]),
          },
        })),
      );
    }),
  );
  const found = inHouses.flat();
  const onGround = [
    ...found.filter((it) => it.chain === ground).map((it) => it.row.token),
    ...node.l2s.map((it) => it.token),
  ].filter((it) => it.address !== ETHER.address);
  const fresh = onGround.filter((it, at) => onGround.findIndex((other) => keyOf(other) === keyOf(it)) === at);
  const rows = await Promise.all(
    fresh.map(async (token) => ({
      token,
      href: `#/token/l1/${token.address}`,
      at: new Map([["l1", node.l1 ? await balanceOf("l1", token.address, address) : 0n]]),
    })),
  );
  const all = [...rows, ...found.map((it) => it.row)];
  return all.filter((it) => [...it.at.values()].some(Boolean));
}

/**
 * Add a row to those of other tokens, or its amounts to the one of the same token.
 * @param {Row[]} rows
 * @param {Row} row
 */
function joined(rows, row) {
  const same = rows.find((it) => keyOf(it.token) === keyOf(row.token));
  if (!same) return [...rows, { ...row, at: new Map(row.at) }];
  for (const [name, value] of row.at) same.at.set(name, (same.at.get(name) ?? 0n) + value);
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
