// WCAG 2.2 AA by the rules of axe: every page, both themes, wide and on a phone.

import {
  ALICE,
  BASE_TOKEN,
  BOB,
  check,
  expect,
  MESSENGER,
  messageData,
  rpc,
  run,
  send,
  settled,
  url,
  visit,
  withdrawData,
} from "./harness.mjs";
import { violationsOf } from "./measuring.mjs";
import { swaps } from "./sources.mjs";

let seeded = null;

function seed() {
  seeded ??= (async () => {
    const message = await send({ to: MESSENGER, data: messageData("hello") });
    const burnt = await send({ to: BASE_TOKEN, value: "0xde0b6b3a7640000", data: withdrawData(BOB) });
    // A call of the base token that no function of it takes.
    const failed = await send({ to: BASE_TOKEN, data: `0x${"ab".repeat(36)}`, gas: "0x186a0" });
    await settled(failed.blockNumber);
    const swapped = await swaps();
    await swapped.project.give();
    return { swapped, message: message.transactionHash, burnt: burnt.transactionHash, failed: failed.transactionHash };
  })();
  return seeded;
}

async function pagesOf() {
  const { message, burnt, failed, swapped } = await seed();
  const call = encodeURIComponent(JSON.stringify([ALICE, "latest"]));
  return [
    "",
    "bridge",
    `bridge/${message}/0`,
    `bridge/${burnt}/0`,
    "batch/1",
    "l2/block/1",
    `l2/tx/${burnt}`,
    `l2/tx/${failed}`,
    `l2/tx/${swapped.failed}`,
    `l2/tx/${swapped.failed}/steps`,
    `l2/tx/${swapped.succeeded}/steps?n=900&view=opcodes`,
    // Nobody has the source of it.
    `l2/tx/${failed}/steps`,
    `address/${ALICE}`,
    `address/${BASE_TOKEN}`,
    "pool",
    `console/eth_getBalance?p=${call}`,
    "controls",
    "charts",
    "l1/charts",
    "l2/transactions",
    "nowhere",
  ];
}

// Open each page in turn in one tab, and collect what `examine` finds.
async function tour(options, examine) {
  const found = [];
  const routes = await pagesOf();
  await visit(
    routes[0],
    async (page) => {
      for (const route of routes) {
        await page.goto(`${url}/#/${route}`);
        await page.locator(`main.at-${route.split(/[/?]/)[0] || "home"}`).waitFor();
        await page.locator("[aria-busy]").first().waitFor({ state: "detached" });
        if (route.startsWith("bridge/")) await page.locator(".tree").waitFor();
        if (route.includes("/steps")) await page.locator(".line.here").waitFor();
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (wide > 0) found.push(`#/${route}: the page is ${wide} px too wide`);
        found.push(...(await examine(page)).map((it) => `#/${route}: ${it}`));
      }
    },
    { ...options, bypassCSP: true },
  );
  expect(found.length === 0, found.join("\n"));
}

const judge = (theme, width) => tour({ theme, width }, violationsOf);

check("no page has a violation in the dark at 1440", () => judge("dark", 1440));
check("no page has a violation in the light at 1440", () => judge("light", 1440));
check("no page has a violation in the dark at 390", () => judge("dark", 390));
check("no page has a violation in the light at 390", () => judge("light", 390));

check("no page is too wide at 320", () => tour({ width: 320 }, async () => []));

check("the dialog of wallets and phones has no violation, wide or on a phone", async () => {
  for (const [theme, width] of [
    ["dark", 1440],
    ["light", 375],
  ])
    await visit(
      "controls",
      async (page) => {
        await page.getByRole("button", { name: "Use a wallet or a phone" }).click();
        await page.getByText("Show a code for a phone").click();
        await page.getByLabel("The address that the phone opens").fill("http://192.168.1.20:3050/");
        await page.locator("svg.qr").waitFor();
        expect((await violationsOf(page)).length === 0, `violations: ${await violationsOf(page)}`);
      },
      { theme, width, bypassCSP: true },
    );
});

check("a dialog has no violation and gives the focus back", async () => {
  await seed();
  await visit(
    "bridge",
    async (page) => {
      await page.getByRole("button", { name: "Deposit", exact: true }).click();
      expect((await violationsOf(page)).length === 0, `violations: ${await violationsOf(page)}`);
      await page.keyboard.press("Escape");
      await page.locator("dialog").waitFor({ state: "detached" });
    },
    { bypassCSP: true },
  );
  expect((await rpc("eth_chainId")) === "0x10e", "the node is gone");
});

await run();
