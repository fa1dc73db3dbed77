// Hardhat's configuration for OpenZeppelin's plugin: contracts to compile, and the compiler of npm.

const { cpSync, mkdtempSync, rmSync } = require("node:fs");
const { tmpdir } = require("node:os");
const { join } = require("node:path");
const { subtask } = require("hardhat/config");
const {
  TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD,
  TASK_COMPILE_SOLIDITY_LOG_COMPILATION_RESULT,
} = require("hardhat/builtin-tasks/task-names");
const base = require("./hardhat.config.cjs");
require("@openzeppelin/hardhat-upgrades");

const VERSION = require("solc/package.json").version;

// Hardhat would download one.
subtask(TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD, async () => ({
  compilerPath: require.resolve("solc/soljson.js"),
  isSolcJs: true,
  version: VERSION,
  longVersion: require("solc").version().replace(".Emscripten.clang", ""),
}));
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
