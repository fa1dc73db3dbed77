#!/usr/bin/env node
// The compiler of npm behind the interface of a native solc, as far as forge uses it: it works offline.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const { cached, compilerVersion } = require("../js/compiled.cjs");

if (process.argv.includes("--version")) {
    console.log(`solc, the solidity compiler commandline interface\nVersion: ${await compilerVersion()}`);
} else {
    const input = readFileSync(0, "utf8");
    console.log(await cached(input, () => require("solc").compile(input)));
}
