// What zksync-ethers 6 reads about tokens, published code and the protocol of a layer 2.

import assert from "node:assert/strict";
import { getBytes, toBeHex } from "ethers";
import { Provider, Wallet, utils } from "zksync-ethers";
import { NOBODY, check, run, url } from "./harness.mjs";

const provider = new Provider(url, undefined, { polling: true });
provider.pollingInterval = 50;
// The first account of the layer 2 that tests make, which has 1000 of a token from L1.
const alice = new Wallet("0x" + "01".repeat(32), provider);

check("lists ether, and no token that somebody brought from L1", async () => {
  const [ether, ...others] = await provider.getConfirmedTokens();
  assert.deepEqual(others, []);
  assert.ok(utils.isETH(ether.address));
  assert.equal(ether.symbol, "ETH");
  assert.equal(ether.decimals, 18);
});

check("reads all balances of an account", async () => {
  const { [utils.ETH_ADDRESS]: ether, ...tokens } = await alice.getAllBalances();
  assert.equal(ether, await provider.getBalance(alice.address));
  assert.deepEqual(Object.values(tokens), [1000n]);
  assert.deepEqual(await provider.getAllAccountBalances("0x" + "ee".repeat(20)), {});
});

check("finds the code that it published, and null where there is none", async () => {
  const code = toBeHex(0x5678, 32);
  const name = "0x" + Buffer.from(utils.hashBytecode(code)).toString("hex");
  assert.equal(await provider.getBytecodeByHash(name), null);
  const sent = await alice.sendTransaction({ to: NOBODY, customData: { factoryDeps: [code] } });
  await sent.wait();
  assert.deepEqual(await provider.getBytecodeByHash(name), [...getBytes(code)]);
});

check("offers the price of the node for a published byte", async () => {
  const sent = await alice.sendTransaction({ to: NOBODY, value: 1n });
  await sent.wait();
  const raw = utils.parseEip712(await provider.send("eth_getRawTransactionByHash", [sent.hash]));
  assert.equal(raw.customData.gasPerPubdata, BigInt(await provider.send("zks_gasPerPubdata", [])));
});

check("estimates a fee", async () => {
  const fee = await provider.estimateFee({ from: alice.address, to: NOBODY, value: 1n, type: 0x71 });
  assert.equal(fee.gasLimit, 21_000n);
  assert.equal(fee.maxFeePerGas, 100_000_000n);
  assert.ok(fee.gasPerPubdataLimit > 0n);
});

check("reads the version of the protocol", async () => {
  const version = await provider.getProtocolVersion();
  assert.equal(version.version_id, 31);
  assert.equal(version.minorVersion, 31);
  assert.equal(await provider.getProtocolVersion(29), null);
});

await run();
