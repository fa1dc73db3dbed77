/**
 * Who signs: development accounts, whose keys the node has, and the browser's wallets, those that announce themselves
 * (EIP-6963) and the one that only injects itself (EIP-1193).
 *
 * @typedef {{request: (it: {method: string, params?: any[]}) => Promise<any>}} Provider
 * @typedef {{id: string, name: string, provider: Provider}} Wallet
 */

import { h, show } from "./dom.js";
import { checksum, cut, hex, plain, short } from "./format.js";
import { nameOf } from "./known.js";
import { notify } from "./live.js";
import { isUpper, node } from "./rpc.js";
import { explained } from "./view.js";

const RECEIPT_TRIES = 100;
// What the value of a choice begins with that is a wallet, not an account.
const WALLET = "wallet:";
const MAX_WALLETS = 20;
const UNKNOWN_CHAIN = 4902;
const WALLET_DECIMALS = 18;

/** @type {Map<string, Wallet>} by their ids */
const announced = new Map();
/** @type {Map<string, Provider>} by account */
const owners = new Map();

addEventListener("eip6963:announceProvider", (event) => {
  const { info, provider } = /** @type {any} */ (event).detail ?? {};
  if (typeof provider?.request !== "function" || typeof info?.name !== "string") return;
  const id = String(info.uuid ?? info.rdns ?? info.name).slice(0, 100);
  // The first of an id stays: a later one may be anybody who has heard it.
  if (announced.size < MAX_WALLETS && !announced.has(id))
    announced.set(id, { id, name: cut(plain(info.name).trim(), 40) || "A wallet", provider });
});

/** @returns {any} what a wallet that announces nothing has injected */
const injected = () => /** @type {any} */ (window).ethereum;

/** Ask the wallets to announce themselves; those that start later do so by themselves. */
export const findWallets = () => dispatchEvent(new Event("eip6963:requestProvider"));

findWallets();

/**
 * The wallets that this browser has.
 * @returns {Wallet[]}
 */
export function wallets() {
  const found = [...announced.values()];
  const other = injected();
  if (!other || found.some((it) => it.provider === other)) return found;
  return [...found, { id: "injected", name: "the browser’s wallet", provider: other }];
}

/**
 * Ask a wallet for its accounts.
 * @param {string} id
 * @returns {Promise<string[]>}
 */
export async function connectWallet(id) {
  const wallet = wallets().find((it) => it.id === id);
  if (!wallet) throw new Error("This wallet is not there any more.");
  const accounts = await wallet.provider.request({ method: "eth_requestAccounts" });
  const found = accounts.map((/** @type {string} */ it) => it.toLowerCase());
  for (const it of found) owners.set(it, wallet.provider);
  return found;
}

/** @returns {string[]} the accounts that wallets have given this page */
export const connectedAccounts = () => [...owners.keys()];

/**
 * Send a transaction through the wallet that has its sender.
 * @param {import("./rpc.js").Floor} floor
 * @param {any} tx
 * @returns {Promise<string>} the hash
 */
export async function sendByWallet(floor, tx) {
  const provider = owners.get(tx.from.toLowerCase()) ?? wallets()[0]?.provider;
  if (!provider) throw new Error("This account is not unlocked, and the browser has no wallet.");
  await useChain(provider, floor);
  return provider.request({ method: "eth_sendTransaction", params: [tx] });
}

/**
 * Have a wallet use the chain of a floor, which it may not know yet.
 * @param {Provider} provider
 * @param {import("./rpc.js").Floor} floor
 */
async function useChain(provider, floor) {
  const change = { method: "wallet_switchEthereumChain", params: [{ chainId: hex(floor.chainId) }] };
  try {
    await provider.request(change);
  } catch (error) {
    // Mobile wallets wrap the code.
    const { code, data } = /** @type {any} */ (error);
    if (code !== UNKNOWN_CHAIN && data?.originalError?.code !== UNKNOWN_CHAIN) throw error;
    await addChain(provider, floor);
    await provider.request(change);
  }
}

/**
 * @param {Provider} provider
 * @param {import("./rpc.js").Floor} floor
 */
export const addChain = (provider, floor) =>
  provider.request({ method: "wallet_addEthereumChain", params: [chainOf(floor)] });

/**
 * A chain as wallets are told of it.
 * @param {import("./rpc.js").Floor} floor
 */
export function chainOf(floor) {
  const { name, symbol } = floor.token;
  return {
    chainId: hex(floor.chainId),
    chainName: nameOfChain(floor),
    // Wallets take no other number of decimals; they show amounts of other tokens wrongly, but send them rightly.
    nativeCurrency: { name, symbol, decimals: WALLET_DECIMALS },
    rpcUrls: [new URL(floor.path, location.href).href],
  };
}

/** @param {import("./rpc.js").Floor} floor */
export const nameOfChain = (floor) =>
  `Entresol ${node.several && isUpper(floor.name) ? floor.title : `L${floor.layer}`} ${floor.chainId}`;

/**
 * @param {import("./rpc.js").Floor} floor
 * @returns {string[]} the accounts that can send on this floor
 */
export const signers = (floor) => [...new Set([...floor.accounts, ...connectedAccounts()])];

/**
 * Whether any account can send on a floor.
 * @param {import("./rpc.js").Floor | null} floor
 */
export const canSend = (floor) => floor !== null && (wallets().length > 0 || signers(floor).length > 0);

/**
 * @param {import("./rpc.js").Floor} floor
 * @param {any} tx
 * @returns {Promise<string>} the hash
 */
export const send = async (floor, tx) =>
  floor.accounts.includes(tx.from.toLowerCase()) ? floor.call("eth_sendTransaction", tx) : sendByWallet(floor, tx);

/**
 * @param {import("./rpc.js").Floor} floor
 * @param {string} hash
 */
export async function receiptOf(floor, hash) {
  for (let i = 0; i < RECEIPT_TRIES; i++) {
    const receipt = await floor.maybe("eth_getTransactionReceipt", hash);
    if (receipt) return receipt;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error("It is still pending.");
}

/**
 * Why a transaction failed, in words.
 * @param {import("./rpc.js").Floor} floor
 * @param {any} receipt
 * @returns {Promise<string | undefined>}
 */
export const failureOf = async (floor, receipt) =>
  (await (await import("./reasons.js")).whyFailed(floor, receipt.transactionHash))?.text;

/**
 * A choice among the accounts that can send.
 * @param {import("./rpc.js").Floor} floor
 * @param {string} [chosen]
 */
export function accountSelect(floor, chosen) {
  const select = /** @type {any} */ (h("select", { "aria-label": "Account" }));
  const fill = (/** @type {import("./rpc.js").Floor} */ on) => {
    show(
      select,
      signers(on).map((it) =>
        h(
          "option",
          { value: it, selected: it === chosen?.toLowerCase() },
          `${nameOf(it, on.name) ?? "Account"} ${short(checksum(it))}`,
        ),
      ),
    );
    if (!signers(on).length) select.append(h("option", { value: "" }, "Choose an account"));
    for (const it of wallets()) select.append(h("option", { value: `${WALLET}${it.id}` }, `Connect ${it.name}…`));
  };
  select.addEventListener("change", async () => {
    const value = select.value;
    if (!value.startsWith(WALLET)) {
      chosen = value;
      return;
    }
    try {
      chosen = (await connectWallet(value.slice(WALLET.length)))[0] ?? chosen;
    } catch (error) {
      notify(await explained(error));
    }
    fill(floor);
    select.dispatchEvent(new Event("input", { bubbles: true }));
  });
  // The accounts of another floor, of which the chosen one stays chosen.
  select.moveTo = (/** @type {import("./rpc.js").Floor} */ other) => {
    if (other !== floor) fill(other);
    floor = other;
  };
  fill(floor);
  return select;
}
