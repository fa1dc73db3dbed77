// Failures in the source of their contracts.

import { check, expect, run, sees, visit } from "./harness.mjs";
import { addSources, deploy } from "./sources.mjs";

const EVIL = '<img src=x onerror="window.hacked=1">\u202e\u200b';

const failures = await deploy("Failures");
const unknown = await failures.call("callsInternal", 7);

check("without sources a failure has no stack trace, and nothing is missing", async () => {
  await visit(`l2/tx/${unknown}`, async (page) => {
    await sees(page, "#overview .reason", "second");
    await page.locator("#state table, #state .empty").first().waitFor();
    expect((await page.locator(".stack").count()) === 0, "there is a stack trace");
  });
});

check("a failed transaction has file, line and function of each call that was open, the innermost first", async () => {
  await addSources();
  const calls = await deploy("Calls");
  const hash = await calls.call("externalFromInternal");
  await visit(`l2/tx/${hash}`, async (page) => {
    await sees(page, "#overview .reason", "from internal");
    await page.locator("#overview .stack li").first().waitFor();
    const lines = await page.locator("#overview .stack li").allInnerTexts();
    expect(
      lines.join("; ") ===
        "at Callee.fail contracts/Calls.sol:46; at Calls._forward contracts/Calls.sol:137; at Calls.externalFromInternal contracts/Calls.sol:133",
      lines.join("; "),
    );
  });
});

check("names of files and contracts are text, without what turns its direction", async () => {
  await addSources({ file: (it) => `${EVIL}${it}`, contract: (it) => `${EVIL}${it}` });
  await visit(`l2/tx/${unknown}`, async (page) => {
    await sees(page, "#overview .stack li", "Failures._second");
    const text = await page.locator("#overview .stack").innerText();
    expect(!/[\u202e\u200b]/.test(text), "a mark of direction is there");
    expect((await page.locator("img").count()) === 0, "there is an image");
    expect((await page.evaluate(() => window.hacked)) === undefined, "a script ran");
  });
  await addSources();
});

await run();
