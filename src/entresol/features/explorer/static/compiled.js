/** Names and ABIs of contracts from the node's sources: what `--sources` and Hardhat gave it. */

import { rememberCompiled } from "./known.js";

const MAX_ASKED = 100;
// A page does not wait longer; what comes later draws it again.
const WAITED_MS = 700;
const KEPT_MS = 10_000;

/** @type {Map<string, number>} when a contract was found, or when a floor said that it has no sources */
const asked = new Map();

/**
 * Learn the contracts at some addresses, if the node has their source.
 * @param {import("./rpc.js").Floor | null | undefined} floor
 * @param {(string | null | undefined)[]} addresses
 */
export async function learnContracts(floor, addresses) {
  if (!floor || floor.remote || isFresh(floor.name)) return;
  const places = new Set(addresses.flatMap((it) => (it ? [it.toLowerCase()] : [])));
  const wanted = [...places].filter((it) => !isFresh(`${floor.name}:${it}`)).slice(0, MAX_ASKED);
  if (!wanted.length) return;
  let isLate = false;
  const learning = floor.call("entresol_getContracts", wanted).then(
    (found) => {
      for (const [at, it] of found.entries()) if (it) keep(`${floor.name}:${wanted[at]}`, it);
      if (isLate && found.some(Boolean)) dispatchEvent(new Event("learned"));
    },
    () => asked.set(floor.name, Date.now()),
  );
  const late = new Promise((resolve) => setTimeout(resolve, WAITED_MS)).then(() => {
    isLate = true;
  });
  await Promise.race([learning, late]);
}

/** @param {string} key */
const isFresh = (key) => Date.now() - (asked.get(key) ?? 0) < KEPT_MS;

/**
 * @param {string} place
 * @param {any} found
 */
function keep(place, found) {
  asked.set(place, Date.now());
  try {
    rememberCompiled(place, found);
  } catch {
    // Its ABI is none: the page goes on without it.
  }
}

/**
 * The contracts that a trace calls.
 * @param {any} trace
 * @returns {string[]}
 */
export function calledBy(trace) {
  const found = [trace];
  // It grows while it is read.
  for (const frame of found) if (found.length < 2 * MAX_ASKED) found.push(...(frame.calls ?? []));
  return found.map((it) => it.to);
}
