/** Keccak-256, in halves of 32 bits: 64-bit integers of JavaScript are ten times slower. */

import { L1_MESSENGER } from "./system.js";

const ROUNDS = 24;
const RATE = 136;
const ROTATIONS = [1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 2, 14, 27, 41, 56, 8, 25, 43, 62, 18, 39, 61, 20, 44];
const LANES = [10, 7, 11, 17, 18, 3, 5, 16, 8, 21, 24, 4, 15, 23, 19, 13, 12, 2, 20, 14, 22, 9, 6, 1];

/** The round constants, from the linear feedback shift register of the specification. */
const CONSTANTS = (() => {
  const words = new Int32Array(2 * ROUNDS);
  let register = 1;
  for (let round = 0; round < ROUNDS; round++)
    for (let j = 0; j < 7; j++) {
      const bit = 2 ** j - 1;
      if (register & 1) words[2 * round + (bit > 31 ? 1 : 0)] ^= 1 << (bit & 31);
      register = (register << 1) ^ (register & 0x80 ? 0x171 : 0);
    }
  return words;
})();

/** @param {Int32Array} a 25 lanes, the lower half of each first */
function permute(a) {
  const c = new Int32Array(10);
  for (let round = 0; round < ROUNDS; round++) {
    for (let x = 0; x < 10; x++) c[x] = a[x] ^ a[x + 10] ^ a[x + 20] ^ a[x + 30] ^ a[x + 40];
    for (let x = 0; x < 10; x += 2) {
      const before = (x + 8) % 10;
      const after = (x + 2) % 10;
      const low = c[before] ^ ((c[after] << 1) | (c[after + 1] >>> 31));
      const high = c[before + 1] ^ ((c[after + 1] << 1) | (c[after] >>> 31));
      for (let y = x; y < 50; y += 10) {
        a[y] ^= low;
        a[y + 1] ^= high;
      }
    }
    let low = a[2];
    let high = a[3];
    for (let i = 0; i < 24; i++) {
      const at = 2 * LANES[i];
      const by = ROTATIONS[i];
      const [nextLow, nextHigh] = [a[at], a[at + 1]];
      const [first, second] = by < 32 ? [low, high] : [high, low];
      const bits = by & 31;
      a[at] = bits ? (first << bits) | (second >>> (32 - bits)) : first;
      a[at + 1] = bits ? (second << bits) | (first >>> (32 - bits)) : second;
      low = nextLow;
      high = nextHigh;
    }
    for (let y = 0; y < 50; y += 10) {
      for (let x = 0; x < 10; x++) c[x] = a[y + x];
      for (let x = 0; x < 10; x++) a[y + x] = c[x] ^ (~c[(x + 2) % 10] & c[(x + 4) % 10]);
    }
    a[0] ^= CONSTANTS[2 * round];
    a[1] ^= CONSTANTS[2 * round + 1];
  }
}

/**
 * @param {Uint8Array} data
 * @returns {Uint8Array}
 */
export function keccak(data) {
  const padded = new Uint8Array((Math.floor(data.length / RATE) + 1) * RATE);
  padded.set(data);
  padded[data.length] ^= 1;
  padded[padded.length - 1] ^= 0x80;
  const state = new Int32Array(50);
  const view = new DataView(padded.buffer);
  for (let start = 0; start < padded.length; start += RATE) {
    for (let i = 0; i < RATE / 4; i++) state[i] ^= view.getInt32(start + 4 * i, true);
    permute(state);
  }
  const hash = new DataView(new ArrayBuffer(32));
  for (let i = 0; i < 8; i++) hash.setInt32(4 * i, state[i], true);
  return new Uint8Array(hash.buffer);
}

/**
 * @param {string} hex
 * @returns {Uint8Array}
 */
export function bytesOf(hex) {
  const bytes = new Uint8Array((hex.length - 2) / 2);
  for (let i = 0; i < bytes.length; i++) bytes[i] = Number.parseInt(hex.slice(2 + 2 * i, 4 + 2 * i), 16);
  return bytes;
}

/** @param {Uint8Array} bytes */
export function hexOf(bytes) {
  let text = "0x";
  for (const byte of bytes) text += (byte < 16 ? "0" : "") + byte.toString(16);
  return text;
}

/** @param {string} hex */
export const keccakHex = (hex) => hexOf(keccak(bytesOf(hex)));

/** @param {string} text */
export const keccakText = (text) => hexOf(keccak(new TextEncoder().encode(text)));

/**
 * @param {{txIndex: number, sender: string, message: string}} it
 * @returns {string} the 88 bytes of the log that a message leaves
 */
export function packed(it) {
  const value = keccakHex(it.message).slice(2);
  return `0x0001${it.txIndex.toString(16).padStart(4, "0")}${L1_MESSENGER.slice(2)}${it.sender.slice(2).padStart(64, "0")}${value}`;
}
