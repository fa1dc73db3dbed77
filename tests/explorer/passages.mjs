// Bundles between two chains: their passages through the ground, their pages, their proofs, and who may do what.

import { HOLDER, sendBundle } from "./bundling.mjs";
import {
  ALICE,
  BOB,
  check,
  expect,
  finds,
  l1Rpc,
  reads,
  rowOf,
  rpc,
  rpcAt,
  run,
  sees,
  send,
  until,
  url,
  visit,
} from "./harness.mjs";
import { costOf, violationsOf } from "./measuring.mjs";

const CAROL = "0x00000000000000000000000000000000000ca401";
const ETHER = 10n ** 18n;
const { chains } = await (await fetch(`${url}/explorer/node.json`)).json();
const mill = new URL(url);
mill.port = String(chains[1].port);
const onMill = (method, ...params) => rpcAt(mill.href, method, ...params);
const balance = async (who) => BigInt(await onMill("eth_getBalance", who, "latest"));
const step = (page, name) => page.locator(".life li[aria-current]").filter({ hasText: name }).waitFor();

// What a function of one of the page's modules returns.
const called = (module, name, ...values) =>
  visit("pool", (page) =>
    page.evaluate(
      async ([from, what, given]) => (await import(`/explorer/${from}.js`))[what](...given),
      [module, name, values],
    ),
  );

check("no way lies upon another, and no label upon a way", async () => {
  const way = (from, to, sits = 0) => ({ from, to, sits, words: ["2 calls, 40 USDC", "to Mill, root arrived"] });
  const ways = [way(100, 900), way(400, 880), way(700, 300)];
  const places = await called("ways", "layOut", ways, 1000);
  for (const [at, { level, label }] of places.entries()) {
    const [left, right] = [Math.min(ways[at].from, ways[at].to), Math.max(ways[at].from, ways[at].to)];
    expect(label && label.at >= left && label.at < right, `label ${at} is not at its way: ${JSON.stringify(label)}`);
    for (const [index, other] of places.entries()) {
      if (index === at) continue;
      const { from, to } = ways[index];
      const apart = right < Math.min(from, to) || Math.max(from, to) < left;
      expect(level !== other.level || apart, "two ways share a level");
      const end = label.at + 100;
      const crossed = [from, to].some((x) => other.level > level && x > label.at && x < end);
      expect(!crossed, `label ${at} lies upon way ${index}`);
    }
  }
  const [near] = await called("ways", "layOut", [way(300, 340)], 1000);
  expect(near.label.isBeside && near.label.at > 340, `a label without room is not beside its way: ${near.label.at}`);
  const [none] = await called("ways", "layOut", [way(0, 40)], 60);
  expect(none.label === null, "a label that has no room anywhere is drawn");
});

check("who is on the stairs stays on them, and none upon another", async () => {
  for (const wanted of [[0.78, 0.78, 0.78], [0.3, 0.6, 0.9], [0.12, 0.12], [0.9]]) {
    const found = await called("stairs", "heights", wanted, 0.82);
    expect(found.length === wanted.length, "somebody is missing");
    expect(
      found.every((it) => it > 0 && it <= 0.82),
      `above or below the stairs: ${found}`,
    );
    expect(
      found.slice(1).every((it, at) => it - found[at] >= 0.18),
      `one upon another: ${found}`,
    );
  }
});

check("who may run a bundle is read with and without a chain", async () => {
  const bob = BOB.toLowerCase();
  const anywhere = `0x000100000014${bob.slice(2)}`;
  const there = `0x0001000002010f14${bob.slice(2)}`;
  const party = (bytes) => called("bundles", "partyOf", bytes);
  expect((await party("0x")) === null && (await party(anywhere)).address === bob, "an address alone");
  expect((await party(there)).chain === 271 && (await party(there)).address === bob, "an address on a chain");
  const may = await Promise.all(
    [
      [there, 271],
      [there, 270],
      [bob, 270],
    ].map(([bytes, chain]) => called("bundles", "isAllowed", bytes, bob, chain)),
  );
  expect(may.join() === "true,false,true", `where it is allowed: ${may}`);
});

let first;

check("a bundle goes through a passage, and stands at each stage in words", async () => {
  await visit(
    "",
    async (page) => {
      await page.locator(".home .bay, .home .batch").first().waitFor();
      first = await sendBundle(url, 271, [
        { to: BOB, value: ETHER / 2n },
        { to: CAROL, value: ETHER / 4n },
      ]);
      await sees(page, ".passages text", "2 calls, 0.75 ETH");
      await sees(page, "[aria-label='Passages'] li", "2 calls, 0.75 ETH from Harbour to Mill, ");
      await page.locator(".passages .to-come, .passages .travelled").first().waitFor();
      await sees(page, ".passages text", "root arrived");
      await sees(page, ".pulse", "In the passages");
      await sees(page, "[aria-label='Bundles'] tbody tr", "waits to be run");
      expect((await page.locator(".passages .to-come").count()) === 0, "some of its way is still to come");
      expect((await page.locator("main *").count()) < 900, "the street has too many nodes");
      expect((await violationsOf(page)).length === 0, `${await violationsOf(page)}`);
      await page.locator("[aria-label='Bundles'] tbody a").first().click();
      await sees(page, "h1", "Alice sent 2 calls, 0.75 ETH from Harbour to Mill");
    },
    { bypassCSP: true },
  );
});

check("its proof is checked in the browser, and a click runs it", async () => {
  const before = [await balance(BOB), await balance(CAROL)];
  await visit(`bundle/${first.bundle}`, async (page) => {
    await step(page, "Root arrived");
    await sees(page, ".panel .box.ok", "Mill keeps the root it leads to.");
    expect((await page.locator(".panel .steps .ok").count()) === 3, "three checks hold");
    await sees(page, ".panel", "there is no validity proof");
    await sees(page, "tr", "Not processed");
    await page.getByRole("button", { name: "Run all" }).click();
    await step(page, "Executed");
    await sees(page, "h1 .badge", "Executed");
    expect((await page.locator("td .ok").count()) === 2, "both calls are executed");
    expect((await page.getByRole("button", { name: /Run|Cancel/ }).count()) === 0, "it can be run again");
  });
  const after = [await balance(BOB), await balance(CAROL)];
  expect(after[0] - before[0] === ETHER / 2n && after[1] - before[1] === ETHER / 4n, "the value did not arrive");
});

check("a proof that leads elsewhere differs, and both roots are shown", async () => {
  // A node that lies about one sibling.
  const lie = async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    const response = await route.fetch();
    const text = await response.text();
    const found = /"proof":\["0x01[0-9a-f]{62}","(0x[0-9a-f]{64})"/.exec(text);
    await route.fulfill({ response, body: found ? text.replace(found[1], `0x${"ee".repeat(32)}`) : text });
  };
  await visit(
    `bundle/${first.bundle}`,
    async (page) => {
      await sees(page, ".panel .box.bad", "The proof differs");
      await sees(page, ".panel .box.bad", "on layer 1 0x");
      expect((await page.locator(".panel .box.ok").count()) === 0, "it is verified all the same");
    },
    { before: (page) => page.route((it) => it.pathname === "/explorer/own", lie) },
  );
});

check("a bundle that is not on the ground yet sits in its pillar", async () => {
  await l1Rpc("evm_setAutomine", false);
  try {
    await visit("", async (page) => {
      const { receipt } = await sendBundle(url, 271, [{ to: CAROL }]);
      await until(async () => (await rpc("eth_getTransactionReceipt", receipt.transactionHash)).l1BatchNumber);
      await send({ to: BOB, value: "0x1" });
      await page
        .locator(".passages text")
        .filter({ hasText: /waits in \d+/ })
        .waitFor();
      const way = page.locator(".passages a").filter({ hasText: "waits in" });
      expect((await way.locator(".travelled").count()) === 0, "it has travelled");
      expect((await way.locator(".to-come").count()) === 1, "its way is not drawn");
      const inside = await way.locator(".sinks").evaluate((it) => {
        const { top } = it.getBoundingClientRect();
        return top < document.querySelector(".street > .slab").getBoundingClientRect().top;
      });
      expect(inside, "it lies in the ground");
    });
  } finally {
    await l1Rpc("evm_setAutomine", true);
    await l1Rpc("evm_mine");
  }
});

check("search finds a bundle, and the transactions that sent and ran it lead to it", async () => {
  const link = `#/bundle/${first.bundle}`;
  const { transactionHash } = first.receipt;
  await visit(`270/tx/${transactionHash}`, async (page) => {
    await sees(page, "h1", "Alice sent 2 calls from Harbour to Mill");
    await page.locator(`#overview a[href="${link}"]`).waitFor();
    await finds(page, [[first.bundle, "bundle", link]]);
    await page.locator(".facts a[href^='#/271/tx/']").click();
    await sees(page, "h1", "ran a bundle from Harbour in Mill");
    await page.locator(`#overview a[href="${link}"]`).waitFor();
  });
  await visit(`bundle/0x${"ab".repeat(32)}`, (page) => sees(page, "h1", "No such bundle"));
});

check("roots arrive by a transaction of the node, which names them", async () => {
  const roots = await onMill("eth_getLogs", {
    address: "0x0000000000000000000000000000000000010008",
    fromBlock: "0x0",
  });
  await visit(`271/tx/${roots[0].transactionHash}`, async (page) => {
    await sees(page, "h1", "of all chains arrived from layer 1 in Mill");
    await sees(page, "#overview", "root import");
    await page.locator("#overview a[href^='#/l1/block/']").first().waitFor();
    await page.goto(`${url}/#/271/block/${Number(roots[0].blockNumber)}`);
    await sees(page, "tbody tr", "roots arrived");
  });
});

check("a call is run and another is cancelled, which names the loss, asks once, and says it for good", async () => {
  const calls = [{ to: BOB, value: ETHER / 10n }, { to: BOB, value: (2n * ETHER) / 5n }, { to: BOB }];
  const { bundle } = await sendBundle(url, 271, calls, { unbundler: BOB });
  const before = await balance(CAROL);
  await visit(
    `bundle/${bundle}`,
    async (page) => {
      await step(page, "Root arrived");
      await sees(page, ".part", "Bob may run or cancel each");
      expect(
        (await page.getByRole("button", { name: "Cancel…" }).count()) === 0,
        "it can be cancelled before it is verified",
      );
      await page.getByRole("button", { name: "Verify only" }).click();
      await step(page, "Verified");
      const row = (at) => page.locator("[aria-label='Calls'] tbody tr").nth(at);
      await row(0).getByRole("button", { name: "Run", exact: true }).click();
      await row(0).filter({ hasText: "Executed" }).waitFor();
      await row(1).getByRole("button", { name: "Cancel…" }).click();
      await sees(page, "tr", "0.40 ETH will be lost.");
      await row(1).getByRole("button", { name: "Keep" }).click();
      await row(1).getByRole("button", { name: "Cancel…" }).click();
      await row(1).getByRole("button", { name: "Cancel, lose 0.40 ETH" }).click();
      await row(1).filter({ hasText: "Cancelled" }).waitFor();
      await sees(page, ".box.lost", "0.40 ETH is lost");
      await sees(page, "h1 .badge", "1 call left");
      await page.reload();
      await sees(page, ".box.lost", "0.40 ETH is lost");
      await row(2).filter({ hasText: "Not processed" }).waitFor();
      expect((await violationsOf(page)).length === 0, `${await violationsOf(page)}`);
    },
    { bypassCSP: true },
  );
  expect((await balance(CAROL)) === before, "somebody else got it");
});

check("who may not run or cancel a bundle has no button for it", async () => {
  const { bundle } = await sendBundle(url, 271, [{ to: BOB }], { unbundler: CAROL, executor: CAROL });
  await visit(`bundle/${bundle}`, async (page) => {
    await step(page, "Root arrived");
    await sees(page, ".part", "may run it, who is not here");
    expect((await page.locator(".part button.acts").count()) === 0, "there is a button");
  });
});

check("the holder of native value has a name, and is counted nowhere", async () => {
  await visit(`address/${HOLDER}`, async (page) => {
    await sees(page, "h1", "BaseTokenHolder");
    await sees(page, "main", "It backs native value between chains, and is counted nowhere.");
    await reads(rowOf(page, ".holdings", "ETH"), (cells) => /ETH\s+Ether\s+–/.test(cells));
  });
});

check("a bundle that is not covered says so, and why", async () => {
  await rpc("anvil_setBalance", ALICE, `0x${(10_000_000n * ETHER).toString(16)}`);
  const { bundle } = await sendBundle(url, 271, [{ to: BOB, value: 5_000_000n * ETHER }]);
  await visit(`bundle/${bundle}`, async (page) => {
    await sees(page, "h1 .badge", "Not booked");
    await sees(page, ".box.bad", "Layer 1 has not booked it");
    await sees(page, ".life li", "not booked");
    await sees(page, ".panel", "leaves it out until Layer 1 has booked it");
  });
});

check("a bundle that the relay cannot run says so, and why", async () => {
  const { bundle } = await sendBundle(url, 271, [{ to: BOB, value: 1n }]);
  await visit(`bundle/${bundle}`, async (page) => {
    await sees(page, "h1 .badge", "Root arrived");
    // As of a node with --relay.
    await page.route("**/*", async (route) => {
      const body = route.request().postData() ?? "";
      if (!body.includes("entresol_getBundleProblem")) return route.continue();
      const asked = [JSON.parse(body)].flat().find((it) => it.method === "entresol_getBundleProblem");
      const response = await route.fetch();
      const answers = [await response.json()].flat();
      const json = answers.map((it) => (it.id === asked.id ? { ...it, result: "execution reverted" } : it));
      return route.fulfill({ response, json: body.startsWith("[") ? json : json[0] });
    });
    await rpc("evm_mine");
    await sees(page, ".box.bad", "The relay cannot run it");
    await sees(page, ".box.bad", "execution reverted");
  });
});

check("on a phone a bundle's life is upright, and passages are a list", async () => {
  for (const theme of ["dark", "light"])
    await visit(
      "",
      async (page) => {
        await page.locator(".ways li").first().waitFor();
        await sees(page, ".ways li", "Harbour to Mill");
        expect((await page.locator(".passages").count()) === 0, "a passage is drawn");
        expect((await violationsOf(page)).length === 0, `${await violationsOf(page)}`);
        await page.locator(".ways a").first().click();
        await page.locator(".life .upright").waitFor();
        const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        expect(wider <= 0, `the page is ${wider} px too wide`);
        expect((await violationsOf(page)).length === 0, `${await violationsOf(page)}`);
      },
      { theme, width: 390, height: 844, bypassCSP: true },
    );
});

check("the page of a bundle stays within the budget", async () => {
  const it = await costOf(`bundle/${first.bundle}`);
  const fits = it.bytes <= 60_000 && it.scripts <= 45_000 && it.styles <= 9_000 && it.files <= 20;
  expect(fits, JSON.stringify(it));
});

check("a bundle that is reverted is gone from the street", async () => {
  await visit("", async (page) => {
    const rows = page.locator("[aria-label='Bundles'] tbody tr");
    await rows.first().waitFor();
    const snapshot = await rpc("evm_snapshot");
    await sendBundle(url, 271, [{ to: BOB, value: 3n }]);
    await sees(page, "[aria-label='Bundles'] tbody tr", "3 wei");
    await rpc("evm_revert", snapshot);
    await send({ to: BOB, value: "0x1" });
    await until(async () => !(await rows.allInnerTexts()).join().includes("3 wei"));
    await l1Rpc("eth_blockNumber");
  });
});

await run();
