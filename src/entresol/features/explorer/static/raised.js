/** Where in an execution a failure was raised. */

/**
 * The step that failed: in the innermost function of the stack trace, or else at the end of the call that raised it; -1
 * if that was not recorded.
 * @param {import("./execution.js").Execution} execution
 */
export async function failureOf(execution) {
  const raised = raiser(execution.found);
  if (execution.stepAt(execution.placeOf(raised)) !== raised) return -1;
  const inner = execution.found.stackTrace?.frames.at(-1);
  const at = inner ? await execution.lastAt(inner, raised) : -1;
  return at < 0 ? raised : at;
}

/**
 * The last step of the innermost call that failed with what the outermost passed on.
 * @param {import("./execution.js").Found} found
 */
function raiser({ frames, steps }) {
  let at = 0;
  for (let next = 0; next >= 0; ) {
    at = next;
    const inner = frames.findLastIndex((it) => it.parent === at && it.firstStep !== null);
    next = inner >= 0 && frames[inner].failed && frames[inner].outputSize === frames[at].outputSize ? inner : -1;
  }
  return frames[at]?.lastStep ?? steps - 1;
}
