// Without its remote a copy shows what it has, and says what it has not.

import { check, rpc, run, sees, visit } from "./harness.mjs";

check("a copy that is offline draws its anchor, and names what is not kept", async () => {
  const { forkedNetwork } = await rpc("anvil_metadata");
  await visit("", async (page) => {
    await sees(page, ".foundation", "the anchor");
    await sees(page, ".tile.l1", "the anchor");
    await sees(page, ".anchor", "none: offline");
  });
  await visit("l1/block/2", (page) => sees(page, "main", "Not kept here"));
  await visit(`l1/tx/0x${"12".repeat(32)}`, (page) => sees(page, "main", "Not kept here"));
  await visit(`l1/block/${forkedNetwork.forkBlockHash}`, (page) => sees(page, "h1", /Not kept here|Block/));
});

await run();
