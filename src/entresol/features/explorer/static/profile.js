/** The depth profile of an execution: stairs down into calls and back, on which a step can be chosen. */

import { h, s, show } from "./dom.js";
import { count } from "./format.js";

const STEP_HEIGHT = 17;
const MAX_HEIGHT = 120;
const TOP = 12;
const MAX_LABELS = 40;
// A letter of the labels is about this wide.
const LETTER = 6.6;
const FAR = 20;
// What is not recorded has the same width, however long it is.
const GAP = 40;
// The dot at the end has its room.
const END = 6;

/**
 * @param {import("./execution.js").Execution} execution
 * @param {(frame: import("./execution.js").Frame) => string} nameOf
 * @param {(step: number) => void} onchoose
 */
export function profile(execution, nameOf, onchoose) {
  const { frames, steps, failed } = execution.found;
  const deepest = frames.reduce((most, it) => (it.firstStep === null ? most : Math.max(most, it.depth)), 1);
  const rise = Math.min(STEP_HEIGHT, MAX_HEIGHT / deepest);
  const height = Math.max(48, 2 * TOP + deepest * rise);
  const drawing = s("svg", { height, "aria-hidden": "true" });
  const element = h(
    "div.profile",
    { tabindex: 0, role: "slider", "aria-label": "Step", "aria-valuemin": 0, "aria-valuemax": steps - 1 },
    drawing,
  );
  element.style.height = `${height}px`;
  let [now, width] = [0, 0];
  let scale = scaleOf(execution, 0);
  const x = (/** @type {number} */ step) => scale.x(step);
  const y = (/** @type {number} */ depth) => TOP + Math.max(0, depth - 1) * rise;
  const [marker, past] = [s("g.now"), s("rect.past", { y: 0, x: 0, height })];
  const mark = () => {
    past.setAttribute("width", String(x(now)));
    show(
      marker,
      s("path", { d: `M${x(now)} 0V${height}` }),
      s("circle", { cx: x(now), cy: y(depthOf(frames, now)), r: 5 }),
    );
  };
  const draw = () => {
    width = element.clientWidth;
    scale = scaleOf(execution, width - END);
    drawing.setAttribute("width", String(width));
    show(
      drawing,
      past,
      scale.gaps.map((from) => s("rect.gap", { x: from, y: 0, width: GAP, height })),
      s("path.stairs-line", { d: pathOf(frames, steps, x, y) }),
      labels(frames, nameOf, x, y, rise),
      failed ? s("circle.end", { cx: x(steps - 1), cy: y(depthOf(frames, steps - 1)), r: 5 }) : null,
      marker,
    );
    mark();
  };
  const chooseAt = (/** @type {PointerEvent} */ event) =>
    onchoose(execution.stepAt(scale.placeAt(event.clientX - element.getBoundingClientRect().left)));
  element.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => {
    element.setPointerCapture(event.pointerId);
    chooseAt(event);
  });
  element.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => {
    if (element.hasPointerCapture(event.pointerId)) chooseAt(event);
  });
  element.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const by = /** @type {Record<string, number>} */ ({
      ArrowRight: 1,
      ArrowUp: 1,
      ArrowLeft: -1,
      ArrowDown: -1,
      PageUp: FAR,
      PageDown: -FAR,
      Home: -Infinity,
      End: Infinity,
    })[event.key];
    if (by === undefined) return;
    event.preventDefault();
    onchoose(execution.beside(now, by));
  });
  const observer = new ResizeObserver(() => element.clientWidth !== width && draw());
  observer.observe(element);
  return {
    element,
    leave: () => observer.disconnect(),
    /**
     * @param {number} step
     * @param {string} words what is there
     */
    go(step, words) {
      now = step;
      element.setAttribute("aria-valuenow", String(step));
      element.setAttribute("aria-valuetext", `step ${count(step)} of ${count(steps - 1)}, ${words}`);
      if (width) mark();
    },
  };
}

/**
 * How deep a step is: in the last of the frames that hold it.
 * @param {import("./execution.js").Frame[]} frames
 * @param {number} step
 */
const depthOf = (frames, step) =>
  frames.findLast((it) => it.firstStep !== null && it.lastStep !== null && it.firstStep <= step && step <= it.lastStep)
    ?.depth ?? 1;

/**
 * One line down into each call that ran code, and back.
 * @param {import("./execution.js").Frame[]} frames
 * @param {number} steps
 * @param {(step: number) => number} x
 * @param {(depth: number) => number} y
 */
function pathOf(frames, steps, x, y) {
  /** @type {[number, number][]} steps with the depth from there on */
  const turns = [];
  for (const { depth, firstStep, lastStep } of frames) {
    if (firstStep === null || lastStep === null) continue;
    turns.push([firstStep, depth], [lastStep + 1, depth - 1]);
  }
  // Of several at one step the last one counts: a call that begins where another has ended.
  turns.sort((a, b) => a[0] - b[0]);
  const byX = new Map(turns.map(([step, depth]) => [x(step), depth]));
  byX.delete(x(steps));
  return `M0 ${y(1)}${[...byX].map(([at, depth]) => `H${at}V${y(depth)}`).join("")}H${x(Math.max(1, steps - 1))}`;
}

/**
 * The names of calls that have the room.
 * @param {import("./execution.js").Frame[]} frames
 * @param {(frame: import("./execution.js").Frame) => string} nameOf
 * @param {(step: number) => number} x
 * @param {(depth: number) => number} y
 * @param {number} rise
 */
function labels(frames, nameOf, x, y, rise) {
  if (rise < 12) return null;
  const found = [];
  for (const it of frames) {
    if (it.firstStep === null || it.lastStep === null || it.depth < 2) continue;
    const name = nameOf(it).slice(0, 40);
    if (x(it.lastStep) - x(it.firstStep) > name.length * LETTER + 12 && found.length < MAX_LABELS)
      found.push(s("text", { x: x(it.firstStep) + 9, y: y(it.depth) - 4 }, name));
  }
  return found;
}

/**
 * Where steps are drawn: those that are recorded share the width, and what is not has a gap.
 * @param {import("./execution.js").Execution} execution
 * @param {number} width
 */
function scaleOf({ found, length }, width) {
  const { recorded, steps } = found;
  const isLost = recorded.map((it, at) => it.from + it.count < (recorded[at + 1]?.from ?? steps));
  const each = Math.max(0, width - GAP * isLost.filter(Boolean).length) / Math.max(1, length - 1);
  const gaps = /** @type {number[]} */ ([]);
  let [place, left] = [0, 0];
  const spans = recorded.map(({ from, count }, at) => {
    const span = { from, count, place, left };
    place += count;
    left += each * count;
    if (isLost[at]) {
      gaps.push(left);
      left += GAP;
    }
    return span;
  });
  return {
    gaps,
    /** @param {number} step */
    x(step) {
      const span = spans.findLast((it) => it.from <= step) ?? spans[0];
      const isEnd = step >= steps - 1;
      return Math.round(10 * (isEnd ? width : span.left + each * Math.min(span.count, step - span.from))) / 10;
    },
    /** @param {number} at */
    placeAt(at) {
      const span = spans.findLast((it) => it.left <= at) ?? spans[0];
      return span.place + Math.max(0, Math.min(span.count - 1, Math.round((at - span.left) / Math.max(each, 1e-9))));
    },
  };
}
