/** What contracts have printed during an execution, with the lines that printed it. */

import { h } from "./dom.js";
import { plain, plural } from "./format.js";
import { readable } from "./stack.js";

// Solidity's console: `console.log` in ASCII.
const CONSOLE = "0x000000000000000000636f6e736f6c652e6c6f67";
const MAX_LINES = 200;

/**
 * Return what draws the lines as they are at a step; later ones are faint.
 * @param {import("./execution.js").Execution} execution
 * @returns {Promise<(now: number) => Node | null>}
 */
export async function consoleView(execution) {
  const { frames } = execution.found;
  const calls = frames.filter((it) => it.to === CONSOLE).slice(0, MAX_LINES);
  if (!calls.length) return () => null;
  const [{ printedBy }, trace] = await Promise.all([
    import("./printed.js"),
    execution.floor.call("debug_traceTransaction", execution.hash, { tracer: "callTracer" }),
  ]);
  const inputs = inputsIn(trace);
  const lines = await Promise.all(
    calls.map(async (it, at) => {
      const step = await callStep(execution, it);
      const owner = it.parent === null ? null : frames[it.parent];
      const line = step < 0 || !owner ? null : await ownLine(execution, step, owner.source);
      const where = [owner?.contract ? readable(owner.contract) : "", line ?? ""].filter((part) => part !== "");
      return { step, where: where.join(":"), text: printedBy(inputs[at] ?? "0x") ?? "something that is not text" };
    }),
  );
  return (now) =>
    h(
      "section.values.printed",
      h("header", h("h2", "Console"), h("span.small.muted", plural(lines.length, "line"))),
      h(
        "ol",
        lines.map(({ step, where, text }) =>
          h(step >= now ? "li.later" : "li", h("span.muted", where), h("span", plain(text))),
        ),
      ),
    );
}

/**
 * The step that made a call: each of its frame makes one; -1 if not all steps are recorded.
 * @param {import("./execution.js").Execution} execution
 * @param {import("./execution.js").Frame} frame
 */
async function callStep(execution, frame) {
  const { frames, steps } = execution.found;
  const caller = frame.parent === null ? null : frames[frame.parent];
  if (execution.length < steps || caller === null || caller.firstStep === null) return -1;
  let before = frames.slice(0, frames.indexOf(frame)).filter((it) => it.parent === frame.parent).length;
  return execution.walk(
    caller.firstStep,
    1,
    (it) => it.frame === frame.parent && /CALL(CODE)?$|^CREATE/.test(it.op) && before-- === 0,
  );
}

/**
 * The line of a contract's own file that led to a call, through a library that makes it.
 * @param {import("./execution.js").Execution} execution
 * @param {number} step
 * @param {number | null} source
 */
async function ownLine(execution, step, source) {
  const { frame } = await execution.load(step);
  const at = await execution.find(step, -1, (it) => it.frame === frame && it.line !== null && it.source === source);
  return execution.steps.get(at)?.line ?? null;
}

/**
 * The inputs of the calls of the console, in the order of the calls.
 * @param {any} frame
 * @returns {string[]}
 */
const inputsIn = (frame) =>
  frame.to === CONSOLE ? [frame.input] : (frame.calls ?? []).slice(0, 10_000).flatMap(inputsIn);
