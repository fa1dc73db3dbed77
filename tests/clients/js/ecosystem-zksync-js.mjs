// The calls of zksync-js on chains of one L1: one whose gas is paid in ether, and those with a token of their own.

import assert from "node:assert/strict";
import { ZeroAddress, parseEther } from "ethers";
import { chains, check, checkWithToken, runOnEach, stranger, thrown } from "./harness.mjs";
import { ETH, assetId, connect } from "./zksync-js.mjs";

async function prepare(described) {
  const sdk = await connect(described.http_url, process.env.L1_URL, described.key);
  const token = await sdk.newToken("Salt and Pepper", "SAP", 9, 1_000_000n);
  return {
    ...sdk, described, token, address: await token.getAddress(),
    unit: 10n ** BigInt(sdk.isEther ? 18 : described.base_token.decimals),
    // What an account has on L1 of the token that the chain's gas is paid in.
    paid: (owner) => (sdk.isEther ? sdk.l1.getBalance(owner) : sdk.erc20(sdk.base).balanceOf(owner)),
  };
}

check("resolves what gas is paid in, and ether", async ({ described, base, isEther, l1ChainId, resolve, chain }) => {
  assert.equal((await chain.getAddress()).toLowerCase(), described.contract);
  assert.equal(base, isEther ? ETH : described.base_token.l1_address);
  const [own, ether] = [await resolve(base), await resolve(ETH)];
  assert.equal(own.baseAsset, own.assetId);
  assert.equal(own.baseAsset, assetId(l1ChainId, base));
  assert.equal(ether.assetId === own.baseAsset, isEther);
  assert.deepEqual([own.wethL1, own.wethL2], [ZeroAddress, ZeroAddress]);
});

check("deposits what gas is paid in", async ({ l2, depositBase, unit }) => {
  const to = stranger();
  assert.equal((await depositBase(unit, to)).status, 1);
  assert.equal(await l2.getBalance(to), unit);
});

check("deposits another token for the first time, and again", async ({ l2, depositToken, resolve, erc20, address }) => {
  const to = stranger();
  assert.equal((await resolve(address)).l2, ZeroAddress);
  for (const amount of [1_000n, 234n]) assert.equal((await depositToken(address, amount, to)).status, 1);
  assert.equal(await erc20((await resolve(address)).l2, l2).balanceOf(to), 1_234n);
});

check("withdraws what gas is paid in", async ({ withdrawBase, finalize, paid }) => {
  const to = stranger();
  const { hash } = await (await withdrawBase(123n, to)).wait();
  await finalize(hash);
  assert.equal(await paid(to), 123n);
});

check("withdraws another token", async ({ me, depositToken, withdrawToken, finalize, token, address }) => {
  const to = stranger();
  await depositToken(address, 100n, me);
  const { hash } = await (await (await withdrawToken(address, 40n, to))()).wait();
  await finalize(hash);
  assert.equal(await token.balanceOf(to), 40n);
});

checkWithToken("deposits ether, and withdraws it", async ({ l1, l2, me, depositToken, withdrawToken, finalize, resolve, erc20 }) => {
  const [there, here] = [stranger(), stranger()];
  for (const to of [there, me]) assert.equal((await depositToken(ETH, parseEther("2"), to)).status, 1);
  const bridged = erc20((await resolve(ETH)).l2, l2);
  assert.deepEqual([await bridged.balanceOf(there), await bridged.symbol()], [parseEther("2"), "ETH"]);
  const { hash } = await (await (await withdrawToken(ETH, 40n, here))()).wait();
  await finalize(hash);
  assert.equal(await l1.getBalance(here), 40n);
});

checkWithToken("is rejected with what gas is paid in by the second bridge", async ({ base, depositToken }) => {
  await thrown(depositToken(base, 1n, stranger(), 1_000_000n));
});

await runOnEach(chains, prepare);
