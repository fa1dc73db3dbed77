// Whatever a chain, a contract or a file says is text.

import { readFileSync } from "node:fs";
import {
  ALICE,
  check,
  expect,
  MESSENGER,
  messageData,
  rpc,
  run,
  sees,
  send,
  settled,
  visit,
  word,
} from "./harness.mjs";

const EVIL = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>`;
const artifact = new URL("../../src/entresol/contracts/TestERC20.json", import.meta.url);
const { bytecode } = JSON.parse(readFileSync(artifact, "utf8"));

const textOf = (text) => {
  const hex = Buffer.from(text).toString("hex");
  return word(hex.length / 2) + hex.padEnd(Math.ceil(hex.length / 64) * 64, "0");
};

// It turns the direction of what follows, and has what nobody sees.
const HIDDEN = "pay\u202e\u200b\u0007out";
const isPlain = async (page) =>
  expect(!/[^\P{C}\n\t]/u.test(await page.locator("main").innerText()), "there are characters that hide");

// Nothing of the text became an element, and nothing ran.
async function isHarmless(page) {
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 100)));
  expect((await page.evaluate(() => window.hacked)) === undefined, "a script ran");
  expect((await page.locator("img").count()) === 0, "there is an image");
  expect((await page.locator("script").count()) === 1, "there is another script");
}

async function deployToken(text = EVIL) {
  const name = textOf(text);
  const data = bytecode + word(96) + word(96 + name.length / 2) + word(18) + name + name;
  return (await send({ data, gas: "0x500000" })).contractAddress;
}

// A contract that reverts with a reason.
async function deployReverting(reason) {
  const data = `08c379a0${word(32)}${textOf(reason)}`;
  const size = (data.length / 2).toString(16).padStart(4, "0");
  const runtime = `61${size}600d5f3961${size}5ffd`.padEnd(26, "0") + data;
  const length = (runtime.length / 2).toString(16).padStart(4, "0");
  const init = `0x61${length}600c5f3961${length}5ff3`;
  return (await send({ data: init.padEnd(26, "0") + runtime, gas: "0x500000" })).contractAddress;
}

check("the name of a token is text", async () => {
  const token = await deployToken();
  const minted = await send({ to: token, data: `0x40c10f19${word(ALICE)}${word(5n)}` });
  const moved = await send({ to: token, data: `0xa9059cbb${word(ALICE)}${word(5n)}` });
  for (const { transactionHash } of [minted, moved])
    await visit(`l2/tx/${transactionHash}`, async (page) => {
      await sees(page, "h1", "Alice");
      await page.locator("#state").waitFor();
      await isHarmless(page);
    });
  await visit(`address/${token}`, async (page) => {
    await page.getByRole("button", { name: "Use it as an ERC-20" }).click();
    await page.locator(".function summary").filter({ hasText: /^name/ }).click();
    await page.locator(".function[open] button[type=submit]").click();
    await sees(page, ".function[open] output", "<script>");
    await isHarmless(page);
  });
});

check("the reason of a revert is text", async () => {
  const contract = await deployReverting(EVIL);
  const failed = await send({ to: contract, gas: "0x100000" });
  await visit(`l2/tx/${failed.transactionHash}`, async (page) => {
    await sees(page, "#calls", "onerror");
    await isHarmless(page);
  });
  const call = encodeURIComponent(JSON.stringify([{ to: contract }, "latest"]));
  await visit(`console/eth_call?l=l2&p=${call}`, async (page) => {
    await page.getByRole("button", { name: "Send" }).click();
    await sees(page, ".response", "onerror");
    await isHarmless(page);
  });
});

check("a message to layer 1 is text", async () => {
  const receipt = await send({ to: MESSENGER, data: messageData(EVIL) });
  await settled(receipt.blockNumber);
  await visit(`bridge/${receipt.transactionHash}/0`, async (page) => {
    await sees(page, ".one blockquote", "onerror");
    await sees(page, ".one", "Verified in your browser");
    await isHarmless(page);
  });
});

check("what hides or turns the direction of a text is left out", async () => {
  const token = await deployToken(HIDDEN);
  await visit(`address/${token}`, async (page) => {
    const { name, symbol } = await page.evaluate(
      async (it) => (await import("/explorer/main.js")).tokenOf("l2", it),
      token,
    );
    expect(name === "payout" && symbol === "payout", JSON.stringify([name, symbol]));
    await page.getByRole("button", { name: "Use it as an ERC-20" }).click();
    await page.locator(".function summary").filter({ hasText: /^name/ }).click();
    await page.locator(".function[open] button[type=submit]").click();
    await sees(page, ".function[open] output", "payout");
    await isPlain(page);
  });
  const contract = await deployReverting(HIDDEN);
  const failed = await send({ to: contract, gas: "0x100000" });
  await visit(`l2/tx/${failed.transactionHash}`, async (page) => {
    await sees(page, "#calls", "payout");
    await isPlain(page);
  });
  const call = encodeURIComponent(JSON.stringify([{ to: contract }, "latest"]));
  await visit(`console/eth_call?l=l2&p=${call}`, async (page) => {
    await page.getByRole("button", { name: "Send" }).click();
    await sees(page, ".response", "pay\\u202e\\u200b\\u0007out");
    await isPlain(page);
  });
});

check("of a supply that fills megabytes one word is read", async () => {
  // Whatever it is asked, it returns 100 kB: the number 32, and the text T.
  const runtime = "602060005260016020526054604053620186a06000f3";
  const { contractAddress } = await send({ data: `0x601680600b6000396000f3${runtime}`, gas: "0x500000" });
  await visit(`token/l2/${contractAddress}`, async (page) => {
    await sees(page, "h1", "T");
    const text = await page.locator(".supplies").innerText();
    expect(text.length < 1000, `${text.length} characters`);
  });
});

check("an amount and a symbol of any length stay within the page", async () => {
  const text = textOf("LONG".repeat(200));
  const data = `${bytecode}${word(96)}${word(96 + text.length / 2)}${word(255)}${text}${text}`;
  const token = (await send({ data, gas: "0x900000" })).contractAddress;
  await send({ to: token, data: `0x40c10f19${word(ALICE)}${word(2n ** 255n)}` });
  for (const width of [390, 1440])
    for (const [route, ready] of [
      [`token/l2/${token}`, ".holders li"],
      [`address/${ALICE}`, ".tokens li"],
    ])
      await visit(
        route,
        async (page) => {
          await sees(page, ready, "57,896,044");
          const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          expect(beyond <= 0, `${route} at ${width}: ${beyond} px are beyond the screen`);
        },
        { width },
      );
});

check("megabytes of hexadecimal digits are tested for whole bytes", async () => {
  await visit("pool", async (page) => {
    const found = await page.evaluate(async () => {
      const { isBytes } = await import("/explorer/main.js");
      const digits = "aB".repeat(4_000_000);
      return [`0x${digits}`, "0x", `0x${digits}a`, `0x${digits}xx`, digits].map(isBytes);
    });
    expect(found.join() === "true,true,false,false,false", found.join());
  });
});

check("the console rounds no integer", async () => {
  const p = encodeURIComponent(`["${ALICE}",9007199254740993]`);
  await visit(`console/anvil_setBalance?l=l2&p=${p}`, async (page) => {
    await sees(page, ".snippet", "0x20000000000001");
    const balance = page.getByLabel("balance", { exact: true });
    for (const [typed, sent] of [
      ["1000000000000000000001", '"0x3635c9adc5dea00001"'],
      ["9007199254740991", ",9007199254740991"],
      ['{"a":9007199254740993,"b":["9007199254740993",7]}', '{"a":"0x20000000000001","b":["9007199254740993",7]}'],
    ]) {
      await balance.fill(typed);
      await sees(page, ".snippet", sent);
    }
  });
});

check("a wallet cannot take the place of another one by its id", async () => {
  const announce = (page) =>
    page.addInitScript((hidden) => {
      const tell = (name) => {
        const detail = { info: { uuid: "one", name }, provider: { request: async () => [] } };
        dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }));
      };
      addEventListener("eip6963:requestProvider", () => [hidden, "Thief"].map(tell));
    }, HIDDEN);
  await visit(
    `address/${ALICE}`,
    async (page) => {
      await page.getByRole("button", { name: "Send on L2" }).click();
      await page.locator("dialog option", { hasText: "Connect" }).first().waitFor({ state: "attached" });
      const options = await page.locator("dialog option").allInnerTexts();
      const wallets = options.filter((it) => it.startsWith("Connect"));
      expect(wallets.join() === "Connect payout…", wallets.join());
    },
    { before: announce },
  );
});

check("an ABI file that is dropped in is text", async () => {
  const token = await deployToken();
  const abi = [
    { type: "function", name: EVIL, inputs: [] },
    { type: "function", name: "ping", inputs: [{ type: "uint256", name: EVIL }] },
    { type: "function", name: "wrong", inputs: [] },
  ];
  const file = JSON.stringify({ contractName: EVIL, abi });
  await visit(`address/${token}`, async (page) => {
    await page
      .locator("input[type=file]")
      .setInputFiles({ name: "evil.json", mimeType: "application/json", buffer: Buffer.from(file) });
    await sees(page, ".function", "ping");
    await page.reload();
    await sees(page, "h1", "<img src=x");
    await isHarmless(page);
  });
});

check("an ABI file that is none is told", async () => {
  const token = await deployToken();
  await visit(`address/${token}`, async (page) => {
    for (const text of ["{", "{}", "[]]", '[{"type":"function","name":"f","inputs":[{"type":"uint7x"}]}]']) {
      await page
        .locator("input[type=file]")
        .setInputFiles({ name: "a.json", mimeType: "application/json", buffer: Buffer.from(text) });
      await page.locator(".contract [role=alert]").waitFor();
    }
  });
});

check("a route that is none is text", async () => {
  await visit(`nowhere/${encodeURIComponent(EVIL)}`, async (page) => {
    await sees(page, "h1", "There is no such room");
    await isHarmless(page);
  });
});

check("the policy forbids scripts of a page and requests to elsewhere", async () => {
  await visit("", async (page) => {
    const refused = await page.evaluate(async () => {
      const script = document.createElement("script");
      script.textContent = "window.hacked = 1";
      document.head.append(script);
      const away = await fetch("http://127.0.0.1:1/").then(
        () => "reached",
        (error) => error.name,
      );
      return [window.hacked, away];
    });
    expect(refused[0] === undefined && refused[1] === "TypeError", `allowed: ${refused}`);
    await page.evaluate(() =>
      document.querySelectorAll("script").forEach((it) => {
        it.remove();
      }),
    );
  }).catch((error) => {
    // The browser logs each refusal as an error, which is what is wanted here.
    if (!String(error).includes("Content Security Policy")) throw error;
  });
  expect((await rpc("eth_chainId")) === "0x10e", "the node is gone");
});

// The last one: it moves the clock where no calendar is.
check("a time beyond the calendar is a year", async () => {
  await rpc("evm_setNextBlockTimestamp", "0x7dba8218001");
  await rpc("evm_mine");
  const head = Number(await rpc("eth_blockNumber"));
  await visit(`l2/block/${head}`, (page) => sees(page, "main", "in the year 275,7"));
  await visit("controls", (page) => sees(page, ".panel header", "in the year 275,7"));
  await visit("", (page) => page.locator(`.bay a[href="#/l2/block/${head}"]`).waitFor());
});

await run();
