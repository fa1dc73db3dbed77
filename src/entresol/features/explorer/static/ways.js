/**
 * Where passages lie: none upon another, and no label upon any.
 *
 * @typedef {{from: number, to: number, sits: number, words: [string, string]}} Way where it leaves and arrives, and the
 *   height at which its bundle sits in a pillar, if it is not on the ground yet
 * @typedef {{level: number, label: {at: number, words: string[], isBeside: boolean} | null}} Place how deep a way lies,
 *   and where its label begins: upon its way, or beside it
 */

/** The room of the one who travels. */
export const MARKER = 28;
const CLEAR = 10;

/** @param {string[]} words */
export const widthOf = ([bold, rest = ""]) => Math.ceil(7 * bold.length + (rest ? 6.1 * rest.length + 8 : 0)) + 8;

/** @param {{from: number, to: number}} way */
export const lengthOf = ({ from, to }) => Math.abs(from - to);

/**
 * Lay ways out so that none lies upon another, and no label upon any.
 * @param {Way[]} ways
 * @param {number} width
 * @returns {Place[]}
 */
export function layOut(ways, width) {
  const span = (/** @type {{from: number, to: number}} */ { from, to }) => [Math.min(from, to), Math.max(from, to)];
  /** @type {number[]} */
  const levels = [];
  // A short one lies above a long one, so that it need not cross it.
  const order = ways.map((_, at) => at).sort((a, b) => lengthOf(ways[a]) - lengthOf(ways[b]));
  for (const at of order) {
    const [left, right] = span(ways[at]);
    const isFree = (/** @type {number} */ level) =>
      ways.every((other, index) => {
        const [a, b] = span(other);
        return levels[index] !== level || right + 2 * CLEAR < a || b + 2 * CLEAR < left;
      });
    levels[at] = [0, 1, 2].find(isFree) ?? 2;
  }
  /** @type {[number, number][][]} what the labels of each level cover */
  const taken = [[], [], []];
  return ways.map((way, at) => {
    const level = levels[at];
    const [left, right] = span(way);
    // Those that lie deeper go down and up through this level; beside a way lie others of its own level.
    const deeper = ways.flatMap((it, index) => (levels[index] > level ? [it.from, it.to] : []));
    const beside = ways.flatMap((it, index) => (levels[index] === level && index !== at ? span(it) : []));
    const walls = deeper.filter((x) => x > left && x < right).sort((a, b) => a - b);
    const edges = [left, ...walls, right];
    const inside = edges.slice(1).map((end, index) => [edges[index] + CLEAR, end - CLEAR]);
    const others = [...deeper, ...beside, ...taken[level].flat()];
    const after = [right + CLEAR, Math.min(width, ...others.filter((x) => x >= right)) - CLEAR];
    const before = [Math.max(0, ...others.filter((x) => x <= left)) + CLEAR, left - CLEAR];
    const forward = way.from < way.to;
    const place = (/** @type {string[]} */ words, /** @type {boolean} */ isBeside) => {
      const needed = widthOf(words) + (way.sits || isBeside ? 0 : MARKER);
      const gaps = isBeside ? [after, before] : forward ? inside : [...inside].reverse();
      const gap = gaps.find(([a, b]) => b - a >= needed);
      if (!gap) return null;
      const start = (isBeside ? gap === after : forward) ? gap[0] : gap[1] - needed;
      taken[level].push([start, start + needed]);
      return { at: start, words, isBeside };
    };
    const [whole, short] = [way.words, way.words.slice(0, 1)];
    return { level, label: place(whole, false) ?? place(whole, true) ?? place(short, false) ?? place(short, true) };
  });
}
