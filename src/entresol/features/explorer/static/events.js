/** Where crossings are found: in the node's index of those that are not completed, and in events. */

import { parseType } from "./abi.js";
import { decode, encode } from "./codec.js";
import { tokenOf } from "./describe.js";
import { byteLength, hex, int, amount as written } from "./format.js";
import { stateOf } from "./houses.js";
import { decodeCall, decodeLog, topicOf } from "./known.js";
import { ETHER, firstOf, node } from "./rpc.js";
import { BASE_TOKEN, L2_ASSET_ROUTER } from "./system.js";
import { assetOf } from "./tokens.js";

/** @typedef {import("./crossings.js").Crossing} Crossing */
/** @typedef {import("./houses.js").House} House */

const ETHER_OUT = "0x6c0960f9";
const TOKEN_OUT = "0x9c884fd1";
const TRANSFER = ["address", "address", "address", "uint256", "bytes"].map(parseType);
const BURN = ["uint256", "address", "address"].map(parseType);

// What is not known of a crossing before it is fetched.
export const UNKNOWN = { final: false, stage: 0, failed: false, returned: false, batch: 0, leaf: -1 };

/**
 * @param {any} log
 * @param {House} house
 * @returns {Promise<Crossing | null>}
 */
export async function depositOf(log, house) {
  const decoded = decodeLog(log, "l1");
  if (!decoded) return null;
  const [id, hash, , transaction] = decoded.values;
  const [, from, to] = transaction;
  const data = transaction[11];
  const address = (/** @type {bigint} */ it) => `0x${it.toString(16).padStart(40, "0")}`;
  const it = base(log, "deposit", `d${id}`, house);
  Object.assign(it, { from: address(from), to: address(to), l2Tx: hash, amount: transaction[9] });
  it.what = data === "0x" ? written(transaction[9], house.floor.token) : "a call";
  const inner = decodeCall(it.to, data, house.name);
  if (it.to === L2_ASSET_ROUTER && inner?.entry.name === "finalizeDeposit" && inner.values.length === 3) {
    const [sender, receiver, token, amount] = decode(TRANSFER, inner.values[2]);
    const known = await onL1(token);
    Object.assign(it, {
      from: sender,
      to: receiver,
      what: known ? written(amount, known) : "a token",
      amount: null,
      // As the deposit was requested, which is what layer 1 remembers of it.
      asset: { id: inner.values[1], data: `0x${encode(BURN, [amount, receiver, token])}` },
    });
  }
  return it;
}

/**
 * A token by its address on layer 1, where ether has one, too.
 * @param {string} address
 */
const onL1 = (address) => (address === ETHER.address ? ETHER : tokenOf("l1", address));

/**
 * @param {any} log
 * @param {number} ordinal
 * @param {House} house
 * @returns {Promise<Crossing | null>}
 */
export async function messageOf(log, ordinal, house) {
  const decoded = decodeLog(log, house.name);
  if (!decoded) return null;
  const [sender, , message] = decoded.values;
  const it = base(log, "message", `${log.transactionHash}/${ordinal}`, house);
  Object.assign(it, {
    log: ordinal,
    sender,
    from: sender,
    message,
    what: `${byteLength(message)} bytes`,
    l2Tx: log.transactionHash,
  });
  if (sender === BASE_TOKEN && message.startsWith(ETHER_OUT)) {
    const amount = BigInt(`0x${message.slice(50, 114)}`);
    const paid = { to: `0x${message.slice(10, 50)}`, amount, what: written(amount, house.floor.token) };
    Object.assign(it, { kind: "withdrawal", ...paid });
  } else if (sender === L2_ASSET_ROUTER && message.startsWith(TOKEN_OUT)) {
    const [from, to, token, amount] = decode(TRANSFER, message.slice(138));
    // The same address may be another token on layer 1.
    const isBornHere = message.slice(74, 138) === assetOf(token, house.floor.chainId).slice(2);
    const known = isBornHere ? await tokenOf(house.name, token) : await onL1(token);
    Object.assign(it, { kind: "withdrawal", from, to, what: known ? written(amount, known) : "a token" });
  }
  return it;
}

/**
 * @param {any} log
 * @param {Crossing["kind"]} kind
 * @param {string} id
 * @param {House} house
 * @returns {Crossing}
 */
const base = (log, kind, id, house) => ({
  id,
  house: house.name,
  kind,
  what: "",
  from: "",
  to: "",
  tx: log.transactionHash,
  log: 0,
  block: int(log.blockNumber),
  at:
    int(log.blockTimestamp) ||
    stateOf(kind === "deposit" ? "l1" : house.name).blocks.get(int(log.blockNumber))?.at ||
    0,
  l2Tx: "",
  arrived: 0,
  txIndex: 0,
  message: "",
  sender: "",
  amount: null,
  ...UNKNOWN,
});

const MAX_PAGES = 5;
const PAGE = 100;

/**
 * @typedef {{batches: Map<string, number>, more: boolean}} Index the batch of each message and withdrawal, 0 if it is not
 *   sealed, and whether there are more than were read
 */

/**
 * Read the index of a house into `open`.
 * @param {House} house
 * @param {Index} open
 * @returns {Promise<{id: string, block: number}[] | null>} messages and withdrawals with their blocks on layer 2, and
 *   deposits, by the hash of their transaction there; null if the node does not have the index
 */
export async function readIndex(house, open) {
  const l2 = house.floor;
  const found = [];
  let cursor = null;
  for (let page = 0; page < MAX_PAGES; page++) {
    const some = await l2.maybe("entresol_getOpenTransfers", cursor, PAGE);
    if (!some) return null;
    found.push(...some.transfers);
    cursor = some.next;
    if (!cursor) break;
  }
  open.more = cursor !== null;
  const isDeposit = (/** @type {any} */ it) => it.kind === "deposit" || it.kind === "failedDeposit";
  const named = found.map((it) => ({
    id: isDeposit(it) ? it.transactionHash : `${it.transactionHash}/${int(it.index)}`,
    block: isDeposit(it) ? -1 : int(it.blockNumber),
    batch: int(it.l1BatchNumber),
  }));
  open.batches = new Map(named.map((it) => [it.id, it.batch]));
  return named;
}

/**
 * Find the block of layer 1 that requested a deposit.
 * @param {string} l2Tx
 * @param {string} chain the contract of the chain
 */
export async function requestOf(l2Tx, chain) {
  const filter = { address: chain, topics: [topicOf("ZKChain", "NewPriorityRequestId"), null, l2Tx] };
  const logs = await node.l1?.maybe("eth_getLogs", {
    ...filter,
    fromBlock: hex(firstOf(node.l1)),
    toBlock: "latest",
  });
  return logs?.length ? int(logs[0].blockNumber) : null;
}
