// A copy of another chain stands on its anchor, and what is below it is read from the remote, whatever fields it lacks.

import { BOB, check, expect, reads, rpc, run, sees, send, visit, word } from "./harness.mjs";
import { costOf } from "./measuring.mjs";

const { forkedNetwork } = await rpc("anvil_metadata");
const anchor = forkedNetwork.forkBlockNumber;

check("home shows the foundation and the anchor", async () => {
  await visit("", async (page) => {
    await sees(page, ".foundation", `Chain ${forkedNetwork.chainId}, to the anchor`);
    await sees(page, ".foundation li a", `${anchor} the anchor`);
    await sees(page, ".anchor", "known to the node only");
    expect(!(await page.locator("main").innerText()).includes("127.0.0.1"), "the page shows the remote's URL");
    await sees(page, ".anchor", forkedNetwork.forkBlockHash.slice(0, 6));
    await page.locator(".foundation li a").first().click();
    await sees(page, "h1", `Block ${anchor}`);
    await sees(page, "main", "The anchor: chain");
  });
});

check("what was read is listed, and drawn as bricks", async () => {
  const stranger = `0x${"5a".repeat(20)}`;
  await rpc("eth_getBalance", stranger, "latest");
  await visit("", (page) => page.getByRole("link", { name: "What was read" }).first().click());
  await visit("fork", async (page) => {
    await sees(page, ".reads h2", `Read from chain ${forkedNetwork.chainId}`);
    const row = page.locator(".reads tbody tr").filter({ hasText: "0x5A5a" }).first();
    await reads(row, (cells) => cells.includes("kept") && !cells.includes("not kept"));
    await sees(page, ".courses li:not(.ghost)", "0x5a5a");
    for (const course of ["Blocks", "Accounts", "Code", "Storage"])
      await page.locator(`.courses ol[aria-label="${course}"]`).waitFor();
    await sees(page, ".anchor", forkedNetwork.forkBlockHash.slice(0, 6));
    expect((await page.locator(".box.away").count()) === 0, "the remote is said to be away");
    expect(!(await page.locator("main").innerText()).includes("127.0.0.1"), "the page shows the remote's URL");
    await page.getByRole("button", { name: /^Not kept/ }).click();
    await row.waitFor({ state: "detached" });
  });
  for (const width of [390, 1440])
    await visit(
      "fork",
      async (page) => {
        await page.locator(".reads tbody tr").first().waitFor();
        const { wide, shown } = await page.evaluate(() => ({
          wide: document.documentElement.scrollWidth,
          shown: document.documentElement.clientWidth,
        }));
        expect(wide <= shown, `${wide} of ${shown} pixels`);
      },
      { width },
    );
});

check("a first visit to what was read stays within the budget of a street", async () => {
  const { bytes, files } = await costOf("fork");
  expect(bytes <= 60_000 && files <= 28, `${bytes} bytes in ${files} files`);
});

check("the contract that accepts proofs on a copy has its own name", async () => {
  const { l1 } = await (await fetch(`${process.env.NODE_URL}/explorer/node.json`)).json();
  const names = Object.values(l1);
  // Only the L2 is a copy here.
  expect(names.includes("DevelopmentVerifier") && !names.includes("ForkVerifier"), names.join());
});

check("blocks and transactions below the anchor have pages", async () => {
  const block = await rpc("eth_getBlockByNumber", "0x2", false);
  await visit("l2/block/2", async (page) => {
    await sees(page, "main", "Below the anchor");
    await sees(page, "main", block.hash);
    expect((await page.getByText("it is not sealed yet").count()) === 0, "a batch of ours is promised");
  });
  await visit(`l2/tx/${block.transactions[0]}`, async (page) => {
    await sees(page, "main", "Below the anchor");
    await sees(page, ".badge", "Succeeded");
    expect((await page.locator(".stand").count()) === 0, "it stands in a batch of ours");
  });
});

check("a block of another chain may lack what Ethereum's have", async () => {
  const lacking = async (route) => {
    const response = await route.fetch();
    const found = await response.json();
    for (const it of Array.isArray(found) ? found : [found]) {
      for (const name of ["miner", "extraData", "size", "baseFeePerGas", "stateRoot", "status", "effectiveGasPrice"])
        if (it.result?.parentHash || it.result?.gasUsed) delete it.result[name];
      if (it.result?.parentHash) it.result.gasLimit = "0x0";
      if (it.result?.input) Object.assign(it.result, { type: "0x6a", v: undefined, gasPrice: undefined });
    }
    await route.fulfill({ response, json: found });
  };
  const before = (page) =>
    page.route(
      (it) => it.pathname === "/explorer/own",
      // What is asked when the page is closed has no response any more.
      (route) => (route.request().method() === "POST" ? lacking(route).catch(() => {}) : route.continue()),
    );
  const { transactions } = await rpc("eth_getBlockByNumber", "0x2", false);
  await visit("l2/block/2", (page) => sees(page, "h1", "Block 2"), { before });
  await visit(`l2/tx/${transactions[0]}`, (page) => sees(page, ".badge", "Succeeded"), { before });
});

check("a token of the remote has its page, with transfers and holders since the anchor", async () => {
  const token = process.env.TOKEN;
  await visit(`token/l2/${token}`, async (page) => {
    await sees(page, "h1", "Remote REM");
    await sees(page, ".supplies", "1,000");
    await sees(page, "section", "Nothing has moved");
    await sees(page, "section", "Nobody has received it yet.");
    await sees(page, "header", "since the anchor");
  });
  const { transactionHash } = await send({ to: token, data: `0xa9059cbb${word(BOB)}${word(2_500_000n)}` });
  await visit(`token/l2/${token}`, async (page) => {
    await sees(page, "[aria-label='Transfers'] tbody tr", "2.50");
    await sees(page, ".holders li", "Bob");
    expect((await page.locator(".holders li").count()) === 1, "Alice has received hers before the anchor");
  });
  await visit(`l2/tx/${transactionHash}`, (page) => sees(page, "#events", "2.50 REM"));
  await visit(`address/${BOB}`, (page) => sees(page, ".tokens", "REM"));
});

check("blocks of the fork are drawn above its anchor", async () => {
  const receipt = await send({ to: BOB, value: "0x1" });
  await visit("", async (page) => {
    await sees(page, "tbody tr", "transfer");
    await page
      .locator(`a[href="#/l2/block/${Number(receipt.blockNumber)}"]`)
      .first()
      .waitFor();
    await sees(page, ".foundation", "Foundation");
  });
  await visit("bridge", (page) => page.getByRole("button", { name: "Deposit" }).first().waitFor());
});

await run();
