// A chain without another layer draws its own floor only.

import { check, expect, run, sees, send, visit } from "./harness.mjs";

check("a layer alone draws only its floor", async () => {
  const receipt = await send({ to: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8", value: "0x1" });
  await visit("", async (page) => {
    await sees(page, ".pulse", "Newest block");
    await sees(page, "tbody tr", "transfer");
    expect((await page.locator(".house h2").count()) === 1, "there is another floor");
    expect((await page.locator("#tabs a").filter({ hasText: "Bridge" }).count()) === 0, "there is a bridge");
    const [floor, list] = [await page.locator(".bay").first().boundingBox(), await page.locator("tbody").boundingBox()];
    expect(floor.y + floor.height < list.y, "the floor lies upon the list");
  });
  await visit(`address/0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266`, (page) => sees(page, "tbody tr", "transfer"));
  await visit("controls", (page) => sees(page, ".panel", "Snapshots"));
  expect(receipt.status === "0x1", "it failed");
});

await run();
