// Hardhat's configuration for OpenZeppelin's plugin: contracts to compile, and the compiler of npm.

const { cpSync, mkdtempSync, rmSync } = require("node:fs");
const { tmpdir } = require("node:os");
const { join } = require("node:path");
const { subtask } = require("hardhat/config");
const {
  TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD,
  TASK_COMPILE_SOLIDITY_LOG_COMPILATION_RESULT,
  TASK_COMPILE_SOLIDITY_RUN_SOLCJS,
} = require("hardhat/builtin-tasks/task-names");
const { cached, compilerVersion } = require("./compiled.cjs");
const base = require("./hardhat.config.cjs");
require("@openzeppelin/hardhat-upgrades");

const VERSION = require("solc/package.json").version;

// Hardhat would download one.
subtask(TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD, async () => ({
  compilerPath: require.resolve("solc/soljson.js"),
  isSolcJs: true,
  version: VERSION,
  longVersion: (await compilerVersion()).replace(".Emscripten.clang", ""),
}));
subtask(TASK_COMPILE_SOLIDITY_RUN_SOLCJS, async (given, _, runSuper) =>
  JSON.parse(await cached(JSON.stringify(given.input), async () => JSON.stringify(await runSuper(given)))),
);
// The output is that of the checks.
subtask(TASK_COMPILE_SOLIDITY_LOG_COMPILATION_RESULT, async () => {});

// A project of its own, since the plugin and the compiler write into it.
const root = mkdtempSync(join(tmpdir(), "hardhat-upgrades-"));
cpSync(join(__dirname, "upgrades"), join(root, "contracts"), { recursive: true });
process.chdir(root);
process.on("exit", () => rmSync(root, { recursive: true, force: true }));

module.exports = {
  ...base,
  solidity: VERSION,
  paths: { root },
};
