// What a node answers may be late, wrong or nothing: the pages hold.

import { check, expect, rpc, run, sees, until, url, visit } from "./harness.mjs";

// Change what the node answers to some methods; `change` has the request and the answer.
const answering = (change) => (page) =>
  page.route(`${url}/`, async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    const asked = JSON.parse(route.request().postData());
    const response = await route.fetch();
    const found = await response.json();
    const byId = new Map([asked].flat().map((it) => [it.id, it]));
    for (const it of [found].flat()) await change(byId.get(it.id), it);
    await route.fulfill({ response, json: found });
  });

check("a block that is told before an older answer arrives is no revert", async () => {
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

await run();
