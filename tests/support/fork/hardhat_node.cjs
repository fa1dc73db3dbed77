// A node of Hardhat that is started as anvil is, and says where it listens as anvil does.

const path = require("node:path");
const { parseArgs } = require("node:util");

process.env.HARDHAT_CONFIG = path.join(__dirname, "hardhat.config.cjs");
const hardhat = require("hardhat");

const text = { type: "string" };
const { values } = parseArgs({ options: { host: text, port: text } });

async function main() {
  const server = await hardhat.run("node:create-server", {
    hostname: values.host,
    port: Number(values.port),
    provider: hardhat.network.provider,
  });
  const { address, port } = await server.listen();
  console.log(`Listening on ${address}:${port}`);
}

main();
