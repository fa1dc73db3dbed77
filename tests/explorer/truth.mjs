// What the pages say is true: old withdrawals, amounts, ages, lists that follow the chain, and pages after an outage.

import { JsonRpcProvider, parseEther } from "ethers";
import { Provider, Wallet } from "zksync-ethers";
import {
  ALICE,
  ALICE_KEY,
  BASE_TOKEN,
  BOB,
  check,
  expect,
  l1Rpc,
  l1Url,
  reads,
  rpc,
  run,
  sees,
  send,
  settled,
  until,
  url,
  visit,
  withdrawData,
} from "./harness.mjs";

const CAROL = "0x00000000000000000000000000000000000ca401";
// A contract that rejects every call: PUSH0 PUSH0 REVERT.
const REJECTING = "0x625f5ffd5f526003601df3";

async function deployed(data) {
  return (await send({ data })).contractAddress;
}

async function deposit(to, amount, l2Data = "0x") {
  const alice = new Wallet(ALICE_KEY, new Provider(url), new JsonRpcProvider(l1Url));
  const request = {
    contractAddress: to,
    calldata: l2Data,
    l2Value: amount,
    l2GasLimit: 500_000n,
    refundRecipient: CAROL,
  };
  const handle = await alice.requestExecute(request);
  return (await handle.waitL1Commit()).hash;
}

check("a withdrawal that was not claimed stays claimable however many blocks follow", async () => {
  const receipt = await send({ to: BASE_TOKEN, data: withdrawData(BOB), value: "0xa688906bd8b0000" });
  await settled(receipt.blockNumber);
  // More than a page reads when it is opened.
  await rpc("anvil_mine", "0x7d0");
  await rpc("anvil_mine", "0x7d0");
  await visit("", (page) => sees(page, ".pulse", "1 to be claimed"));
  await visit("bridge", async (page) => {
    const line = page.locator(".lines li").filter({ hasText: "Withdrawal, 0.75 ETH" });
    await line.filter({ hasText: "Claimable" }).locator("a").click();
    await page.getByRole("button", { name: "Claim on L1" }).click();
    await line.filter({ hasText: "Paid" }).waitFor();
    await page.goto(`${url}/#/`);
    await sees(page, ".pulse", "none to be claimed");
  });
});

check("what a failed deposit did not bring is not shown as if it had", async () => {
  const target = await deployed(REJECTING);
  const amount = parseEther("0.1");
  await deposit(target, amount, "0x12345678");
  await until(async () => (await rpc("eth_getBalance", CAROL, "latest")) !== "0x0");
  const row = (page, of) => page.locator(`${of} tbody tr`).filter({ hasText: "failed" }).first();
  await visit(`address/${target}`, async (page) => {
    await reads(
      row(page, "[aria-label='Transactions of this address']"),
      (cells) => /\t0\t/.test(cells) && !cells.includes("0.10 ETH"),
    );
  });
  await visit(`address/${CAROL}`, async (page) => {
    await reads(row(page, "[aria-label='Transactions of this address']"), (cells) => cells.includes("+0.1"));
  });
  await visit("", async (page) => {
    const cells = await row(page, "[aria-label='Newest transactions']").innerText();
    expect(!cells.includes("0.10 ETH"), `home shows: ${cells}`);
    await row(page, "[aria-label='Newest transactions']").locator("a").first().click();
    await sees(page, "h1", "tried to call");
    await sees(page, "#overview", "it was refunded");
  });
  const block = Number(await rpc("eth_blockNumber"));
  await visit(`l2/block/${block}`, async (page) => {
    const cells = await row(page, "[aria-label='Transactions']").innerText();
    expect(!cells.includes("0.10 ETH"), `the block shows: ${cells}`);
  });
});

check("the transactions of an address follow the chain", async () => {
  await visit(`address/${ALICE}`, async (page) => {
    const rows = page.locator("[aria-label='Transactions of this address'] tbody tr");
    await rows.first().waitFor();
    const { transactionHash } = await send({ to: BOB, value: "0x1" });
    await page.locator(`tbody a[href="#/l2/tx/${transactionHash}"]`).waitFor();
  });
});

check("a write from a contract's page shows among its transactions", async () => {
  await visit("address/0x0000000000000000000000000000000000008008", async (page) => {
    await page.locator("details.function").filter({ hasText: "sendToL1" }).locator("summary").click();
    const form = page.locator("details.function").filter({ hasText: "sendToL1" });
    await form.getByRole("textbox").first().fill("0x1234");
    await form.getByRole("button", { name: "Write" }).click();
    await form.locator("output").filter({ hasText: "Succeeded" }).waitFor();
    const link = await form.locator("output a").getAttribute("href");
    await page.locator(`tbody a[href="${link}"]`).waitFor();
  });
});

check("an ABI that is chosen names the contract and its calls at once", async () => {
  const target = await deployed(REJECTING);
  await rpc("eth_sendTransaction", { from: ALICE, to: target, data: "0xd09de08a", gas: "0x186a0" }).catch(() => {});
  await visit(`address/${target}`, async (page) => {
    await sees(page, "tbody tr", "0xd09de08a");
    const abi = [{ type: "function", name: "increment", inputs: [], outputs: [], stateMutability: "nonpayable" }];
    const file = { name: "Counting.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify(abi)) };
    await page.locator("#abi-l2").setInputFiles(file);
    await sees(page, "h1", "Counting");
    await sees(page, "tbody tr", "increment");
  });
});

check("a page that did not load is there by itself when the node is back", async () => {
  await visit("pool", async (page) => {
    let isAway = true;
    await page.route(/\/explorer\/(bridge|lines|act)\.js/, (it) =>
      isAway ? it.abort("connectionrefused") : it.continue(),
    );
    await page.locator("#tabs a.tab-bridge").click();
    await sees(page, "main", "This page did not load");
    isAway = false;
    await sees(page, "h1", "Between the floors");
  });
});

check("trying again by hand shows the page", async () => {
  await visit("pool", async (page) => {
    let isAway = true;
    await page.route(/\/explorer\/(node\.json|bridge\.js|act\.js)/, (it) =>
      isAway ? it.abort("connectionrefused") : it.continue(),
    );
    await page.locator("#tabs a.tab-bridge").click();
    await sees(page, "main", "This page did not load");
    isAway = false;
    await page.getByRole("button", { name: "Try again" }).click();
    await sees(page, "h1", "Between the floors");
  });
});

check("a visit that began while the node was away ends well", async () => {
  await visit(
    "",
    async (page) => {
      await sees(page, ".bay", "");
    },
    {
      before: async (page) => {
        let attempts = 0;
        await page.route(/\/explorer\/(live|keys)\.js/, (it) =>
          attempts++ ? it.continue() : it.abort("connectionrefused"),
        );
      },
    },
  );
});

check("ages are by the clock of their layer", async () => {
  await l1Rpc("evm_increaseTime", 10_800);
  await l1Rpc("evm_mine");
  const receipt = await send({ to: BOB, value: "0x1" });
  await settled(receipt.blockNumber);
  await visit("", async (page) => {
    // The newest batch is the first that is executed, once the page has read it.
    await reads(
      page.locator(".bay .batch").filter({ hasText: "Executed" }).first(),
      (batch) => !batch.includes(" h ago"),
    );
    const finality = await page.locator(".pulse").innerText();
    expect(!/1[0-9],\d{3}\s*s/.test(finality), `finality: ${finality}`);
  });
});

check("an hour passes on both floors, and settlement goes on", async () => {
  const time = async (ask) => Number((await ask("eth_getBlockByNumber", "latest", false)).timestamp);
  const before = [await time(rpc), await time(l1Rpc)];
  await visit("controls", async (page) => {
    await page.getByRole("button", { name: "+1 hour" }).click();
    await until(async () => (await time(rpc)) >= before[0] + 3600 && (await time(l1Rpc)) >= before[1] + 3600);
    expect((await page.locator(".warn").filter({ hasText: "ahead of L1" }).count()) === 0, "L2 is ahead of L1");
  });
  const receipt = await send({ to: BOB, value: "0x1" });
  await settled(receipt.blockNumber);
});

check("durations and ages survive clocks that run ahead of one another", async () => {
  const seconds = (batch) => (Date.parse(batch.executedAt) - Date.parse(batch.committedAt)) / 1000;
  // Layer 1 is hours ahead when it executes the batch, and both are equal later.
  await l1Rpc("evm_increaseTime", 14_400);
  const early = await send({ to: BOB, value: "0x1" });
  await settled(early.blockNumber);
  await rpc("evm_increaseTime", 14_400);
  await visit("", async (page) => {
    await sees(page, ".bay .batch", "Executed");
    const { blockNumber } = await send({ to: BOB, value: "0x1" });
    await settled(blockNumber);
    const batches = [];
    for (let at = Number(await rpc("zks_L1BatchNumber")); at; at--)
      batches.push(await rpc("zks_getL1BatchDetails", at));
    const longest = Math.max(...batches.filter((it) => it.executedAt).map(seconds));
    expect(longest < 600, `by the clock of layer 1 a batch took ${longest} s`);
    await sees(page, "aside", `at most ${longest.toLocaleString("en-US")} s`);
    // Blocks of one second are a second apart.
    await rpc("anvil_mine", "0x190");
    const head = Number(await rpc("eth_blockNumber"));
    await page.locator(`.bay a[href="#/l2/block/${head}"]`).waitFor();
    await page.evaluate((it) => (location.hash = `#/l2/block/${it}`), Number(blockNumber));
    await sees(page, "h1", `Block ${Number(blockNumber).toLocaleString("en-US")}`);
    const age = await page.locator(".facts time.age").first().innerText();
    expect(/^(now|\d+ s ago)$/.test(age), `a block of this minute was ${age}`);
  });
});

check("nothing is committed before it is sealed, whatever the clocks have become", async () => {
  await visit("batch/1", async (page) => {
    await sees(page, ".stand", "Committed");
    // Its blocks are no longer among the newest.
    await sees(page, "[aria-label='Blocks of the batch'] tbody tr", "1 transaction");
    const [sealed, committed] = await page.evaluate(async () => {
      const { byOurClock, live } = await import("/explorer/main.js");
      const [house] = live.houses;
      return [...house.batches.values()]
        .filter((it) => it.stage > 1)
        .map((it) => [byOurClock(it.at, house.name), byOurClock(it.committed, "l1")])
        .sort((a, b) => a[1] - a[0] - (b[1] - b[0]))[0];
    });
    expect(sealed <= committed, `sealed ${sealed - committed} s after it was committed`);
  });
});

await run();
