// A layer 1 behind a URL is drawn from what the node passes on, and nobody can send there without a wallet.

import { BASE_TOKEN, BOB, check, expect, run, sees, send, settled, visit, withdrawData } from "./harness.mjs";

check("a remote layer 1 is drawn and read, and nothing is sent to it", async () => {
  const burnt = await send({ to: BASE_TOKEN, value: "0xde0b6b3a7640000", data: withdrawData(BOB) });
  await settled(burnt.blockNumber);
  await visit("", async (page) => {
    await sees(page, ".house h2", "Ground floor");
    await sees(page, ".tile.l1", "execute 1");
    await sees(page, ".bay .batch", "Executed");
  });
  await visit(`bridge/${burnt.transactionHash}/0`, async (page) => {
    await sees(page, ".one", "Verified in your browser");
    await page.getByRole("button", { name: "Withdraw", exact: true }).waitFor();
    expect((await page.getByRole("button", { name: "Deposit" }).count()) === 0, "a deposit is offered");
    expect((await page.getByRole("button", { name: "Claim on L1" }).count()) === 0, "a claim is offered");
  });
});

await run();
