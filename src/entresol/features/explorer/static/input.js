/** What is typed: integers stay exact, and a form is sent once. */

import { hex } from "./format.js";

const DOUBLE_CLICK_MS = 500;

/**
 * JSON whose integers beyond what a number holds exactly are text: hexadecimal, as nodes read them.
 * @param {string} json
 */
export const exactly = (json) =>
  json.replace(/"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g, (it) => {
    if (!(Math.abs(Number(it)) > Number.MAX_SAFE_INTEGER)) return it;
    return `"${/^\d+$/.test(it) ? hex(BigInt(it)) : it}"`;
  });

/**
 * Run something while its button is disabled, and for as long as the second click of a double one may take.
 * @param {HTMLElement & Record<string, any>} button
 * @param {() => unknown} run
 */
export async function whileDisabled(button, run) {
  const isFocused = button === document.activeElement;
  button.disabled = true;
  try {
    await Promise.all([run(), new Promise((resolve) => setTimeout(resolve, DOUBLE_CLICK_MS))]);
  } finally {
    button.disabled = false;
    if (isFocused && document.activeElement === document.body) button.focus();
  }
}
