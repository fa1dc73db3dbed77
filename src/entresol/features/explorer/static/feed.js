/** Lists that go back from the newest, read page by page from one or several floors. */

import { h, show, table } from "./dom.js";
import { count } from "./format.js";

export const PAGE = 25;
const READ = 100;

/**
 * @template T
 * @typedef {(cursor: string | null, limit: number) => Promise<{items: T[], next: string | null}>} Source a page of items,
 *   the newest first, and where the next one begins
 */

/**
 * Several sources as one, in the order of their times.
 * @template T
 * @param {Source<T>[]} sources
 * @param {(item: T) => number} timeOf
 */
export function feed(sources, timeOf) {
  const lanes = sources.map((read) => ({
    read,
    /** @type {T[]} */ items: [],
    /** @type {string | null} */ cursor: null,
    ended: false,
  }));
  /** @type {T[]} */
  const all = [];
  const fill = async (/** @type {typeof lanes[0]} */ lane) => {
    // A page may be empty and have a next one.
    while (!lane.items.length && !lane.ended) {
      const { items, next } = await lane.read(lane.cursor, READ);
      lane.items.push(...items);
      lane.cursor = next;
      lane.ended = next === null;
    }
  };
  const isWhole = () => lanes.every((it) => it.ended && !it.items.length);
  return {
    all,
    isWhole,
    /** @param {number} wanted how many items are to be there, if there are as many */
    async load(wanted) {
      while (all.length < wanted) {
        await Promise.all(lanes.map(fill));
        const [newest] = lanes.filter((it) => it.items.length).sort((a, b) => timeOf(b.items[0]) - timeOf(a.items[0]));
        if (!newest) return;
        all.push(/** @type {T} */ (newest.items.shift()));
      }
    },
  };
}

/**
 * A table of a feed with Newer and Older.
 * @template T
 * @param {ReturnType<typeof feed<T>>} list
 * @param {string} label
 * @param {[string, string?][]} columns
 * @param {(item: T) => Node} row
 */
export async function pages(list, label, columns, row) {
  const holder = h("div");
  let start = 0;
  const draw = async () => {
    // One more says whether there is an older page.
    await list.load(start + PAGE + 1);
    const shown = list.all.slice(start, start + PAGE);
    const total = list.isWhole() ? ` of ${count(list.all.length)}` : "";
    show(
      holder,
      table(label, columns, shown.map(row)),
      list.all.length > PAGE
        ? h(
            "p.pager.split",
            h("span.muted", `${count(start + 1)} to ${count(start + shown.length)}${total}, newest first`),
            h("span", turn("Newer", -PAGE, start === 0), " ", turn("Older", PAGE, start + PAGE >= list.all.length)),
          )
        : null,
    );
  };
  const turn = (/** @type {string} */ text, /** @type {number} */ by, /** @type {boolean} */ disabled) =>
    h("button.small", { type: "button", disabled, onclick: () => moved(by) }, text);
  const moved = (/** @type {number} */ by) => {
    start += by;
    draw().catch(() => {
      start -= by;
    });
  };
  await draw();
  return holder;
}
