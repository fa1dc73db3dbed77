/** Acting by clicks: deposits of any token to any house, withdrawals from any house, and transfers on a floor. */

import { parseType } from "./abi.js";
import { amountDialog, feeOf, label } from "./act.js";
import { decode, encode } from "./codec.js";
import { readDetails, tokenOf } from "./describe.js";
import { h, show } from "./dom.js";
import { big, checksum, hex, short, amount as written } from "./format.js";
import { callData } from "./known.js";
import { receivedOn } from "./movements.js";
import { addressOf, ETHER, floorOf, node } from "./rpc.js";
import { signers } from "./signers.js";
import { BASE_TOKEN, L2_ASSET_ROUTER, L2_NATIVE_TOKEN_VAULT } from "./system.js";
import { ask, assetOf, bridgedTokens, inVault, knownTokens } from "./tokens.js";

/** @typedef {import("./rpc.js").Floor} Floor */
/** @typedef {import("./rpc.js").Token} Token */
/** @typedef {import("./act.js").Plan} Plan */

const ALIAS = 0x1111000000000000000000000000000000001111n;
const PUBDATA = 800n;
const OTHER = "other";
const VAULT = "L2NativeTokenVault";
const BURN = ["uint256", "address", "address"].map(parseType);
const MINT = ["address", "address", "address", "uint256", "bytes"].map(parseType);
const DEPOSIT = ["bytes32", "bytes"].map(parseType);

/**
 * Choose a house and a token; the base token of the house comes first, and any other can be named by its address.
 * @param {Floor} first
 * @param {(floor: Floor) => Promise<Token[]>} tokensIn
 * @param {{where?: string, among?: Floor[]}} [options] the layer that tokens are named on, if it is not the house, and the
 *   floors that can be chosen
 */
function choices(first, tokensIn, { where, among = node.l2s } = {}) {
  const houses = h(
    "select",
    { "aria-label": "House" },
    among.map((it) => h("option", { value: it.name, selected: it === first }, `${it.chainId} ${it.title}`)),
  );
  const place = where ? " on layer 1" : "";
  const tokens = h("select", { "aria-label": "Token" });
  const address = h("input.mono", {
    "aria-label": `Token’s address${place}`,
    placeholder: "0x…",
    spellcheck: "false",
  });
  const addressLabel = label(`Its address${place}`, address);
  addressLabel.hidden = true;
  let known = [first.token];
  const floor = () => /** @type {Floor} */ (floorOf(houses.value));
  const fill = (/** @type {Token[]} */ list) => {
    const chosen = tokens.value;
    known = list;
    show(
      tokens,
      known.map((it) => h("option", { value: it.address, selected: it.address === chosen }, labelOf(it))),
      h("option", { value: OTHER, selected: chosen === OTHER }, "Another token…"),
    );
  };
  // Anybody may send a token that has the symbol of another one.
  const labelOf = (/** @type {Token} */ it) =>
    known.find((other) => other.symbol === it.symbol) === it ? it.symbol : `${it.symbol} ${short(it.address)}`;
  let turn = 0;
  const load = async () => {
    const mine = ++turn;
    fill([floor().token]);
    const found = await tokensIn(floor());
    // Another house was chosen while this one was asked.
    if (mine !== turn) return;
    fill(found);
    tokens.dispatchEvent(new Event("input", { bubbles: true }));
  };
  houses.addEventListener("change", load);
  tokens.addEventListener("input", () => {
    addressLabel.hidden = tokens.value !== OTHER;
  });
  load();
  return {
    floor,
    fields: [among.length > 1 ? label("House", houses) : null, label("Token", tokens), addressLabel],
    /** @returns {Promise<Token>} */
    token: async () => {
      if (tokens.value !== OTHER) return known.find((it) => it.address === tokens.value) ?? floor().token;
      if (!/^0x[0-9a-fA-F]{40}$/.test(address.value)) throw new Error("A token’s address has 40 digits after 0x.");
      const found = await tokenOf(where ?? floor().name, address.value.toLowerCase());
      if (found?.standard !== "ERC-20") throw new Error(`There is no token at this address${place}.`);
      return found;
    },
  };
}

/**
 * @param {string} [from]
 * @param {string} [house]
 */
export function depositDialog(from, house = "l2") {
  const first = /** @type {Floor} */ (floorOf(house));
  const chosen = choices(
    first,
    async (floor) => {
      const all = [...(await knownTokens()), ...(await receivedBy(/** @type {Floor} */ (node.l1), from))];
      return distinct([floor.token, ...all]);
    },
    { where: "l1" },
  );
  amountDialog(node.several ? "Deposit" : "Deposit to layer 2", () => /** @type {Floor} */ (node.l1), {
    from,
    verb: "Deposit",
    ...chosen,
    plan: async (sender, to, amount) => depositPlan(chosen.floor(), await chosen.token(), sender, to, amount),
  });
}

/**
 * @param {Floor} l2
 * @param {Token} token
 * @param {string} sender
 * @param {string} to
 * @param {bigint} amount
 * @returns {Promise<Plan>}
 */
async function depositPlan(l2, token, sender, to, amount) {
  const l1 = /** @type {Floor} */ (node.l1);
  const [chain, base, bridgehub] = [BigInt(l2.chainId), l2.token, addressOf("Bridgehub")];
  const isBase = token.address === base.address;
  const asset = isBase ? "" : await assetOnL1(token);
  const call = isBase ? { from: sender, to, value: hex(amount) } : await arrival(asset, token, sender, to, amount);
  const [gasText, priceText] = await Promise.all([l2.call("zks_estimateGasL1ToL2", call), l1.call("eth_gasPrice")]);
  const [gas, price] = [big(gasText), big(priceText)];
  const cost = big(await ask(l1, bridgehub, "Bridgehub", "l2TransactionBaseCost", chain, price, gas, PUBDATA));
  const minted = isBase ? cost + amount : cost;
  const isEther = token.address === ETHER.address;
  const data = isBase
    ? callData("Bridgehub", "requestL2TransactionDirect", [chain, minted, to, amount, "0x", gas, PUBDATA, [], sender])
    : callData("Bridgehub", "requestL2TransactionTwoBridges", [
        ...[chain, minted, 0n, gas, PUBDATA, sender, addressOf("L1AssetRouter")],
        isEther ? amount : 0n,
        `0x01${encode(DEPOSIT, [asset, `0x${encode(BURN, [amount, to, token.address])}`])}`,
      ]);
  const value = (base.address === ETHER.address ? minted : 0n) + (isEther && !isBase ? amount : 0n);
  /** @type {[Token, bigint][]} */
  const spent = isBase
    ? [[base, minted]]
    : [
        [base, minted],
        [token, amount],
      ];
  const before = (await Promise.all(spent.map(([it, needed]) => approval(it, sender, needed)))).flat();
  const names = before.map((it) => it.note).join(" and ");
  return {
    floor: l1,
    tx: { from: sender, to: bridgehub, value: hex(value), data, gasPrice: hex(price) },
    before: before.map((it) => it.tx),
    extra: isBase ? cost : 0n,
    note: `${written(amount, token)} rise, and ${written(cost, base)} pay for the gas on layer 2.${
      names ? ` Before that, the bridge is allowed to take ${names}.` : ""
    }`,
  };
}

/**
 * The transaction that lets the bridge take tokens, unless it may already.
 * @param {Token} token
 * @param {string} from
 * @param {bigint} needed
 */
async function approval(token, from, needed) {
  const l1 = /** @type {Floor} */ (node.l1);
  const router = addressOf("L1AssetRouter");
  if (token.address === ETHER.address || !needed) return [];
  const allowed = big(await ask(l1, token.address, "TestERC20", "allowance", from, router));
  if (allowed >= needed) return [];
  const data = callData("TestERC20", "approve", router, needed);
  return [{ tx: { from, to: token.address, data }, note: written(needed, token) }];
}

/** @param {Token} token */
async function assetOnL1(token) {
  const vault = addressOf("L1NativeTokenVault");
  const known = await ask(/** @type {Floor} */ (node.l1), vault, "L1NativeTokenVault", "assetId", token.address);
  return known && BigInt(known) ? known : assetOf(token.address);
}

/**
 * What a deposit of tokens calls on layer 2, to estimate its gas.
 * @param {string} asset
 * @param {Token} token
 * @param {string} sender
 * @param {string} to
 * @param {bigint} amount
 */
async function arrival(asset, token, sender, to, amount) {
  const l1 = /** @type {Floor} */ (node.l1);
  const [router, vault, id] = [addressOf("L1AssetRouter"), addressOf("L1NativeTokenVault"), BigInt(l1.chainId)];
  const data = callData("L1NativeTokenVault", "getERC20Getters", token.address, id);
  const getters = await l1.maybe("eth_call", { to: vault, data }, "latest");
  if (!getters || getters === "0x") throw new Error("There is no token at this address on layer 1.");
  const [described] = decode([parseType("bytes")], getters);
  const minted = `0x${encode(MINT, [sender, to, token.address, amount, described])}`;
  const alias = (BigInt(router) + ALIAS) & (2n ** 160n - 1n);
  const from = `0x${alias.toString(16).padStart(40, "0")}`;
  return { from, to: L2_ASSET_ROUTER, data: callData("L2AssetRouter", "finalizeDeposit", id, asset, minted) };
}

/**
 * @param {string} [from]
 * @param {string} [house]
 */
export function withdrawDialog(from, house = "l2") {
  const first = /** @type {Floor} */ (floorOf(house));
  const inHouse = async (/** @type {Floor} */ floor) => {
    const bridged = await bridgedTokens(floor);
    const crossed = bridged.map((it) => ({ ...it.token, address: it.address }));
    return distinct([floor.token, ...crossed, ...(await receivedBy(floor, from))]);
  };
  const chosen = choices(first, inHouse);
  amountDialog(node.several ? "Withdraw" : "Withdraw to layer 1", chosen.floor, {
    from,
    verb: "Withdraw",
    ...chosen,
    plan: async (sender, to, amount) => {
      const l2 = chosen.floor();
      const { tx, before } = await withdrawal(l2, await chosen.token(), sender, to, amount);
      const fee = before.length ? "Before that, the bridge is allowed to take it." : await feeOf(l2, tx);
      return { floor: l2, tx, before, note: `${fee} It can be claimed once layer 1 has executed the batch.` };
    },
  });
}

/**
 * @param {Floor} l2
 * @param {Token} token
 * @param {string} from
 * @param {string} to
 * @param {bigint} amount
 */
async function withdrawal(l2, token, from, to, amount) {
  if (token.address === l2.token.address)
    return {
      tx: { from, to: BASE_TOKEN, value: hex(amount), data: callData("L2BaseToken", "withdraw", to) },
      before: [],
    };
  const known = await inVault(l2, "assetId", token.address);
  const asset = known && BigInt(known) ? known : assetOf(token.address, l2.chainId);
  const before = [];
  if (asset !== known)
    before.push({ from, to: L2_NATIVE_TOKEN_VAULT, data: callData(VAULT, "registerToken", token.address) });
  // What came from elsewhere is burnt, and what was born here is taken.
  const isBornHere = asset !== known || BigInt((await inVault(l2, "originChainId", asset)) ?? 0) === BigInt(l2.chainId);
  if (isBornHere && big(await ask(l2, token.address, "TestERC20", "allowance", from, L2_NATIVE_TOKEN_VAULT)) < amount)
    before.push({ from, to: token.address, data: callData("TestERC20", "approve", L2_NATIVE_TOKEN_VAULT, amount) });
  const burnt = `0x${encode(BURN, [amount, to, token.address])}`;
  return { tx: { from, to: L2_ASSET_ROUTER, data: callData("L2AssetRouter", "withdraw", asset, burnt) }, before };
}

/**
 * Send what pays for gas on a floor, or any token.
 * @param {Floor} floor
 * @param {string} [from]
 */
export function sendDialog(floor, from) {
  const chosen = choices(floor, async () => distinct([floor.token, ...(await receivedBy(floor, from))]), {
    among: [floor],
  });
  amountDialog(node.several ? `Send: ${floor.title}` : `Send on layer ${floor.layer}`, () => floor, {
    ...chosen,
    from,
    to: checksum(floor.accounts.find((it) => it !== from?.toLowerCase()) ?? from ?? ""),
    verb: "Send",
    plan: async (sender, to, amount) => {
      const { address } = await chosen.token();
      const tx =
        address === floor.token.address
          ? { from: sender, to, value: hex(amount) }
          : { from: sender, to: address, data: callData("TestERC20", "transfer", to, amount) };
      return { floor, tx, note: await feeOf(floor, tx) };
    },
  });
}

/**
 * Tokens that an account has ever received on a floor.
 * @param {Floor} floor
 * @param {string} [account] without one, the first that can send
 * @returns {Promise<Token[]>}
 */
async function receivedBy(floor, account = signers(floor)[0]) {
  if (!account || floor.remote) return [];
  const found = await receivedOn(floor, account);
  return found.filter((it) => it.standard === "ERC-20").map(readDetails);
}

/**
 * Each token once, by its address.
 * @param {Token[]} tokens
 */
const distinct = (tokens) => [...new Map(tokens.map((it) => [it.address.toLowerCase(), it])).values()];
