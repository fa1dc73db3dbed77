/** The source beside its gas, line by line, and the opcodes in the same layout. */

import { h, show } from "./dom.js";
import { big, count, short } from "./format.js";
import { readable } from "./stack.js";
import { windowed } from "./windowed.js";

const MAX_COLUMNS = 400;
const MAX_LINES = 200_000;
const BAR = 52;
const WORDS =
  /^(abstract|address|anonymous|as|assembly|bool|break|bytes\d*|calldata|case|catch|constant|constructor|continue|contract|def|default|delete|do|elif|else|emit|enum|error|event|external|fallback|false|fixed|for|from|function|if|immutable|implements|import|in|indexed|interface|internal|is|let|library|mapping|memory|modifier|new|override|payable|pragma|private|public|pure|raise|receive|return|returns|revert|self|storage|string|struct|super|switch|this|throw|transient|true|try|type|u?int\d*|unchecked|using|view|virtual|while)$/;
// What hides, or turns the direction of what follows, is shown by its number.
const TOKENS = /\/\/.*|\/\*.*?(?:\*\/|$)|"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?|\w+|\s+|./gu;
const MARKS = /\/\*|\/\/|["'\n]/g;
const VYPER_TOKENS = /#.*|"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?|\w+|\s+|./gu;
const VYPER_MARKS = /"""|#|["'\n]/g;
const END = /\*\/|"""/;
const HIDDEN = /[^\P{C}\t]/gu;

/**
 * The lines of a source, with those that begin within a comment.
 * @param {string} text
 * @param {boolean} isVyper
 */
export function linesOf(text, isVyper) {
  const lines = text.split("\n", MAX_LINES);
  const within = new Uint8Array(lines.length);
  const marks = new RegExp(isVyper ? VYPER_MARKS : MARKS);
  let line = 0;
  for (let found = marks.exec(text); found && line < lines.length; found = marks.exec(text)) {
    const [mark] = found;
    if (mark === "\n") line++;
    else if (mark === "//" || mark === "#") marks.lastIndex = endOf(text, "\n", marks.lastIndex);
    else if (mark === "/*" || mark === '"""') {
      const end = endOf(text, mark === "/*" ? "*/" : mark, marks.lastIndex);
      for (
        let at = text.indexOf("\n", marks.lastIndex);
        at >= 0 && at < end && line + 1 < lines.length;
        at = text.indexOf("\n", at + 1)
      )
        within[++line] = 1;
      marks.lastIndex = Math.min(text.length, end + mark.length);
    } else marks.lastIndex = afterString(text, mark, marks.lastIndex);
  }
  return { lines, within, tokens: isVyper ? VYPER_TOKENS : TOKENS };
}

/**
 * @param {string} text
 * @param {string} mark
 * @param {number} from
 */
function endOf(text, mark, from) {
  const at = text.indexOf(mark, from);
  return at < 0 ? text.length : at;
}

/**
 * Where a string ends, which no line break is in.
 * @param {string} text
 * @param {string} quote
 * @param {number} from
 */
function afterString(text, quote, from) {
  for (let at = from; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === quote) return at + 1;
    else if (text[at] === "\n") return at;
  }
  return text.length;
}

/**
 * One line of source, as text and words of the language.
 * @param {string} line
 * @param {boolean} isWithin whether it begins within a comment
 * @param {RegExp} tokens
 * @returns {(Node | string)[]}
 */
function marked(line, isWithin, tokens) {
  const cut = line.length > MAX_COLUMNS ? `${line.slice(0, MAX_COLUMNS)}…` : line;
  const end = isWithin ? cut.search(END) : -1;
  const comment = isWithin ? (end < 0 ? cut : cut.slice(0, end + (END.exec(cut)?.[0].length ?? 0))) : "";
  const parts = [...(cut.slice(comment.length).match(tokens) ?? [])];
  /** @type {(Node | string)[]} */
  const found = comment ? [h("span.comment", ...visible(comment))] : [];
  for (const it of parts) {
    if (/^(\/\/|\/\*|#)/.test(it)) found.push(h("span.comment", ...visible(it)));
    else if (WORDS.test(it)) found.push(h("span.word", it));
    else found.push(...visible(it));
  }
  return found;
}

/**
 * @param {string} text
 * @returns {(Node | string)[]}
 */
function visible(text) {
  if (text.search(HIDDEN) < 0) return [text];
  return text
    .split(/([^\P{C}\t])/u)
    .filter(Boolean)
    .map((it) =>
      it.search(HIDDEN) < 0
        ? it
        : h("span.hidden-mark", `\\u${/** @type {number} */ (it.codePointAt(0)).toString(16).padStart(4, "0")}`),
    );
}

/**
 * The gutter: gas, a bar of it, a number, and a mark where the execution is.
 * @param {number | null} gas
 * @param {number} most
 * @param {number} number
 * @param {boolean} isHere
 */
function gutter(gas, most, number, isHere) {
  const bar = h("i");
  bar.style.width = `${gas ? Math.max(2, (BAR * gas) / Math.max(1, most)) : 0}px`;
  return [
    h("span.gas", gas === null ? "" : count(gas)),
    h("span.gas-bar", bar),
    h("span.no", String(number)),
    h("span.mark", isHere ? "▸" : ""),
  ];
}

/**
 * @param {import("./execution.js").Execution} execution
 * @param {(source: number, line: number) => void} onchoose
 */
export function sourceView(execution, onchoose) {
  const { sources, gasByLine } = execution.found;
  /** @type {Map<number, ReturnType<typeof linesOf>>} */
  const texts = new Map();
  /** @type {{source: number, line: number, tone: string}} */
  let at = { source: -1, line: 0, tone: "" };
  let [shown, most] = [-1, 1];
  /** @type {Map<number, number>} */
  let gas = new Map();
  const list = windowed("Source", (row) => {
    const { lines, within, tokens } = /** @type {ReturnType<typeof linesOf>} */ (texts.get(shown));
    const line = row + 1;
    const isHere = at.source === shown && at.line === line;
    return h(
      `div.line${isHere ? `.here${at.tone}` : ""}${gas.has(line) ? ".ran" : ""}`,
      { "aria-current": isHere ? "step" : null },
      gutter(gas.get(line) ?? null, most, line, isHere),
      h("span.code", marked(lines[row], within[row] === 1, tokens)),
    );
  });
  list.element.addEventListener("click", (event) => {
    const line = list.rowAt(event) + 1;
    if (gas.has(line) && getSelection()?.isCollapsed) onchoose(shown, line);
  });
  return {
    element: list.element,
    list,
    /**
     * Show a file, and the line that is next in it.
     * @param {number} source
     * @param {number | null} line
     * @param {string} tone of the line
     */
    show(source, line, tone) {
      if (source !== shown) {
        if (!texts.has(source))
          texts.set(source, linesOf(sources[source].text ?? "", /\.vyi?$/.test(sources[source].name)));
        const own = (gasByLine ?? []).filter((it) => it.source === source);
        gas = new Map(own.map((it) => [it.line, it.gas]));
        most = own.reduce((sum, it) => Math.max(sum, it.gas), 1);
        shown = source;
        list.resize(/** @type {any} */ (texts.get(source)).lines.length);
        list.element.scrollTop = 0;
      }
      at = { source: line === null ? -1 : source, line: line ?? 0, tone };
      if (line !== null) list.reveal(line - 1);
      list.redraw();
    },
  };
}

/**
 * @param {import("./execution.js").Execution} execution
 * @param {(step: number) => void} onchoose
 */
export function opcodeView(execution, onchoose) {
  let [now, tone] = [0, ""];
  // The dearest of ordinary instructions, so that one call does not flatten all others.
  const most = 22_100;
  const list = windowed("Opcodes", (row) => {
    const step = execution.stepAt(row);
    const it = execution.steps.get(step);
    if (!it) {
      execution.fetch(step).then(
        () => list.element.isConnected && list.redraw(),
        () => {},
      );
      return h("div.line", gutter(null, 1, step, step === now), h("span.code.faint", "…"));
    }
    const isHere = step === now;
    const file = it.source === null ? null : execution.found.sources[it.source]?.name;
    const code = h(
      "span.code",
      h("span.word", readable(it.op)),
      " ",
      changeText(it),
      it.error ? h("span.bad", readable(it.error)) : null,
    );
    code.style.paddingLeft = `${Math.min(10, execution.depth(it) - 1) * 12}px`;
    return h(
      `div.line.ran${isHere ? `.here${tone}` : ""}`,
      { "aria-current": isHere ? "step" : null },
      gutter(it.cost, Math.max(most, it.cost), step, isHere),
      code,
      h("span.at", file === null ? `pc ${it.pc}` : `${readable(file).split("/").at(-1)}:${it.line}`),
    );
  });
  list.element.addEventListener("click", (event) => {
    const row = list.rowAt(event);
    if (row < execution.length && getSelection()?.isCollapsed) onchoose(execution.stepAt(row));
  });
  list.element.classList.add("opcodes");
  list.resize(execution.length);
  return {
    element: list.element,
    list,
    /**
     * @param {number} step
     * @param {string} kind the tone of its line
     */
    show(step, kind) {
      [now, tone] = [step, kind];
      list.reveal(execution.placeOf(step));
      list.redraw();
    },
  };
}

/** @param {import("./execution.js").Step} it */
function changeText({ change }) {
  if (!change) return null;
  const [slot, before, after] = [change.slot, change.before, change.after].map(wordText);
  return h("span.warn", `${change.transient ? "transient " : ""}slot ${slot}: ${before} → ${after}`);
}

/**
 * A word: a number if it is small, else its beginning and end.
 * @param {string} word
 */
export const wordText = (word) => {
  const value = big(word);
  return value < 10n ** 15n ? String(value) : short(`0x${value.toString(16).padStart(64, "0")}`);
};

/**
 * The files that were run, the dearest first.
 * @param {import("./execution.js").Execution} execution
 * @param {number} shown
 * @param {(source: number) => void} onchoose
 */
export function fileList(execution, shown, onchoose) {
  const { sources, omittedSources, gasByLine } = execution.found;
  const order = sources.map((it, at) => ({ ...it, at })).sort((a, b) => b.gas - a.gas);
  const row = (/** @type {(typeof order)[0]} */ it) =>
    h(
      "li",
      h(
        "button",
        {
          type: "button",
          disabled: it.text === null,
          "aria-pressed": String(it.at === shown),
          onclick: () => onchoose(it.at),
          title: readable(it.name),
        },
        h("span.mono", readable(it.name)),
        h("span", gasByLine ? `${count(it.gas)} gas` : ""),
      ),
    );
  const [first, rest] = [order.slice(0, 12), order.slice(12)];
  return h(
    "section.files",
    h("h2", "Files"),
    h("ul", first.map(row)),
    rest.length ? h("details", h("summary", `${count(rest.length)} more`), h("ul", rest.map(row))) : null,
    omittedSources ? h("p.small.muted", `${count(omittedSources)} more are not here.`) : null,
  );
}

/**
 * Replace what a pane shows, unless it is that already.
 * @param {Element} pane
 * @param {Element} view
 */
export const place = (pane, view) => {
  if (pane.firstChild !== view) show(pane, view);
};
