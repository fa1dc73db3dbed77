/**
 * QR codes (ISO/IEC 18004) of short texts: bytes, error correction level M, versions 1 to 6, which need neither several
 * alignment patterns nor version information.
 */

import { s } from "./dom.js";

/** @type {[number, number, number][]} data bytes, blocks and correction bytes a block of each version */
const VERSIONS = [
  [16, 1, 10],
  [28, 1, 16],
  [44, 1, 26],
  [64, 2, 18],
  [86, 2, 24],
  [108, 4, 16],
];
const QUIET = 4;
const PADDING = [0xec, 0x11];
const FORMAT_GENERATOR = 0x537;
const FORMAT_MASK = 0x5412;

/** @type {((row: number, column: number) => boolean)[]} */
const MASKS = [
  (r, c) => (r + c) % 2 === 0,
  (r) => r % 2 === 0,
  (_, c) => c % 3 === 0,
  (r, c) => (r + c) % 3 === 0,
  (r, c) => (Math.floor(r / 2) + Math.floor(c / 3)) % 2 === 0,
  (r, c) => ((r * c) % 2) + ((r * c) % 3) === 0,
  (r, c) => (((r * c) % 2) + ((r * c) % 3)) % 2 === 0,
  (r, c) => (((r + c) % 2) + ((r * c) % 3)) % 2 === 0,
];

/** @typedef {(boolean | null)[][]} Modules whether each is dark; null is not drawn yet */

/**
 * @param {string} text
 * @returns {boolean[][]} rows, true for dark
 */
export function qrCode(text) {
  const bytes = [...new TextEncoder().encode(text)];
  const version = VERSIONS.findIndex(([size]) => bytes.length <= size - 2);
  if (version < 0) throw new Error("This is too long for a code.");
  const [size, blocks, correction] = VERSIONS[version];
  const words = codewords(dataOf(bytes, size), blocks, correction);
  const empty = patterns(17 + 4 * (version + 1), version > 0);
  const drawn = MASKS.map((mask, at) => withFormat(filled(empty, words, mask), at));
  const penalties = drawn.map(penalty);
  return drawn[penalties.indexOf(Math.min(...penalties))];
}

/**
 * Mode, length and bytes, filled up to the size of the version.
 * @param {number[]} bytes
 * @param {number} size
 */
function dataOf(bytes, size) {
  const half = [0x4, bytes.length >> 4, bytes.length & 15, ...bytes.flatMap((it) => [it >> 4, it & 15]), 0];
  const data = Array.from({ length: half.length / 2 }, (_, at) => (half[2 * at] << 4) | half[2 * at + 1]);
  for (let at = 0; data.length < size; at++) data.push(PADDING[at % 2]);
  return data;
}

/**
 * Data and correction of the blocks, interleaved.
 * @param {number[]} data
 * @param {number} blocks
 * @param {number} correction
 */
function codewords(data, blocks, correction) {
  const size = data.length / blocks;
  const parts = Array.from({ length: blocks }, (_, at) => data.slice(at * size, (at + 1) * size));
  const checks = parts.map((it) => remainder(it, correction));
  const turn = (/** @type {number[][]} */ lists) => lists[0].flatMap((_, at) => lists.map((it) => it[at]));
  return [...turn(parts), ...turn(checks)];
}

/**
 * Multiply in the field of 256 elements that the standard uses.
 * @param {number} a
 * @param {number} b
 */
function times(a, b) {
  let product = 0;
  for (let bit = 7; bit >= 0; bit--) {
    product = (product << 1) ^ (product >> 7 ? 0x11d : 0);
    if ((b >> bit) & 1) product ^= a;
  }
  return product;
}

/**
 * The bytes of Reed and Solomon's code.
 * @param {number[]} data
 * @param {number} degree
 */
function remainder(data, degree) {
  let generator = [1];
  for (let at = 0, root = 1; at < degree; at++, root = times(root, 2))
    generator = [...generator, 0].map((it, index) => it ^ times(generator[index - 1] ?? 0, root));
  const rest = [...data, ...Array(degree).fill(0)];
  data.forEach((_, at) => {
    const factor = rest[at];
    generator.forEach((it, index) => {
      rest[at + index] ^= times(it, factor);
    });
  });
  return rest.slice(data.length);
}

/**
 * Finders, timing, the alignment pattern, and room for the format.
 * @param {number} size
 * @param {boolean} isAligned
 * @returns {Modules}
 */
function patterns(size, isAligned) {
  /** @type {Modules} */
  const grid = Array.from({ length: size }, () => Array(size).fill(null));
  const square = (
    /** @type {number} */ row,
    /** @type {number} */ column,
    /** @type {number} */ reach,
    /** @type {number[]} */ light,
  ) => {
    for (let r = -reach; r <= reach; r++)
      for (let c = -reach; c <= reach; c++)
        if (grid[row + r]?.[column + c] !== undefined)
          grid[row + r][column + c] = !light.includes(Math.max(Math.abs(r), Math.abs(c)));
  };
  for (const [row, column] of [
    [3, 3],
    [3, size - 4],
    [size - 4, 3],
  ])
    square(row, column, 4, [2, 4]);
  for (let at = 8; at < size - 8; at++) grid[6][at] = grid[at][6] = at % 2 === 0;
  if (isAligned) square(size - 7, size - 7, 2, [1]);
  for (const [row, column] of formatPlaces(size).flat()) grid[row][column] ??= false;
  grid[size - 8][8] = true;
  return grid;
}

/**
 * Where the 15 bits of the format are, the most significant first, twice.
 * @param {number} size
 * @returns {[number, number][][]}
 */
function formatPlaces(size) {
  const along = [0, 1, 2, 3, 4, 5, 7, 8];
  const first = [
    ...along.map((it) => [8, it]),
    ...along
      .slice(0, -1)
      .reverse()
      .map((it) => [it, 8]),
  ];
  const second = [
    ...Array.from({ length: 7 }, (_, at) => [size - 1 - at, 8]),
    ...Array.from({ length: 8 }, (_, at) => [8, size - 8 + at]),
  ];
  return /** @type {any} */ ([first, second]);
}

/**
 * Fill what is free with the bits, upwards and downwards in pairs of columns, under a mask.
 * @param {Modules} empty
 * @param {number[]} words
 * @param {(row: number, column: number) => boolean} mask
 */
function filled(empty, words, mask) {
  const grid = empty.map((it) => [...it]);
  const size = grid.length;
  let bit = 0;
  let up = true;
  for (let right = size - 1; right > 0; right -= 2, up = !up) {
    if (right === 6) right--;
    for (let step = 0; step < size; step++)
      for (const column of [right, right - 1]) {
        const row = up ? size - 1 - step : step;
        if (grid[row][column] !== null) continue;
        const isDark = Boolean((words[bit >> 3] >> (7 - (bit & 7))) & 1);
        bit++;
        grid[row][column] = isDark !== mask(row, column);
      }
  }
  return grid;
}

/**
 * @param {Modules} grid
 * @param {number} mask
 * @returns {boolean[][]}
 */
function withFormat(grid, mask) {
  // Level M is 00.
  let rest = mask << 10;
  for (let bit = 14; bit >= 10; bit--) if ((rest >> bit) & 1) rest ^= FORMAT_GENERATOR << (bit - 10);
  const format = ((mask << 10) | rest) ^ FORMAT_MASK;
  for (const places of formatPlaces(grid.length))
    places.forEach(([row, column], at) => {
      grid[row][column] = Boolean((format >> (14 - at)) & 1);
    });
  return /** @type {boolean[][]} */ (grid);
}

/**
 * How hard a code is to read: runs, squares, what looks like a finder, and too much of one colour.
 * @param {boolean[][]} grid
 */
function penalty(grid) {
  const lines = [...grid, ...grid.map((_, at) => grid.map((row) => row[at]))].map((it) => it.map(Number).join(""));
  let sum = 0;
  for (const line of lines) {
    for (const [run] of line.matchAll(/0{5,}|1{5,}/g)) sum += run.length - 2;
    for (const pattern of ["10111010000", "00001011101"])
      for (let at = line.indexOf(pattern); at >= 0; at = line.indexOf(pattern, at + 1)) sum += 40;
  }
  let dark = 0;
  grid.forEach((row, r) => {
    row.forEach((it, c) => {
      dark += Number(it);
      if (r && c && it === row[c - 1] && it === grid[r - 1][c] && it === grid[r - 1][c - 1]) sum += 3;
    });
  });
  return sum + 10 * Math.floor(Math.abs((20 * dark) / grid.length ** 2 - 10));
}

/**
 * A code as a picture, dark on light in both themes, since cameras expect that.
 * @param {string} text
 */
export function qrPicture(text) {
  const grid = qrCode(text);
  const size = grid.length + 2 * QUIET;
  const path = grid.flatMap((row, r) => row.map((it, c) => (it ? `M${c + QUIET} ${r + QUIET}h1v1h-1z` : ""))).join("");
  return s(
    "svg.qr",
    { viewBox: `0 0 ${size} ${size}`, role: "img", "aria-label": `A code of ${text}`, "shape-rendering": "crispEdges" },
    s("rect", { width: size, height: size }),
    s("path", { d: path }),
  );
}
