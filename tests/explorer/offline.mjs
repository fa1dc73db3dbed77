// Without its remote a copy shows what it has, and says what it has not.

import { check, expect, rpc, run, sees, visit } from "./harness.mjs";

check("a copy that is offline draws its anchor, and names what is not kept", async () => {
  const { forkedNetwork } = await rpc("anvil_metadata");
  await visit("", async (page) => {
    await sees(page, ".foundation", "the anchor");
    await sees(page, ".tile.l1", "the anchor");
    await sees(page, ".anchor", "offline");
  });
  await visit("fork", async (page) => {
    await sees(page, ".box.away", "Offline. No request leaves this machine.");
    expect((await page.getByRole("button", { name: "Try again" }).count()) === 0, "there is nobody to ask");
  });
  await rpc("eth_getBalance", `0x${"5a".repeat(20)}`, "latest").catch(() => null);
  await visit("fork", async (page) => {
    await sees(page, ".reads .bad", "not kept");
    await sees(page, ".courses .missing", "not kept");
    await sees(page, ".box.away", "asked for what is not kept");
  });
  await visit("l1/block/2", (page) => sees(page, "main", "Not kept here"));
  await visit(`l1/tx/0x${"12".repeat(32)}`, (page) => sees(page, "main", "Not kept here"));
  await visit(`l1/block/${forkedNetwork.forkBlockHash}`, (page) => sees(page, "h1", /Not kept here|Block/));
});

check("a token whose values are kept has its page offline, and another one is named as not kept", async () => {
  const { TOKEN, OTHER_TOKEN } = process.env;
  await visit(`token/l1/${TOKEN}`, async (page) => {
    await sees(page, "h1", "Remote REM");
    await sees(page, "section", "Nothing has moved");
    await sees(page, "section", "Nobody has received it yet.");
  });
  await visit(`token/l1/${OTHER_TOKEN}`, (page) => sees(page, "main", "Not kept here"));
});

await run();
