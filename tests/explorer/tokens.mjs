// Tokens: their pages, holders and transfers, and what accounts have, from the node's index.

import { ALICE, BOB, check, expect, rpc, run, sees, send, until, visit, word } from "./harness.mjs";

const { bytecode } = JSON.parse(process.env.CONTRACTS).token;
const [ITEM, ITEMS] = [`0x${"a7".repeat(20)}`, `0x${"a8".repeat(20)}`];
// Log that the sender receives an item: Transfer with four topics, and TransferSingle of 40, which are the balance, too.
const ITEM_CODE = "0x6000353360007fddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef60006000a400";
const ITEMS_CODE =
  "0x6000356000526028602052336000337fc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f6260406000a460206020f3";

const text = (it) => `${word(BigInt(Buffer.byteLength(it)))}${Buffer.from(it).toString("hex").padEnd(64, "0")}`;
const deploy = async (name, symbol) => {
  const data = `${bytecode}${word(96n)}${word(160n)}${word(6n)}${text(name)}${text(symbol)}`;
  return (await send({ data })).contractAddress;
};
const mint = (token, who, amount) => send({ to: token, data: `0x40c10f19${word(who)}${word(amount)}` });

const coin = await deploy("Harbour Coin", "HARB");
await mint(coin, ALICE, 1_234_500_000n);
await mint(coin, BOB, 750_000n);
await rpc("anvil_setCode", ITEM, ITEM_CODE);
await rpc("anvil_setCode", ITEMS, ITEMS_CODE);
await send({ to: ITEM, data: `0x${word(77n)}` });
await send({ to: ITEMS, data: `0x${word(9n)}` });

check("a token page has the name, the holders with their shares, and the transfers", async () => {
  await visit(`token/l2/${coin}`, async (page) => {
    await sees(page, "h1", "Harbour Coin");
    await sees(page, ".holders", "Alice");
    await sees(page, ".holders", "1,234.5");
    await sees(page, "table", "0.75");
    await sees(page, "aside", "ERC-20, 6 decimals");
  });
});

check("a transaction has its amounts with decimals and symbol, and the exact number as their title", async () => {
  const { transactionHash } = await send({ to: coin, data: `0xa9059cbb${word(BOB)}${word(1_500_000n)}` });
  await visit(`l2/tx/${transactionHash}`, async (page) => {
    for (const part of ["#input", "#events", "#calls"])
      await page.locator(`${part} [title="1500000"]`, { hasText: "1.50 HARB" }).waitFor();
    await page.locator('#state [title="-1500000"]', { hasText: "−1.50 HARB" }).waitFor();
    await page.locator('#state [title="1500000"]', { hasText: "+1.50 HARB" }).waitFor();
    await sees(page, "h1", "1.50 HARB");
  });
  const all = `0x095ea7b3${word(BOB)}${"f".repeat(64)}`;
  const approved = await send({ to: coin, data: all });
  await visit(`l2/tx/${approved.transactionHash}`, async (page) => {
    await sees(page, "#events", "unlimited HARB");
    await sees(page, "#input", "unlimited HARB");
  });
});

check("a token that lies about its decimals has whole units", async () => {
  // Logs a transfer of 1,500 from nobody without data; else says 255, reverts, or says a megabyte.
  const transfer = `6105dc6000523360007fddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef60206000a300`;
  for (const [at, says] of ["60ff60005260206000f3", "60006000fd", "620f42406000f3"].entries()) {
    const liar = `0x${"b1".repeat(19)}0${at}`;
    const dest = (4 + transfer.length / 2).toString(16).padStart(2, "0");
    await rpc("anvil_setCode", liar, `0x3660${dest}57${transfer}5b${says}`);
    const { transactionHash } = await send({ to: liar });
    await visit(`l2/tx/${transactionHash}`, async (page) => {
      await page.locator('#events [title="1500"]', { hasText: "1,500 units of " }).waitFor();
      await sees(page, "#state", "1,500 units of ");
    });
    await visit(`token/l2/${liar}`, async (page) => sees(page, "aside", "no decimals"));
  }
});

check("emoji that are joined stay together in a name that is shortened", async () => {
  const family = "\u{1f469}\u200d\u{1f467}";
  const token = await deploy("Emoji", family);
  await visit(`token/l2/${token}`, async (page) => {
    await sees(page, "h1", family);
    const [short, marks] = await page.evaluate(async (it) => {
      const { cut, plain } = await import("/explorer/main.js");
      return [cut(plain(it.repeat(9)), 3), cut(`a${"\u0301".repeat(500)}bcd`, 2)];
    }, family);
    expect(short === family.repeat(3), short);
    expect(marks.length < 5, marks);
  });
});

check("an item is shown by its number", async () => {
  await visit(`token/l2/${ITEM}`, async (page) => {
    await sees(page, "table", "#77");
    await sees(page, "aside", "ERC-721");
  });
  await visit(`token/l2/${ITEMS}`, async (page) => {
    await sees(page, "table", "40 × #9");
    await sees(page, "aside", "ERC-1155");
  });
});

check("an account has its tokens and their transfers", async () => {
  await visit(`address/${ALICE}`, async (page) => {
    await sees(page, ".tokens", "HARB");
    await sees(page, "section", "Token transfers");
    await page.locator(`td a[href="#/token/l2/${coin}"]`, { hasText: "HARB" }).first().waitFor();
    await sees(page, ".tokens li", "40 × #9");
  });
});

check("transfers go back page by page", async () => {
  const many = await deploy("Many", "MANY");
  for (let at = 1; at <= 60; at++) await mint(many, ALICE, BigInt(at) * 1_000_000n);
  await visit(`token/l2/${many}`, async (page) => {
    const rows = page.locator("table tbody tr");
    await sees(page, ".pager", "1 to 25");
    await page.getByRole("button", { name: "Older" }).click();
    await sees(page, ".pager", "26 to 50");
    await page.getByRole("button", { name: "Older" }).click();
    await sees(page, ".pager", "51 to 60 of 60");
    expect((await rows.count()) === 10, "the last page has ten");
    await page.getByRole("button", { name: "Newer" }).click();
    await sees(page, ".pager", "26 to 50 of 60");
  });
});

check("all transactions and all blocks are listed by pages", async () => {
  const { transactionHash, blockNumber } = await mint(coin, BOB, 1n);
  await visit("l2/transactions", async (page) => {
    await page.locator(`td a[href="#/l2/tx/${transactionHash}"]`).waitFor();
    await sees(page, "table", "mint");
    await page.getByRole("button", { name: "Older" }).click();
    await sees(page, ".pager", "26 to 50");
  });
  await visit("", async (page) => {
    await page.getByRole("link", { name: "See all" }).click();
    await page.locator(`td a[href="#/l2/tx/${transactionHash}"]`).waitFor();
    expect((await page.locator("tbody").innerText()).match(/commit|prove/) === null, "the operator's are among them");
    await page.getByRole("button", { name: "Operator" }).click();
    await sees(page, "tbody tr", "commit");
  });
  await visit("l2/blocks", async (page) => {
    await page.locator(`td a[href="#/l2/block/${Number(blockNumber)}"]`).waitFor();
    await page.getByRole("button", { name: "Older" }).click();
    await sees(page, ".pager", "26 to 50");
  });
});

check("all of a token is sent by Max, and what pays for gas keeps some", async () => {
  const snapshot = await rpc("evm_snapshot");
  const balance = async (/** @type {string} */ who) =>
    BigInt(await rpc("eth_call", { to: coin, data: `0x70a08231${word(who)}` }));
  const all = await balance(BOB);
  await visit(`address/${BOB}`, async (page) => {
    const dialog = page.locator("dialog");
    const take = async (/** @type {string} */ token) => {
      await page.getByRole("button", { name: "Send on L2" }).click();
      await dialog.getByLabel("Token", { exact: true }).selectOption({ label: token });
      await sees(page, "dialog .have", token);
      await dialog.getByRole("button", { name: "Max" }).click();
      const input = dialog.getByLabel("Amount in");
      await until(async () => (await input.inputValue()) !== "1");
      const amount = await input.inputValue();
      await dialog.locator("button.primary").click();
      await dialog.waitFor({ state: "detached" });
      return amount;
    };
    expect((await take("HARB")) === `${Number(all) / 1e6}`, "all of it");
    await until(async () => (await balance(BOB)) === 0n);
    await take("ETH");
    await until(async () => BigInt(await rpc("eth_getBalance", BOB, "latest")) < 10n ** 15n);
  });
  await rpc("evm_revert", snapshot);
});

check("a token that has the symbol of another one is told apart by its address", async () => {
  const false_ = await deploy("Not ether", "ETH");
  await mint(false_, BOB, 1n);
  await visit(`address/${BOB}`, async (page) => {
    await page.getByRole("button", { name: "Send on L2" }).click();
    const options = page.locator("dialog").getByLabel("Token", { exact: true }).locator("option");
    await options.filter({ hasText: new RegExp(`^ETH ${false_.slice(0, 6)}`, "i") }).waitFor({ state: "attached" });
    expect((await options.first().innerText()) === "ETH", "what pays for gas comes first");
  });
});

check("a token that was born on layer 2 is withdrawn with all that it needs before", async () => {
  await visit(`address/${ALICE}`, async (page) => {
    await page.getByRole("button", { name: "Withdraw to L1" }).click();
    await page.locator("dialog").getByLabel("Token", { exact: true }).selectOption({ label: "HARB" });
    await page.getByText("Before that, the bridge is allowed to take it.").waitFor();
    await page.locator("dialog button.primary").click();
    await page.locator("dialog").waitFor({ state: "detached" });
    await page.goto(`${process.env.NODE_URL}/#/bridge`);
    await sees(page, ".lines li", "Withdrawal, 1 HARB");
  });
});

check("ether is deposited by Max", async () => {
  await visit("bridge", async (page) => {
    await page.getByRole("button", { name: "Deposit", exact: true }).click();
    const dialog = page.locator("dialog");
    await dialog.getByLabel("Account").selectOption({ index: 3 });
    await dialog.getByRole("button", { name: "Max" }).click();
    await until(async () => Number(await dialog.getByLabel("Amount in ether").inputValue()) > 9_000);
    await page.getByText("pay for the gas on layer 2").waitFor();
    await dialog.locator("button.primary").click();
    await dialog.waitFor({ state: "detached" });
    await sees(page, ".lines li", "Arrived");
  });
});

check("what is sent by a button is sent once, however often it is pressed", async () => {
  await visit("controls", async (page) => {
    let mined = 0;
    page.on("request", (it) => {
      mined += Number(it.postData()?.includes("anvil_mine") ?? false);
    });
    const button = page.getByRole("button", { name: "Mine", exact: true });
    await button.evaluate((it) => {
      for (let press = 0; press < 3; press++) it.click();
    });
    await sees(page, "#said", "anvil_mine is done.");
    expect(mined === 1, `${mined} requests`);
  });
});

check("charts have a bar for each block, and their numbers as a table", async () => {
  await mint(coin, BOB, 1n);
  const head = Number(await rpc("eth_blockNumber"));
  await visit("charts", async (page) => {
    const figure = (/** @type {string} */ name) => page.locator("figure", { has: page.getByRole("heading", { name }) });
    await figure("Gas used").locator("g").nth(59).waitFor();
    for (const name of ["Base fee", "Transactions", "Bytes of batches", "Cost of batches"])
      await figure(name).locator("g").first().waitFor();
    await figure("Transactions").locator("summary").click();
    await sees(page, "[aria-label='Transactions, numbers'] tbody tr:first-child td:first-child", head.toLocaleString());
    await page.getByRole("button", { name: "Older" }).click();
    await sees(page, ".pager", `to ${head - 60}`);
    await page.getByRole("button", { name: "10", exact: true }).click();
    await sees(page, ".pager", `Blocks 0 to ${head.toLocaleString()}`);
    expect((await figure("Gas used").locator("g").count()) === Math.floor(head / 10) + 1, "a bar has ten blocks");
    await page.getByRole("button", { name: "L1", exact: true }).click();
    await figure("Cost of batches").waitFor({ state: "detached" });
  });
});

check("a page of charts that the node has cut is completed", async () => {
  const whole = '"params":["0x1",null,"0x3c"]';
  let cut = 0;
  // Whoever asks for sixty gets twenty.
  const before = (/** @type {any} */ page) =>
    page.route(`${process.env.NODE_URL}/explorer/own`, async (/** @type {any} */ route) => {
      const body = route.request().postData() ?? "";
      cut += Number(body.includes(whole));
      await route.continue({ postData: body.replace(whole, '"params":["0x1",null,"0x14"]') });
    });
  const complete = async (/** @type {any} */ page) => {
    await page.locator("figure g").nth(59).waitFor();
    await page.locator("summary").first().click();
    expect((await page.locator("[aria-label='Gas used, numbers'] tbody tr").count()) === 60, "sixty blocks");
    expect(cut > 0, "no page was cut");
  };
  await visit("charts", complete, { before });
});

check("tokens are found by symbol, blocks by hexadecimal numbers, transactions by their beginning", async () => {
  const { transactionHash, blockNumber } = await mint(coin, BOB, 2n);
  await visit("", async (page) => {
    const search = page.getByRole("combobox", { name: "Search" });
    const hit = (/** @type {string} */ href) => page.locator(`.hits [data-href="${href}"]`).waitFor();
    await search.fill("harb");
    await page.locator(".hits", { hasText: "HARB" }).waitFor();
    await search.fill(blockNumber);
    await hit(`#/l2/block/${Number(blockNumber)}`);
    await search.fill(transactionHash.slice(0, 13));
    await hit(`#/l2/tx/${transactionHash}`);
  });
});

await run();
