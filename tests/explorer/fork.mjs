// A copy of another chain stands on its anchor, and what is below it is read from the remote, whatever fields it lacks.

import { BOB, check, expect, rpc, run, sees, send, visit } from "./harness.mjs";

const { forkedNetwork } = await rpc("anvil_metadata");
const anchor = forkedNetwork.forkBlockNumber;

check("home shows the foundation and the anchor", async () => {
  await visit("", async (page) => {
    await sees(page, ".foundation", `Chain ${forkedNetwork.chainId}, to the anchor`);
    await sees(page, ".foundation li a", `${anchor} the anchor`);
    await sees(page, ".anchor", "http://127.0.0.1:");
    await sees(page, ".anchor", forkedNetwork.forkBlockHash.slice(0, 6));
    await page.locator(".foundation li a").first().click();
    await sees(page, "h1", `Block ${anchor}`);
    await sees(page, "main", "The anchor: chain");
  });
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
      (it) => it.pathname === "/",
      (route) => (route.request().method() === "POST" ? lacking(route) : route.continue()),
    );
  const { transactions } = await rpc("eth_getBlockByNumber", "0x2", false);
  await visit("l2/block/2", (page) => sees(page, "h1", "Block 2"), { before });
  await visit(`l2/tx/${transactions[0]}`, (page) => sees(page, ".badge", "Succeeded"), { before });
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
