// How long home takes to draw, in milliseconds: `make bench ARGS=explorer`.

import { launch, rpc, url, watchTasks } from "./harness.mjs";

const VISITS = 7;
const BLOCKS = 200;

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
const browser = await launch();

// From the navigation to the first block on a floor, with an empty cache.
async function firstDrawing() {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.addInitScript(() => {
    new MutationObserver((_, observer) => {
      if (!document.querySelector(".bay")) return;
      observer.disconnect();
      window.drawn = performance.now();
    }).observe(document, { childList: true, subtree: true });
  });
  await page.goto(url);
  const drawn = await (await page.waitForFunction(() => window.drawn)).jsonValue();
  await context.close();
  return drawn;
}

// The work of the page for each of many blocks that come one after another, and its longest task.
async function updates() {
  const page = await browser.newPage();
  await page.goto(url);
  await page.locator(".bay").first().waitFor();
  const longest = await watchTasks(page);
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable");
  const worked = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return metrics.find((it) => it.name === "TaskDuration").value * 1000;
  };
  const before = await worked();
  const started = performance.now();
  for (let block = 0; block < BLOCKS; block++) await rpc("evm_mine");
  const seconds = (performance.now() - started) / 1000;
  await page.locator(`.bay a[href="#/l2/block/${Number(await rpc("eth_blockNumber"))}"]`).waitFor();
  const update = ((await worked()) - before) / BLOCKS;
  return { update, longest: await longest(), rate: BLOCKS / seconds };
}

const visits = [];
for (let visit = 0; visit < VISITS; visit++) visits.push(await firstDrawing());
console.log(JSON.stringify({ first: median(visits), ...(await updates()) }));
await browser.close();
