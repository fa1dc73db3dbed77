/** The variables in the slots that a transaction has changed, as the debugger names them. */

import { h, show } from "./dom.js";
import { plain } from "./format.js";
import { patiently } from "./patience.js";
import { readable } from "./stack.js";

const MAX_FRAMES = 16;

/**
 * Name slots once the node has found what is in them; nothing changes if it has no sources.
 * @param {import("./rpc.js").Floor} floor
 * @param {string} hash
 * @param {{address: string, slot: string, cell: Element}[]} cells
 */
export async function nameSlots(floor, hash, cells) {
  const accounts = [...new Set(cells.map((it) => it.address))].slice(0, 100);
  const known = await floor.maybe("entresol_getContracts", accounts);
  if (!known?.some(Boolean)) return;
  const { frames } = /** @type {import("./execution.js").Found} */ (
    await patiently(floor, "entresol_getExecution", hash)
  );
  // The last step of a contract has all slots that it has used.
  const last = new Map(
    frames.filter((it) => it.contract && it.lastStep !== null).map((it) => [ownerOf(frames, it), it]),
  );
  const steps = [...last.values()].slice(-MAX_FRAMES).map((it) => it.lastStep);
  for (const step of steps) {
    const state = await patiently(floor, "entresol_getExecutionStep", hash, step).catch(() => null);
    for (const { slot, transient, variables } of state?.storage ?? []) {
      const cell = cells.find((it) => it.address === state.storageAddress?.toLowerCase() && it.slot === slot)?.cell;
      if (!cell || transient || !variables.length) continue;
      const names = variables.map((/** @type {any} */ it) => readable(it.name)).join(", ");
      show(cell, h("span", { title: `slot ${plain(slot)}` }, names));
    }
  }
}

/**
 * Whose storage a frame uses, with whose code.
 * @param {import("./execution.js").Frame[]} frames
 * @param {import("./execution.js").Frame} frame
 */
function ownerOf(frames, frame) {
  let owner = frame;
  while (/^(DELEGATECALL|CALLCODE)$/.test(owner.type) && owner.parent !== null) owner = frames[owner.parent];
  return `${owner.to} ${frame.to}`;
}
