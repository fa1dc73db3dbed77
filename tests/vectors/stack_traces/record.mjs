// Compile the contracts, and record how Hardhat's own network traces each case: node tests/vectors/stack_traces/record.mjs

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const here = import.meta.dirname;
const tests = join(here, "..", "..");
const require = createRequire(join(tests, "package.json"));
const { AbiCoder, Interface, toQuantity } = require("ethers");

const SETTINGS = {
  plain: { optimizer: { enabled: false } },
  optimized: { optimizer: { enabled: true, runs: 200 } },
  ir: { optimizer: { enabled: true, runs: 200 }, viaIR: true },
};

const root = mkdtempSync(join(tmpdir(), "stack-traces-"));
cpSync(join(here, "contracts"), join(root, "contracts"), { recursive: true });
writeFileSync(
  join(root, "hardhat.config.cjs"),
  `const { subtask } = require(${JSON.stringify(require.resolve("hardhat/config"))});
const names = require(${JSON.stringify(require.resolve("hardhat/builtin-tasks/task-names"))});
subtask(names.TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD, async () => ({
  compilerPath: ${JSON.stringify(require.resolve("solc/soljson.js"))},
  isSolcJs: true,
  version: "0.8.26",
  longVersion: ${JSON.stringify(require("solc").version().replace(".Emscripten.clang", ""))},
}));
subtask(names.TASK_COMPILE_SOLIDITY_LOG_COMPILATION_RESULT, async () => {});
module.exports = {
  solidity: { version: "0.8.26", settings: ${JSON.stringify(SETTINGS[process.argv[2]] ?? {})} },
};`,
);

// A process can only have one configuration of Hardhat.
if (process.argv[2] === undefined) {
  const { execFileSync } = await import("node:child_process");
  for (const name of Object.keys(SETTINGS)) {
    const file = process.argv[1];
    execFileSync(process.execPath, [file, name], { stdio: "inherit" });
  }
  rmSync(root, { recursive: true, force: true });
  process.exit(0);
}

Error.prepareStackTrace = (_, sites) => sites;
process.chdir(root);
process.env.HARDHAT_DISABLE_TELEMETRY_PROMPT = "true";
const hre = require("hardhat");
await hre.run("compile", { quiet: true });
const names = await hre.artifacts.getAllFullyQualifiedNames();
const info = await hre.artifacts.getBuildInfo(names[0]);
const provider = hre.network.provider;
const [sender] = await provider.send("eth_accounts");

async function send(transaction) {
  try {
    const hash = await provider.send("eth_sendTransaction", [{ from: sender, gas: "0x989680", ...transaction }]);
    return { receipt: await provider.send("eth_getTransactionReceipt", [hash]) };
  } catch (error) {
    return { error };
  }
}

// Hardhat puts call sites of its own before those of JavaScript.
function frames(error) {
  return error.stack
    .filter((site) => site.constructor.name === "SolidityCallSite")
    .map((site) => [site.getTypeName(), site.getMethodName() ?? site.getFunctionName(), site.getFileName(), site.getLineNumber()])
    .reverse();
}

async function deployed(contract) {
  const artifact = await hre.artifacts.readArtifact(contract);
  let bytecode = artifact.bytecode;
  for (const libraries of Object.values(artifact.linkReferences)) {
    for (const [library, places] of Object.entries(libraries)) {
      const { receipt } = await send({ data: await deployed(library) });
      for (const { start, length } of places) {
        const at = 2 + 2 * start;
        const address = receipt.contractAddress.slice(2).toLowerCase();
        bytecode = bytecode.slice(0, at) + address + bytecode.slice(at + 2 * length);
      }
    }
  }
  return bytecode;
}

const recorded = [];
for (const [name, contract, signature, params, options = {}] of JSON.parse(readFileSync(join(here, "cases.json")))) {
  const artifact = await hre.artifacts.readArtifact(contract);
  const abi = new Interface(artifact.abi);
  const args = options.bare ? "" : AbiCoder.defaultAbiCoder().encode(abi.deploy.inputs, options.args ?? []).slice(2);
  const creation = { data: (await deployed(contract)) + args, value: toQuantity(options.deposit ?? 0) };
  const item = { name, contract, args: `0x${args}`, deposit: creation.value };
  let { receipt, error } = await send(creation);
  if (error === undefined) {
    const selector = signature === null ? "0x" : abi.getFunction(signature).selector;
    const data =
      params === null ? (selector + (options.data ?? "0x").slice(2)) : abi.encodeFunctionData(signature, params);
    item.call = { data, value: toQuantity(options.value ?? 0), gas: toQuantity(options.gas ?? 1_000_000) };
    ({ error } = await send({ to: receipt.contractAddress, ...item.call }));
  }
  item.message = error?.message;
  item.frames = error === undefined ? null : frames(error);
  item.expected = options.expected;
  recorded.push(item);
}
writeFileSync(join(here, `${process.argv[2]}.json`), JSON.stringify(recorded, null, 1) + "\n");
const contracts = {};
for (const [file, found] of Object.entries(info.output.contracts)) {
  contracts[file] = {};
  for (const [contract, { abi, evm }] of Object.entries(found)) {
    const kept = ({ object, sourceMap, linkReferences, immutableReferences }) => ({
      object,
      sourceMap,
      linkReferences,
      immutableReferences,
    });
    contracts[file][contract] = {
      abi,
      evm: { bytecode: kept(evm.bytecode), deployedBytecode: kept(evm.deployedBytecode) },
    };
  }
}
const sources = Object.fromEntries(Object.entries(info.output.sources).map(([file, { id }]) => [file, { id }]));
const files = Object.fromEntries(Object.keys(sources).map((file) => [file, info.input.sources[file]]));
writeFileSync(
  join(here, `${process.argv[2]}-output.json`),
  JSON.stringify({ input: { language: "Solidity", sources: files }, output: { sources, contracts } }) + "\n",
);
rmSync(root, { recursive: true, force: true });
