// Pictures of every page, for people to look at: node screenshots.mjs FOLDER [DOCS], with NODE_URL and L1_URL. PAGES names
// some of them, if not all are wanted.
// The chosen ones are written to DOCS as well, in a smaller format.

import { mkdirSync, writeFileSync } from "node:fs";
import { sendBundle } from "./bundling.mjs";
import {
  ALICE,
  BASE_TOKEN,
  BOB,
  launch,
  MESSENGER,
  messageData,
  rpc,
  rpcAt,
  send,
  settled,
  url,
  withdrawData,
} from "./harness.mjs";
import { swaps } from "./sources.mjs";

const [folder = "screenshots", docs] = process.argv.slice(2);
const CHOSEN = new Set([
  "street-light-wide",
  "bundle-light-wide",
  "home-dark-wide",
  "home-light-wide",
  "bridge-dark-wide",
  "bridge-light-wide",
  "transaction-light-wide",
  "console-dark-wide",
  "address-light-wide",
  "controls-dark-wide",
  "debugger-dark-wide",
  "debugger-light-phone",
  "home-dark-phone",
  "bridge-light-phone",
]);
const ETHER = 10n ** 18n;
mkdirSync(folder, { recursive: true });

// Of a node with several chains only the street is drawn, after a little life in each house.
const { chains } = await (await fetch(`${url}/explorer/node.json`)).json();
const isStreet = chains.length > 1;
for (const [at, { port }] of isStreet ? chains.entries() : []) {
  const house = new URL(url);
  house.port = String(port);
  for (let round = 0; round < 9 - 2 * at; round++) {
    const value = `0x${((ETHER * BigInt(round + 1)) / 4n).toString(16)}`;
    const transfer = { from: ALICE, to: BOB, value };
    const withdrawal = { from: ALICE, to: BASE_TOKEN, value, data: withdrawData(BOB) };
    await rpcAt(house.href, "eth_sendTransaction", round % 4 === 3 ? withdrawal : transfer);
    await new Promise((resolve) => setTimeout(resolve, 400));
  }
}

// A little life: transfers, messages and withdrawals in some batches.
let last;
for (let round = 0; round < (isStreet ? 1 : 4); round++) {
  for (let i = 0; i <= round; i++) await send({ to: BOB, value: `0x${((ETHER * BigInt(i + 1)) / 4n).toString(16)}` });
  await send({ to: MESSENGER, data: messageData(`Hello from batch ${round}`) });
  last = await send({ to: BASE_TOKEN, value: `0x${(ETHER / 2n).toString(16)}`, data: withdrawData(BOB) });
  await settled(last.blockNumber);
}

// One that fails: a call that the base token does not know.
const failed = isStreet ? null : await send({ to: BASE_TOKEN, data: `0x${"ab".repeat(36)}`, gas: "0x186a0" });

// Swaps through contracts whose source the node has.
const swapped = isStreet ? null : await swaps();
await swapped?.project.give();

const token = isStreet ? null : (await rpc("entresol_getTokens", "WOOD", null, 1)).tokens[0]?.address;

const withdrawal = `${last.transactionHash}/0`;
const everyPage = {
  home: "",
  bridge: `bridge/${withdrawal}`,
  transaction: `l2/tx/${last.transactionHash}`,
  failure: `l2/tx/${failed?.transactionHash}`,
  traced: `l2/tx/${swapped?.failed}`,
  debugger: `l2/tx/${swapped?.failed}/steps`,
  opcodes: `l2/tx/${swapped?.succeeded}/steps?n=900&view=opcodes`,
  block: `l2/block/${Number(last.blockNumber)}`,
  batch: `batch/${Number(await rpc("zks_L1BatchNumber"))}`,
  address: `address/${ALICE}`,
  contract: `address/${BASE_TOKEN}`,
  blocks: "blocks",
  transactions: "transactions",
  token: `token/l2/${token}`,
  charts: "charts",
  pool: "pool",
  console: `console/zks_getL2ToL1LogProof?l=l2&p=${encodeURIComponent(JSON.stringify([last.transactionHash, 0]))}`,
  controls: "controls",
};

const pages = isStreet ? { street: "", bundle: await bundles(), holdings: `address/${ALICE}` } : everyPage;

const named = process.env.PAGES?.split(",");
const drawn = Object.entries(pages).filter(([name]) => !named || named.includes(name));

const browser = await launch();
for (const theme of ["dark", "light"])
  for (const [size, width, height] of [
    ["wide", 1440, 1080],
    ["phone", 390, 844],
  ]) {
    const options = { viewport: { width, height }, colorScheme: theme, reducedMotion: "reduce", hasTouch: width < 500 };
    const context = await browser.newContext(options);
    const page = await context.newPage();
    await page.goto(`${url}/#/bridge`);
    if (theme === "dark" && size === "wide" && !isStreet) await deposit(page);
    for (const [name, route] of drawn) {
      await page.goto(`${url}/#/${route}`);
      await page.locator(`main.at-${route.split(/[/?]/)[0] || "home"}`).waitFor();
      await page.locator("[aria-busy]").first().waitFor({ state: "detached" });
      if (name === "bridge") await page.locator(".message-tree").waitFor();
      if (name === "home") await page.locator(".bay .batch").first().waitFor();
      if (name === "street")
        await page
          .locator(size === "wide" ? ".passages text" : ".ways li")
          .first()
          .waitFor();
      if (name === "bundle") await page.locator(".roots").waitFor();
      if (name === "traced") await page.locator(".stack li").first().waitFor();
      if (name === "debugger") await page.locator(".line.here.bad").waitFor();
      if (name === "opcodes") await page.locator(".opcodes .line.here").waitFor();
      if (name === "failure") await page.locator("h1 .bad").first().waitFor();
      if (name === "console") {
        await page.getByRole("button", { name: "Send" }).click();
        await page.locator(".response .badge").waitFor();
      }
      await page.evaluate(() => /** @type {HTMLElement} */ (document.activeElement)?.blur());
      await picture(page, `${name}-${theme}-${size}`, size === "wide");
    }
    await context.close();
  }
await browser.close();

// Three bundles, one of which is open; the page of that is drawn.
async function bundles() {
  const [first, second] = chains.map(({ port }) => Object.assign(new URL(url), { port: String(port) }).href);
  const calls = [{ to: BOB, value: ETHER / 2n }, { to: BOB, value: (2n * ETHER) / 5n }, { to: BOB }];
  const { bundle } = await sendBundle(first, chains[1].id, calls);
  await sendBundle(second, chains[0].id, [{ to: BOB, value: 5n * ETHER }]);
  await sendBundle(first, chains[1].id, [{ to: BOB, value: ETHER / 10n }]);
  return `bundle/${bundle}`;
}

async function deposit(page) {
  for (const amount of ["1", "12.5"]) {
    await page.getByRole("button", { name: "Deposit", exact: true }).click();
    await page.getByLabel("Amount in ether").fill(amount);
    await page.getByText("pay for the gas on layer 2").waitFor();
    await page.locator("dialog button.primary").click();
    await page.locator("dialog").waitFor({ state: "detached" });
  }
  await page.locator(".lines li").filter({ hasText: "Arrived" }).nth(1).waitFor();
}

async function picture(page, name, isWhole) {
  await page.screenshot({ path: `${folder}/${name}.png`, fullPage: isWhole });
  if (!docs || !CHOSEN.has(name)) return;
  const session = await page.context().newCDPSession(page);
  const { cssContentSize, cssLayoutViewport } = await session.send("Page.getLayoutMetrics");
  const { clientWidth: width, clientHeight } = cssLayoutViewport;
  const height = isWhole ? Math.min(cssContentSize.height, 1300) : clientHeight;
  const clip = { x: 0, y: 0, width, height, scale: 1 };
  const options = { format: "webp", quality: 70, captureBeyondViewport: isWhole, clip };
  const { data } = await session.send("Page.captureScreenshot", options);
  writeFileSync(`${docs}/explorer-${name.replace("-wide", "")}.webp`, Buffer.from(data, "base64"));
}
