/** Requests that a node which is busy with others is asked again. */

const PATIENCE = 20;
const PAUSE_MS = 250;

/**
 * Call a method, again after a moment if the node records other executions first.
 * @param {import("./rpc.js").Floor} floor
 * @param {string} method
 * @param {...any} params
 * @returns {Promise<any>}
 */
export async function patiently(floor, method, ...params) {
  for (let left = PATIENCE; ; left--)
    try {
      return await floor.call(method, ...params);
    } catch (error) {
      if (!left || !/try again/.test(/** @type {Error} */ (error).message)) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
}
