/** Long lists of rows of one height, of which only those in sight are elements. */

import { h, show } from "./dom.js";

/** How high a row is, in the style, too. */
const ROW = 23;
// Rows beyond those in sight, so that a little scrolling shows no gap.
const SPARE = 12;

/**
 * @typedef {{element: HTMLElement, resize: (total: number) => void, redraw: () => void, reveal: (row: number) => void,
 *   rowAt: (event: MouseEvent) => number}} Windowed
 */

/**
 * @param {string} label
 * @param {(row: number) => HTMLElement} draw
 * @returns {Windowed}
 */
export function windowed(label, draw) {
  const rows = h("div.rows", { role: "list" });
  const room = h("div.room", rows);
  const element = h("div.window", { tabindex: 0, role: "region", "aria-label": label }, room);
  let [total, first, waiting] = [0, -1, false];
  const redraw = () => {
    const inSight = Math.ceil((element.clientHeight || 600) / ROW);
    first = Math.max(0, Math.floor(element.scrollTop / ROW) - SPARE);
    const length = Math.max(0, Math.min(total - first, inSight + 2 * SPARE));
    show(
      rows,
      Array.from({ length }, (_, at) => {
        const row = draw(first + at);
        row.setAttribute("role", "listitem");
        row.setAttribute("aria-setsize", String(total));
        row.setAttribute("aria-posinset", String(first + at + 1));
        return row;
      }),
    );
    rows.style.transform = `translateY(${first * ROW}px)`;
  };
  element.addEventListener("scroll", () => {
    const begin = Math.max(0, Math.floor(element.scrollTop / ROW) - SPARE);
    if (waiting || Math.abs(begin - first) < SPARE / 2) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      redraw();
    });
  });
  return {
    element,
    redraw,
    resize(size) {
      total = size;
      room.style.height = `${size * ROW}px`;
    },
    reveal(row) {
      const [top, height] = [row * ROW, element.clientHeight];
      const isInSight = top >= element.scrollTop + 2 * ROW && top + 3 * ROW <= element.scrollTop + height;
      if (!isInSight) element.scrollTop = Math.max(0, top - height * 0.4);
    },
    rowAt: (event) => Math.floor((event.clientY - room.getBoundingClientRect().top) / ROW),
  };
}
