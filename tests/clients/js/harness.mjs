// Runs checks one after another and prints one line of JSON for each.

import { randomBytes } from "node:crypto";

export const url = process.env.NODE_URL;
export const socketUrl = url.replace(/^http/, "ws");
// Chains of one L1, if there are several.
export const chains = JSON.parse(process.env.CHAINS ?? "[]");
export const contracts = JSON.parse(process.env.CONTRACTS);

// The first two development accounts.
export const ALICE = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
export const BOB = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";
export const NOBODY = "0x00000000000000000000000000000000deadbeef";

// Far longer than anything takes, even on a machine that has other things to do.
const PATIENCE_MS = 60_000;
const AGAIN_MS = 100;
const checks = [];

export function check(name, body) {
  checks.push({ name, body });
}

// A check of chains whose gas is paid in a token of L1.
export function checkWithToken(name, body) {
  checks.push({ name, body, onlyWithToken: true });
}

export async function run() {
  for (const { name, body } of checks) await report(name, body);
  process.exit(0);
}

// Run the checks on several chains of one L1, which are concurrent: each has an account of its own. `prepare` is given a
// chain (name, chain_id, http_url, key, base token) and returns what its checks use.
export async function runOnEach(chains, prepare) {
  await Promise.all(chains.map(async (chain) => {
    const prepared = prepare(chain);
    prepared.catch(() => {});
    for (const { name, body, onlyWithToken } of checks) {
      if (onlyWithToken && chain.base_token === null) continue;
      await report(`${name} [${chain.name}]`, async () => body(await prepared));
    }
  }));
  process.exit(0);
}

async function report(name, body) {
  let problem = null;
  try {
    await soon(body(), name);
  } catch (error) {
    problem = String(error?.stack ?? error);
  }
  console.log(JSON.stringify({ check: name, problem }));
}

// Wait for a promise, but not for ever.
export function soon(promise, what = "it") {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} never happened`)), PATIENCE_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// A promise that `resolve` fulfils.
export function later() {
  let resolve;
  const promise = new Promise((keep) => { resolve = keep; });
  return { promise, resolve };
}

// A new account, which nobody else uses, so that its balance is what happened.
export const stranger = () => `0x${randomBytes(20).toString("hex")}`;

// Call the node directly, without a client, and return the raw response.
export async function ask(body, path = "/") {
  const response = await fetch(url + path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  return { status: response.status, body: await response.json() };
}

export async function rpc(method, ...params) {
  const { body } = await ask({ jsonrpc: "2.0", id: 0, method, params });
  if (body.error) throw Object.assign(new Error(body.error.message), body.error);
  return body.result;
}

// Do something again and again while `body` runs; the last time is over when this is.
export async function meanwhile(action, body) {
  let isOver = false;
  const doing = (async () => {
    while (!isOver) {
      await action().catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  })();
  try {
    return await body();
  } finally {
    isOver = true;
    await doing;
  }
}

// Leave transactions pending while `body` runs, and seal those that are pending at the end.
export async function held(body) {
  await rpc("evm_setAutomine", false);
  try {
    return await body();
  } finally {
    await rpc("evm_setAutomine", true);
  }
}

export async function thrown(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}
