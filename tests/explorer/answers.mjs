// What a node answers may be late, wrong or nothing: the pages hold.

import { BASE_TOKEN, check, expect, rpc, run, sees, send, until, url, visit } from "./harness.mjs";

// Change what the node answers to some methods; `change` has the request and the answer.
const answering = (change) => (page) =>
  page.route(`${url}/explorer/own`, async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    const asked = JSON.parse(route.request().postData());
    const response = await route.fetch();
    const found = await response.json();
    const byId = new Map([asked].flat().map((it) => [it.id, it]));
    for (const it of [found].flat()) await change(byId.get(it.id), it);
    await route.fulfill({ response, json: found });
  });

check("a block that is told before an older answer arrives is not a revert", async () => {
  const head = async () => Number(await rpc("eth_blockNumber"));
  await rpc("anvil_mine", "0x1");
  let [next, isHeld] = [0, false];
  const told = new Set();
  const before = async (page) => {
    page.on("websocket", (socket) =>
      socket.on("framereceived", ({ payload }) => told.add(JSON.parse(`${payload}`).params?.result.number)),
    );
    const hold = async ({ method, params }) => {
      if (isHeld || !next || method !== "eth_getBlockByNumber" || params[0] !== "latest") return;
      isHeld = true;
      next++;
      await rpc("anvil_mine", "0x1");
      await until(() => told.has(`0x${next.toString(16)}`));
    };
    await answering(hold)(page);
  };
  await visit(
    "",
    async (page) => {
      await page.locator(`.bay a[href="#/l2/block/${await head()}"]`).waitFor();
      next = (await head()) + 1;
      await rpc("anvil_mine", "0x1");
      await until(() => isHeld);
      await sees(page, `.bay a[href="#/l2/block/${next}"]`, "");
      const banner = await page.locator("#banner").innerText();
      expect(!banner.includes("reverted"), banner);
    },
    { before },
  );
});

check("what a node says of an error is text, and no more than a page has room for", async () => {
  const { transactionHash } = await send({ to: BASE_TOKEN, data: "0xabababab", gas: "0x186a0" });
  const before = answering(({ method }, answer) => {
    if (method !== "entresol_getExecution") return;
    delete answer.result;
    answer.error = { code: -32000, message: `<b>pay\u202e\u200bout${"x".repeat(1_000_000)}` };
  });
  await visit(
    `l2/tx/${transactionHash}/steps`,
    async (page) => {
      await sees(page, ".box.bad", "<b>payoutx");
      const { length } = await page.locator("main").innerText();
      expect(length < 3000, `${length} characters`);
    },
    { before },
  );
});

check("steps that failed are said to have failed, also without a receipt", async () => {
  const { transactionHash } = await send({ to: BASE_TOKEN, data: "0xabababab", gas: "0x186a0" });
  const before = answering(({ method }, answer) => {
    if (method === "eth_getTransactionReceipt") answer.result = null;
  });
  await visit(`l2/tx/${transactionHash}/steps`, (page) => sees(page, "h1 .badge.bad", "Failed"), { before });
});

await run();
