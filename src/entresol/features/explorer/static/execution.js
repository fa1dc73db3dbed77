/**
 * An execution that was recorded: its steps, fetched by pages, and the ways from one to another.
 *
 * @typedef {{address: string, slot: string, before: string, after: string, transient?: boolean}} Change
 * @typedef {{op: string, pc: number, gas: number, cost: number, frame: number, functions: number, source: number | null,
 *   line: number | null, error: string | null, change: Change | null}} Step
 * @typedef {{parent: number | null, depth: number, type: string, from: string, to: string | null, failed: boolean,
 *   error: string | null, outputSize: number, firstStep: number | null, lastStep: number | null,
 *   contract: string | null, function: string | null, source: number | null, optimized: boolean | null}} Frame
 * @typedef {{name: string, text: string | null, gas: number}} Source
 * @typedef {{failed: boolean, error: string | null, steps: number, recorded: {from: number, count: number}[],
 *   frames: Frame[], omittedFrames: number, sources: Source[], omittedSources: number, optimized: boolean | null,
 *   gasByLine: {source: number, line: number, gas: number, steps: number}[] | null,
 *   stackTrace: import("./stack.js").Trace | null}} Found
 * @typedef {{frame: number, contract: string | null, function: string | null, source: number | null,
 *   line: number | null, file: string | null, address: string | null}} Open a function that is open
 * @typedef {{name: string, type: string, value: string | null, isCertain?: boolean}} Variable
 * @typedef {{slot: string, before: string, value: string, transient: boolean, variables: Variable[]}} Slot
 * @typedef {Step & {step: number, callStack: Open[], stack: string[] | null, memory: string | null, memorySize: number | null,
 *   storageAddress: string | null, storage: Slot[] | null, variables: Variable[]}} Detail
 */

import { patiently } from "./patience.js";

const PAGE = 2000;
// Functions of one frame; those of an inner frame are deeper, whatever their number.
const MANY = 1e6;

export class Execution {
  /**
   * @param {import("./rpc.js").Floor} floor
   * @param {string} hash
   * @param {Found} found
   */
  constructor(floor, hash, found) {
    this.floor = floor;
    this.hash = hash;
    this.found = found;
    /** @type {Map<number, Step>} */
    this.steps = new Map();
    /** @type {Map<number, Promise<void>>} by the first step of each page */
    this.pages = new Map();
    /** How many steps are recorded. */
    this.length = found.recorded.reduce((sum, it) => sum + it.count, 0);
    this.hasLines = found.sources.some((it) => it.text !== null);
  }

  /** The last step; -1 if no code ran. */
  get last() {
    return this.length ? this.stepAt(this.length - 1) : -1;
  }

  /**
   * The step that is recorded at a place of the list of all that are.
   * @param {number} at
   */
  stepAt(at) {
    let rest = at;
    for (const { from, count } of this.found.recorded) {
      if (rest < count) return from + rest;
      rest -= count;
    }
    throw new RangeError(`no step is recorded at ${at}`);
  }

  /**
   * Where a step is in the list of those that are recorded; of one that is not, the next that is.
   * @param {number} step
   */
  placeOf(step) {
    let before = 0;
    for (const { from, count } of this.found.recorded) {
      if (step < from + count) return before + Math.max(0, step - from);
      before += count;
    }
    return Math.max(0, before - 1);
  }

  /**
   * @param {number} step
   * @param {number} by
   */
  beside(step, by) {
    return this.stepAt(Math.max(0, Math.min(this.length - 1, this.placeOf(step) + by)));
  }

  /**
   * Fetch the page of a step, unless it is here.
   * @param {number} step one that is recorded
   * @returns {Promise<Step>}
   */
  async load(step) {
    if (!this.steps.has(step)) await this.fetch(step);
    return /** @type {Step} */ (this.steps.get(step));
  }

  /** @param {number} step */
  fetch(step) {
    const range = this.found.recorded.find(({ from, count }) => step >= from && step < from + count);
    if (!range) throw new RangeError(`step ${step} is not recorded`);
    const from = step - ((step - range.from) % PAGE);
    let page = this.pages.get(from);
    if (!page) {
      const count = Math.min(PAGE, range.from + range.count - from);
      page = this.fetchPage(from, count).catch((error) => {
        this.pages.delete(from);
        throw error;
      });
      this.pages.set(from, page);
    }
    return page;
  }

  /**
   * @param {number} from
   * @param {number} count
   */
  async fetchPage(from, count) {
    const { steps } = await patiently(this.floor, "entresol_getExecutionSteps", this.hash, from, count);
    for (const [at, it] of steps.entries()) this.steps.set(from + at, it);
  }

  /**
   * The next step on either side that passes; -1 if none does.
   * @param {number} step
   * @param {1 | -1} by
   * @param {(it: Step) => boolean} test
   */
  find(step, by, test) {
    return this.walk(this.placeOf(step) + by, by, test);
  }

  /**
   * The first step from a place of the list on that passes; -1 if none does.
   * @param {number} place
   * @param {1 | -1} by
   * @param {(it: Step) => boolean} test
   */
  async walk(place, by, test) {
    for (let at = place; at >= 0 && at < this.length; at += by) {
      const it = this.stepAt(at);
      if (test(this.steps.get(it) ?? (await this.load(it)))) return it;
    }
    return -1;
  }

  /** @param {Step} it */
  depth(it) {
    return this.found.frames[it.frame]?.depth ?? 0;
  }

  /**
   * How deep a step is, in calls and in functions. The function that a call is for has the level of the code that chooses
   * it, so that the next line after its beginning is the first one inside; a constructor is its frame's beginning.
   * @param {Step} it
   */
  level(it) {
    const isCreation = this.found.frames[it.frame]?.type.startsWith("CREATE");
    return this.depth(it) * MANY + (isCreation ? it.functions : Math.max(1, it.functions));
  }

  /**
   * The step whose line a step belongs to: of one that the compiler added, the one before in the same function, or else
   * the next in its frame. It is null if there is none.
   * @param {number} step
   * @returns {Promise<Step | null>}
   */
  async lined(step) {
    const it = await this.load(step);
    if (it.line !== null) return it;
    const level = this.level(it);
    const isOf = (/** @type {Step} */ other) => other.line !== null && this.level(other) === level;
    const before = this.steps.get(await this.find(step, -1, (other) => this.level(other) < level || isOf(other)));
    if (before && isOf(before)) return before;
    const after = this.steps.get(await this.find(step, 1, (other) => this.level(other) < level || other.line !== null));
    return after && after.frame === it.frame ? after : null;
  }

  /** @param {number} step */
  async lineOf(step) {
    const it = await this.lined(step);
    return it && lineIn(it);
  }

  /**
   * The next line of this function, or of one that called it.
   * @param {number} step
   */
  async over(step) {
    const [level, line] = [this.level(await this.load(step)), await this.lineOf(step)];
    const isNext = (/** @type {Step} */ it) => {
      const other = it.line === null ? Infinity : this.level(it);
      return other < level || (other === level && lineIn(it) !== line);
    };
    return this.orLast(await this.find(step, 1, isNext));
  }

  /**
   * The next line of whatever runs.
   * @param {number} step
   */
  async into(step) {
    const [level, line] = [this.level(await this.load(step)), await this.lineOf(step)];
    return this.orLast(
      await this.find(step, 1, (it) => it.line !== null && (lineIn(it) !== line || this.level(it) !== level)),
    );
  }

  /**
   * The line that called this function.
   * @param {number} step
   */
  async out(step) {
    const level = this.level(await this.load(step));
    return this.orLast(await this.find(step, 1, (it) => it.line !== null && this.level(it) < level));
  }

  /**
   * Where the line before began, of this function or of one that called it.
   * @param {number} step
   */
  async back(step) {
    const [level, line] = [this.level(await this.load(step)), await this.lineOf(step)];
    const end = await this.find(step, -1, (it) => {
      const other = it.line === null ? Infinity : this.level(it);
      return other < level || (other === level && lineIn(it) !== line);
    });
    if (end < 0) return this.stepAt(0);
    const found = /** @type {Step} */ (this.steps.get(end));
    const [outer, wanted] = [this.level(found), lineIn(found)];
    const before = await this.find(
      end,
      -1,
      (it) => this.level(it) < outer || (it.line !== null && this.level(it) === outer && lineIn(it) !== wanted),
    );
    const begin = before < 0 ? 0 : this.placeOf(before) + 1;
    return this.walk(begin, 1, (it) => this.level(it) === outer && lineIn(it) === wanted);
  }

  /**
   * The next step that is equally deep, or less deep: what stepping by opcodes calls over and out.
   * @param {number} step
   * @param {boolean} isOut
   */
  async past(step, isOut) {
    const depth = this.depth(await this.load(step)) - Number(isOut);
    return this.orLast(await this.find(step, 1, (it) => this.depth(it) <= depth));
  }

  /** @param {number} step */
  orLast(step) {
    return step < 0 ? this.last : step;
  }

  /**
   * Where a line runs next, or else where it ran first; -1 if it never does.
   * @param {number} step
   * @param {number} source
   * @param {number} line
   */
  async reach(step, source, line) {
    const test = (/** @type {Step} */ it) => it.source === source && it.line === line;
    // Not the rest of the run that the step is in.
    const away = await this.find(step, 1, (it) => it.line !== null && !test(it));
    const next = away < 0 ? -1 : await this.find(away, 1, test);
    return next < 0 ? this.walk(0, 1, test) : next;
  }

  /**
   * The last step at the place that a stack trace names, up to another one; -1 if it has none.
   * @param {import("./stack.js").Frame} frame
   * @param {number} end
   */
  lastAt({ file, line }, end) {
    const source = this.found.sources.findIndex((it) => it.name === file);
    if (source < 0 || line === null) return Promise.resolve(-1);
    return this.walk(this.placeOf(end), -1, (it) => it.source === source && it.line === line);
  }

  /**
   * What holds before a step runs.
   * @param {number} step
   * @returns {Promise<Detail>}
   */
  detail(step) {
    return patiently(this.floor, "entresol_getExecutionStep", this.hash, step);
  }
}

/** @param {Step} it */
const lineIn = (it) => `${it.source}:${it.line}`;
