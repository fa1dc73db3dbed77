// Compile what the debugger of the explorer is tried on: node record.mjs, with solc 0.8.26 installed.

import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const here = (name) => new URL(name, import.meta.url);
const solc = createRequire(new URL("../../clients/js/compiled.cjs", import.meta.url))("solc");
const files = ["Console", "Pool", "Router", "Token"].map((it) => `src/${it}.sol`);
const sources = Object.fromEntries(files.map((it) => [it, { content: readFileSync(here(it), "utf8") }]));
const wanted = [
  "abi",
  "storageLayout",
  ...["bytecode", "deployedBytecode"].flatMap((it) => [`evm.${it}.object`, `evm.${it}.sourceMap`]),
  "evm.bytecode.linkReferences",
  "evm.deployedBytecode.immutableReferences",
];
for (const [name, enabled] of [
  ["plain", false],
  ["optimized", true],
]) {
  const settings = { optimizer: { enabled }, outputSelection: { "*": { "*": wanted } } };
  const input = { language: "Solidity", sources, settings };
  const output = JSON.parse(solc.compile(JSON.stringify(input)));
  if (output.errors) throw new Error(output.errors.map((it) => it.formattedMessage).join("\n"));
  writeFileSync(here(`${name}.json`), `${JSON.stringify({ input, output })}\n`);
}
