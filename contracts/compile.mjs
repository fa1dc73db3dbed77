// Compile the contracts, and write one JSON artifact for each.
//
//   node contracts/compile.mjs           write the artifacts
//   node contracts/compile.mjs --check   fail if an artifact is stale
//
// The output depends on the sources and the pinned compiler alone: no metadata is appended to the
// code, and paths are relative to this folder.

import { createHash } from "node:crypto";
import {
    existsSync,
    mkdirSync,
    readFileSync,
    readdirSync,
    unlinkSync,
    writeFileSync,
} from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import solc from "solc";

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = dirname(HERE);

// The artifact folder of each source folder. Contracts for tests only are not part of the package.
const TARGETS = {
    l1: join(ROOT, "src/entresol/contracts"),
    l2: join(ROOT, "src/entresol/contracts"),
    test: join(ROOT, "tests/contracts/artifacts"),
    examples: join(ROOT, "tests/contracts/artifacts"),
};
// Below the 24,576 bytes that a chain accepts (EIP-170), so that a mend fits without a division.
const MAX_RUNTIME_BYTES = 24_000;

// Contracts that run the functions of others at their own address: their interfaces are one there.
const FACETS = { ZKChain: ["MailboxFacet", "ExecutorFacet"] };

const SETTINGS = {
    optimizer: { enabled: true, runs: 200 },
    evmVersion: "cancun",
    viaIR: false,
    metadata: { bytecodeHash: "none", appendCBOR: false, useLiteralContent: false },
    outputSelection: {
        "*": {
            "*": [
                "abi",
                "metadata",
                "storageLayout",
                "evm.methodIdentifiers",
                "evm.bytecode.object",
                "evm.bytecode.linkReferences",
                "evm.deployedBytecode.object",
                "evm.deployedBytecode.immutableReferences",
            ],
            "": ["ast"],
        },
    },
};

function sources() {
    const found = {};
    for (const folder of ["shared", ...Object.keys(TARGETS)]) {
        const path = join(HERE, folder);
        if (!existsSync(path)) continue;
        for (const name of readdirSync(path, { recursive: true }).sort()) {
            if (!name.endsWith(".sol")) continue;
            const file = join(path, name);
            found[relative(HERE, file).replaceAll("\\", "/")] = {
                content: readFileSync(file, "utf8"),
            };
        }
    }
    return found;
}

function compile(input) {
    const request = { language: "Solidity", sources: input, settings: SETTINGS };
    const output = JSON.parse(solc.compile(JSON.stringify(request)));
    const problems = output.errors ?? [];
    for (const problem of problems) console.error(problem.formattedMessage);
    if (problems.length > 0) process.exit(1); // warnings are errors
    return output;
}

// The hash of every source that the contract was compiled from, its imports included.
function sourceHash(metadata) {
    const hash = createHash("sha256");
    for (const [path, { keccak256 }] of Object.entries(JSON.parse(metadata).sources).sort())
        hash.update(`${path} ${keccak256}\n`);
    return `0x${hash.digest("hex")}`;
}

// Names of immutable variables by AST id. The ids change with every source, so an artifact has the
// names instead.
function variableNames(output) {
    const names = {};
    const visit = (node) => {
        if (node === null || typeof node !== "object") return;
        if (node.nodeType === "VariableDeclaration" && node.mutability === "immutable")
            names[node.id] = node.name;
        for (const child of Object.values(node)) visit(child);
    };
    for (const { ast } of Object.values(output.sources)) visit(ast);
    return names;
}

// Storage slots by name. Types are written out without AST ids, for the same reason.
function storageLayout({ storage, types }) {
    const named = (type) => types[type].label;
    return storage.map(({ label, slot, offset, type }) => ({
        label,
        slot,
        offset,
        type: named(type),
    }));
}

// The interface of an address: a contract's own and that of its facets, each event and error once.
function withFacets(name, contracts) {
    const abi = [...contracts[name].abi];
    const served = new Set(Object.values(contracts[name].evm.methodIdentifiers));
    const key = ({ type, name, inputs }) => JSON.stringify([type, name, inputs]);
    const known = new Set(abi.map(key));
    for (const facet of FACETS[name] ?? []) {
        for (const [signature, selector] of Object.entries(
            contracts[facet].evm.methodIdentifiers,
        )) {
            if (served.has(selector))
                fail(`${facet}.${signature} clashes with a selector of ${name}`);
            served.add(selector);
        }
        const added = contracts[facet].abi.filter(
            (entry) => entry.type !== "constructor" && !known.has(key(entry)),
        );
        for (const entry of added) known.add(key(entry));
        abi.push(...added);
    }
    return abi;
}

function artifact(source, name, contract, abi, names) {
    const { bytecode, deployedBytecode } = contract.evm;
    const immutables = {};
    for (const [id, places] of Object.entries(deployedBytecode.immutableReferences ?? {}))
        immutables[names[id]] = places.map(({ start }) => start).sort((a, b) => a - b);
    return {
        name,
        source,
        sourceHash: sourceHash(contract.metadata),
        compiler: JSON.parse(contract.metadata).compiler.version,
        evmVersion: SETTINGS.evmVersion,
        abi,
        storageLayout: storageLayout(contract.storageLayout),
        immutables: Object.fromEntries(Object.entries(immutables).sort()),
        bytecode: `0x${bytecode.object}`,
        runtime: `0x${deployedBytecode.object}`,
    };
}

// JSON with one ABI entry or variable a line, for readable diffs.
function format(fields) {
    const line = (value) =>
        JSON.stringify(value)
            .replaceAll(/,(?=")/g, ", ")
            .replaceAll('":', '": ');
    const list = (items) => (items.length ? `[\n  ${items.map(line).join(",\n  ")}\n ]` : "[]");
    const text = (value) => (Array.isArray(value) ? list(value) : line(value));
    const entries = Object.entries(fields).map(([key, value]) => ` "${key}": ${text(value)}`);
    return `{\n${entries.join(",\n")}\n}\n`;
}

function artifacts(output) {
    const names = variableNames(output);
    const files = {};
    const byName = Object.assign({}, ...Object.values(output.contracts));
    for (const [source, contracts] of Object.entries(output.contracts)) {
        const target = TARGETS[source.split("/")[0]];
        if (target === undefined) continue;
        for (const [name, contract] of Object.entries(contracts)) {
            const { object, linkReferences } = contract.evm.bytecode;
            const external = contract.abi.some(({ type }) => type !== "error" && type !== "event");
            if (object === "" || !external) continue; // interfaces, abstract contracts, internal libraries
            if (Object.keys(linkReferences).length > 0)
                fail(`${name} needs linking, which is not supported`);
            const size = contract.evm.deployedBytecode.object.length / 2;
            if (size > MAX_RUNTIME_BYTES)
                fail(`${name} has ${size} bytes of code, more than ${MAX_RUNTIME_BYTES}`);
            const path = join(target, `${name}.json`);
            if (path in files) fail(`two contracts have the name ${name}`);
            files[path] = format(artifact(source, name, contract, withFacets(name, byName), names));
        }
    }
    return files;
}

function staleArtifacts(files) {
    const old = [];
    for (const folder of new Set(Object.values(TARGETS)))
        for (const name of existsSync(folder) ? readdirSync(folder) : [])
            if (name.endsWith(".json") && !(join(folder, name) in files))
                old.push(join(folder, name));
    return old;
}

function fail(message) {
    console.error(`error: ${message}`);
    process.exit(1);
}

function check(files) {
    const stale = Object.entries(files)
        .filter(([path, text]) => !existsSync(path) || readFileSync(path, "utf8") !== text)
        .map(([path]) => path);
    const names = [...stale, ...staleArtifacts(files)].map((path) => basename(path));
    if (names.length > 0)
        fail(`not what the sources compile to: ${names.join(", ")}. Run: make contracts`);
}

function write(files) {
    for (const [path, text] of Object.entries(files)) {
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, text);
    }
    for (const path of staleArtifacts(files)) unlinkSync(path);
}

const files = artifacts(compile(sources()));
if (process.argv.includes("--check")) check(files);
else write(files);
console.log(`${Object.keys(files).length} contracts, solc ${solc.version().split("+")[0]}`);
