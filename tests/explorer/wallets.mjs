// Wallets that announce themselves, chains that they do not know yet, and a code for phones.

import { ALICE, BOB, check, expect, l1Rpc, rpc, run, sees, url, visit } from "./harness.mjs";

const STRANGER = `0x${"5a".repeat(20)}`;

// Wallets with an account each, which know no chain until they are told of it; the first one declines.
const install = (names) => (page) =>
  page.addInitScript(
    ([wanted, account]) => {
      window.asked = [];
      const chains = new Set();
      const announce = (name, at) => {
        const request = async ({ method, params }) => {
          window.asked.push([name, method, params]);
          if (name === "Stubborn") throw Object.assign(new Error("no"), { code: 4001 });
          if (method === "eth_requestAccounts") return [account];
          if (method === "wallet_addEthereumChain") chains.add(params[0].chainId);
          if (method === "wallet_switchEthereumChain" && !chains.has(params[0].chainId))
            throw Object.assign(new Error("unknown chain"), { code: 4902 });
          return method === "eth_sendTransaction" ? `0x${"11".repeat(32)}` : null;
        };
        const detail = Object.freeze({
          info: { uuid: `id-${at}`, name, icon: "", rdns: `w.${name}` },
          provider: { request },
        });
        const tell = () => dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }));
        addEventListener("eip6963:requestProvider", tell);
        tell();
      };
      wanted.forEach(announce);
    },
    [names, STRANGER],
  );
const asked = (page, method) => page.evaluate((it) => window.asked.filter(([, name]) => name === it), method);

check("both chains are added to the wallet that is chosen", async () => {
  await visit(
    "",
    async (page) => {
      await page.getByRole("button", { name: "Use a wallet or a phone" }).click();
      await page.getByRole("button", { name: "Add both chains to Stubborn" }).click();
      await sees(page, ".outcome li", "It was declined in the wallet.");
      await page.getByRole("button", { name: "Add both chains to Fox" }).click();
      await sees(page, ".outcome li", "Entresol L2 270: added");
      const added = (await asked(page, "wallet_addEthereumChain")).filter(([name]) => name === "Fox");
      const chains = added.map(([, , [it]]) => it);
      expect(chains.map((it) => it.chainId).join() === "0x7a69,0x10e", JSON.stringify(chains));
      for (const [chain, ask] of [
        [chains[0], l1Rpc],
        [chains[1], rpc],
      ]) {
        const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_chainId", params: [] });
        const headers = { "content-type": "application/json", origin: "chrome-extension://abcdefgh" };
        const { result } = await (await fetch(chain.rpcUrls[0], { method: "POST", headers, body })).json();
        expect(result === chain.chainId && result === (await ask("eth_chainId")), `${chain.rpcUrls[0]}: ${result}`);
        expect(chain.nativeCurrency.symbol === "ETH" && chain.nativeCurrency.decimals === 18, "it is not ether");
      }
    },
    { before: install(["Stubborn", "Fox"]) },
  );
});

check("of several wallets one is chosen, and learns a chain that it does not know", async () => {
  await visit(
    `address/${ALICE}`,
    async (page) => {
      await page.getByRole("button", { name: "Send on L2" }).click();
      await page.getByLabel("Account").selectOption({ label: "Connect Owl…" });
      await page.getByLabel("Amount in ether").fill("0");
      await sees(page, "dialog", "The fee is about");
      await page.locator("dialog button.primary").click();
      await page.locator("dialog").waitFor({ state: "detached" });
      const methods = await page.evaluate(() => window.asked.map(([name, method]) => `${name} ${method}`));
      const expected = ["eth_requestAccounts", "wallet_switchEthereumChain", "wallet_addEthereumChain"];
      const wanted = [...expected, "wallet_switchEthereumChain", "eth_sendTransaction"].map((it) => `Owl ${it}`);
      expect(methods.join() === wanted.join(), methods.join());
      const [[, , [transaction]]] = await asked(page, "eth_sendTransaction");
      expect(transaction.from === STRANGER, `sent by ${transaction.from}`);
    },
    { before: install(["Fox", "Owl"]) },
  );
});

check("a wallet that declines is said so, and the account stays", async () => {
  await visit(
    `address/${ALICE}`,
    async (page) => {
      await page.getByRole("button", { name: "Send on L2" }).click();
      await page.getByLabel("Account").selectOption({ label: "Connect Stubborn…" });
      await sees(page, "#banner", "It was declined in the wallet.");
      expect((await page.getByLabel("Account").inputValue()) === ALICE.toLowerCase(), "another account is chosen");
    },
    { before: install(["Stubborn"]) },
  );
});

check("without a wallet the values are there to be copied", async () => {
  await visit("controls", async (page) => {
    await page.getByRole("button", { name: "Use a wallet or a phone" }).click();
    await sees(page, "dialog", "No wallet has announced itself");
    await sees(page, ".chains li", `${url}/explorer/l1`);
  });
});

check("a code for a phone is drawn when it is asked for, and not before", async () => {
  await visit("", async (page) => {
    const loaded = [];
    page.on("request", (it) => loaded.push(it.url()));
    await page.getByRole("button", { name: "Use a wallet or a phone" }).click();
    await sees(page, "dialog", "Wallets and phones");
    expect(!loaded.some((it) => it.endsWith("/qr.js")), "it was loaded");
    await page.getByText("Show a code for a phone").click();
    await sees(page, "dialog", "A phone does not reach 127.0.0.1");
    await page.getByLabel("The address that the phone opens").fill("http://192.168.1.20:3050");
    await page.locator('svg.qr[aria-label="A code of http://192.168.1.20:3050/"]').waitFor();
    const read = await page.evaluate(async (texts) => {
      const { qrCode } = await import("/explorer/qr.js");
      return texts.map((it) => qrCode(it).map((row) => row.map(Number)));
    }, TEXTS);
    TEXTS.forEach((text, at) => {
      expect(decoded(read[at]) === text, `${text} is read as ${decoded(read[at])}`);
    });
    await page.getByLabel("The address that the phone opens").fill(`http://${"a".repeat(120)}/`);
    await sees(page, "dialog details .bad", "An address is written");
  });
});

const TEXTS = [
  "http://a.b",
  "http://192.168.1.20:3050/",
  "x".repeat(42),
  `http://${"b".repeat(50)}`,
  "y".repeat(84),
  BOB + "z".repeat(60),
];

// Read a code as a camera does, by the standard's tables: its format, its mask, its blocks, and their syndromes.
function decoded(grid) {
  const size = grid.length;
  const format = [0, 1, 2, 3, 4, 5, 7, 8]
    .map((it) => grid[8][it])
    .concat([7, 5, 4, 3, 2, 1, 0].map((it) => grid[it][8]));
  const known = [0x5412, 0x5125, 0x5e7c, 0x5b4b, 0x45f9, 0x40ce, 0x4f97, 0x4aa0];
  const mask = known.indexOf(Number.parseInt(format.join(""), 2));
  const masks = [
    (i, j) => (i + j) % 2,
    (i) => i % 2,
    (_, j) => j % 3,
    (i, j) => (i + j) % 3,
    (i, j) => ((i >> 1) + Math.floor(j / 3)) % 2,
    (i, j) => ((i * j) % 2) + ((i * j) % 3),
    (i, j) => (((i * j) % 2) + ((i * j) % 3)) % 2,
    (i, j) => (((i + j) % 2) + ((i * j) % 3)) % 2,
  ];
  const isFixed = (r, c) =>
    r === 6 ||
    c === 6 ||
    (r < 9 && (c < 9 || c >= size - 8)) ||
    (r >= size - 8 && c < 9) ||
    (size > 21 && r >= size - 9 && r <= size - 5 && c >= size - 9 && c <= size - 5);
  let bits = "";
  for (let right = size - 1, up = true; right > 0; right -= 2, up = !up) {
    if (right === 6) right--;
    for (let step = 0; step < size; step++)
      for (const c of [right, right - 1]) {
        const r = up ? size - 1 - step : step;
        if (!isFixed(r, c)) bits += grid[r][c] ^ Number(masks[mask](r, c) === 0);
      }
  }
  const [blocks, total, size_] = [
    [1, 26, 16],
    [1, 44, 28],
    [1, 70, 44],
    [2, 50, 32],
    [2, 67, 43],
    [4, 43, 27],
  ][(size - 21) / 4];
  const words = Array.from({ length: blocks * total }, (_, at) => Number.parseInt(bits.slice(8 * at, 8 * at + 8), 2));
  const parts = Array.from({ length: blocks }, (_, block) => words.filter((_word, at) => at % blocks === block));
  const [exponents, logarithms] = [[], []];
  for (let at = 0, value = 1; at < 255; at++, value = (value << 1) ^ (value > 127 ? 0x11d : 0)) {
    exponents.push(value);
    logarithms[value] = at;
  }
  for (const part of parts)
    for (let root = 0; root < total - size_; root++) {
      const sum = part.reduce((left, it) => (left ? exponents[(logarithms[left] + root) % 255] : 0) ^ it, 0);
      if (sum) return `a block with the syndrome ${sum}`;
    }
  const data = parts
    .flatMap((it) => it.slice(0, size_))
    .map((it) => it.toString(2).padStart(8, "0"))
    .join("");
  const length = Number.parseInt(data.slice(4, 12), 2);
  const bytes = Array.from({ length }, (_, at) => Number.parseInt(data.slice(12 + 8 * at, 20 + 8 * at), 2));
  return data.startsWith("0100") ? Buffer.from(bytes).toString() : "another mode";
}

await run();
