/**
 * What is known by name: development accounts, the project's contracts, ABIs that were dropped in.
 *
 * @typedef {import("./abi.js").Entry} Entry
 * @typedef {{entry: Entry, values: any[]}} Decoded
 */

import { parseAbi, parseLine, signatureOf } from "./abi.js";
import { decode, encode } from "./codec.js";
import { checksum, cut, plain } from "./format.js";
import { keccakText } from "./keccak.js";
import { floors, isUpper, node } from "./rpc.js";

const PEOPLE = ["Alice", "Bob", "Carol", "Dave", "Erin", "Frank", "Grace", "Heidi", "Ivan", "Judy", "Kim", "Leo"];
const STORED = "entresol-abis";
const MAX_STORED = 400_000;

/** @type {Map<string, string>} names by layer and address: `l1:0x…`; accounts have both layers */
const names = new Map();
/** @type {Map<string, Entry[]>} by selector or topic */
const entries = new Map();
/** @type {Map<string, Entry[]>} by contract */
const contracts = new Map();
/** @type {Map<string, string>} whose source the node knows, by layer and address: its file and its name */
const compiled = new Map();

/** Load the ABIs of the project's contracts, and those that were dropped in before. */
export async function loadNames() {
  const response = await fetch("/explorer/abis.json");
  for (const [contract, lines] of Object.entries(await response.json()))
    addEntries(
      contract,
      /** @type {string[]} */ (lines).map((line) => parseLine(line, contract)),
    );
  for (const layer of /** @type {("l1" | "l2")[]} */ (["l1", "l2"]))
    for (const [address, name] of Object.entries(node.info[layer]))
      names.set(`${layer}:${address.toLowerCase()}`, name);
  // A key has the same account on both layers.
  for (const floor of floors())
    floor.accounts.slice(0, PEOPLE.length).forEach((it, at) => {
      for (const layer of ["l1", "l2"]) names.set(`${layer}:${it}`, PEOPLE[at]);
    });
  const operators = [...node.info.operators, ...node.info.chains.flatMap((it) => it.operators)];
  for (const it of operators) if (!names.has(`l1:${it}`)) names.set(`l1:${it.toLowerCase()}`, "Operator");
  for (const { name, json, at } of stored()) remember(name, json, at);
}

/**
 * @param {string} contract
 * @param {Entry[]} list
 */
export function addEntries(contract, list) {
  contracts.set(contract, list);
  for (const entry of list) {
    const hash = keccakText(signatureOf(entry));
    const key = entry.kind === "e" ? hash : hash.slice(0, 10);
    const known = entries.get(key);
    if (!known) entries.set(key, [entry]);
    else if (known.length < 20) known.push(entry);
  }
}

/** @returns {{name: string, json: any, at: string[]}[]} */
function stored() {
  try {
    return JSON.parse(localStorage.getItem(STORED) ?? "[]");
  } catch {
    return [];
  }
}

/**
 * Learn an ABI from a file.
 * @param {string} file the text
 * @param {string} fileName
 * @param {string[]} at addresses with their layers, `l2:0x…`, that have this ABI
 */
export function learn(file, fileName, at = []) {
  const json = JSON.parse(file);
  const name = cut(String(json?.contractName ?? fileName.replace(/\.(abi|json)+$/g, "")), 60) || "Contract";
  remember(name, json, at);
  const entry = { name, json: Array.isArray(json) ? json : (json.abi ?? json.output?.abi), at };
  const all = JSON.stringify([...stored().filter((it) => it.name !== name), entry]);
  if (all.length <= MAX_STORED) localStorage.setItem(STORED, all);
  return name;
}

/**
 * @param {string} name
 * @param {any} json
 * @param {string[]} at
 */
function remember(name, json, at) {
  addEntries(name, parseAbi(json, name));
  for (const place of at) names.set(place.toLowerCase(), name);
}

/**
 * Remember a contract whose source the node knows. Its file is in its key, so it is never taken for one of the project.
 * @param {string} place
 * @param {{name: string, file: string, abi: any[]}} found
 */
export function rememberCompiled(place, { name, file, abi }) {
  let key = `${file}:${name}`;
  // A library's ABI has types that no other contract can name.
  const list = abi.flatMap((it) => {
    try {
      return parseAbi([it], key);
    } catch {
      return [];
    }
  });
  const same = (/** @type {Entry[]} */ it) => it.map(signatureOf).join() === list.map(signatureOf).join();
  // Compiled again with other functions, while the old code is still on the chain.
  for (let again = 2; contracts.has(key) && !same(contracts.get(key) ?? []); again++)
    key = `${file} (${again}):${name}`;
  if (!contracts.has(key))
    addEntries(
      key,
      list.map((it) => ({ ...it, contract: key })),
    );
  compiled.set(place, key);
  if (!names.has(place)) names.set(place, plain(cut(name, 60)));
}

/** @param {Entry} it */
export const contractName = (it) => plain(it.contract.slice(it.contract.lastIndexOf(":") + 1));

/**
 * The ABI of an account, and what its entries call it.
 * @param {string} address
 * @param {string} layer
 */
const contractAt = (address, layer) => compiled.get(`${layer}:${address.toLowerCase()}`) ?? nameOf(address, layer);

/**
 * @param {string} address
 * @param {string} layer
 */
export const abiAt = (address, layer) => contracts.get(contractAt(address, layer) ?? "") ?? null;

/**
 * @param {string} address
 * @param {string} layer
 * @returns {string | undefined}
 */
export const nameOf = (address, layer) =>
  names.get(`${layer}:${address.toLowerCase()}`) ??
  (isUpper(layer) ? names.get(`l2:${address.toLowerCase()}`) : undefined);

/**
 * Whether an account has a key of the node, which gives it a person's name.
 * @param {string} address
 */
export const isPerson = (address) => PEOPLE.includes(names.get(`l2:${address.toLowerCase()}`) ?? "");

/**
 * @param {string} name
 * @returns {[string, string][]} the layer and the address of each thing of this name
 */
export function named(name) {
  const wanted = name.toLowerCase();
  const found = [...names].filter(([, it]) => it.toLowerCase().startsWith(wanted));
  return found.map(([place]) => {
    const [layer, address] = place.split(":");
    return [layer, checksum(address)];
  });
}

/** @param {string} short `0xf39F…2266` as the pages write it */
export function unshortened(short) {
  const match = /^(0x[0-9a-f]{4})(?:…|\.\.\.?)([0-9a-f]{4})$/i.exec(short);
  if (!match) return null;
  const place = [...names.keys()].find(
    (it) => it.includes(`:${match[1].toLowerCase()}`) && it.endsWith(match[2].toLowerCase()),
  );
  return place ? checksum(place.split(":")[1]) : null;
}

/**
 * Learn the names of the facets of a chain's contract, which calls go through: all chains have the same.
 * @param {string} contract
 */
export async function nameFacets(contract) {
  for (const [facet, name] of [
    ["MailboxFacet", "requestL2Transaction"],
    ["ExecutorFacet", "commitBatchesSharedBridge"],
  ]) {
    const data = callData("ZKChain", "facetAddress", selectorOf(entry(facet, name)));
    const found = await node.l1?.maybe("eth_call", { to: contract, data }, "latest");
    const address = `0x${(found ?? "").slice(26)}`;
    // A contract of an earlier version is whole: it has none.
    if (BigInt(found && found !== "0x" ? found : 0) && address !== contract) names.set(`l1:${address}`, facet);
  }
}

/** @param {string} contract */
export const abiOf = (contract) => contracts.get(contract) ?? null;

/**
 * @param {string} contract
 * @param {string} name
 * @returns {Entry}
 */
export function entry(contract, name) {
  const found = contracts.get(contract)?.find((it) => it.name === name);
  if (!found) throw new Error(`${contract} has no ${name}`);
  return found;
}

/**
 * Encode a call.
 * @param {string} contract
 * @param {string} name
 * @param {...any} values
 */
export function callData(contract, name, ...values) {
  return dataOf(entry(contract, name), values);
}

/**
 * @param {Entry} it
 * @param {any[]} values
 */
export const dataOf = (it, values) => selectorOf(it) + encode(it.inputs, values);

/** @param {Entry} it */
export const selectorOf = (it) => keccakText(signatureOf(it)).slice(0, 10);

/**
 * @param {string} contract
 * @param {string} name
 */
export const topicOf = (contract, name) => keccakText(signatureOf(entry(contract, name)));

/**
 * Find an entry that decodes the data, the called contract's own before others.
 * @param {string} key a selector or a topic
 * @param {Entry["kind"]} kind
 * @param {string | undefined} contract
 * @param {(entry: Entry) => any[]} read
 * @returns {Decoded | null}
 */
export function findEntry(key, kind, contract, read) {
  const found = (entries.get(key) ?? []).filter((it) => it.kind === kind);
  for (const it of [...found].sort((a, b) => Number(b.contract === contract) - Number(a.contract === contract)))
    try {
      return { entry: it, values: read(it) };
    } catch {
      // Another ABI has the same selector.
    }
  return null;
}

/**
 * @param {string | null} to
 * @param {string} input
 * @param {string} layer
 */
export function decodeCall(to, input, layer) {
  if (!to || input.length < 10) return null;
  return findEntry(input.slice(0, 10), "f", contractAt(to, layer), (it) => decode(it.inputs, input.slice(10)));
}

/**
 * @param {{address: string, topics: string[], data: string}} log
 * @param {string} layer
 */
export function decodeLog(log, layer) {
  if (!log.topics.length) return null;
  return findEntry(log.topics[0], "e", contractAt(log.address, layer), (it) => {
    const indexed = it.inputs.filter((input) => input.indexed);
    if (indexed.length !== log.topics.length - 1) throw new Error("another event");
    const rest = decode(
      it.inputs.filter((input) => !input.indexed),
      log.data,
    );
    let topic = 1;
    let at = 0;
    return it.inputs.map((input) => (input.indexed ? topicValue(input, log.topics[topic++]) : rest[at++]));
  });
}

/**
 * @param {import("./abi.js").Type} type
 * @param {string} topic
 */
function topicValue(type, topic) {
  const isHashed = type.parts || ["array", "bytes", "string"].includes(type.base);
  return isHashed ? topic : decode([type], topic)[0];
}
