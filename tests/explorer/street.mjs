// Two chains on one layer 1, the second with a base token of 6 decimals: a street of two houses, and every page knows
// which house it is in.

import { ContractFactory, JsonRpcProvider, Wallet } from "ethers";
import { etherTo, sendBundle } from "./bundling.mjs";
import {
  ALICE,
  ALICE_KEY,
  BASE_TOKEN,
  BOB,
  check,
  expect,
  finds,
  l1Rpc,
  l1Url,
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
  withdrawData,
  word,
} from "./harness.mjs";
import { costOf, socketsOf, violationsOf } from "./measuring.mjs";

const HALF = "0x6f05b59d3b20000";
// 5 ZOO, of which Alice has 10,000 on both layers.
const FIVE = "0x4c4b40";
const { chains } = await (await fetch(`${url}/explorer/node.json`)).json();
const ZOO = chains[1].token.address;
const mill = new URL(url);
mill.port = String(chains[1].port);
const onMill = (method, ...params) => rpcAt(mill.href, method, ...params);

async function sendOnMill(transaction) {
  const hash = await onMill("eth_sendTransaction", { from: ALICE, ...transaction });
  return until(() => onMill("eth_getTransactionReceipt", hash));
}

const settledOnMill = (block) =>
  until(async () => (await onMill("zks_getFinalityStatus")).lastExecutedBlock >= Number(block));

check("the street has a house for each chain on one ground, and a socket for each", async () => {
  await send({ to: BOB, value: HALF });
  await settledOnMill((await sendOnMill({ to: BOB, value: FIVE })).blockNumber);
  for (const theme of ["dark", "light"])
    await visit(
      "",
      async (page) => {
        await sees(page, "#tabs", "Street");
        await sees(page, ".home", "Harbour");
        await sees(page, ".home", "Mill");
        expect((await page.locator(".home .plate").allInnerTexts()).join() === "270,271", "the plates");
        expect((await page.locator(".street > .slab.l1").count()) === 1, "there is one ground");
        await sees(page, ".home:nth-child(2) .bay .batch", "Executed");
        await sees(page, ".ground-tiles", "execute 1 of Mill");
        await sees(page, ".node", "none: the operators are trusted");
        await sees(page, "tbody tr", "transfer");
        expect((await page.locator("main *").count()) < 900, "the street has too many nodes");
        expect((await violationsOf(page)).length === 0, `${await violationsOf(page)}`);
      },
      { theme, bypassCSP: true },
    );
  const sockets = await socketsOf("", 3, { width: 1440 });
  expect(sockets.length === 3, `sockets: ${sockets}`);
});

check("a block of either house arrives without a reload, and so does its settlement", async () => {
  await visit("", async (page) => {
    await page.locator(".home .bay").first().waitFor();
    for (const [chain, sent] of [
      [270, await send({ to: BOB, value: "0x1" })],
      [271, await sendOnMill({ to: BOB, value: "0x1" })],
    ]) {
      await page.locator(`.home a[href="#/${chain}/block/${Number(sent.blockNumber)}"]`).waitFor();
      await page.locator(`tbody a[href="#/${chain}/tx/${sent.transactionHash}"]`).waitFor();
    }
    await sees(page, ".pulse", "all stand on the ground");
  });
});

check("addresses of pages name a house by its id, and the first one as l2 or not at all", async () => {
  const { hash } = await onMill("eth_getBlockByNumber", "0x1", false);
  const { transactions } = await onMill("eth_getBlockByNumber", "0x1", false);
  const first = await rpc("eth_getBlockByNumber", "0x1", false);
  await visit("271", async (page) => {
    await sees(page, "h1", "Mill");
    await sees(page, ".house h2", "Upper floor");
    await sees(page, ".bay .batch", "Executed");
    const go = (route, selector, text) => page.goto(`${url}/#/${route}`).then(() => sees(page, selector, text));
    await go("271/block/1", ".whole", hash);
    await go("270/block/1", ".whole", first.hash);
    await go("l2/block/1", ".whole", first.hash);
    await go(`271/tx/${transactions[0]}`, "h1", "Alice sent 5 ZOO to Bob");
    await sees(page, ".crumbs", "Mill");
    await sees(page, ".stand", "It stands on the ground floor: it is final.");
    await go("271/batch/1", "h1", "Batch 1");
    await go("batch/1", ".crumbs", "Harbour");
    await go("999", "h1", "There is no such room");
    await page.goto(`${url}/explorer/271`);
    await page.waitForFunction(() => location.hash === "#/271" && location.pathname === "/");
    await sees(page, "h1", "Mill");
  });
  await visit("", (page) => sees(page, ".home", "Mill"), { base: l1Url });
});

check("the clock of all floors moves forward once", async () => {
  const offset = async () => Number(await rpc("evm_increaseTime", 0));
  const before = await offset();
  await visit("controls", async (page) => {
    await page.getByRole("button", { name: "+1 hour" }).click();
    await sees(page, ".request", "evm_increaseTime [3600]");
  });
  await until(async () => (await offset()) >= before + 3600);
  if ((await offset()) >= before + 7200) throw new Error("the clock has moved more than once");
});

check("search finds a house by its name and its number, and a block in it", async () => {
  const cases = [
    ["271 1", "Block 1", "#/271/block/1"],
    ["mill", "Mill", "#/271"],
    ["271", "Mill", "#/271"],
    ["271 b1", "Batch 1", "#/271/batch/1"],
  ];
  await visit("", (page) => finds(page, cases));
});

async function fillIn(page, what, house, token, amount) {
  await page.getByRole("button", { name: what, exact: true }).click();
  await page.getByLabel("House", { exact: true }).selectOption(house);
  await page.getByLabel("Token", { exact: true }).selectOption({ label: token });
  if (token === "Another token…") await page.getByLabel("Token’s address on layer 1").fill(bread);
  const unit = token === "ETH" ? "ether" : token === "ZOO" ? "ZOO" : "BRD";
  await page.getByLabel(`Amount in ${unit}`).fill(amount);
}

async function confirm(page) {
  await page.locator("dialog button.primary").click();
  await page.locator("dialog").waitFor({ state: "detached" });
}

const lineOf = (page, title, stage) => page.locator(".lines li").filter({ hasText: title }).filter({ hasText: stage });

const balanceOf = async (ask, token, who) =>
  BigInt(await ask("eth_call", { to: token, data: `0x70a08231${word(who)}` }, "latest"));

let bread;

check("the base token, ether and another token climb into the second house by clicks", async () => {
  const { abi, bytecode } = JSON.parse(process.env.CONTRACTS).token;
  const alice = new Wallet(ALICE_KEY, new JsonRpcProvider(l1Url));
  const made = await (await new ContractFactory(abi, bytecode, alice).deploy("Bread", "BRD", 2)).waitForDeployment();
  await (await made.mint(ALICE, 10_000n)).wait();
  bread = await made.getAddress();
  const before = BigInt(await onMill("eth_getBalance", BOB, "latest"));
  await visit("bridge", async (page) => {
    await fillIn(page, "Deposit", "271", "ZOO", "2.5");
    await page.getByLabel("Receiver").fill(BOB);
    await sees(page, "dialog", "2.50 ZOO rise, and");
    await sees(page, "dialog", "the bridge is allowed to take 2.");
    expect(!(await page.locator("dialog p").allInnerTexts()).join().includes("ETH"), "the form speaks of ether");
    await confirm(page);
    await lineOf(page, "Deposit, 2.50 ZOO", "Arrived").waitFor();
    await fillIn(page, "Deposit", "271", "ETH", "1.25");
    await sees(page, "dialog", "1.25 ETH rise, and");
    await confirm(page);
    await lineOf(page, "Deposit, 1.25 ETH", "Arrived").waitFor();
    await fillIn(page, "Deposit", "271", "Another token…", "42.5");
    await sees(page, "dialog", "ZOO and 42.50 BRD");
    await confirm(page);
    await lineOf(page, "Deposit, 42.50 BRD", "Arrived").waitFor();
    await fillIn(page, "Deposit", "270", "ZOO", "7");
    await sees(page, "dialog", "ETH pay for the gas on layer 2");
    await confirm(page);
    await lineOf(page, "Deposit, 7 ZOO", "Arrived").waitFor();
  });
  const after = BigInt(await onMill("eth_getBalance", BOB, "latest"));
  expect(after - before === 2_500_000n, `Bob got ${after - before}`);
});

check("they go back down by clicks, and layer 1 pays each of them", async () => {
  const before = await balanceOf(l1Rpc, ZOO, BOB);
  await visit("bridge", async (page) => {
    const takeBack = async (token, amount, title) => {
      await fillIn(page, "Withdraw", "271", token, amount);
      if (token === "ZOO") await page.getByLabel("Receiver").fill(BOB);
      await page.getByText(/The fee is about 0\.\d+ ZOO/).waitFor();
      await confirm(page);
      await lineOf(page, title, "Claimable").locator("a").click();
      await sees(page, ".one", "Verified in your browser");
      await page.getByRole("button", { name: "Claim on L1" }).click();
      await lineOf(page, title, "Paid").waitFor();
    };
    await takeBack("ZOO", "1.5", "Withdrawal, 1.50 ZOO");
    await takeBack("ETH", "0.25", "Withdrawal, 0.25 ETH");
    await takeBack("BRD", "2.5", "Withdrawal, 2.50 BRD");
  });
  expect((await balanceOf(l1Rpc, ZOO, BOB)) - before === 1_500_000n, "Bob was not paid");
  expect((await balanceOf(l1Rpc, bread, ALICE)) === 6_000n, "Alice was not paid");
});

check("an account is shown in every house, with each token in a row", async () => {
  await visit(`address/${ALICE}`, async (page) => {
    for (const title of ["Ground floor", "Harbour", "Mill"]) await sees(page, ".holdings th", title);
    const cellsOf = async (token, isRight) => {
      const row = rowOf(page, ".holdings", token);
      await reads(row, (text) => isRight(text.split(/\s+/).slice(-4)));
    };
    await cellsOf("BRD", (cells) => cells.join() === "100,60,–,40");
    await cellsOf("ETH", (cells) => cells[3] === "1");
    await cellsOf("ZOO", (cells) => cells[2] === "7");
    await sees(page, "[aria-label='Transactions of this address'] .plate", "271");
    await page.getByLabel("Where to send").selectOption("271");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await page.getByLabel("Amount in ZOO").fill("0.125");
    await page.getByText(/The fee is about 0\.\d+ ZOO/).waitFor();
    await confirm(page);
  });
  await until(async () => {
    const { transactions } = await onMill("eth_getBlockByNumber", "latest", true);
    return transactions.some((it) => it.value === "0x1e848" && it.to === BOB.toLowerCase());
  });
});

check("a token shows what each house has, and that the ground holds as much", async () => {
  const there = async (page) => {
    await sees(page, "h1", "Bread");
    await sees(page, ".supply.l2", "40");
    await sees(page, ".supply.l1", "40 held by the bridge");
    await sees(page, ".verdict", "as much as all houses together");
    await sees(page, "[aria-label='Transfers'] tbody tr", "the stairs");
    await sees(page, ".holders li", "Alice");
    await sees(page, ".holders li", "100 100.0 %");
  };
  await visit(`token/l1/${bread}`, there);
  await visit(`address/${ALICE}`, async (page) => {
    await page.locator(".holdings a").filter({ hasText: "BRD" }).click();
    await there(page);
    expect((await violationsOf(page)).length === 0, `${await violationsOf(page)}`);
  });
  await visit(`token/l1/${ZOO}`, (page) => sees(page, ".supplies li:nth-child(2)", "pays for its gas"));
  await visit(`token/l1/${BOB}`, (page) => sees(page, "h1", "No such token"));
});

check("the calls of a settlement go through facets that have names", async () => {
  const { commitTxHash } = await onMill("zks_getL1BatchDetails", 1);
  await visit(`l1/tx/${commitTxHash}`, async (page) => {
    await sees(page, "h1", "The operator committed batch 1 of Mill on layer 1");
    await sees(page, "#calls", "ExecutorFacet.commitBatchesSharedBridge");
  });
});

check("a house whose gas is paid in another token never speaks of ether", async () => {
  const burnt = await sendOnMill({ to: BASE_TOKEN, value: FIVE, data: withdrawData(BOB) });
  await settledOnMill(burnt.blockNumber);
  await visit("271", async (page) => {
    const silent = async (part) => {
      const text = await page.locator(part).first().innerText();
      expect(!/\bETH\b|gwei/.test(text), `${part} says: ${text}`);
    };
    await sees(page, "h1", "pays in ZOO");
    await sees(page, ".pulse div:nth-child(3)", "ZOO");
    await silent(".pulse div:nth-child(3)");
    await sees(page, "tbody tr", "5 ZOO");
    await page.goto(`${url}/#/271/tx/${burnt.transactionHash}`);
    await sees(page, "h1", "Alice withdrew 5 ZOO to Bob on layer 1");
    await sees(page, "#overview", "ZOO");
    await page.locator("#calls li").first().waitFor();
    await silent("main");
    await page.goto(`${url}/#/271/block/${Number(burnt.blockNumber)}`);
    await sees(page, "tbody", "5 ZOO");
    await silent("main");
    await page.goto(`${url}/#/271/bridge/${burnt.transactionHash}/0`);
    await sees(page, ".one h2", "Withdrawal, 5 ZOO");
    await page.goto(`${url}/#/`);
    await sees(page, ".home:nth-child(2)", "pays in ZOO");
    await sees(page, ".pulse", "and 1 token");
    await page.goto(`${url}/#/address/${BASE_TOKEN}`);
    await page.locator(".contract").nth(1).locator("summary").filter({ hasText: "withdraw(address)" }).click();
    await sees(page, ".function[open]", "Value, ZOO");
  });
});

// Before the first bundle: it brings the passages along, which cost more.
check("pages of several houses stay within the budget", async () => {
  for (const route of ["", "271", "bridge", `address/${ALICE}`]) {
    const it = await costOf(route);
    const fits = it.bytes <= 60_000 && it.scripts <= 45_000 && it.styles <= 9_000 && it.files <= 20;
    expect(fits, `#/${route}: ${JSON.stringify(it)}`);
  }
});

check("a bundle carries ether to a house where it is a token, and a click lets it arrive", async () => {
  const { bundle } = await sendBundle(url, 271, [etherTo(BOB, 10n ** 18n / 4n)]);
  await visit(`bundle/${bundle}`, async (page) => {
    await sees(page, "h1", "Alice sent 1 call, 0.25 ETH from Harbour to Mill");
    await sees(page, ".call", "tokens to Bob");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await sees(page, "h1 .badge", "Executed");
    await page.goto(`${url}/#/address/${BOB}`);
    await reads(rowOf(page, ".holdings", "Ether"), (cells) => cells.trim().endsWith("0.25"));
  });
});

check("a house that has stopped, or is away, says so, and the other goes on", async () => {
  await visit("", async (page) => {
    const second = page.locator(".home:nth-child(2)");
    await page.route("**/explorer/271/health", (route) =>
      route.fulfill({ json: { status: "ready", settlement: "commit 2 failed" } }),
    );
    await sendOnMill({ to: BOB, value: "0x2" });
    await second.locator(".stand.bad").filter({ hasText: "commit 2 failed" }).waitFor();
    await sees(page, ".pulse", "Stopped");
    await sees(page, "#banner", "Settlement of Mill has stopped: commit 2 failed");
    await page.route("**/explorer/271", (route) => route.abort("connectionrefused"));
    await sendOnMill({ to: BOB, value: "0x3" });
    await second.locator(".stand").filter({ hasText: "away since" }).waitFor();
    const receipt = await send({ to: BOB, value: "0x3" });
    await page.locator(`.home a[href="#/270/block/${Number(receipt.blockNumber)}"]`).waitFor();
  });
});

check("a phone has a skyline to choose from, and draws one house", async () => {
  for (const theme of ["dark", "light"])
    await visit(
      "",
      async (page) => {
        await page.locator(".home .bay").first().waitFor();
        await sees(page, ".home", "Harbour");
        await page.locator(".skyline button").filter({ hasText: "Mill" }).click();
        await sees(page, ".home", "Mill");
        expect((await page.locator(".home").count()) === 1, "more than one house is drawn");
        const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        expect(wider <= 0, `the page is ${wider} px too wide`);
        expect((await violationsOf(page)).length === 0, `${await violationsOf(page)}`);
      },
      { theme, width: 390, height: 844, bypassCSP: true },
    );
  const sockets = await socketsOf("", 2, { width: 390 });
  expect(sockets.length === 2, `sockets: ${sockets}`);
});

check("pages of several houses are accessible", async () => {
  const problems = [];
  for (const route of ["271", "bridge", `address/${ALICE}`, "271/batch/1", "pool", "controls"])
    await visit(
      route,
      async (page) => {
        await page.locator("[aria-busy]").first().waitFor({ state: "detached" });
        problems.push(...(await violationsOf(page)).map((it) => `#/${route}: ${it}`));
      },
      { bypassCSP: true },
    );
  expect(problems.length === 0, problems.join("\n"));
});

await run();
