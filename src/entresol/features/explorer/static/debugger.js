/** The debugger itself: where it is in an execution, what leads elsewhere, and the panes that show it. */

import { called } from "./describe.js";
import { h, icon, say, show } from "./dom.js";
import { checksum, count, plain, short } from "./format.js";
import { inspected } from "./inspect.js";
import { areOff } from "./keys.js";
import { frameName, openList, openName } from "./opened.js";
import { consoleView } from "./outputs.js";
import { profile } from "./profile.js";
import { fileList, opcodeView, place, sourceView } from "./source.js";
import { readable } from "./stack.js";

/** @typedef {import("./execution.js").Detail} Detail */
/** @typedef {import("./execution.js").Open} Open */
/** @typedef {"first" | "back" | "next" | "into" | "out" | "last"} Move */

/** @type {[Move, string, string, string, string][]} a move, its word, its key, what it does, and its icon */
const MOVES = [
  ["first", "", "h", "To the first step", "M4 3v10M12 3L6.5 8 12 13z"],
  ["back", "Back", "b", "Back to the line before", "M10 3L5 8l5 5"],
  ["next", "Next line", "n", "To the next line, over calls", "M6 3l5 5-5 5"],
  ["into", "Into", "i", "Into the next call", "M8 2v8M4.5 7L8 10.5 11.5 7M3 13.5h10"],
  ["out", "Out", "o", "Out of this function", "M8 11V3M4.5 6L8 2.5 11.5 6M3 13.5h10"],
  ["last", "", "e", "To the last step", "M12 3v10M4 3l5.5 5L4 13z"],
];

export class Debugger {
  /**
   * @param {import("./execution.js").Execution} execution
   * @param {number} failure the step that failed; -1 if none did
   */
  constructor(execution, failure) {
    this.execution = execution;
    this.failure = failure;
    this.layer = execution.floor.name;
    this.now = -1;
    this.byLines = true;
    /** @type {Detail | null} */
    this.detail = null;
    /** @type {Detail | null} what held where the last move began */
    this.before = null;
    /** @type {number | null} an open function whose line is shown, if it is not the innermost */
    this.chosen = null;
    this.isBusy = false;
    /** @type {(() => Promise<number>) | null} the last of the moves that came while it was busy */
    this.waiting = null;
    const goTo = (/** @type {number} */ step) => this.perform(async () => step);
    this.source = sourceView(execution, (source, line) => this.perform(() => execution.reach(this.now, source, line)));
    this.opcodes = opcodeView(execution, goTo);
    this.profile = profile(execution, (it) => frameName(it, this.layer), goTo);
    this.buttons = MOVES.map((it) => this.button(it));
    this.press = this.press.bind(this);
    this.panes = {
      position: h("p.position"),
      problem: h("div"),
      stack: h("section.open"),
      files: h("div"),
      head: h("header"),
      code: h("div"),
      values: h("div"),
      console: h("div"),
    };
    /** @type {((now: number) => Node | null) | null} */
    this.printed = null;
  }

  get elements() {
    const { position, problem, stack, files, head, code, values, console } = this.panes;
    return [
      h("div.moves", h("div", { role: "group", "aria-label": "Steps" }, this.buttons), position),
      this.profile.element,
      problem,
      h(
        "div.debugger",
        h("div.left", stack, files),
        h("section.pane", { "aria-label": "Code" }, head, code),
        h("div.right", values, console),
      ),
    ];
  }

  /**
   * @param {number} step
   * @param {boolean} byLines
   */
  async begin(step, byLines) {
    this.byLines = byLines;
    document.addEventListener("keydown", this.press);
    await this.go(step, this.execution.hasLines ? await this.execution.back(step) : this.execution.beside(step, -1));
    // The panes have a size once they are part of the page.
    requestAnimationFrame(() => this.draw());
    consoleView(this.execution).then((it) => {
      this.printed = it;
      show(this.panes.console, it(this.now));
    }, console.info);
  }

  leave() {
    document.removeEventListener("keydown", this.press);
    this.profile.leave();
  }

  /** @param {(typeof MOVES)[0]} move */
  button([move, word, key, title, path]) {
    return h(
      move === "next" ? "button.small.primary" : "button.small",
      {
        type: "button",
        title,
        "aria-label": word ? null : title,
        "aria-keyshortcuts": key,
        onclick: () => this.move(move),
      },
      icon(path),
      word ? h("span", word) : null,
      h("kbd", { "aria-hidden": "true" }, key),
    );
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    const isTyped = target.closest("input, textarea, select, [contenteditable], dialog");
    if (event.defaultPrevented || isTyped || event.ctrlKey || event.metaKey || event.altKey || areOff()) return;
    const move = MOVES.find(([, , key]) => key === event.key)?.[0];
    if (move) this.move(move);
    else if (event.key === "." || event.key === ",")
      this.perform(async () => this.execution.beside(this.now, event.key === "." ? 1 : -1));
    else if (event.key === "v")
      /** @type {HTMLElement | null} */ (document.querySelector(".head .choice [aria-pressed=false]"))?.click();
    else return;
    event.preventDefault();
  }

  /** @param {Move} move */
  move(move) {
    const { execution } = this;
    return this.perform(async () => {
      if (move === "first") return execution.stepAt(0);
      if (move === "last") return execution.last;
      if (this.byLines) return execution[move === "next" ? "over" : move](this.now);
      if (move === "back" || move === "into") return execution.beside(this.now, move === "into" ? 1 : -1);
      return execution.past(this.now, move === "out");
    });
  }

  /**
   * Go where a move leads, one at a time; of those that come meanwhile only the last one counts.
   * @param {() => Promise<number>} find
   */
  async perform(find) {
    this.waiting = find;
    if (this.isBusy) return;
    this.isBusy = true;
    try {
      while (this.waiting) {
        const next = this.waiting;
        this.waiting = null;
        const to = await next();
        if (to >= 0) await this.go(to, this.now);
      }
      show(this.panes.problem);
    } catch (error) {
      const { errorBox } = await import("./view.js");
      show(this.panes.problem, errorBox(error));
    } finally {
      this.isBusy = false;
    }
  }

  /**
   * @param {number} step
   * @param {number} from the step that what has changed is told from
   */
  async go(step, from) {
    const { execution } = this;
    const [detail, before, lined] = await Promise.all([
      execution.detail(step),
      from === this.now || from === step ? this.detail : execution.detail(from),
      execution.lined(step),
    ]);
    if (step !== this.now) this.before = before;
    // What the compiler added has no line of its own.
    const open = detail.callStack.at(-1);
    if (open && open.line === null && lined) Object.assign(open, { source: lined.source, line: lined.line });
    [this.now, this.detail, this.chosen] = [step, detail, null];
    this.draw();
    this.keepLink();
  }

  /** @param {boolean} byLines */
  turn(byLines) {
    this.byLines = byLines;
    this.draw();
    this.keepLink();
  }

  keepLink() {
    const [path] = location.hash.split("?");
    const view = this.byLines || !this.execution.hasLines ? "" : "&view=opcodes";
    if (path.endsWith("/steps")) history.replaceState(null, "", `${path}?n=${this.now}${view}`);
  }

  draw() {
    const { detail, execution, layer, panes } = this;
    if (!detail) return;
    const { frames, sources, steps } = execution.found;
    const frame = frames[detail.frame];
    const last = detail.callStack.length - 1;
    const open = detail.callStack[this.chosen ?? last];
    const isSource = this.byLines && Boolean(sources[open?.source ?? -1]?.text);
    const words = `${open ? openName(open, layer) : ""} ${open?.line ? `line ${open.line}` : plain(detail.op)}`;
    show(
      panes.position,
      ["step ", h("b", count(this.now)), ` of ${count(steps - 1)}`],
      [" · gas left ", h("b", count(detail.gas))],
      [" · depth ", h("b", count(frame?.depth ?? 0))],
    );
    this.drawMoves();
    this.profile.go(this.now, words);
    if (isSource) this.showSource(Number(open?.source), open?.line ?? null, this.tone());
    else this.showOpcodes(open);
    const choose = (/** @type {number} */ at) => {
      this.chosen = at === last ? null : at;
      this.draw();
    };
    const sender = frames[0]?.from ?? null;
    show(panes.stack, h("h2", "Call stack"), openList(detail.callStack, this.chosen ?? last, sender, layer, choose));
    this.showFiles(isSource ? Number(open?.source) : -1);
    const { storageAddress: owner } = detail;
    const isOwn = frame?.contract && (owner === frame.to || owner === null);
    const account = isOwn ? readable(String(frame.contract)) : owner ? called(owner, layer) : "a new contract";
    show(panes.values, inspected(detail, this.before, { layer, account, withStack: !isSource }));
    show(panes.console, this.printed?.(this.now));
    if (panes.code.isConnected) say(words);
  }

  drawMoves() {
    const [isFirst, isLast] = [this.now === this.execution.stepAt(0), this.now === this.execution.last];
    this.buttons.forEach((it, at) => {
      it.disabled = at < 2 ? isFirst : isLast;
    });
    show(/** @type {Element} */ (this.buttons[2].querySelector("span")), this.byLines ? "Next line" : "Next opcode");
  }

  tone() {
    if (this.chosen !== null) return ".outer";
    return this.now === this.failure ? ".bad" : "";
  }

  /**
   * @param {number} source
   * @param {number | null} line
   * @param {string} tone
   */
  showSource(source, line, tone) {
    const { sources, gasByLine } = this.execution.found;
    this.showHead(readable(sources[source].name), gasByLine ? "gas by line, this transaction" : "");
    place(this.panes.code, this.source.element);
    this.source.show(source, line, tone);
  }

  /** @param {Open | undefined} open */
  showOpcodes(open) {
    const whose = open?.address ? short(checksum(open.address)) : "this contract";
    const isMissing = this.byLines && this.execution.hasLines;
    this.showHead("Opcodes", isMissing ? `no source of ${whose} is known` : "gas of each step");
    place(this.panes.code, this.opcodes.element);
    this.opcodes.show(this.now, this.tone());
  }

  /**
   * @param {string} title
   * @param {string} aside
   */
  showHead(title, aside) {
    const jumps = this.execution.found.frames[this.detail?.frame ?? 0]?.optimized
      ? h("span.badge.mid", { title: "It was compiled with an optimizer." }, "lines may jump")
      : null;
    show(this.panes.head, h("h2.mono", title), jumps, h("span.small.muted", aside));
  }

  /** @param {number} shown */
  showFiles(shown) {
    const browse = (/** @type {number} */ source) => {
      const open = this.detail?.callStack.at(-1);
      this.showSource(source, open?.source === source ? open.line : null, this.tone());
      this.showFiles(source);
    };
    show(this.panes.files, this.execution.hasLines ? fileList(this.execution, shown, browse) : null);
  }
}
