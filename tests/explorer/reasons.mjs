// Why things fail, and what calls say: reasons with their arguments, console lines, paymasters, accounts as numbers.

import { Interface } from "ethers";
import { Provider, utils, Wallet } from "zksync-ethers";
import { ALICE, ALICE_KEY, BOB, check, expect, reads, rpc, run, sees, send, url, visit, word } from "./harness.mjs";

// A contract that reverts with what it is called with: CALLDATACOPY and REVERT of all of it.
const ECHO = "0x66365f5f37365ffd5f5260076019f3";
// One that calls Solidity's console with it, and stops.
const PRINTER = `0x${"60238060095f395ff3"}${"365f5f375f5f365f73000000000000000000636f6e736f6c652e6c6f675afa505f5ff3"}`;
const GAS = "0x186a0";
const ABI = [
  "error Insufficient(uint256 available, uint256 required, address who)",
  "function list((address owner, string[] tags, uint256[] sizes) item)",
  "function executeTransaction(bytes32 hash, bytes32 suggested, (uint256 txType, uint256 from, uint256 to, uint256 gasLimit, uint256 gasPerPubdataByteLimit, uint256 maxFeePerGas, uint256 maxPriorityFeePerGas, uint256 paymaster, uint256 nonce, uint256 value, uint256[4] reserved, bytes data, bytes signature, bytes32[] factoryDeps, bytes paymasterInput, bytes reservedDynamic) transaction)",
];
const shop = new Interface(ABI);

// A page that knows an ABI, as if its file had been dropped.
const learned = (at) => ({
  before: (page) =>
    page.addInitScript(
      ([json, place]) => localStorage.setItem("entresol-abis", JSON.stringify([{ name: "Shop", json, at: [place] }])),
      [JSON.parse(shop.formatJson()), `l2:${at}`],
    ),
});

async function deployed(data) {
  return (await send({ data })).contractAddress;
}

const sent = (to, data) => send({ to, data, gas: GAS });

check("the reason of a failure is in the title and in the overview, with its arguments", async () => {
  const echo = await deployed(ECHO);
  const failed = shop.encodeErrorResult("Insufficient", [5n, 70n, BOB]);
  const { transactionHash } = await sent(echo, failed);
  await visit(
    `l2/tx/${transactionHash}`,
    async (page) => {
      await sees(page, "h1", "Insufficient(available: 5, required: 70, who: Bob)");
      await sees(page, "#overview .reason", "required");
      await page.locator(`#overview .reason a[href="#/address/${BOB}"]`).waitFor();
      await sees(page, "#calls li.bad", "Insufficient(available: 5");
      await page.waitForFunction(() => document.title.startsWith("Insufficient(available: 5"));
    },
    learned(echo),
  );
  await visit(`l2/tx/${transactionHash}`, (page) =>
    sees(page, "h1", `an error that no ABI explains: ${failed.slice(0, 10)}, 100 bytes`),
  );
});

check("texts and panics of Solidity are said in words", async () => {
  const echo = await deployed(ECHO);
  const text = new Interface(["error Error(string)"]).encodeErrorResult("Error", ["the shop is closed"]);
  for (const [data, words] of [
    [text, "the shop is closed"],
    [`0x4e487b71${word(0x11)}`, "arithmetic overflow or underflow (Panic 0x11)"],
    [`0x4e487b71${word(0x99)}`, "Panic 0x99"],
    ["0x", "no reason was given"],
    ["0xab", "it returned 0xab"],
  ]) {
    const { transactionHash } = await sent(echo, data);
    await visit(`l2/tx/${transactionHash}`, (page) => sees(page, "h1 .bad", words));
  }
});

check("running out of gas is the reason of what ran out of it", async () => {
  // JUMPDEST, PUSH0, JUMP.
  const forever = await deployed("0x625b5f565f526003601df3");
  const { transactionHash } = await sent(forever, "0x");
  await visit(`l2/tx/${transactionHash}`, (page) => sees(page, "h1 .bad", "out of gas"));
});

check("a form of a contract shows why a transaction is rejected", async () => {
  const echo = await deployed(ECHO);
  await visit(
    `address/${echo}`,
    async (page) => {
      await page.locator(".function summary").filter({ hasText: "list" }).click();
      const form = page.locator(".function[open]");
      await form.locator("input").first().fill(`["${BOB}",["a"],[1]]`);
      await form.locator("button[type=submit]").click();
      await sees(page, ".function[open] output .bad", "an error that no ABI explains");
    },
    learned(echo),
  );
});

check("what a contract prints is a line of its calls", async () => {
  const printer = await deployed(PRINTER);
  const lines = new Interface([
    "function log(string,uint256)",
    "function log(uint256,bool,address)",
    "function nope()",
  ]);
  for (const [name, values, text] of [
    ["log(string,uint256)", ["%d planks are left", 7n], "7 planks are left"],
    ["log(uint256,bool,address)", [1n, true, ALICE], `1 true ${ALICE}`],
  ]) {
    const { transactionHash } = await sent(printer, lines.encodeFunctionData(name, values));
    await visit(`l2/tx/${transactionHash}`, (page) => sees(page, "#calls .print", text));
  }
  const { transactionHash } = await sent(printer, lines.encodeFunctionData("nope"));
  await visit(`l2/tx/${transactionHash}`, async (page) => {
    await sees(page, "#calls li", "0x0000…6f67");
    expect((await page.locator(".print").count()) === 0, "something else was printed");
  });
});

check("a paymaster's payment is a row, and the transaction's addresses are addresses", async () => {
  const paymaster = await rpc("zks_getTestnetPaymaster");
  await rpc("anvil_setBalance", paymaster, "0xde0b6b3a7640000");
  const alice = new Wallet(ALICE_KEY, new Provider(url));
  const params = utils.getPaymasterParams(paymaster, { type: "General", innerInput: new Uint8Array() });
  const customData = { gasPerPubdata: 50_000, paymasterParams: params };
  const sponsored = await (await alice.sendTransaction({ to: BOB, value: 1n, customData })).wait();
  await visit(`l2/tx/${sponsored.hash}`, async (page) => {
    await sees(page, "#overview dt", "Fee paid by");
    await sees(page, "#overview dd", "TestnetPaymaster");
    await sees(page, "#calls li", "validateAndPayForPaymasterTransaction");
    await page.locator(`#calls a[href="#/address/${BOB}"]`).first().waitFor();
  });
  const own = await (await alice.sendTransaction({ to: BOB, value: 1n, customData: { gasPerPubdata: 50_000 } })).wait();
  await visit(`l2/tx/${own.hash}`, async (page) => {
    await sees(page, "#overview dt", "Type");
    await page.locator("#overview dt").filter({ hasText: "Fee paid by" }).waitFor({ state: "detached" });
  });
});

check("lists within structs take a line, and accounts that are numbers lead to their pages", async () => {
  const echo = await deployed(ECHO);
  const item = [BOB, ["oak", "round table"], [120n, 80n]];
  const listing = await sent(echo, shop.encodeFunctionData("list", [item]));
  const number = BigInt(BOB);
  const struct = [
    113n,
    BigInt(ALICE),
    number,
    0n,
    0n,
    0n,
    0n,
    0n,
    0n,
    0n,
    [0n, 0n, 0n, 0n],
    "0x",
    "0x",
    [],
    "0x",
    "0x",
  ];
  const hash = `0x${word(1)}`;
  const run0x71 = await sent(echo, shop.encodeFunctionData("executeTransaction", [hash, hash, struct]));
  await visit(
    `l2/tx/${listing.transactionHash}`,
    async (page) => {
      const tags = page.locator("#input .in-line").first();
      await reads(tags, (line) => line === "“oak”, “round table”");
      const { height } = await tags.boundingBox();
      expect(height < 30, `it is ${height} high`);
    },
    learned(echo),
  );
  await visit(
    `l2/tx/${run0x71.transactionHash}`,
    (page) => page.locator(`#input dd a[href="#/address/${BOB}"]`).waitFor(),
    learned(echo),
  );
});

check("times say their zone", async () => {
  const { transactionHash } = await send({ to: BOB, value: "0x1" });
  await visit(`l2/tx/${transactionHash}`, (page) => sees(page, "#overview dd", /\d\d:\d\d:\d\d UTC/));
});

check("home lists what people did, and the operator's on demand", async () => {
  const { transactionHash } = await send({ to: BOB, value: "0x1" });
  await visit("", async (page) => {
    await page.locator(`tbody a[href="#/l2/tx/${transactionHash}"]`).waitFor();
    expect((await page.locator("tbody").innerText()).match(/commit|prove/) === null, "the operator's are among them");
    await page.getByRole("button", { name: "Operator" }).click();
    await sees(page, "tbody tr", "commit");
    expect(
      (await page.locator(`tbody a[href="#/l2/tx/${transactionHash}"]`).count()) === 0,
      "it is not the operator's",
    );
  });
});

check("a phone shows the balance of an account first, and nothing collides", async () => {
  await visit(
    `address/${ALICE}`,
    async (page) => {
      const [balance, actions] = await Promise.all(
        [".both-floors", ".act-as"].map((it) => page.locator(it).boundingBox()),
      );
      expect(balance.y < actions.y, "the actions come first");
    },
    { width: 375, height: 812 },
  );
  await visit(
    "",
    async (page) => {
      await page.locator(".bay").first().waitFor();
      const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(beyond <= 0, `${beyond} px are beyond the screen`);
    },
    { width: 375, height: 812 },
  );
});

await run();
