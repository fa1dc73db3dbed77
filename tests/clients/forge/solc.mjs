#!/usr/bin/env node
// The compiler of npm behind the interface of a native solc, as far as forge uses it: it works offline.
import { readFileSync } from "node:fs";

import solc from "solc";

if (process.argv.includes("--version")) {
    console.log(`solc, the solidity compiler commandline interface\nVersion: ${solc.version()}`);
} else {
    console.log(solc.compile(readFileSync(0, "utf8")));
}
