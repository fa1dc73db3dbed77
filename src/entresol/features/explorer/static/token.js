/** A token: what each house has of it, what the ground holds for them, its transfers and its holders. */

import { tokenOf } from "./describe.js";
import { h, ICONS, icon, s, styled } from "./dom.js";
import { checksum, plural, short, units } from "./format.js";
import { addressOf, floorOf, node } from "./rpc.js";
import { BASE_TOKEN, L2_NATIVE_TOKEN_VAULT } from "./system.js";
import { addressIn, ask, assetOf } from "./tokens.js";
import { holders, transferTable } from "./transfers.js";
import { addressLink, badge, copyButton, facts, section } from "./view.js";

/** @typedef {import("./rpc.js").Floor} Floor */
/** @typedef {import("./rpc.js").Token} Token */
/** @typedef {{floor: Floor, address: string, supply: bigint, isBase: boolean}} Place where a token is, and whether it pays
 *   for gas there; then its supply is what layer 1 holds for it */

/**
 * @param {string} layer
 * @param {string} text
 * @returns {Promise<import("./main.js").Page>}
 */
export async function page(layer, text) {
  const address = text.toLowerCase();
  const floor = floorOf(layer);
  const token = floor && (await tokenOf(layer, address));
  if (!floor || !token) return (floor?.fork && (await notKeptOn(floor, address))) || missing(address);
  const isSum = token.standard === "ERC-20";
  const asset = await assetAt(floor, address);
  const { ground, houses, held, origin } = await placesOf(floor, address, asset);
  const places = [...(ground ? [ground] : []), ...houses];
  const whole = checksum(address);
  const born = node.l2s.find((it) => it.chainId === origin);
  const birthplace = born?.name ?? "l1";
  // What came before is the remote's.
  const since = places.some((it) => it.floor.fork) ? h("span.muted", "since the anchor") : undefined;
  const transfers = section("Transfers", () => transferTable(places, token, birthplace), { aside: since, rows: 6 });
  return {
    title: token.symbol,
    body: [
      h("p.crumbs", h("span", crumbOf(ground, houses))),
      h("h1.plain", token.name || "Token", " ", h("span.muted", token.symbol)),
      h("p.whole-line", h("span.whole", whole), copyButton(whole, "the address")),
      ...(token.supply === null && !floor.remote ? [] : [supplies(token, ground, houses, held, born?.title ?? "")]),
      h(
        "div.columns",
        h("div", transfers),
        h(
          "aside",
          section("Holders", () => holders(places, token, ground && !born ? ground.supply : null), {
            aside:
              since?.cloneNode(true) ?? (ground && houses.length ? h("span.muted", "without the bridge") : undefined),
            rows: 4,
          }),
          h(
            "section.part.node",
            h("header", h("h2", "About")),
            facts([
              [
                "Standard",
                isSum
                  ? `ERC-20, ${token.isRaw ? "no decimals" : plural(token.decimals, "decimal")}`
                  : `${token.standard}, items`,
              ],
              ["Born", born ? (node.several ? `in ${born.title}` : "on layer 2") : "on layer 1"],
              [
                "Asset id",
                isSum
                  ? h(
                      "span.hash",
                      h("span.mono", `${asset.slice(0, 6)}…${asset.slice(-4)}`),
                      copyButton(asset, "the asset id"),
                    )
                  : null,
              ],
              ["Contract", h("a", { href: `#/address/${whole}` }, "read and write")],
            ]),
          ),
        ),
      ),
    ],
  };
}

/**
 * A copy may not have what its remote knows of a token.
 * @param {Floor} floor
 * @param {string} address
 */
const notKeptOn = (floor, address) =>
  floor.call("entresol_getToken", address).then(
    () => null,
    async (error) => (await styled("fork", import("./foundation.js"))).notKept(`Token ${short(address)}`, error),
  );

/**
 * @param {Place | null} ground
 * @param {Place[]} houses
 */
function crumbOf(ground, houses) {
  if (!houses.length) return "Token, on layer 1";
  const upper = node.several ? `in ${plural(houses.length, "house")}` : "on layer 2";
  return `Token, ${ground ? "on layer 1 and " : ""}${upper}`;
}

/**
 * @param {string} address
 * @returns {import("./main.js").Page}
 */
const missing = (address) => ({
  title: "No such token",
  body: h(
    "div.empty",
    h("h1", "No such token"),
    h("p", "Nothing at ", h("span.mono", checksum(address)), " says that it is a token."),
    h("div.actions", h("a.button", { href: `#/address/${address}` }, "What is there")),
  ),
});

/**
 * @param {Floor} floor
 * @param {string} address
 */
async function assetAt(floor, address) {
  const [vault, name] =
    floor.layer === 1
      ? [addressOf("L1NativeTokenVault"), "L1NativeTokenVault"]
      : [L2_NATIVE_TOKEN_VAULT, "L2NativeTokenVault"];
  const found = await ask(floor, vault, name, "assetId", address);
  return found && BigInt(found) ? found : assetOf(address);
}

/**
 * Where a token is, and what layer 1 holds for the houses.
 * @param {Floor} floor
 * @param {string} address
 * @param {string} asset
 */
async function placesOf(floor, address, asset) {
  const l1 = node.l1;
  const vault = addressOf("L1NativeTokenVault");
  const onVault = (/** @type {string} */ name, /** @type {any[]} */ ...values) =>
    l1 ? ask(l1, vault, "L1NativeTokenVault", name, ...values) : null;
  const onGround = floor === l1 ? address : addressIn(await onVault("tokenAddress", asset));
  const ground = l1 && BigInt(onGround) ? await placeAt(l1, onGround) : null;
  const found = await Promise.all(
    node.l2s.map(async (house) => {
      if (house === floor) return placeAt(house, address);
      if (house.token.address.toLowerCase() === onGround) {
        const held = await onVault("chainBalance", BigInt(house.chainId), asset);
        return { floor: house, address: BASE_TOKEN, supply: BigInt(held ?? 0), isBase: true };
      }
      const there = addressIn(await ask(house, L2_NATIVE_TOKEN_VAULT, "L2NativeTokenVault", "tokenAddress", asset));
      return BigInt(there) ? placeAt(house, there) : null;
    }),
  );
  const balances = await Promise.all(node.l2s.map((it) => onVault("chainBalance", BigInt(it.chainId), asset)));
  const held = balances.reduce((sum, it) => sum + BigInt(it ?? 0), 0n);
  const origin = Number(BigInt((await onVault("originChainId", asset)) ?? 0)) || (floor === l1 ? 0 : floor.chainId);
  return { ground, houses: /** @type {Place[]} */ (found.filter(Boolean)), held, origin };
}

/**
 * @param {Floor} floor
 * @param {string} address
 * @returns {Promise<Place>}
 */
async function placeAt(floor, address) {
  const supply = BigInt((await ask(floor, address, "TestERC20", "totalSupply")) ?? 0);
  return { floor, address, supply, isBase: false };
}

/**
 * The houses with their supply, and the ground that holds as much.
 * @param {Token} token
 * @param {Place | null} ground
 * @param {Place[]} houses
 * @param {bigint} held
 * @param {string} born the house where it was born, if it was born in one
 */
function supplies(token, ground, houses, held, born) {
  const write = (/** @type {bigint} */ it) => units(it, token.decimals, 2);
  const link = (/** @type {Place} */ it) => addressLink(it.address, it.floor.name, { copies: false });
  const roof = () =>
    s(
      "svg.outline",
      { viewBox: "0 0 100 20", preserveAspectRatio: "none", "aria-hidden": "true" },
      s("path", { d: "M0 20L50 .5L100 20" }),
    );
  return h(
    "section.supplies",
    { "aria-label": "Supply" },
    h(
      "div",
      h("h2.title.l2", node.several ? "Upper floors" : "Upper floor"),
      h("p.small.muted", born ? "" : "Bridged"),
    ),
    h(
      "ol",
      houses.map((it) =>
        h(
          "li",
          node.several ? roof() : null,
          h(
            "div.supply.l2",
            h("p.split", h("span", badge(it.floor.name), " ", h("b", it.floor.title)), h("span.small", link(it))),
            h("p.amount", write(it.supply), it.isBase ? h("small", " pays for its gas") : null),
          ),
          h("div.slab.l2"),
        ),
      ),
      houses.length ? null : h("li.muted", "In no house yet."),
    ),
    h("div.slab.l1"),
    h(
      "div",
      h("h2.title.l1", "Ground floor"),
      h("p.small.muted", born ? (node.several ? `Born in ${born}` : "Born on layer 2") : "Born here"),
    ),
    ground
      ? h(
          "div.supply.l1.split",
          h("p.amount", write(ground.supply), h("small", " supply")),
          born
            ? null
            : verdict(
                held,
                houses.reduce((sum, it) => sum + it.supply, 0n),
                write,
              ),
          h("span.small", link(ground)),
        )
      : h("div.supply.l1", "not here yet"),
  );
}

/**
 * Whether the bridge holds what the houses have.
 * @param {bigint} held
 * @param {bigint} supply
 * @param {(it: bigint) => string} write
 */
function verdict(held, supply, write) {
  const line = h("b", `${write(held)} held by the bridge`);
  if (held === supply)
    return h(
      "p.verdict",
      line,
      h("span.ok", icon(ICONS.check)),
      h("span.small.muted", "as much as all houses together"),
    );
  // What was burnt above and is not claimed yet is still held, and what was deposited is held before it arrives.
  if (held > supply)
    return h(
      "p.verdict",
      line,
      h("span.small.warn", `${write(held - supply)} more than the houses have: it is on its way`),
    );
  return h("p.verdict.bad", line, h("span.small", `differs: the houses have ${write(supply)}`));
}
