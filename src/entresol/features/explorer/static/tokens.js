/** Tokens that have crossed: what each house has of them, by their asset, which is the same in all houses. */

import { parseType } from "./abi.js";
import { decode, encode } from "./codec.js";
import { tokenOf } from "./describe.js";
import { keccakHex } from "./keccak.js";
import { callData } from "./known.js";
import { ETHER, floorOf, node } from "./rpc.js";
import { L2_NATIVE_TOKEN_VAULT } from "./system.js";

/** @typedef {import("./rpc.js").Floor} Floor */
/** @typedef {import("./rpc.js").Token} Token */
/** @typedef {{asset: string, address: string, origin: string, chain: bigint, token: Token}} Bridged its address in the
 *   house, where it was born, and what it is called */

const MAX_TOKENS = 50;
const WORD_END = 66;
const ASSET = ["uint256", "address", "address"].map(parseType);

/**
 * Ask a contract for one word.
 * @param {Floor} floor
 * @param {string} to
 * @param {string} contract
 * @param {string} name
 * @param {...any} values
 * @returns {Promise<any>} the first word of what it returns, which may be megabytes; null if there is none
 */
export async function ask(floor, to, contract, name, ...values) {
  const found = await floor.maybe("eth_call", { to, data: callData(contract, name, ...values) }, "latest");
  return found?.length >= WORD_END ? found.slice(0, WORD_END) : null;
}

/** @param {string | null} word */
export const addressIn = (word) => `0x${(word ?? "").slice(26).padStart(40, "0")}`;

/**
 * The asset of a token, by the chain where it was born.
 * @param {string} token
 * @param {number} [chain] layer 1 if none is given
 */
export const assetOf = (token, chain = node.l1?.chainId ?? 0) =>
  keccakHex(`0x${encode(ASSET, [BigInt(chain), L2_NATIVE_TOKEN_VAULT, token])}`);

/**
 * The tokens that a house has from elsewhere.
 * @param {Floor} floor
 * @returns {Promise<Bridged[]>}
 */
export async function bridgedTokens(floor) {
  const total = Math.min(MAX_TOKENS, Number(BigInt((await inVault(floor, "bridgedTokensCount")) ?? 0)));
  const assets = await Promise.all(
    Array.from({ length: total }, (_, at) => inVault(floor, "bridgedTokens", BigInt(at))),
  );
  const found = await Promise.all(
    assets.filter(Boolean).map(async (asset) => {
      const [address, origin, chain] = await Promise.all([
        inVault(floor, "tokenAddress", asset).then(addressIn),
        inVault(floor, "originToken", asset).then(addressIn),
        inVault(floor, "originChainId", asset),
      ]);
      const token = origin === ETHER.address ? ETHER : await tokenOf(floor.name, address);
      return token && { asset, address, origin, chain: BigInt(chain ?? 0), token };
    }),
  );
  return /** @type {Bridged[]} */ (found.filter(Boolean));
}

/**
 * @param {Floor} floor
 * @param {string} name
 * @param {...any} values
 */
export const inVault = (floor, name, ...values) =>
  ask(floor, L2_NATIVE_TOKEN_VAULT, "L2NativeTokenVault", name, ...values);

/**
 * All tokens of layer 1 that somebody has bridged to a house, or that pay for gas in one.
 * @returns {Promise<Token[]>} by their addresses on layer 1
 */
export async function knownTokens() {
  const lists = await Promise.all(node.l2s.map(bridgedTokens));
  const found = lists
    .flat()
    .filter((it) => it.chain === BigInt(node.l1?.chainId ?? 0))
    .map((it) => ({ ...it.token, address: it.origin }));
  const all = [ETHER, ...node.l2s.map((it) => it.token), ...found];
  return all.filter((it, at) => all.findIndex((other) => other.address === it.address) === at);
}

/**
 * @param {string} layer
 * @param {string} token
 * @param {string} account
 * @returns {Promise<bigint>}
 */
export async function balanceOf(layer, token, account) {
  const floor = /** @type {Floor} */ (floorOf(layer));
  const found = await ask(floor, token, "TestERC20", "balanceOf", account);
  return found ? decode([parseType("uint256")], found)[0] : 0n;
}
