// OpenZeppelin's plugin for upgradeable contracts, with the proxies and the checks that it brings.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { check, rpc, run, thrown } from "./harness.mjs";

process.env.HARDHAT_CONFIG = fileURLToPath(new URL("hardhat-upgrades.config.cjs", import.meta.url));
const hre = createRequire(import.meta.url)("hardhat");
await hre.run("compile", { quiet: true });
const { ethers, upgrades } = hre;
const factory = (name) => ethers.getContractFactory(name);

// Store through the first implementation, upgrade, and go on with what is stored.
async function goesOn(box, upgrade) {
  await box.waitForDeployment();
  assert.equal(await box.retrieve(), 42n);
  await (await box.store(7n)).wait();
  const upgraded = await upgrade();
  assert.equal(await upgraded.getAddress(), await box.getAddress());
  await (await upgraded.increment()).wait();
  assert.equal(await upgraded.retrieve(), 8n);
}

check("a transparent proxy is deployed and upgraded", async () => {
  const box = await upgrades.deployProxy(await factory("Box"), [42n]);
  await goesOn(box, async () => (await upgrades.upgradeProxy(box, await factory("BoxV2"))).waitForDeployment());
});

check("a beacon proxy is deployed and upgraded", async () => {
  const beacon = await upgrades.deployBeacon(await factory("Box"));
  await beacon.waitForDeployment();
  const box = await upgrades.deployBeaconProxy(beacon, await factory("Box"), [42n]);
  await goesOn(box, async () => {
    await (await upgrades.upgradeBeacon(beacon, await factory("BoxV2"))).waitForDeployment();
    return (await factory("BoxV2")).attach(await box.getAddress());
  });
});

check("the implementation and the admin of a proxy are read from its slots", async () => {
  const box = await upgrades.deployProxy(await factory("Box"), [1n]);
  await box.waitForDeployment();
  const address = await box.getAddress();
  const before = await upgrades.erc1967.getImplementationAddress(address);
  assert.notEqual(await rpc("eth_getCode", before, "latest"), "0x");
  assert.notEqual(await upgrades.erc1967.getAdminAddress(address), ethers.ZeroAddress);
  await (await upgrades.upgradeProxy(box, await factory("BoxV2"))).waitForDeployment();
  assert.notEqual(await upgrades.erc1967.getImplementationAddress(address), before);
});

check("an implementation is deployed once, and again after a reset", async () => {
  const first = await upgrades.deployImplementation(await factory("Box"));
  assert.equal(await upgrades.deployImplementation(await factory("Box")), first);
  // The plugin finds the deployments of a development network by its instance id.
  const { instanceId } = await rpc("hardhat_metadata");
  await rpc("hardhat_reset");
  assert.notEqual((await rpc("hardhat_metadata")).instanceId, instanceId);
  assert.equal(await rpc("eth_getCode", first, "latest"), "0x");
  const again = await upgrades.deployImplementation(await factory("Box"));
  assert.notEqual(await rpc("eth_getCode", again, "latest"), "0x");
});

check("an upgrade with another storage layout is rejected", async () => {
  const box = await upgrades.deployProxy(await factory("Box"), [1n]);
  await box.waitForDeployment();
  const error = await thrown(upgrades.upgradeProxy(box, await factory("BoxMoved")));
  assert.match(error.message, /New storage layout is incompatible/);
});

await run();
