// Failures in the source of their contracts, and the debugger that steps through transactions.

import { BOB, check, expect, run, sees, send, until, visit } from "./harness.mjs";
import { Project, swaps } from "./sources.mjs";

const EVIL = '<img src=x onerror="window.hacked=1">\u202e\u200b';

const failing = new Project("stack_traces/plain-output.json");
const failures = await failing.deploy("Failures");
const calls = await failing.deploy("Calls");
const inFunctions = await failures.call("callsInternal", 7);
const { project, pool, failed, succeeded } = await swaps();

const stepsOf = (hash, query = "") => `l2/tx/${hash}/steps${query}`;
const stepOf = async (page) => Number(new URL(page.url()).hash.split("n=")[1]?.split("&")[0]);
const lineOf = (page) => page.locator(".line.here .no").innerText();

const left = (page, step, timeout) =>
  page.waitForFunction((it) => !new RegExp(`n=${it}(&|$)`).test(location.hash), step, { timeout });

// Do something, and return the line that is shown once the link names another step.
async function after(page, act) {
  const before = await stepOf(page);
  await act();
  await left(page, before);
  return lineOf(page);
}

// Click on a line that has run; what is loaded meanwhile may move it away from the pointer.
async function choose(page, text) {
  const [before, line] = [await stepOf(page), page.locator(".line.ran .code", { hasText: text })];
  await until(() =>
    line
      .click()
      .then(() => left(page, before, 5_000))
      .catch(() => false),
  );
  return lineOf(page);
}

const isHarmless = async (page) => {
  expect((await page.locator("img").count()) === 0, "there is an image");
  expect((await page.evaluate(() => window.hacked)) === undefined, "a script ran");
  const text = await page.locator("main").innerText();
  expect(!/[\u202e\u200b]/.test(text), "something that hides or turns the text is there");
};

check("without sources a failure has no stack trace, and nothing is missing", async () => {
  await visit(`l2/tx/${inFunctions}`, async (page) => {
    await sees(page, "#overview .reason", "second");
    await page.locator("#state table, #state .empty").first().waitFor();
    expect((await page.locator(".stack").count()) === 0, "there is a stack trace");
  });
});

check("without sources the steps are opcodes with stack, storage and memory", async () => {
  await visit(stepsOf(succeeded), async (page) => {
    await sees(page, ".head", "no source is known");
    await sees(page, ".pane h2", "Opcodes");
    await sees(page, ".line.here", "PUSH1");
    await sees(page, ".values h2", "Stack");
    expect((await after(page, () => page.keyboard.press("n"))) === "1", "it is not at the next opcode");
    await page.getByRole("button", { name: "To the last step" }).click();
    await sees(page, ".line.here", "RETURN");
  });
});

check("a failed transaction has file, line and function of each call that was open, the innermost first", async () => {
  await failing.give();
  await project.give();
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

check("an error that only the source explains is the reason of a failure", async () => {
  await visit(`l2/tx/${failed}`, async (page) => {
    await sees(page, "h1", "TooLittle(out: 39619417, minOut: 40000000)");
    await page.waitForFunction(() => document.title.startsWith("TooLittle("));
  });
});

check("the steps of a failure begin where it failed", async () => {
  await visit(stepsOf(failed), async (page) => {
    await sees(page, "h1", "Alice tried to call swap on Router");
    await sees(page, ".failure strong", "TooLittle(out: 39619417, minOut: 40000000)");
    await sees(page, ".pane h2", "src/Pool.sol");
    await sees(page, ".line.here.bad", "revert TooLittle(out, minOut);");
    await sees(page, ".open li", "Pool.swap");
    const open = await page.locator(".open li").allInnerTexts();
    expect(open.map((it) => it.split("\n")[0]).join() === "Pool.swap,Router._hop,Router.swap,Alice", open.join());
  });
});

check("a line of a stack trace leads to the step that was there", async () => {
  await visit(`l2/tx/${failed}`, async (page) => {
    await page.locator("#overview .stack a").filter({ hasText: "Router._hop" }).click();
    await sees(page, ".line.here", "pool.swap(msg.sender, amountIn, minOut)");
    expect((await stepOf(page)) > 0, `the link names no step: ${page.url()}`);
    await page.locator(".failure a").filter({ hasText: "Router.swap" }).click();
    await sees(page, ".line.here", "_hop(pools[i], out, least)");
    await page.getByRole("button", { name: "Go to the failure" }).click();
    await sees(page, ".line.here.bad", "revert TooLittle");
  });
});

check("the moves lead over calls, into them, out of them and back", async () => {
  const hash = await failures.call("callsInternal", 3);
  await visit(stepsOf(hash, "?n=0"), async (page) => {
    await page.locator(".line.here").waitFor();
    const press = (name) => after(page, () => page.getByRole("button", { name, exact: true }).click());
    const lines = [await lineOf(page)];
    for (const name of ["Next line", "Next line", "Into", "Next line", "Next line", "Into", "Next line", "Out", "Back"])
      lines.push(await press(name));
    expect(lines.join() === "123,124,125,128,129,130,133,134,130,129", lines.join());
    await press("To the last step");
    expect((await press("To the first step")) === "123" && (await stepOf(page)) === 0, "it is not at the first step");
  });
});

check("the keys do what the buttons do, until they are switched off", async () => {
  await visit(stepsOf(failed), async (page) => {
    await page.locator(".line.here.bad").waitFor();
    const start = await stepOf(page);
    expect((await after(page, () => page.keyboard.press("b"))) === "35", "b does not lead back");
    expect((await after(page, () => page.keyboard.press("n"))) === "36", "n does not lead on");
    await after(page, () => page.keyboard.press(","));
    await after(page, () => page.keyboard.press("."));
    await after(page, () => page.keyboard.press("h"));
    await after(page, () => page.keyboard.press("e"));
    await page.keyboard.press("v");
    await sees(page, ".pane h2", "Opcodes");
    await page.keyboard.press("?");
    await sees(page, "dialog", "To the next line, over calls");
    await page.getByRole("button", { name: "Switch the keys off" }).click();
    await page.getByRole("button", { name: "Close" }).click();
    const here = await stepOf(page);
    await page.keyboard.press("b");
    await page.getByRole("button", { name: "Go to the failure" }).click();
    await page.waitForFunction((it) => location.hash.includes(`n=${it}`), start);
    expect(here !== start, "it was at the failure already");
  });
});

check("the link holds the step and the view, and a visit begins there", async () => {
  await visit(stepsOf(failed, "?n=900&view=opcodes"), async (page) => {
    await sees(page, ".line.here .no", /^900$/);
    await page.reload();
    await sees(page, ".line.here .no", /^900$/);
    await sees(page, ".position", "step 900 of");
    await page.getByRole("button", { name: "Source" }).click();
    await page.waitForFunction(() => location.hash.endsWith("?n=900"));
  });
});

check("a click on a line leads to where it runs, one on the profile to that step", async () => {
  await visit(stepsOf(succeeded, "?n=0"), async (page) => {
    await page.locator(".line.here").waitFor();
    await page.locator(".files button").filter({ hasText: "Pool.sol" }).click();
    await sees(page, ".pane h2", "src/Pool.sol");
    expect((await choose(page, "reserveB = b - out")) === "39", "it is elsewhere");
    await after(page, () => page.locator(".profile").click({ position: { x: 400, y: 20 } }));
    await page.locator(".profile").focus();
    const before = await stepOf(page);
    await after(page, () => page.keyboard.press("ArrowRight"));
    expect((await stepOf(page)) === before + 1, "the slider did not move by one");
  });
});

check("variables, storage and memory are shown, and what a line has changed is marked", async () => {
  const changed = (page) => page.locator("section", { hasNotText: "Memory" }).locator("li:has(.value.warn)");
  await visit(stepsOf(succeeded, "?n=0"), async (page) => {
    await page.locator(".line.here").waitFor();
    await page.locator(".files button").filter({ hasText: "Pool.sol" }).click();
    await choose(page, "out = amountIn * b");
    await sees(page, ".values li", /amountIn\s*uint256\s*40000000/);
    await sees(page, ".values li", /to\s*address\s*Alice/);
    await after(page, () => page.keyboard.press("n"));
    await sees(page, ".values li:has(.value.warn)", /out\s*uint256\s*39619417/);
    await choose(page, "reserveA = a + amountIn");
    await sees(page, ".values h2", "Storage of Pool");
    await sees(page, ".values li", /reserveA\s*slot 0x2\s*4080000000/);
    await after(page, () => page.keyboard.press("n"));
    await sees(page, ".values li:has(.value.warn)", /reserveA\s*slot 0x2\s*4120000000/);
    expect((await changed(page).count()) === 1, `${await changed(page).allInnerTexts()}`);
    await sees(page, ".values header", "1 changed");
    await sees(page, ".values h2", "Memory");
  });
});

check("changes of the state have the names of variables, as in the debugger", async () => {
  await visit(`l2/tx/${succeeded}`, async (page) => {
    await sees(page, "#state tr", "reserveA");
    await sees(page, "#state tr", /balance\w*\[0x/);
  });
});

check("what contracts print is listed with the line that printed it, and is faint until then", async () => {
  await visit(stepsOf(failed), async (page) => {
    await sees(page, ".printed li", /Router:18\s*hop 1 of 1/);
    await sees(page, ".printed li", /Pool:35\s*out 39619417, at least 40000000/);
    await sees(page, ".printed", "2 lines");
    expect((await page.locator(".printed .later").count()) === 0, "a line is still to come");
    await after(page, () => page.keyboard.press("h"));
    expect((await page.locator(".printed .later").count()) === 2, "a line was printed before the first step");
  });
});

check("a function that is open shows its line, without a move", async () => {
  await visit(stepsOf(failed), async (page) => {
    await page.locator(".line.here.bad").waitFor();
    const step = await stepOf(page);
    await page.locator(".open button").filter({ hasText: "Router._hop" }).click();
    await sees(page, ".line.here.outer", "pool.swap(");
    expect((await stepOf(page)) === step, "it has moved");
  });
});

check("lines that an optimizer has moved are said to jump", async () => {
  const optimized = await swaps("swap/optimized.json");
  await optimized.project.give();
  await visit(stepsOf(optimized.failed), async (page) => {
    await sees(page, ".note", "their lines may jump");
    await sees(page, ".pane .badge", "lines may jump");
  });
  await project.give();
});

check("of a long execution the first and the last steps are there, in few elements", async () => {
  const hash = await pool.call("sum", 3000n);
  await visit(stepsOf(hash, "?view=opcodes"), async (page) => {
    await sees(page, ".note", "the first 10,000 and the last 10,000 are here");
    await page.locator(".line.here").waitFor();
    await after(page, () => page.keyboard.press("e"));
    await sees(page, ".line.here", /RETURN|STOP/);
    const { height } = await page.locator(".room").boundingBox();
    expect(height > 20_000 * 20, `the list is ${height} high`);
    await page.locator(".window").evaluate((it) => it.scrollTo(0, it.scrollHeight / 4));
    await sees(page, ".line .no", /^5,?0\d\d$/);
    const nodes = await page.locator("main *").count();
    expect(nodes < 1200, `${nodes} elements`);
  });
});

check("a file of ten thousand lines, and one of a megabyte, take few elements", async () => {
  const lines = "\n// more".repeat(10_000);
  const wide = `\n// ${"x".repeat(1_000_000)}\n"${"\\".repeat(500_000)}`;
  await project.give({ text: (it) => (it.includes("contract Pool") ? `${it}${lines}${wide}` : it) });
  await visit(stepsOf(failed), async (page) => {
    await page.locator(".line.here.bad").waitFor();
    await page.locator(".window").evaluate((it) => it.scrollTo(0, it.scrollHeight));
    await sees(page, ".line .no", /^10060$/);
    const nodes = await page.locator("main *").count();
    expect(nodes < 1200, `${nodes} elements`);
    expect((await page.locator("main").innerText()).length < 20_000, "the line is shown whole");
  });
  await project.give();
});

check("names and texts of sources are text, and what hides in them is shown by its number", async () => {
  await project.give({
    file: (it) => `${EVIL}${it}`,
    contract: (it) => `${EVIL}${it}`,
    text: (it) => it.replace("/// Takes from one side, gives from the other.", `/// ${EVIL}`.padEnd(47)),
  });
  for (const route of [`l2/tx/${failed}`, stepsOf(failed), stepsOf(failed, "?view=opcodes")])
    await visit(route, async (page) => {
      await sees(page, ".stack li", "Pool.swap");
      await isHarmless(page);
      if (route.endsWith("steps")) await sees(page, ".line .hidden-mark", "\\u202e");
    });
  await project.give();
});

check("a transaction that ran no code says so, and one that is none is an error", async () => {
  const { transactionHash } = await send({ to: BOB, value: "0x1" });
  await visit(stepsOf(transactionHash), (page) => sees(page, ".empty", "No code ran"));
  await visit(`l2/tx/${transactionHash}`, async (page) => {
    await sees(page, "h1", "Alice");
    expect((await page.getByText("Step by step").count()) === 0, "it offers steps");
  });
  await visit(stepsOf(`0x${"ab".repeat(32)}`), (page) => sees(page, ".box.bad", "entresol_getExecution failed"));
});

check("a phone has the panes below each other", async () => {
  await visit(
    stepsOf(failed),
    async (page) => {
      await page.locator(".line.here.bad").waitFor();
      const boxes = await Promise.all([".pane", ".left", ".right"].map((it) => page.locator(it).boundingBox()));
      expect(boxes[0].y < boxes[1].y && boxes[1].y < boxes[2].y, JSON.stringify(boxes));
      const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(beyond <= 0, `${beyond} px are beyond the screen`);
    },
    { width: 375, height: 812 },
  );
});

await run();
