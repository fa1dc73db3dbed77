// Every page shows what the node has, and what is new arrives by itself.

import {
  ALICE,
  BASE_TOKEN,
  BOB,
  check,
  expect,
  finds,
  l1Url,
  MESSENGER,
  messageData,
  rpc,
  run,
  sees,
  send,
  settled,
  visit,
  withdrawData,
} from "./harness.mjs";

check("home draws both floors and what is between them", async () => {
  const receipt = await send({ to: BOB, value: "0xde0b6b3a7640000" });
  await settled(receipt.blockNumber);
  await visit("", async (page) => {
    await sees(page, ".house h2", "Upper floor");
    await sees(page, ".house h2", "Entresol");
    await sees(page, ".house h2", "Ground floor");
    await sees(page, ".bay .batch", "Executed");
    await sees(page, "tbody tr", "transfer");
    await sees(page, ".node", "none: the operator is trusted");
    expect((await page.locator("main *").count()) < 900, "home has too many nodes");
  });
});

check("a block that is sealed arrives without a reload", async () => {
  await visit("", async (page) => {
    await page.locator(".bay").first().waitFor();
    const receipt = await send({ to: BOB, value: "0x1" });
    await page.locator(`.bay a[href="#/l2/block/${Number(receipt.blockNumber)}"]`).waitFor();
    await page.locator(`tbody a[href="#/l2/tx/${receipt.transactionHash}"]`).waitFor();
    await settled(receipt.blockNumber);
    await sees(page, ".pulse", "all stand on the ground");
  });
});

check("rows wait while the pointer is on the list", async () => {
  await visit("", async (page) => {
    await page.locator("tbody tr").first().hover();
    const receipt = await send({ to: BOB, value: "0x2" });
    await sees(page, "button.fresh", "new");
    expect((await page.locator(`tbody a[href="#/l2/tx/${receipt.transactionHash}"]`).count()) === 0, "the row came");
    await page.locator("button.fresh").click();
    await page.locator(`tbody a[href="#/l2/tx/${receipt.transactionHash}"]`).waitFor();
  });
});

check("a block page has the header, the transactions and its neighbours", async () => {
  const receipt = await send({ to: BOB, value: "0x3" });
  const number = Number(receipt.blockNumber);
  await visit(`l2/block/${number}`, async (page) => {
    await sees(page, "h1", `Block ${number}`);
    await sees(page, ".whole", receipt.blockHash);
    await page.locator(`a[href="#/l2/tx/${receipt.transactionHash}"]`).waitFor();
    await page.keyboard.press("[");
    await sees(page, "h1", `Block ${number - 1}`);
  });
  await visit("l1/block/latest", (page) => sees(page, "tbody", "Operator"));
  await visit("l2/block/999999", (page) => sees(page, "h1", "No such block"));
});

check("a transaction page decodes input, events, calls and state changes", async () => {
  const receipt = await send({ to: BASE_TOKEN, value: "0xde0b6b3a7640000", data: withdrawData(BOB) });
  await visit(`l2/tx/${receipt.transactionHash}`, async (page) => {
    await sees(page, "h1", "Alice withdrew 1 ETH to Bob on layer 1");
    await sees(page, "h1", "Succeeded");
    await sees(page, "#input", "l1Receiver");
    await sees(page, "#events", "L1MessageSent");
    await sees(page, "#events", "Withdrawal");
    await sees(page, "#calls", "L1Messenger.sendToL1");
    await sees(page, "#state", "balance");
    await sees(page, "#raw", receipt.blockHash);
    await sees(page, ".stand", "It stands on the ground floor: it is final.");
  });
});

check("a transaction of layer 1 says what it settled", async () => {
  const { executeTxHash } = await rpc("zks_getL1BatchDetails", 1);
  await visit(`l1/tx/${executeTxHash}`, (page) => sees(page, "h1", "The operator executed batch 1 on layer 1"));
});

check("a batch says what it publishes, and what layer 1 took for each step", async () => {
  const details = await rpc("zks_getL1BatchDetails", 1);
  await visit("batch/1", async (page) => {
    await sees(page, "main", "nothing: the operator alone has its transactions");
    for (const gas of [details.commitGasUsed, details.proveGasUsed, details.executeGasUsed])
      await sees(page, "main", gas.toLocaleString("en-US"));
    await page.locator(`.with-rail dl a[href="#/l1/tx/${details.commitTxHash}"]`).waitFor();
  });
});

check("a transaction that nobody knows has a page that says so", async () => {
  await visit(`l2/tx/0x${"ab".repeat(32)}`, (page) => sees(page, "h1", "No such transaction"));
});

check("an address shows both floors, its transactions and its actions", async () => {
  await visit(`address/${ALICE}`, async (page) => {
    await sees(page, "h1", "Alice");
    await sees(page, ".floor.l2", "nonce");
    await sees(page, ".floor.l1", "ETH");
    await sees(page, "tbody tr", "withdraw");
    await sees(page, ".act-as", "Deposit to L2");
  });
});

check("a contract is read through its ABI", async () => {
  await visit(`address/${BASE_TOKEN}`, async (page) => {
    await sees(page, "h1", "L2BaseToken");
    await page
      .locator(".function summary")
      .filter({ hasText: /^symbol/ })
      .click();
    const form = page.locator(".function[open]");
    await form.locator("button[type=submit]").click();
    await form.locator("output").filter({ hasText: "ETH" }).waitFor();
  });
});

check("a contract is written as a development account", async () => {
  await visit(`address/${MESSENGER}`, async (page) => {
    await page.locator(".function summary").filter({ hasText: "sendToL1" }).click();
    const form = page.locator(".function[open]");
    await form.locator("input").first().fill("0x6869");
    await form.locator("button[type=submit]").click();
    await form.locator("output").filter({ hasText: "Succeeded" }).waitFor();
  });
});

check("a batch has its pillar, its tree and its blocks", async () => {
  await visit("batch/1", async (page) => {
    await sees(page, "h1", "Batch 1");
    await sees(page, ".stand", "Executed");
    await sees(page, "tbody", "1");
  });
  await visit("batch/99999", (page) => sees(page, "h1", "No such batch"));
});

check("a message is verified in the browser against the root on layer 1", async () => {
  const receipt = await send({ to: MESSENGER, data: messageData("hello, ground floor") });
  await settled(receipt.blockNumber);
  await visit(`bridge/${receipt.transactionHash}/0`, async (page) => {
    await sees(page, ".one", "Verified in your browser");
    await sees(page, ".one blockquote", "hello, ground floor");
    expect((await page.locator(".steps li .ok").count()) === 4, "four steps hold");
    await page.locator("svg.message-tree rect.path").first().waitFor();
    await page.getByText("The siblings, as a list").click();
    expect((await page.locator(".siblings li").count()) === 15, "fifteen siblings");
  });
});

check("the pool shows what is pending", async () => {
  await rpc("evm_setAutomine", false);
  try {
    await rpc("eth_sendTransaction", { from: ALICE, to: BOB, value: "0x7" });
    await visit("pool", (page) => sees(page, "tbody tr", "pending"));
    await visit("", (page) => sees(page, ".tile.next", "1 pending"));
  } finally {
    await rpc("evm_mine");
    await rpc("evm_setAutomine", true);
  }
});

check("the console sends a request and shows it in three languages", async () => {
  await visit(
    `console/eth_getBalance?l=l2&p=${encodeURIComponent(JSON.stringify([ALICE, "latest"]))}`,
    async (page) => {
      await sees(page, ".snippet", "curl");
      await page.getByRole("button", { name: "Python" }).click();
      await sees(page, ".snippet", "make_request");
      await page.getByRole("button", { name: "JavaScript" }).click();
      await sees(page, ".snippet", "await fetch");
      await page.keyboard.press("Tab");
      await page.locator(".parameters input").first().press("Control+Enter");
      await sees(page, ".response .badge", "result");
      await sees(page, ".response", "0x");
      await sees(page, ".before-list", "eth_getBalance");
    },
  );
});

check("the console says what is wrong with a parameter before it sends", async () => {
  await visit("console/eth_getTransactionByHash", async (page) => {
    await page.locator(".parameters input").first().fill("0x4be1f0a9");
    await page.getByRole("button", { name: "Send" }).click();
    await sees(page, ".field .bad", "A hash has 64 digits after 0x. This has 8.");
  });
});

check("search finds blocks, batches, addresses, transactions, names and methods", async () => {
  const { transactions } = await rpc("eth_getBlockByNumber", "0x1", false);
  const cases = [
    ["1", "Block 1", "#/l2/block/1"],
    ["l1 1", "Block 1", "#/l1/block/1"],
    ["batch 1", "Batch 1", "#/batch/1"],
    [BOB, "0x7099…79C8", `#/address/${BOB}`],
    ["0x7099…79C8", "Bob", `#/address/${BOB}`],
    ["bob", "Bob", `#/address/${BOB}`],
    [transactions[0], "transaction on L2", `#/l2/tx/${transactions[0]}`],
    ["zks_getFee", "zks_getFeeParams", "#/console/zks_getFeeParams"],
  ];
  await visit("", (page) => finds(page, cases));
});

check("keys go to pages and open the help", async () => {
  await visit("", async (page) => {
    for (const [key, title] of [
      ["b", "Between the floors"],
      ["x", "Controls"],
      ["p", "At the door"],
    ]) {
      await page.keyboard.press("g");
      await page.keyboard.press(key);
      await sees(page, "h1", title);
      expect(await page.evaluate(() => document.activeElement?.tagName === "H1"), "the focus is not on the title");
    }
    await page.keyboard.press("?");
    await sees(page, "dialog", "Neighbours");
    await page.keyboard.press("Escape");
    await page.locator("dialog").waitFor({ state: "detached" });
  });
});

check("the theme is the system's, until one is chosen", async () => {
  await visit(
    "",
    async (page) => {
      const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      expect((await ground()) === "rgb(246, 243, 236)", `light: ${await ground()}`);
      await page.locator("#theme").click();
      expect((await ground()) === "rgb(15, 19, 22)", `dark: ${await ground()}`);
      // It is there before the modules are: these never arrive.
      await page.route("**/explorer/main.js", () => {});
      await page.reload({ waitUntil: "commit" });
      await page.locator("#main").waitFor({ state: "attached" });
      expect((await ground()) === "rgb(15, 19, 22)", "the choice is forgotten");
    },
    { theme: "light" },
  );
});

check("the explorer of layer 1 shows the same house", async () => {
  await visit(
    "",
    async (page) => {
      await sees(page, ".house h2", "Upper floor");
      await sees(page, ".bay .batch", "Executed");
    },
    { base: l1Url },
  );
});

await run();
