/** A chart of bars, and its numbers as a table. */

import { h, s, table } from "./dom.js";
import { moment } from "./format.js";

/** @typedef {{label: string, value: number, text: string, at: number}} Bar what a bar is of, how high it is, and when */
/** @typedef {{title: string, about: string, bars: Bar[], columns: string[], rows: any[][]}} Chart */

export const BARS = 60;
const [WIDTH, HEIGHT] = [600, 120];

/**
 * A chart with its numbers.
 * @param {Chart} chart
 * @param {string} tone
 * @param {Set<string | null>} open the tables that are open
 */
export function figure({ title, about, bars, columns, rows }, tone, open) {
  const top = Math.max(...bars.map((it) => it.value), 0);
  const highest = bars.find((it) => it.value === top);
  const [first, last] = [bars[0], bars[bars.length - 1]];
  const step = WIDTH / BARS;
  const label = `${title}, numbers`;
  return h(
    "figure.chart",
    h("figcaption.split", h("h2", title), h("span.muted.small", about)),
    h("p.small.muted", top ? `highest ${highest?.text}, ${highest?.label}` : "nothing yet"),
    s(
      `svg.bars.${tone}`,
      {
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
        preserveAspectRatio: "none",
        role: "img",
        "aria-label": `${title}: ${bars.length} bars, the highest is ${highest?.text ?? "none"}`,
      },
      bars.map((it, at) => {
        const height = top ? Math.max(it.value ? 2 : 0, (HEIGHT * it.value) / top) : 0;
        const x = (at + BARS - bars.length) * step;
        return s(
          "g",
          s("title", `${it.label}: ${it.text}, ${moment(it.at)}`),
          // All of the column is pointed at, also above its bar.
          s("path.column", { d: `M${x} 0h${step}v${HEIGHT}h-${step}z` }),
          s("path.bar", { d: `M${x + 1} ${HEIGHT}v-${height}h${step - 2}v${height}z` }),
        );
      }),
    ),
    // Few bars stand at the right.
    h(
      "p.split.small.muted",
      h("span", bars.length === BARS ? first.label : ""),
      h("span", bars.length === BARS ? last.label : bars.length ? `${first.label} … ${last.label}` : ""),
    ),
    h(
      "details",
      { "aria-label": label, open: open.has(label) },
      h("summary", "Numbers"),
      table(
        label,
        columns.map((it, at) => [it, at ? "end" : ""]),
        [...rows].reverse().map((row) =>
          h(
            "tr",
            row.map((it, at) => h(at ? "td.end.mono" : "td", it)),
          ),
        ),
      ),
    ),
  );
}
