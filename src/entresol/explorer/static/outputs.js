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
      const step = it.callStep ?? null;
      const place =
        step === null || execution.stepAt(execution.placeOf(step)) !== step ? null : await execution.load(step);
      const owner = it.parent === null ? null : frames[it.parent].contract;
      const where = [owner === null ? "" : readable(owner), place?.line ?? ""].filter((part) => part !== "").join(":");
      return { step, where, text: printedBy(inputs[at] ?? "0x") ?? "something that is no text" };
    }),
  );
  return (now) =>
    h(
      "section.values.printed",
      h("header", h("h2", "Console"), h("span.small.muted", plural(lines.length, "line"))),
      h(
        "ol",
        lines.map(({ step, where, text }) =>
          h(step !== null && step >= now ? "li.later" : "li", h("span.muted", where), h("span", plain(text))),
        ),
      ),
    );
}

/**
 * The inputs of the calls of the console, in the order of the calls.
 * @param {any} frame
 * @returns {string[]}
 */
const inputsIn = (frame) =>
  frame.to === CONSOLE ? [frame.input] : (frame.calls ?? []).slice(0, 10_000).flatMap(inputsIn);
