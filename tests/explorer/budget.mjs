// What a visit costs: bytes and requests of a browser that has nothing yet.

import {
  ALICE,
  check,
  expect,
  l1Rpc,
  MESSENGER,
  messageData,
  rpc,
  run,
  send,
  settled,
  visit,
  watchTasks,
} from "./harness.mjs";
import { costOf, filesOf } from "./measuring.mjs";

const MAX_BYTES = 60_000;
const MAX_SCRIPTS = 45_000;
const MAX_STYLES = 9_000;
const MAX_FILES = 20;
// What the debugger loads beside what the page of a transaction has.
const MAX_DEBUGGER_BYTES = 25_000;

check("a visit to any page stays within the budget", async () => {
  const receipt = await send({ to: MESSENGER, data: messageData("hello") });
  await settled(receipt.blockNumber);
  const routes = [
    "",
    "bridge",
    `bridge/${receipt.transactionHash}/0`,
    "batch/1",
    "l2/block/1",
    `l2/tx/${receipt.transactionHash}`,
    `address/${ALICE}`,
    "pool",
    "console",
    "controls",
    "charts",
    "l2/transactions",
  ];
  const over = [];
  for (const route of routes) {
    const it = await costOf(route);
    console.error(`#/${route.slice(0, 20)}: ${JSON.stringify(it)}`);
    if (
      it.bytes > MAX_BYTES ||
      it.scripts > MAX_SCRIPTS ||
      it.styles > MAX_STYLES ||
      it.files > MAX_FILES ||
      it.files < 8
    )
      over.push(`#/${route}: ${JSON.stringify(it)}`);
  }
  expect(over.length === 0, over.join("\n"));
});

check("the debugger loads apart, and within its budget", async () => {
  const { transactionHash } = await send({ to: MESSENGER, data: messageData("step by step") });
  const others = new Map(await filesOf(`l2/tx/${transactionHash}`));
  const own = (await filesOf(`l2/tx/${transactionHash}/steps`)).filter(([path]) => !others.has(path));
  const bytes = own.reduce((sum, it) => sum + it[1], 0);
  console.error(`the debugger: ${bytes} bytes in ${own.length} files`);
  for (const name of ["steps.js", "debugger.js", "source.js", "steps.css"])
    expect(
      own.some(([path]) => path.endsWith(`/${name}`)),
      `${name} is loaded without it`,
    );
  expect(bytes <= MAX_DEBUGGER_BYTES, `${bytes} bytes: ${JSON.stringify(own)}`);
});

check("a second visit transfers no file again", async () => {
  await visit("", async (page) => {
    const statuses = [];
    page.on("response", (it) => /\/explorer\/.*\.(js|css)$/.test(it.url()) && statuses.push(it.status()));
    await page.reload();
    await page.locator(".bay").first().waitFor();
    expect(statuses.length > 5 && statuses.every((it) => it === 304 || it === 200), `statuses: ${statuses}`);
  });
  const first = await fetch(`${process.env.NODE_URL}/explorer/main.js`);
  const again = await fetch(`${process.env.NODE_URL}/explorer/main.js`, {
    headers: { "if-none-match": first.headers.get("etag") },
  });
  expect(again.status === 304, `status ${again.status}`);
});

check("two hundred blocks draw without a long task", async () => {
  await visit("", async (page) => {
    await page.locator(".bay").first().waitFor();
    const longest = await watchTasks(page);
    await rpc("anvil_mine", "0xc8");
    const head = Number(await rpc("eth_blockNumber"));
    await page.locator(`.bay a[href="#/l2/block/${head}"]`).waitFor();
    await l1Rpc("eth_blockNumber");
    const taken = await longest();
    expect(taken < 400, `a task took ${taken} ms`);
    const nodes = await page.locator("main *").count();
    expect(nodes < 900, `home has ${nodes} nodes`);
  });
});

await run();
