// How long pages of a large chain take to appear, in milliseconds: `make bench ARGS=tokens`.

import { ALICE, launch, rpc, url } from "./harness.mjs";

const token = process.env.TOKEN;
const PAGES = /** @type {Record<string, [string, string]>} */ ({
  "page of a token with 10,000 holders": [`token/l2/${token}`, ".holders li >> nth=8"],
  "its transfers": [`token/l2/${token}`, "[aria-label='Transfers'] tbody tr >> nth=24"],
  "page of an account with 100,000 transactions": [
    `address/${ALICE}`,
    "[aria-label='Transactions of this address'] tbody tr >> nth=9",
  ],
  "all transactions": ["l2/transactions", "tbody tr >> nth=24"],
  "all blocks": ["l2/blocks", "tbody tr >> nth=24"],
  "charts, a block a bar": ["charts", "figure g >> nth=59"],
});
const TURNS = 20;
const VISITS = 3;

const browser = await launch();
const found = {};
const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

// The browser itself has to start.
await (await browser.newPage()).goto(url);

// From the navigation to the last of its rows, with an empty cache, in a state that nobody has asked about.
async function visit(route, last) {
  await rpc("evm_mine");
  const page = await (await browser.newContext()).newPage();
  const started = performance.now();
  await page.goto(`${url}/#/${route}`);
  await page.locator(last).waitFor();
  return { page, taken: performance.now() - started };
}

async function slowestTurn(page) {
  let slowest = 0;
  for (let turn = 1; turn <= TURNS; turn++) {
    const started = performance.now();
    await page.getByRole("button", { name: "Older" }).click();
    await page.locator(".pager", { hasText: `${(turn * 25 + 1).toLocaleString()} to` }).waitFor();
    slowest = Math.max(slowest, performance.now() - started);
  }
  return slowest;
}

for (const [name, [route, last]] of Object.entries(PAGES)) {
  const times = [];
  for (let turn = 1; turn <= VISITS; turn++) {
    const { page, taken } = await visit(route, last);
    times.push(taken);
    if (turn === VISITS && route.startsWith("l2/"))
      found[`${name}, a page back, the slowest of ${TURNS}`] = await slowestTurn(page);
    if (turn === VISITS && route === "charts") {
      const turned = performance.now();
      await page.getByRole("button", { name: "100", exact: true }).click();
      await page.locator(".pager", { hasText: "Blocks 0 to" }).waitFor();
      found["charts, all blocks in bars of 100"] = performance.now() - turned;
    }
    await page.context().close();
  }
  found[name] = median(times);
}

console.log(JSON.stringify(found));
await browser.close();
process.exit(0);
