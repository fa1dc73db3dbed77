// Compile the contract that tests debug: node tests/vectors/debugged/record.mjs
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const folder = new URL("./", import.meta.url);
const solc = createRequire(new URL("../../package.json", import.meta.url))("solc");
const content = readFileSync(new URL("Debugged.sol", folder), "utf8");

for (const name of ["plain", "optimized"]) {
    const input = {
        language: "Solidity",
        sources: { "contracts/Debugged.sol": { content } },
        settings: {
            evmVersion: "cancun",
            optimizer: { enabled: name === "optimized", runs: 200 },
            outputSelection: {
                "*": {
                    "*": [
                        "abi",
                        "storageLayout",
                        "evm.bytecode.object",
                        "evm.bytecode.sourceMap",
                        "evm.bytecode.linkReferences",
                        "evm.deployedBytecode.object",
                        "evm.deployedBytecode.sourceMap",
                        "evm.deployedBytecode.immutableReferences",
                    ],
                },
            },
        },
    };
    const output = JSON.parse(solc.compile(JSON.stringify(input)));
    const failed = (output.errors ?? []).filter((it) => it.severity === "error");
    if (failed.length > 0) {
        throw new Error(failed.map((it) => it.formattedMessage).join("\n"));
    }
    writeFileSync(new URL(`${name}.json`, folder), `${JSON.stringify({ input, output })}\n`);
}
