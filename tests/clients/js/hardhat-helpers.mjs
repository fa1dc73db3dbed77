// Every helper of hardhat-network-helpers, version 1 (of Hardhat 2) and version 3 (of Hardhat 3).

import assert from "node:assert/strict";
import { NOBODY, check, rpc, run, thrown } from "./harness.mjs";
import { hre, require } from "./hardhat.mjs";

const first = require("@nomicfoundation/hardhat-network-helpers");
// Version 3 is a plugin of Hardhat 3; its class needs only a provider.
const { NetworkHelpers } = await import(
  "../../node_modules/hardhat-network-helpers-3/dist/src/internal/network-helpers/network-helpers.js"
);
const third = new NetworkHelpers({ provider: hre.network.provider, networkName: "node" });

// Run a body with each version, and revert what it did.
async function each(body) {
  for (const helpers of [first, third]) {
    const snapshot = await rpc("evm_snapshot");
    await body(helpers);
    assert.equal(await rpc("evm_revert", snapshot), true);
  }
}

const latest = () => rpc("eth_getBlockByNumber", "latest", false);
const send = async (more) => rpc("eth_sendTransaction", { from: (await rpc("eth_accounts"))[0], to: NOBODY, ...more });

check("the node is accepted as a development network", async () => {
  await each(async ({ mine }) => mine());
});

check("mine", async () => {
  await each(async ({ mine, time }) => {
    const [number, before] = [await time.latestBlock(), await time.latest()];
    await mine(3, { interval: 60 });
    assert.equal(await time.latestBlock(), number + 3);
    assert.ok((await time.latest()) >= before + 121);
  });
});

check("mineUpTo", async () => {
  await each(async ({ mineUpTo, time }) => {
    const number = await time.latestBlock();
    await mineUpTo(number + 5);
    assert.equal(await time.latestBlock(), number + 5);
    await thrown(mineUpTo(number));
  });
});

check("time.increase, by exactly so many seconds", async () => {
  await each(async ({ time }) => {
    const before = await time.latest();
    assert.equal(await time.increase(3_600), before + 3_600);
    assert.equal(await time.increase(60), before + 3_660);
  });
});

check("time.increaseTo", async () => {
  await each(async ({ time }) => {
    const target = (await time.latest()) + 1_000;
    await time.increaseTo(target);
    assert.equal(await time.latest(), target);
    await thrown(time.increaseTo(target - 1));
  });
});

check("time.setNextBlockTimestamp", async () => {
  await each(async ({ time }) => {
    const target = (await time.latest()) + 500;
    await time.setNextBlockTimestamp(target);
    await send({ value: "0x1" });
    assert.equal(Number((await latest()).timestamp), target);
  });
});

check("time.advanceBlock and time.advanceBlockTo, which are deprecated", async () => {
  const snapshot = await rpc("evm_snapshot");
  const number = await first.time.latestBlock();
  await first.time.advanceBlock(2);
  await first.time.advanceBlockTo(number + 5);
  assert.equal(await first.time.latestBlock(), number + 5);
  await rpc("evm_revert", snapshot);
});

check("time.duration", async () => {
  for (const { time } of [first, third]) assert.equal(time.duration.hours(2), 7_200);
});

check("setBalance", async () => {
  await each(async ({ setBalance }) => {
    await setBalance(NOBODY, 10n ** 18n);
    assert.equal(BigInt(await rpc("eth_getBalance", NOBODY, "latest")), 10n ** 18n);
  });
});

check("setCode", async () => {
  await each(async ({ setCode }) => {
    await setCode(NOBODY, "0x602a5f5260205ff3");
    assert.equal(await rpc("eth_getCode", NOBODY, "latest"), "0x602a5f5260205ff3");
  });
});

check("setNonce, which must not fall", async () => {
  await each(async ({ setNonce }) => {
    await setNonce(NOBODY, 5);
    assert.equal(await rpc("eth_getTransactionCount", NOBODY, "latest"), "0x5");
    await thrown(setNonce(NOBODY, 4));
  });
});

check("setStorageAt and getStorageAt", async () => {
  await each(async ({ setStorageAt, getStorageAt }) => {
    await setStorageAt(NOBODY, 1, 42);
    assert.equal(BigInt(await getStorageAt(NOBODY, 1)), 42n);
  });
});

check("setCoinbase", async () => {
  await each(async ({ setCoinbase, mine }) => {
    await setCoinbase(NOBODY);
    await mine();
    assert.equal((await latest()).miner, NOBODY);
  });
});

check("setBlockGasLimit", async () => {
  await each(async ({ setBlockGasLimit, mine }) => {
    await setBlockGasLimit(20_000_000);
    await mine();
    assert.equal(Number((await latest()).gasLimit), 20_000_000);
  });
});

check("setNextBlockBaseFeePerGas", async () => {
  await each(async ({ setNextBlockBaseFeePerGas, mine }) => {
    await setNextBlockBaseFeePerGas(7);
    await mine();
    assert.equal((await latest()).baseFeePerGas, "0x7");
  });
});

check("setPrevRandao", async () => {
  await each(async ({ setPrevRandao, mine }) => {
    await setPrevRandao(42);
    await mine();
    assert.equal(BigInt((await latest()).mixHash), 42n);
  });
});

check("impersonateAccount and stopImpersonatingAccount", async () => {
  await each(async ({ impersonateAccount, stopImpersonatingAccount, setBalance }) => {
    await setBalance(NOBODY, 10n ** 18n);
    await impersonateAccount(NOBODY);
    const hash = await rpc("eth_sendTransaction", { from: NOBODY, to: NOBODY });
    assert.equal((await rpc("eth_getTransactionReceipt", hash)).from, NOBODY);
    await stopImpersonatingAccount(NOBODY);
    await thrown(rpc("eth_sendTransaction", { from: NOBODY, to: NOBODY }));
  });
});

check("dropTransaction", async () => {
  await each(async ({ dropTransaction }) => {
    await rpc("evm_setAutomine", false);
    const hash = await send({ value: "0x1" });
    assert.equal(await dropTransaction(hash), true);
    assert.equal(await dropTransaction(hash), false);
    await rpc("evm_setAutomine", true);
  });
});

check("takeSnapshot and restore, also twice", async () => {
  await each(async ({ takeSnapshot, setBalance }) => {
    const snapshot = await takeSnapshot();
    for (let round = 0; round < 2; round += 1) {
      await setBalance(NOBODY, 5n);
      await snapshot.restore();
      assert.equal(await rpc("eth_getBalance", NOBODY, "latest"), "0x0");
    }
  });
});

check("loadFixture, 50 times", async () => {
  for (const helpers of [first, third]) {
    let deployed = 0;
    async function fixture() {
      deployed += 1;
      await helpers.setBalance(NOBODY, 5n);
      return deployed;
    }
    for (let round = 0; round < 50; round += 1) {
      assert.equal(await helpers.loadFixture(fixture), 1);
      assert.equal(await rpc("eth_getBalance", NOBODY, "latest"), "0x5");
      await helpers.setBalance(NOBODY, 7n);
    }
    helpers.clearSnapshots?.();
  }
});

await run();
