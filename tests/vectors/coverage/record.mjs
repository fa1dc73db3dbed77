// Compile the contracts, and record what forge coverage and solidity-coverage say of the steps:
//   node tests/vectors/coverage/record.mjs [folder with solidity-coverage in its node_modules]

import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const here = import.meta.dirname;
const tests = join(here, "..", "..");
const require = createRequire(join(tests, "package.json"));
const { Interface } = require("ethers");
const solc = require("solc");

const SETTINGS = {
  plain: { optimizer: { enabled: false } },
  yul: { optimizer: { enabled: false }, viaIR: true },
  optimized: { optimizer: { enabled: true, runs: 200 } },
  ir: { optimizer: { enabled: true, runs: 200 }, viaIR: true },
};
const CODE = ["object", "sourceMap", "linkReferences", "immutableReferences"];
const SELECTION = ["abi", ...CODE.map((it) => `evm.deployedBytecode.${it}`), ...CODE.slice(0, 3).map((it) => `evm.bytecode.${it}`)];

const steps = JSON.parse(readFileSync(join(here, "steps.json"), "utf8"));
const files = readdirSync(join(here, "contracts")).sort();
const sources = Object.fromEntries(
  files.map((it) => [`contracts/${it}`, { content: readFileSync(join(here, "contracts", it), "utf8") }]),
);

function compiled(settings) {
  const input = { language: "Solidity", sources, settings: { ...settings, outputSelection: { "*": { "*": SELECTION, "": ["ast"] } } } };
  const output = JSON.parse(solc.compile(JSON.stringify(input)));
  const errors = (output.errors ?? []).filter((it) => it.severity === "error");
  if (errors.length) throw new Error(errors.map((it) => it.formattedMessage).join("\n"));
  return { input, output };
}

// The branches of each line in the order of the file: their numbers are every tool's own.
function summary(text) {
  const found = {};
  let file;
  for (const line of text.split("\n")) {
    const [, kind, rest] = /^([A-Z]+):(.*)$/.exec(line) ?? [];
    if (kind === "SF") found[`contracts/${rest.split("/").at(-1)}`] = file = { lines: {}, functions: {}, branches: {} };
    if (kind === "DA") file.lines[rest.split(",")[0]] = Number(rest.split(",")[1]);
    if (kind === "FNDA") file.functions[rest.split(",")[1]] = Number(rest.split(",")[0]);
    if (kind === "BRDA") {
      const [at, , , count] = rest.split(",");
      (file.branches[at] ??= []).push(count === "-" ? 0 : Number(count));
    }
  }
  return Object.fromEntries(Object.keys(found).filter((it) => files.includes(it.split("/")[1])).sort().map((it) => [it, found[it]]));
}

const IN_CONDITION = ["IfStatement", "WhileStatement", "DoWhileStatement"];
const KINDS = {
  ...{ IfStatement: "if", WhileStatement: "loop", ForStatement: "loop" },
  ...{ DoWhileStatement: "do", Conditional: "conditional", TryStatement: "selection" },
};
const SIMPLE =
  /^(ExpressionStatement|VariableDeclarationStatement|Return|EmitStatement|RevertStatement|Break|Continue|InlineAssembly)$/;

// What the syntax tree of solc says: functions, what is evaluated by statements, and branches.
function parts(ast) {
  const found = { functions: [], statements: [], branches: [] };
  const place = (node, last = node) => {
    const [[start], [from, length]] = [node, last].map((it) => it.src.split(":").map(Number));
    return [start, from + length];
  };
  const walk = (node, isInitial = false) => {
    if (Array.isArray(node)) return node.forEach((it) => walk(it));
    if (node === null || typeof node !== "object") return;
    const type = node.nodeType;
    if ((type === "FunctionDefinition" && node.implemented) || (type === "ModifierDefinition" && node.body)) found.functions.push(place(node));
    if (SIMPLE.test(type) && !isInitial) found.statements.push(place(node));
    if (IN_CONDITION.includes(type)) found.statements.push(place(node.condition));
    if (type === "TryStatement") found.statements.push(place(node.externalCall));
    const { initializationExpression: initial, condition } = node;
    if (type === "ForStatement" && (initial || condition)) found.statements.push(place(initial ?? condition, condition ?? initial));
    if (KINDS[type] && !(type === "ForStatement" && !condition)) found.branches.push([KINDS[type], ...place(node)]);
    if (type === "BinaryOperation" && ["&&", "||"].includes(node.operator)) found.branches.push(["short circuit", ...place(node)]);
    const called = type === "FunctionCall" && node.expression.nodeType === "Identifier" ? node.expression.name : "";
    if (["require", "assert"].includes(called)) found.branches.push(["check", ...place(node)]);
    for (const [key, value] of Object.entries(node)) walk(value, key === "initializationExpression");
  };
  walk(ast);
  return found;
}

function literal(value) {
  if (typeof value === "string") return `"${value}"`;
  return Array.isArray(value) ? value.map(literal).join(", ") : String(value);
}

function forge(root, abis, solidityFiles) {
  const forge = require.resolve("@foundry-rs/forge/package.json").replace("package.json", "bin.mjs");
  const binary = existsSync(forge) ? [process.execPath, forge] : [join(tests, "node_modules", ".bin", "forge")];
  const compiler = join(root, "solc");
  writeFileSync(
    compiler,
    `#!/bin/sh
if [ "$1" = --version ]; then echo "solc, the solidity compiler commandline interface"; echo "Version: ${solc.version()}"; exit; fi
exec ${process.execPath} ${join(root, "solc.cjs")}
`,
  );
  writeFileSync(
    join(root, "solc.cjs"),
    `const solc = require(${JSON.stringify(require.resolve("solc"))});
process.stdout.write(solc.compile(require("node:fs").readFileSync(0, "utf8")));`,
  );
  chmodSync(compiler, 0o755);
  writeFileSync(join(root, "foundry.toml"), `[profile.default]\nsrc = "contracts"\ntest = "test"\nsolc = "${compiler}"\noffline = true\n`);
  mkdirSync(join(root, "test"));
  const imports = solidityFiles.map((it) => `import "../${it}";`).join("\n");
  const lines = steps.flatMap(([kind, name, ...rest]) => {
    const variable = `at${name}`;
    if (kind === "deploy") return name === "Outer" ? [] : [`${variable} = payable(address(new ${name}(${literal(rest[0] ?? [])})));`];
    const value = kind === "pay" ? `{value: ${rest[1]}}` : "";
    const data = kind === "pay" ? rest[0] : new Interface(abis[name]).encodeFunctionData(...rest);
    return [`(ok, ) = ${variable}.call${value}(hex"${data.slice(2)}");`, `require(${kind === "fail" ? "!" : ""}ok, "${name} ${rest[0]}");`];
  });
  const names = [...new Set(steps.filter((it) => it[1] !== "Outer").map((it) => it[1]))];
  writeFileSync(
    join(root, "test", "Steps.t.sol"),
    `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
${imports}
contract StepsTest {
${names.map((it) => `address payable at${it};`).join("\n")}
function testSteps() external { bool ok;
${lines.join("\n")}
} }
`,
  );
  const [program, ...first] = binary;
  execFileSync(program, [...first, "coverage", "--report", "lcov"], { cwd: root, stdio: "inherit" });
  return summary(readFileSync(join(root, "lcov.info"), "utf8"));
}

function hardhat(root, folder, abis) {
  const peers = createRequire(join(resolve(folder), "package.json"));
  writeFileSync(
    join(root, "hardhat.config.cjs"),
    `const { subtask } = require(${JSON.stringify(require.resolve("hardhat/config"))});
const names = require(${JSON.stringify(require.resolve("hardhat/builtin-tasks/task-names"))});
require(${JSON.stringify(peers.resolve("solidity-coverage"))});
subtask(names.TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD, async () => ({
  compilerPath: ${JSON.stringify(require.resolve("solc/soljson.js"))},
  isSolcJs: true,
  version: "0.8.26",
  longVersion: ${JSON.stringify(solc.version().replace(".Emscripten.clang", ""))},
}));
module.exports = { solidity: "0.8.26", paths: { tests: "checks" } };`,
  );
  mkdirSync(join(root, "checks"));
  writeFileSync(join(root, "package.json"), "{}");
  writeFileSync(
    join(root, "checks", "steps.cjs"),
    `const { Interface, AbiCoder } = require(${JSON.stringify(require.resolve("ethers"))});
const steps = ${JSON.stringify(steps)};
const abis = ${JSON.stringify(abis)};
it("takes the steps", async () => {
  const hre = require("hardhat");
  const provider = hre.network.provider;
  const [from] = await provider.send("eth_accounts");
  const at = {};
  const send = async (fields) => {
    const hash = await provider.send("eth_sendTransaction", [{ from, gas: "0xf42400", ...fields }]);
    return provider.send("eth_getTransactionReceipt", [hash]);
  };
  for (const [kind, name, ...rest] of steps) {
    if (kind === "deploy") {
      const artifact = await hre.artifacts.readArtifact(name);
      let data = artifact.bytecode;
      for (const found of Object.values(artifact.linkReferences))
        for (const [library, places] of Object.entries(found))
          for (const it of places) data = data.slice(0, 2 + 2 * it.start) + at[library].slice(2) + data.slice(42 + 2 * it.start);
      data += new Interface(abis[name]).encodeDeploy(rest[0] ?? []).slice(2);
      at[name] = (await send({ data })).contractAddress;
      continue;
    }
    const fields = kind === "pay" ? { data: rest[0], value: "0x" + rest[1].toString(16) } : { data: new Interface(abis[name]).encodeFunctionData(...rest) };
    let failed = false;
    try {
      if (kind === "call") await provider.send("eth_call", [{ from, to: at[name], ...fields }, "latest"]);
      else await send({ to: at[name], ...fields });
    } catch { failed = true; }
    if (failed !== (kind === "fail")) throw new Error(name + " " + rest[0]);
  }
});`,
  );
  const cli = require.resolve("hardhat/internal/cli/cli.js");
  execFileSync(process.execPath, [cli, "--config", "hardhat.config.cjs", "coverage"], {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, HARDHAT_DISABLE_TELEMETRY_PROMPT: "true", NODE_PATH: join(tests, "node_modules") },
  });
  return summary(readFileSync(join(root, "coverage", "lcov.info"), "utf8"));
}

let plain;
for (const [name, settings] of Object.entries(SETTINGS)) {
  const found = compiled(settings);
  plain ??= found.output;
  writeFileSync(join(here, `${name}-output.json`), JSON.stringify(strip(found.output)));
}
writeFileSync(join(here, "parts.json"), JSON.stringify(Object.fromEntries(Object.entries(plain.sources).map(([name, it]) => [name, parts(it.ast)]))));

function strip(output) {
  const numbers = Object.entries(output.sources).map(([name, it]) => [name, { id: it.id }]);
  return { contracts: output.contracts, sources: Object.fromEntries(numbers) };
}

const abis = Object.assign({}, ...Object.values(plain.contracts).map((found) => Object.fromEntries(Object.entries(found).map(([name, it]) => [name, it.abi]))));
const recorded = {};
for (const [name, run] of Object.entries({
  forge: (root) => forge(root, abis, Object.keys(sources)),
  hardhat: (root) => (process.argv[2] === undefined ? undefined : hardhat(root, process.argv[2], abis)),
})) {
  const root = mkdtempSync(join(tmpdir(), "coverage-"));
  cpSync(join(here, "contracts"), join(root, "contracts"), { recursive: true });
  recorded[name] = run(root);
  rmSync(root, { recursive: true, force: true });
}
writeFileSync(join(here, "peers.json"), `${JSON.stringify(recorded, null, 1)}\n`);
