// ethers 6 with the batches and the caches that it has by itself: it sends the calls of one moment together, and takes a
// result for valid for a quarter of a second.

import assert from "node:assert/strict";
import { ContractFactory, JsonRpcProvider, Wallet } from "ethers";
import { ALICE, NOBODY, check, contracts, run, url } from "./harness.mjs";

// A provider of its own for each check, so that nothing is cached yet. It polls for blocks only after an hour, so that
// it never learns of a block that it has missed, as on a chain where nobody else sends.
const fresh = () => new JsonRpcProvider(url, undefined, { pollingInterval: 3_600_000 });

check("waits for a transaction by its hash", async () => {
  const provider = fresh();
  const sent = await new Wallet(ALICE, provider).sendTransaction({ to: NOBODY, value: 1n });
  assert.equal((await provider.waitForTransaction(sent.hash)).status, 1);
});

check("waits for what it has sent", async () => {
  const sent = await new Wallet(ALICE, fresh()).sendTransaction({ to: NOBODY, value: 1n });
  const receipt = await sent.wait();
  assert.equal(receipt.status, 1);
});

check("waits for a deployment and calls it", async () => {
  const { abi, bytecode } = contracts.math;
  const factory = new ContractFactory(abi, bytecode, new Wallet(ALICE, fresh()));
  const deployed = await (await factory.deploy()).waitForDeployment();
  assert.notEqual(await deployed.getDeployedCode(), null);
});

check("waits for transactions of an unlocked account one after another", async () => {
  const signer = await fresh().getSigner();
  for (let count = 0; count < 3; count++) {
    const sent = await signer.sendTransaction({ to: NOBODY, value: 1n });
    assert.equal((await sent.wait()).status, 1);
  }
});

check("sends one after another with the nonces that it reads", async () => {
  const wallet = new Wallet(ALICE, fresh());
  for (let count = 0; count < 4; count++) {
    const sent = await wallet.sendTransaction({ to: NOBODY, value: 1n });
    assert.equal((await sent.wait()).status, 1);
  }
});

await run();
