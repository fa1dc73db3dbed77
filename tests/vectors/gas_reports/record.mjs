// Compile the contracts, and record forge's gas report of them: node tests/vectors/gas_reports/record.mjs

import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const here = import.meta.dirname;
const tests = join(here, "..", "..");
const require = createRequire(join(tests, "package.json"));

const name = "src/Shop.sol";
const input = {
  language: "Solidity",
  sources: { [name]: { content: readFileSync(join(here, name), "utf8") } },
  settings: {
    optimizer: { enabled: false, runs: 200 },
    evmVersion: "cancun",
    outputSelection: {
      "*": {
        "*": [
          "abi",
          ...["object", "sourceMap", "linkReferences"].map((it) => `evm.bytecode.${it}`),
          ...["object", "sourceMap", "linkReferences", "immutableReferences"].map(
            (it) => `evm.deployedBytecode.${it}`,
          ),
        ],
      },
    },
  },
};
const output = JSON.parse(require("solc").compile(JSON.stringify(input)));
writeFileSync(join(here, "output.json"), `${JSON.stringify({ input, output })}\n`);

const root = mkdtempSync(join(tmpdir(), "gas-reports-"));
cpSync(here, root, { recursive: true });
const forge = join(tests, "node_modules", ".bin", "forge");
const compiler = ["--use", join(tests, "clients", "forge", "solc.mjs")];
const printed = execFileSync(forge, ["test", ...compiler, "--gas-report", "--isolate", "--json"], {
  cwd: root,
  encoding: "utf8",
  stdio: ["ignore", "pipe", "ignore"],
});
const report = JSON.parse(printed.trim().split("\n").at(-1));
writeFileSync(join(here, "forge.json"), `${JSON.stringify(report, null, 2)}\n`);
rmSync(root, { recursive: true, force: true });
