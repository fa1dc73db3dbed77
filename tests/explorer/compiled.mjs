// Contracts whose source the node knows: their names, their functions and their errors, without a file that is dropped.

import { BOB, check, expect, MESSENGER, messageData, rpc, run, sees, send, visit, withdrawData } from "./harness.mjs";
import { Project } from "./sources.mjs";

const project = new Project("stack_traces/plain-output.json");
const failures = await project.deploy("Failures");
const hash = await failures.call("customError", 700);
const path = `l2/tx/${hash}`;
const EVIL = '<img src=x onerror="window.hacked=1">\u202e\u200b';

check("without sources a contract is its address, and what it does its selector", async () => {
  await visit(`address/${failures.address}`, (page) => sees(page, ".contract", "Its ABI is not known"));
  await visit(path, (page) => sees(page, "h1", "an error that no ABI explains"));
});

check("a page asks once for the sources of all its contracts", async () => {
  await project.give();
  const asked = [];
  await visit(
    path,
    async (page) => {
      await sees(page, "#calls li", "Failures");
      expect(asked.length === 1, `asked ${asked.length} times`);
    },
    {
      before: (page) =>
        page.on("request", (it) => {
          const found = it.postData()?.match(/entresol_getContracts/g) ?? [];
          asked.push(...found);
        }),
    },
  );
});

check("a contract of a known source has its name and its functions", async () => {
  await project.give();
  await visit(`address/${failures.address}`, async (page) => {
    await sees(page, "h1", "Failures");
    await sees(page, ".contract .functions", "customError");
  });
});

check("a transaction says which function it called and with which error it failed", async () => {
  await project.give();
  await visit(path, async (page) => {
    await sees(page, "h1", "customError");
    await sees(page, "h1", "TooMuch(wanted: 700, available: 100)");
    await sees(page, "#calls li.bad", "Failures.customError(700) ✕ TooMuch(wanted: 700");
  });
});

check("lists and blocks name contracts and functions", async () => {
  await project.give();
  for (const route of [
    "",
    "transactions",
    `l2/block/${Number((await rpc("eth_getTransactionReceipt", hash)).blockNumber)}`,
  ])
    await visit(route, async (page) => {
      await sees(page, "tbody tr", "customError");
      await sees(page, "tbody tr", "Failures");
    });
});

check("a contract that has the name of one of the project is not taken for it", async () => {
  await project.give({ contract: () => "L1Messenger" });
  const { transactionHash } = await send({ to: MESSENGER, data: messageData("hello") });
  await visit(path, (page) => sees(page, "h1", "customError"));
  await visit(`l2/tx/${transactionHash}`, (page) => sees(page, "h1", "sent a message of 5 bytes"));
  await project.give();
});

check("what a contract with the name of the base token does is not a withdrawal", async () => {
  const { address } = await project.deploy("FallbackOnly");
  await project.give({ contract: (it) => (it === "FallbackOnly" ? "L2BaseToken" : it) });
  const { transactionHash } = await send({ to: address, data: withdrawData(BOB) });
  await visit(`l2/tx/${transactionHash}`, (page) => sees(page, "h1", "Alice called withdraw on L2BaseToken"));
  await project.give();
});

check("names are text, without what turns its direction", async () => {
  await project.give({ contract: (it) => `${EVIL}${it}` });
  await visit(path, async (page) => {
    await sees(page, "#calls li", "customError");
    const text = await page.locator("main").innerText();
    expect(!/[\u202e\u200b]/.test(text), "a mark of direction is there");
    expect((await page.locator("img").count()) === 0, "there is an image");
    expect((await page.evaluate(() => window.hacked)) === undefined, "a script ran");
  });
  await project.give();
});

await run();
