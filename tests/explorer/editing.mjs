// The controls that edit a chain: each shows its request before and after it is sent, and does what it says.

import { ALICE, BOB, check, expect, l1Rpc, rpc, run, sees, send, until, visit, word } from "./harness.mjs";

const CAROL = `0x${"ca".repeat(20)}`;
const ETHER = 10n ** 18n;

// A panel by its heading.
const panel = (page, title) =>
  page.locator(".panel").filter({ has: page.getByRole("heading", { name: title, exact: true }) });

// Fill a panel, see the request that it announces, and send it.
async function use(page, title, fields, request, verb) {
  const form = panel(page, title);
  for (const [label, text] of fields) await form.getByLabel(label, { exact: true }).fill(text);
  await form.locator(".request").filter({ hasText: request }).first().waitFor();
  await form.getByRole("button", { name: verb, exact: true }).click();
}

check("the faucet adds to a balance, on the layer that is chosen", async () => {
  await visit("controls", async (page) => {
    await use(
      page,
      "Faucet",
      [
        ["Receiver of the funds", CAROL],
        ["Amount to add", "2.5"],
      ],
      `anvil_addBalance ["${CAROL}","0x22b1c8c1227a0000"]`,
      "Fund",
    );
    await until(async () => BigInt(await rpc("eth_getBalance", CAROL, "latest")) === (5n * ETHER) / 2n);
    await page.getByRole("group", { name: "Layer to edit" }).getByRole("button", { name: "L1" }).click();
    await panel(page, "Faucet").getByRole("button", { name: "Fund" }).click();
    await until(async () => BigInt(await l1Rpc("eth_getBalance", CAROL, "latest")) === (5n * ETHER) / 2n);
  });
});

check("two clicks on a button send once", async () => {
  await visit("controls", async (page) => {
    const sent = [];
    page.on("request", (it) => it.postData()?.includes("anvil_addBalance") && sent.push(it.postData()));
    await panel(page, "Faucet").getByLabel("Receiver of the funds").fill(BOB);
    await panel(page, "Faucet").getByRole("button", { name: "Fund" }).dblclick();
    await panel(page, "Faucet").locator("button.acts:enabled").waitFor();
    expect(sent.length === 1, `${sent.length} requests`);
  });
});

check("blocks are mined by whole numbers only", async () => {
  await visit("controls", async (page) => {
    const sent = [];
    page.on("request", (it) => it.postData()?.includes("anvil_mine") && sent.push(it.postData()));
    const blocks = panel(page, "Blocks");
    for (const text of ["-3", "1.5", ""]) {
      await blocks.getByLabel("Blocks", { exact: true }).fill(text);
      await blocks.getByRole("button", { name: "Mine" }).click();
      await blocks.locator(".request .bad").filter({ hasText: "is a whole number" }).waitFor();
    }
    expect(sent.length === 0, sent.join());
    await blocks.getByLabel("Blocks", { exact: true }).fill("2");
    await blocks.getByRole("button", { name: "Mine" }).click();
    await blocks.locator(".request").filter({ hasText: 'anvil_mine ["0x2","0x1"]' }).waitFor();
  });
});

check("balance, nonce, code and storage of an account are set", async () => {
  await visit("controls", async (page) => {
    const account = panel(page, "Account");
    const part = (name) => account.getByRole("button", { name, exact: true }).click();
    await use(
      page,
      "Account",
      [
        ["Account to edit", CAROL],
        ["New balance", "7"],
      ],
      "anvil_setBalance",
      "Set",
    );
    await sees(page, ".panel form", "now 7 ETH");
    await part("Nonce");
    await use(page, "Account", [["New nonce", "9"]], `anvil_setNonce ["${CAROL}","0x9"]`, "Set");
    await sees(page, ".panel form", "now 9");
    await part("Code");
    await use(page, "Account", [["New code", "0x00ff"]], `anvil_setCode ["${CAROL}","0x00ff"]`, "Set");
    await sees(page, ".panel form", "now 2 bytes");
    await part("Storage");
    await use(
      page,
      "Account",
      [
        ["Slot", "3"],
        ["New value", "42"],
      ],
      `"0x3","0x${word(42)}"`,
      "Set",
    );
    await sees(page, ".panel form", `now 0x${word(42)}`);
  });
  expect((await rpc("eth_getStorageAt", CAROL, "0x3", "latest")) === `0x${word(42)}`, "the slot");
  expect((await rpc("eth_getCode", CAROL, "latest")) === "0x00ff", "the code");
});

check("what is not a value is said before anything is sent", async () => {
  await visit("controls", async (page) => {
    const sent = [];
    page.on("request", (it) => it.postData()?.includes("anvil_set") && sent.push(it.postData()));
    const account = panel(page, "Account");
    await account.getByLabel("Account to edit").fill("0x12");
    await account.locator(".request .bad").filter({ hasText: "An address has 40 digits" }).waitFor();
    await account.getByLabel("Account to edit").fill(CAROL);
    await account.getByRole("button", { name: "Code", exact: true }).click();
    await account.getByLabel("New code").fill("0x123");
    await account.getByRole("button", { name: "Set", exact: true }).click();
    await account.locator(".request .bad").filter({ hasText: "whole bytes" }).waitFor();
    expect(sent.length === 0, sent.join());
  });
});

check("the node's own reason is shown if it rejects a request", async () => {
  await visit("controls", async (page) => {
    await panel(page, "Account").getByRole("button", { name: "Token", exact: true }).click();
    await use(
      page,
      "Account",
      [
        ["Account to edit", CAROL],
        ["Token’s address", BOB],
        ["New amount, in its smallest unit", "5"],
      ],
      "anvil_dealERC20",
      "Set",
    );
    await sees(page, ".request .box.bad", "anvil_dealERC20 was rejected: Unable to set ERC20 balance");
  });
});

check("an account is impersonated until it is stopped", async () => {
  await rpc("anvil_setBalance", `0x${"0d".repeat(20)}`, "0xde0b6b3a7640000");
  const from = `0x${"0d".repeat(20)}`;
  await visit("controls", async (page) => {
    await use(page, "Impersonation", [["Account to impersonate", from]], "anvil_impersonateAccount", "Impersonate");
    await panel(page, "Impersonation").locator(".unlocked li").first().waitFor();
    expect((await send({ from, to: BOB, value: "0x1" })).status === "0x1", "it cannot send");
    await panel(page, "Impersonation").getByRole("button", { name: "Stop" }).click();
    await panel(page, "Impersonation").locator(".unlocked li").first().waitFor({ state: "detached" });
  });
  const error = await send({ from, to: BOB, value: "0x1" }).then(
    () => "",
    (it) => it.message,
  );
  expect(error.includes("eth_sendTransaction"), `it still sends: ${error}`);
});

check("the base fee of the next block is set", async () => {
  await visit("controls", async (page) => {
    await page.getByRole("group", { name: "Layer to edit" }).getByRole("button", { name: "L1" }).click();
    const request = 'anvil_setNextBlockBaseFeePerGas ["0x1bf08eb00"]';
    await use(page, "Base fee", [["Base fee in gwei", "7.5"]], request, "Set");
    await panel(page, "Base fee").locator(".request").filter({ hasText: request }).waitFor();
  });
  await until(async () => {
    await l1Rpc("evm_mine");
    const { number } = await l1Rpc("eth_getBlockByNumber", "latest", false);
    const blocks = await Promise.all(
      Array.from({ length: Math.min(20, Number(number)) }, (_, at) =>
        l1Rpc("eth_getBlockByNumber", `0x${(Number(number) - at).toString(16)}`, false),
      ),
    );
    return blocks.some((it) => it.baseFeePerGas === "0x1bf08eb00");
  });
});

check("a reorganisation asks once, and then other blocks are there", async () => {
  const { blockNumber, blockHash } = await send({ from: ALICE, to: BOB, value: "0x1" });
  await visit("controls", async (page) => {
    const reorg = panel(page, "Reorg");
    await use(page, "Reorg", [["Depth", "1"]], "anvil_reorg [1,[]]", "Reorganise");
    await reorg
      .locator(".request")
      .filter({ hasText: "1 block of layer 2 and what is in them will be lost" })
      .waitFor();
    expect((await rpc("eth_getBlockByNumber", blockNumber, false)).hash === blockHash, "it did not ask");
    await reorg.locator(".request button.primary").click();
    await until(async () => (await rpc("eth_getBlockByNumber", blockNumber, false)).hash !== blockHash);
    await reorg.getByRole("button", { name: "Roll back" }).click();
    await sees(page, ".request", "anvil_rollback [1]");
    await reorg.getByRole("button", { name: "Reorganise", exact: true }).click();
    await reorg.locator(".request button.primary").click();
    await until(async () => Number(await rpc("eth_blockNumber")) === Number(blockNumber) - 1);
  });
});

await run();
