// How tools find out that a node is one for development: OpenZeppelin's plugin, Hardhat's helpers, ape's for Foundry.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { check, rpc, run } from "./harness.mjs";

const require = createRequire(import.meta.url);
const { isDevelopmentNetwork } = require("@openzeppelin/upgrades-core/dist/provider.js");

check("OpenZeppelin's plugin takes it for a development network", async () => {
  const provider = { send: (method, params) => rpc(method, ...params) };
  assert.equal(await isDevelopmentNetwork(provider), true);
  // And so it is without the chain id.
  const elsewhere = { send: async (method, params) => (method === "eth_chainId" ? "0x10e" : rpc(method, ...params)) };
  assert.equal(await isDevelopmentNetwork(elsewhere), true);
});

check("it has the identity that deployments are kept by", async () => {
  const metadata = await rpc("hardhat_metadata");
  assert.equal(metadata.chainId, 31337);
  assert.match(metadata.instanceId, /^0x[0-9a-f]{64}$/);
  assert.equal(metadata.clientVersion, await rpc("web3_clientVersion"));
});

await run();
