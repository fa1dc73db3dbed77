// Six chains: the five busiest are drawn, and a table has them all.

import { sendBundle } from "./bundling.mjs";
import { ALICE, BOB, check, expect, rpcAt, run, sees, until, url, visit } from "./harness.mjs";
import { socketsOf, violationsOf } from "./measuring.mjs";

const { chains } = await (await fetch(`${url}/explorer/node.json`)).json();

function urlOf(chain) {
  const found = new URL(url);
  found.port = String(chains.find((it) => it.id === chain).port);
  return found.href;
}

async function sendIn(chain) {
  const hash = await rpcAt(urlOf(chain), "eth_sendTransaction", { from: ALICE, to: BOB, value: "0x1" });
  return until(() => rpcAt(urlOf(chain), "eth_getTransactionReceipt", hash));
}

check("the five busiest houses are drawn, and the table has all", async () => {
  for (const chain of [270, 271, 272, 274, 275]) await sendIn(chain);
  for (const theme of ["dark", "light"])
    await visit(
      "",
      async (page) => {
        await sees(page, ".houses tbody tr", "Foundry");
        const plates = async () => (await page.locator(".home .plate").allInnerTexts()).join();
        await until(async () => (await plates()) === "270,271,272,274,275");
        expect((await page.locator(".houses tbody tr").count()) === 6, "rows of the table");
        await sees(page, ".houses tbody tr", "no batch yet");
        await sees(page, ".name.upper", "5 of 6 chains");
        await page.locator(".home .stand").filter({ hasText: "all final" }).first().waitFor();
        const nodes = await page.locator("main *").count();
        expect(nodes < 900, `the street has ${nodes} nodes`);
        const roofs = await page.locator(".home .outline").count();
        expect(roofs === 5 && (await page.locator(".home .stairs").count()) === 0, "roofs, and no stairs");
        expect((await violationsOf(page)).length === 0, `${await violationsOf(page)}`);
      },
      { theme, bypassCSP: true },
    );
  const sockets = await socketsOf("", 6, { width: 1440 });
  expect(sockets.length === 6, `sockets: ${sockets}`);
});

check("what happens in a house that is not drawn reaches the table", async () => {
  await visit("", async (page) => {
    const row = page.locator(".houses tbody tr").filter({ hasText: "Foundry" });
    await row.waitFor();
    expect((await page.locator(".home").filter({ hasText: "Foundry" }).count()) === 0, "Foundry is drawn");
    await sendIn(273);
    await row.filter({ hasText: "executed" }).waitFor();
  });
});

check("six houses stand on the skyline of a phone", async () => {
  await visit(
    "",
    async (page) => {
      await page.locator(".home .bay").first().waitFor();
      expect((await page.locator(".skyline li").count()) === 6, "houses on the skyline");
      await page.locator(".skyline button").filter({ hasText: "Bakery" }).click();
      await sees(page, ".home", "Bakery");
      const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(wider <= 0, `the page is ${wider} px too wide`);
      expect((await violationsOf(page)).length === 0, `${await violationsOf(page)}`);
    },
    { width: 390, height: 844, bypassCSP: true },
  );
});

check("three passages are drawn, and the next ones are a number", async () => {
  await visit(
    "",
    async (page) => {
      await page.locator(".home .stand").first().waitFor();
      for (let sent = 0; sent < 5; sent++) await sendBundle(urlOf(271), 270, [{ to: BOB, value: 10n ** 17n }]);
      await sees(page, ".passages text", "1 call, 0.10 ETH, +2");
      await until(async () => (await page.locator(".passages a").count()) === 3);
      expect((await page.locator("[aria-label='Passages'] li").count()) === 5, "the list for readers of screens");
      const nodes = await page.locator("main *").count();
      expect(nodes < 900, `the street has ${nodes} nodes`);
      expect((await violationsOf(page)).length === 0, `${await violationsOf(page)}`);
    },
    { bypassCSP: true },
  );
});

await run();
