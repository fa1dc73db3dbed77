/**
 * Bundles: calls from one house to another, each with its stage on the way down through layer 1 and up again.
 *
 * @typedef {{to: string, from: string, value: bigint, data: string, status: number, moves: [Token, bigint][]}} Call
 *   `status` is 0 not processed, 1 executed, 2 cancelled; `moves` is what it carries
 * @typedef {{hash: string, house: string, destination: number, words: any[], calls: Call[], executor: string,
 *   unbundler: string, tx: string, logIndex: number, block: number, at: number, from: string, log: number,
 *   batch: number, batchStage: number, txIndex: number, stage: number, problem: string, proof: any, status: number,
 *   done: Done | null, final: boolean, failing: string}} Bundle `stage` is one of `STEPS`, `status` what its destination
 *   says, `failing` why the relay could not run it
 * @typedef {{block: number, at: number, tx: string}} Done where and when the last thing happened to it
 */

import { parseType } from "./abi.js";
import { decode } from "./codec.js";
import { tokenOf } from "./describe.js";
import { count, int, plural, amount as written } from "./format.js";
import { houseOf, STAGES, stateOf } from "./houses.js";
import { decodeCall, decodeLog } from "./known.js";
import { ETHER, floorOf, node, RpcError } from "./rpc.js";
import {
  INTEROP_CENTER,
  INTEROP_HANDLER,
  L1_MESSENGER,
  L2_ASSET_ROUTER,
  L2_NATIVE_TOKEN_VAULT,
  ROOT_STORAGE,
} from "./system.js";
import { addressIn, ask, assetOf } from "./tokens.js";

/** @typedef {import("./rpc.js").Token} Token */
/** @typedef {import("./rpc.js").Floor} Floor */

export const STEPS = ["Sent", "In batch", "Executed on L1", "Books settled", "Root arrived", "Executed"];
const ENDS = ["Executed", "Verified", "Executed", "Unbundled"];
const STATUSES = { unreceived: 0, verified: 1, executed: 2, unbundled: 3 };
export const CALL_STATUSES = ["Not processed", "Executed", "Cancelled"];

const TRANSFER = ["address", "address", "address", "uint256", "bytes"].map(parseType);

/**
 * What the last of its steps is called.
 * @param {Bundle} it
 */
export const endOf = (it) => ENDS[it.status];

/** @param {Bundle} it */
export const stageName = (it) =>
  it.stage === 5 ? endOf(it) : it.stage === 1 ? `In batch ${count(it.batch)}` : STEPS[it.stage];

/**
 * The same within a sentence.
 * @param {Bundle} it
 */
export const stageWord = (it) => stageName(it).replace(/^./, (first) => first.toLowerCase());

/** @param {Bundle} it */
export const leftOf = (it) => it.calls.filter((call) => call.status === 0).length;

/**
 * What it waits for, in words; empty if for nothing.
 * @param {Bundle} it
 */
export function waitsFor(it) {
  const there = titleOf(it.destination);
  if (it.problem) return "not booked";
  if (it.stage === 0) return "waits for its batch";
  if (it.stage === 1) return `waits in ${count(it.batch)}`;
  if (it.stage === 2) return "waits for its books";
  if (it.stage === 3) return floorOf(String(it.destination)) ? `waits for the root in ${there}` : "";
  if (it.failing) return "the relay cannot run it";
  if (it.stage === 4 || it.status === STATUSES.verified) return "waits to be run";
  return it.status === STATUSES.unbundled && leftOf(it) ? `${plural(leftOf(it), "call")} left` : "";
}

/**
 * The stage in a line of its own, for lists.
 * @param {Bundle} it
 */
export function noteOf(it) {
  if (it.problem) return "not booked";
  if (it.stage === 1) return STAGES[it.batchStage].toLowerCase();
  const cancelled = it.calls.filter((call) => call.status === 2).length;
  if (cancelled) return `${plural(cancelled, "call")} cancelled`;
  return it.done ? `block ${count(it.done.block)}` : waitsFor(it);
}

/**
 * A chain by its name, or by its number if it is of another node.
 * @param {number} chain
 */
export const titleOf = (chain) =>
  (node.several && floorOf(String(chain))?.title) || (chain === node.l2?.chainId ? "this chain" : `chain ${chain}`);

/**
 * What calls carry, each token once.
 * @param {Call[]} calls
 */
export function carried(calls) {
  /** @type {Map<string, [Token, bigint]>} */
  const sums = new Map();
  for (const [token, value] of calls.flatMap((it) => it.moves)) {
    const before = sums.get(token.address)?.[1] ?? 0n;
    sums.set(token.address, [token, before + value]);
  }
  return [...sums.values()].map(([token, value]) => written(value, token));
}

/**
 * `2 calls, 40 USDC and 0.40 ETH`
 * @param {Bundle} it
 */
export const whatOf = (it) => listed([plural(it.calls.length, "call"), ...carried(it.calls)]);

/** @param {string[]} parts */
export const listed = (parts) =>
  parts.length < 3 ? parts.join(", ") : `${parts.slice(0, -1).join(", ")} and ${parts[parts.length - 1]}`;

/**
 * An address of ERC-7930, and its chain, which is 0 if it is any; null if there is none.
 * @param {string} bytes
 */
export function partyOf(bytes) {
  if (bytes.length === 42) return { chain: 0, address: bytes };
  const found = /^0x00010000(..)(.*)$/.exec(bytes);
  if (!found) return null;
  const size = 2 * Number.parseInt(found[1], 16);
  // Without an address it is nobody's.
  const address = found[2].slice(size + 2).padStart(40, "0");
  return { chain: size ? Number(`0x${found[2].slice(0, size)}`) : 0, address: `0x${address}` };
}

/**
 * Whether an account may do what an attribute allows, on the chain where it does it.
 * @param {string} bytes
 * @param {string} account
 * @param {number} chain
 */
export function isAllowed(bytes, account, chain) {
  const party = partyOf(bytes);
  return party !== null && party.address === account && (!party.chain || party.chain === chain);
}

/**
 * A bundle from the event of its sending.
 * @param {any} log
 * @param {import("./houses.js").House} house
 * @returns {Promise<Bundle | null>}
 */
export async function bundleOf(log, house) {
  const decoded = log.address === INTEROP_CENTER ? decodeLog(log, house.name) : null;
  if (decoded?.entry.name !== "InteropBundleSent") return null;
  const [, hash, words] = decoded.values;
  const [, , destination, base, , calls, [executor, unbundler]] = words;
  const block = int(log.blockNumber);
  const made = calls.map(async (/** @type {any[]} */ [, , to, from, value, data]) => ({
    ...{ to, from, value, data, status: 0 },
    moves: await movesOf(house.floor, Number(destination), base, { to, from, value, data }),
  }));
  return {
    ...{ hash, house: house.name, destination: Number(destination), words, executor, unbundler, block },
    ...{ tx: log.transactionHash, logIndex: int(log.logIndex), calls: await Promise.all(made), from: "", log: -1 },
    failing: "",
    at: int(log.blockTimestamp) || stateOf(house.name).blocks.get(block)?.at || 0,
    ...{ batch: 0, batchStage: 0, txIndex: 0, stage: 0, problem: "", proof: null, status: 0, done: null, final: false },
  };
}

/**
 * What a call carries: native value, and the tokens that the routers of both chains move.
 * @param {Floor} source
 * @param {number} destination
 * @param {string} base the asset of the destination's base token
 * @param {{to: string, from: string, value: bigint, data: string}} call
 * @returns {Promise<[Token, bigint][]>}
 */
async function movesOf(source, destination, base, { to, from, value, data }) {
  /** @type {[Token, bigint][]} */
  const moves = [];
  if (value) moves.push([floorOf(String(destination))?.token ?? (await tokenOfAsset(source, base)), value]);
  const transfer = to === L2_ASSET_ROUTER && from === L2_ASSET_ROUTER ? transferIn(to, data, source.name) : null;
  if (transfer?.amount) moves.push([await tokenOfAsset(source, transfer.asset), transfer.amount]);
  return moves;
}

/**
 * The asset, amount and receiver of a call that moves tokens.
 * @param {string} to
 * @param {string} data
 * @param {string} layer
 */
export function transferIn(to, data, layer) {
  const call = decodeCall(to, data, layer);
  if (to !== L2_ASSET_ROUTER || call?.entry.name !== "finalizeDeposit" || call.values.length !== 3) return null;
  try {
    const [, receiver, , amount] = decode(TRANSFER, call.values[2]);
    return { asset: String(call.values[1]), receiver: String(receiver), amount: BigInt(amount) };
  } catch {
    return null;
  }
}

/**
 * @param {Floor} floor a house that has it
 * @param {string} asset
 * @returns {Promise<Token>}
 */
async function tokenOfAsset(floor, asset) {
  const native = [ETHER, ...node.l2s.map((it) => it.token)].find((it) => assetOf(it.address) === asset);
  if (native) return native;
  const address = addressIn(await ask(floor, L2_NATIVE_TOKEN_VAULT, "L2NativeTokenVault", "tokenAddress", asset));
  const found = BigInt(address) ? await tokenOf(floor.name, address) : null;
  return found ?? { name: "", symbol: "of a token", decimals: 0, address: asset };
}

/**
 * Ask how far a bundle has come: only for what it waits for.
 * @param {Bundle} it
 */
export async function advance(it) {
  if (it.stage < 1) await readReceipt(it);
  if (it.stage === 1) {
    it.batchStage = (await houseOf(it.house).loadBatch(it.batch))?.stage ?? it.batchStage;
    if (it.batchStage === 4) it.stage = 2;
  }
  if (it.stage === 2) await readProof(it);
  const there = floorOf(String(it.destination));
  if (it.stage < 3 || !there) return;
  if (it.stage === 3) {
    const place = [BigInt(node.l1?.chainId ?? 0), BigInt(it.proof.gatewayBlockNumber)];
    const root = await ask(there, ROOT_STORAGE, "L2InteropRootStorage", "interopRoots", ...place);
    if (BigInt(root ?? 0)) it.stage = 4;
  }
  if (it.stage >= 4) await readStatus(it, there);
}

/** @param {Bundle} it */
async function readReceipt(it) {
  const receipt = await floorOf(it.house)?.call("eth_getTransactionReceipt", it.tx);
  if (!receipt) return;
  const messages = receipt.logs.filter((/** @type {any} */ log) => log.address === L1_MESSENGER);
  it.log = messages.filter((/** @type {any} */ log) => int(log.logIndex) < it.logIndex).length - 1;
  it.from = it.calls.find((call) => call.from !== L2_ASSET_ROUTER)?.from ?? receipt.from;
  if (!receipt.l1BatchNumber) return;
  Object.assign(it, { batch: int(receipt.l1BatchNumber), txIndex: int(receipt.l1BatchTxIndex), stage: 1 });
}

/** @param {Bundle} it */
async function readProof(it) {
  try {
    const proof = await floorOf(it.house)?.call("zks_getL2ToL1LogProof", it.tx, it.log, "messageRoot");
    it.problem = "";
    // A node that knows only the form for layer 1 responds without the block.
    if (proof?.gatewayBlockNumber) Object.assign(it, { proof, stage: 3 });
  } catch (error) {
    // Without a code the node did not respond; with one it says why there will be none.
    if (!(error instanceof RpcError) || !error.code) throw error;
    it.problem = error.message;
  }
}

/**
 * @param {Bundle} it
 * @param {Floor} there
 */
async function readStatus(it, there) {
  const handler = (/** @type {string} */ name, /** @type {any[]} */ ...values) =>
    ask(there, INTEROP_HANDLER, "InteropHandler", name, it.hash, ...values);
  it.status = int(await handler("bundleStatus"));
  const isOpen = it.status === STATUSES.unreceived || it.status === STATUSES.verified;
  it.failing = (isOpen && (await there.maybe("entresol_getBundleProblem", it.hash))) || "";
  if (!it.status) return;
  it.stage = 5;
  const found =
    it.status === STATUSES.unbundled
      ? await Promise.all(it.calls.map((_, at) => handler("callStatus", BigInt(at))))
      : it.calls.map(() => (it.status === STATUSES.executed ? 1 : 0));
  it.calls.forEach((call, at) => {
    call.status = int(found[at]);
  });
  it.final = leftOf(it) === 0;
}

/**
 * @param {any} log of the handler
 * @returns {Done}
 */
export const doneBy = (log) => ({
  block: int(log.blockNumber),
  at: int(log.blockTimestamp),
  tx: log.transactionHash,
});
