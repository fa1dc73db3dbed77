// A Chromium on the explorer of a node. Checks run one after another, and each prints a line of JSON.

import chromium from "@sparticuz/chromium";
import { chromium as playwright } from "playwright-core";

export const url = process.env.NODE_URL;
export const l1Url = process.env.L1_URL;

export const ALICE = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
export const ALICE_KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
export const BOB = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
export const MESSENGER = "0x0000000000000000000000000000000000008008";
export const BASE_TOKEN = "0x000000000000000000000000000000000000800A";

// Far longer than anything takes, even on a machine that has other things to do.
const PATIENCE_MS = 60_000;
const checks = [];
/** @type {import("playwright-core").Browser} */
let browser;

export function check(name, body) {
  checks.push({ name, body });
}

export async function run() {
  browser = await launch();
  for (const { name, body } of checks) {
    let problem = null;
    try {
      await body();
    } catch (error) {
      problem = String(error?.stack ?? error);
    }
    console.log(JSON.stringify({ check: name, problem }));
  }
  await browser.close();
  process.exit(0);
}

// A Chromium that other processes connect to.
export async function serve() {
  return playwright.launchServer(await options());
}

// The Chromium that the tests have started, or one of our own; closing it leaves the former running.
export async function launch() {
  const started = process.env.BROWSER;
  return started ? playwright.connect(started) : playwright.launch(await options());
}

async function options() {
  const executablePath = process.env.CHROMIUM ?? (await chromium.executablePath());
  // Not the arguments that the package recommends: they switch the web's security off.
  return { args: ["--no-sandbox", "--disable-gpu"], executablePath, headless: true };
}

// Open a page of the explorer, and fail afterwards if it logged an error or broke its policy.
export async function visit(
  route,
  body,
  { width = 1440, height = 900, theme = "dark", base = url, before, ...options } = {},
) {
  const context = await (browser ?? (await launch())).newContext({
    viewport: { width, height },
    colorScheme: theme,
    reducedMotion: "reduce",
    permissions: ["clipboard-read", "clipboard-write"],
    hasTouch: width < 500,
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const problems = [];
  page.on("console", (it) => it.type() === "error" && problems.push(it.text()));
  page.on("pageerror", (it) => problems.push(it.message));
  await before?.(page);
  try {
    await page.goto(`${base}/#/${route}`);
    await page.locator("main h1").first().waitFor({ state: "attached" });
    await page.locator(".live.live, .live.away").waitFor({ state: "attached" });
    const result = await body(page);
    const serious = problems.filter((it) => !it.includes("ERR_CONNECTION_REFUSED"));
    if (serious.length) throw new Error(`the page logged: ${serious.join("; ")}`);
    return result;
  } finally {
    // A request may be on its way through a handler.
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await context.close();
  }
}

export async function rpc(method, ...params) {
  return ask(url, method, params);
}

export async function rpcAt(to, method, ...params) {
  return ask(to, method, params);
}

export async function l1Rpc(method, ...params) {
  return ask(l1Url, method, params);
}

async function ask(to, method, params) {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const response = await fetch(to, { method: "POST", headers: { "content-type": "application/json" }, body });
  const found = await response.json();
  if (found.error) throw new Error(`${method}: ${found.error.message}`);
  return found.result;
}

// Send a transaction on the L2 and wait until a block has it.
export async function send(transaction) {
  const hash = await rpc("eth_sendTransaction", { from: ALICE, ...transaction });
  return until(() => rpc("eth_getTransactionReceipt", hash));
}

// Ask until there is something.
export async function until(question) {
  const end = Date.now() + PATIENCE_MS;
  while (Date.now() < end) {
    const found = await question();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("it never happened");
}

// Watch the tasks of a page from now on; what is returned tells how long the longest took, in milliseconds.
export async function watchTasks(page) {
  await page.evaluate(() => {
    window.longest = 0;
    new PerformanceObserver((list) => {
      for (const it of list.getEntries()) window.longest = Math.max(window.longest, it.duration);
    }).observe({ entryTypes: ["longtask"] });
  });
  return () => page.evaluate(() => window.longest);
}

export function expect(condition, text) {
  if (!condition) throw new Error(text);
}

// Wait until an element has a text.
export async function sees(page, selector, text) {
  await page.locator(selector).filter({ hasText: text }).first().waitFor();
}

// Wait until the text of an element is right: what a page draws first may lack what it reads later.
export async function reads(locator, isRight) {
  let text = "";
  const isThere = async () => {
    text = await locator.innerText();
    return isRight(text);
  };
  await until(isThere).catch((error) => {
    throw new Error(`${error.message}; it says: ${text}`);
  });
}

// A row of a table by the header of the row, which is the whole text of that cell.
export const rowOf = (page, table, name) =>
  page.locator(`${table} tr`).filter({ has: page.getByRole("rowheader", { name }) });

// Search for each text, and go where its hit leads.
export async function finds(page, cases) {
  for (const [text, hit, hash] of cases) {
    await page.keyboard.press("/");
    await page.locator("#search input").fill(text);
    await sees(page, ".hits li[aria-selected='true']", hit);
    await page.keyboard.press("Enter");
    await page.waitForFunction((it) => location.hash === it, hash);
    await page.locator("main h1").first().waitFor();
    await page.evaluate(() => document.activeElement?.blur?.());
  }
}

// The calls of L1Messenger.sendToL1 and of L2BaseToken.withdraw.
export const word = (value) => value.toString(16).replace(/^0x/, "").toLowerCase().padStart(64, "0");
export const messageData = (text) => {
  const hex = Buffer.from(text).toString("hex");
  return `0x62f84b24${word(32)}${word(hex.length / 2)}${hex.padEnd(Math.ceil(hex.length / 64) * 64, "0")}`;
};
export const withdrawData = (to) => `0x51cff8d9${word(to)}`;

// Seal until layer 1 has executed the batch of a block.
export const settled = (block) =>
  until(async () => (await rpc("zks_getFinalityStatus")).lastExecutedBlock >= Number(block));
