// What people do on the pages: cross between the floors, send, control the chain, lose the node.

import { ContractFactory, JsonRpcProvider } from "ethers";
import { Provider, utils, Wallet } from "zksync-ethers";
import {
  ALICE,
  ALICE_KEY,
  BOB,
  check,
  expect,
  l1Rpc,
  l1Url,
  MESSENGER,
  messageData,
  rpc,
  run,
  sees,
  send,
  settled,
  until,
  url,
  visit,
} from "./harness.mjs";

check("a deposit by clicks climbs to layer 2", async () => {
  const before = BigInt(await rpc("eth_getBalance", BOB, "latest"));
  await visit("bridge", async (page) => {
    await sees(page, ".empty", "Nothing on the stairs yet");
    await page.getByRole("button", { name: "Deposit", exact: true }).click();
    await page.getByLabel("Amount in ether").fill("2.5");
    await page.getByLabel("Receiver").fill(BOB);
    await sees(page, "dialog", "pay for the gas on layer 2");
    await page.locator("dialog button.primary").click();
    await page.locator("dialog").waitFor({ state: "detached" });
    await sees(page, ".lines li", "Deposit, 2.50 ETH");
    await sees(page, ".lines li", "Arrived");
    await sees(page, ".one", "On layer 2");
  });
  const after = BigInt(await rpc("eth_getBalance", BOB, "latest"));
  expect(after - before === 2_500_000_000_000_000_000n, `Bob got ${after - before}`);
});

check("a withdrawal by clicks goes down and is paid", async () => {
  const before = BigInt(await l1Rpc("eth_getBalance", BOB, "latest"));
  await visit("bridge", async (page) => {
    await page.getByRole("button", { name: "Withdraw", exact: true }).click();
    await page.getByLabel("Amount in ether").fill("1.25");
    await page.getByLabel("Receiver").fill(BOB);
    await sees(page, "dialog", "The fee is about");
    await page.locator("dialog button.primary").click();
    const line = page.locator(".lines li").filter({ hasText: "Withdrawal, 1.25 ETH" });
    await line.filter({ hasText: "Claimable" }).waitFor();
    await line.locator("a").click();
    await sees(page, ".one", "Verified in your browser");
    await page.getByRole("button", { name: "Claim on L1" }).click();
    await line.filter({ hasText: "Paid" }).waitFor();
  });
  const after = BigInt(await l1Rpc("eth_getBalance", BOB, "latest"));
  expect(after - before === 1_250_000_000_000_000_000n, `Bob got ${after - before}`);
});

check("after a claim the next, equal withdrawal is not under the same button", async () => {
  const alice = new Wallet(ALICE_KEY, new Provider(url));
  for (let left = 2; left; left--) {
    const sent = await alice.withdraw({ token: utils.ETH_ADDRESS, amount: 7_000_000_000_000_000_000n, to: BOB });
    await settled((await sent.wait()).blockNumber);
  }
  await visit("bridge", async (page) => {
    await page.getByRole("button", { name: "To claim 2" }).click();
    await sees(page, ".one", "Verified in your browser");
    await page.getByRole("button", { name: "Claim on L1" }).click();
    await sees(page, ".one header .badge", "Paid");
    expect((await page.getByRole("button", { name: "Claim on L1" }).count()) === 0, "the next one is under the button");
    await page.getByRole("button", { name: "To claim 1" }).click();
    await page.getByRole("button", { name: "Claim on L1" }).click();
    await sees(page, ".one header .badge", "Paid");
  });
});

check("a withdrawal that was paid shows on the ground floor of home", async () => {
  await visit("", (page) => sees(page, ".arrivals.ground", "1.25 ETH"));
});

// A deposit of a new token with too little gas to create it on layer 2.
async function failingDeposit(amount) {
  const alice = new Wallet(ALICE_KEY, new Provider(url), new JsonRpcProvider(l1Url));
  const { abi, bytecode } = JSON.parse(process.env.CONTRACTS).token;
  const factory = new ContractFactory(abi, bytecode, alice.ethWallet());
  const token = await (await factory.deploy("Bread and Butter", "BAB", 2)).waitForDeployment();
  await (await token.mint(ALICE, amount)).wait();
  const deposit = { token: await token.getAddress(), amount, approveERC20: true, l2GasLimit: 300_000n };
  await (await alice.deposit(deposit)).waitL1Commit();
  return token;
}

check("the tokens of a deposit that failed are claimed back by clicks", async () => {
  const token = await failingDeposit(4_200n);
  expect((await token.balanceOf(ALICE)) === 0n, "the tokens were not deposited");
  await visit("bridge", async (page) => {
    const line = page.locator(".lines li").filter({ hasText: "Deposit, 42 BAB" });
    await line.filter({ hasText: "Failed on L2" }).locator("a").click();
    await sees(page, ".one .reason", "out of gas");
    await settled(await rpc("eth_blockNumber"));
    await page.getByRole("button", { name: "Claim back" }).click();
    await line.filter({ hasText: "Returned" }).waitFor();
    await sees(page, ".one", "Back on layer 1");
    expect((await page.getByRole("button", { name: "Claim back" }).count()) === 0, "it can be claimed again");
  });
  expect((await token.balanceOf(ALICE)) === 4_200n, "not all of it came back");
});

check("an amount that is none and a receiver that is none are told", async () => {
  await visit("bridge", async (page) => {
    await page.getByRole("button", { name: "Deposit", exact: true }).click();
    await page.getByLabel("Amount in ether").fill("a lot");
    await sees(page, "dialog .bad", "This is not an amount.");
    await page.getByLabel("Amount in ether").fill("1");
    await page.getByLabel("Receiver").fill("0x12");
    await sees(page, "dialog .bad", "An address has 40 digits after 0x.");
  });
});

check("ether is sent from an account's page", async () => {
  await visit(`address/${ALICE}`, async (page) => {
    await page.getByRole("button", { name: "Send on L2" }).click();
    await page.getByLabel("Amount in ether").fill("0.125");
    await sees(page, "dialog", "The fee is about");
    await page.locator("dialog button.primary").click();
    await page.locator("dialog").waitFor({ state: "detached" });
  });
  await until(async () => {
    const { transactions } = await rpc("eth_getBlockByNumber", "latest", true);
    return transactions.some((it) => it.value === "0x1bc16d674ec8000" && it.to === BOB.toLowerCase());
  });
});

check("an account of the browser's wallet sends through it", async () => {
  const stranger = "0x00000000000000000000000000000000000000aa";
  // A wallet that only records what it is asked.
  const install = (page) =>
    page.addInitScript((account) => {
      window.asked = [];
      window.ethereum = {
        request: async ({ method, params }) => {
          window.asked.push([method, params]);
          return method === "eth_requestAccounts" ? [account] : `0x${"11".repeat(32)}`;
        },
      };
    }, stranger);
  await visit(
    `address/${ALICE}`,
    async (page) => {
      await page.getByRole("button", { name: "Send on L2" }).click();
      await page.getByLabel("Account").selectOption({ label: "Connect the browser’s wallet…" });
      await page.getByLabel("Amount in ether").fill("0");
      await sees(page, "dialog", "The fee is about");
      await page.locator("dialog button.primary").click();
      await page.locator("dialog").waitFor({ state: "detached" });
      const asked = await page.evaluate(() => window.asked);
      const [, [transaction]] = asked.find(([method]) => method === "eth_sendTransaction");
      expect(transaction.from === stranger, `sent by ${transaction.from}`);
      const chain = asked.find(([method]) => method === "wallet_switchEthereumChain");
      expect(chain[1][0].chainId === "0x10e", "the wallet is on another chain");
    },
    { before: install },
  );
});

check("blocks are mined, and the request is shown", async () => {
  const before = Number(await rpc("eth_blockNumber"));
  await visit("controls", async (page) => {
    await page.getByLabel("Blocks").fill("3");
    await page.getByRole("button", { name: "Mine" }).click();
    await sees(page, ".request", 'anvil_mine ["0x3","0x1"]');
  });
  await until(async () => Number(await rpc("eth_blockNumber")) === before + 3);
});

check("mining is switched off and on", async () => {
  await visit("controls", async (page) => {
    const mining = page.getByRole("switch", { name: "Seal each transaction as it comes" });
    // The page may just show what it has read before the click.
    const turn = (on) =>
      until(async () => {
        if ((await mining.isChecked()) !== on) await mining.click();
        return (await rpc("anvil_getAutomine")) === on;
      });
    await turn(false);
    await turn(true);
  });
});

check("the clock moves forward", async () => {
  const time = async () => Number((await rpc("eth_getBlockByNumber", "latest", false)).timestamp);
  const before = await time();
  await visit("controls", async (page) => {
    await page.getByRole("button", { name: "+1 hour" }).click();
    await sees(page, ".request", "evm_increaseTime [3600]");
    await until(async () => (await time()) >= before + 3600);
  });
});

check("a snapshot is taken and reverted, and the pages follow", async () => {
  await visit("controls", async (page) => {
    await page.getByRole("button", { name: "Take one" }).click();
    await sees(page, ".snapshots", "taken at");
    const before = Number(await rpc("eth_blockNumber"));
    await rpc("anvil_mine", "0x2");
    await page.getByRole("button", { name: "Revert 2 blocks" }).click();
    await sees(page, ".snapshots", "will be lost");
    await page.getByRole("button", { name: "Revert", exact: true }).click();
    await until(async () => Number(await rpc("eth_blockNumber")) === before);
    await sees(page, "#banner", "was reverted to block");
  });
});

check("what crossed in blocks that are reverted is gone from the bridge", async () => {
  await visit("bridge", async (page) => {
    for (const stage of ["Arrived", "Paid", "Returned"]) await sees(page, ".lines li", stage);
    const snapshot = await rpc("evm_snapshot");
    const { transactionHash } = await send({ to: MESSENGER, data: messageData("not for long") });
    const line = page.locator(`.lines a[href*="${transactionHash}"]`);
    await line.waitFor();
    await rpc("evm_revert", snapshot);
    await rpc("anvil_mine", "0x3");
    await line.waitFor({ state: "detached" });
    await sees(page, ".lines li", "Paid");
  });
});

check("a node that is away is told, what is known stays, and it comes back", async () => {
  await visit("", async (page) => {
    let isAway = false;
    const open = [];
    await page.routeWebSocket(/.*/, (socket) => {
      if (isAway) socket.close();
      else {
        socket.connectToServer();
        open.push(socket);
      }
    });
    await page.reload();
    await sees(page, ".bay", "");
    await until(() => open.length === 2);
    isAway = true;
    for (const socket of open) await socket.close();
    await sees(page, "#banner", "The node has not responded since");
    await sees(page, "#live", "Away");
    expect((await page.locator(".bay").count()) > 0, "the floors are gone");
    isAway = false;
    await sees(page, "#live", "Live");
    await page.locator("#banner").waitFor({ state: "hidden" });
  });
});

await run();
