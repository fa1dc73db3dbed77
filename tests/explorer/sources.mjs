// Contracts whose source the node has been given: those of tests/vectors/stack_traces.

import { readFileSync } from "node:fs";
import { AbiCoder, Interface } from "ethers";
import { rpc, send } from "./harness.mjs";

const compiled = JSON.parse(
  readFileSync(new URL("../vectors/stack_traces/plain-output.json", import.meta.url), "utf8"),
);
const contracts = Object.assign({}, ...Object.values(compiled.output.contracts));
const GAS = "0x989680";

// Give the node the sources, with other names of files and contracts, and other texts.
export function addSources({ file = (name) => name, contract = (name) => name, text = (content) => content } = {}) {
  const renamed = (found, name, change = (it) => it) =>
    Object.fromEntries(Object.entries(found).map(([key, it]) => [name(key), change(it)]));
  const { input, output } = structuredClone(compiled);
  input.sources = renamed(input.sources, file, (it) => ({ content: text(it.content) }));
  output.sources = renamed(output.sources, file);
  output.contracts = renamed(output.contracts, file, (it) => renamed(it, contract));
  return rpc("hardhat_addCompilationResult", "0.8.26", input, output);
}

// Deploy a contract with its libraries, and return its address and what calls it.
export async function deploy(name, types = [], values = []) {
  const args = AbiCoder.defaultAbiCoder().encode(types, values).slice(2);
  const { contractAddress } = await send({ data: (await linked(name)) + args, gas: GAS });
  const abi = new Interface(contracts[name].abi);
  const call = async (method, ...given) =>
    (await send({ to: contractAddress, data: abi.encodeFunctionData(method, given), gas: GAS })).transactionHash;
  return { address: contractAddress, call };
}

async function linked(name) {
  const { object, linkReferences } = contracts[name].evm.bytecode;
  let code = `0x${object}`;
  for (const [library, places] of Object.values(linkReferences).flatMap(Object.entries)) {
    const { address } = await deploy(library);
    for (const { start } of places) code = code.slice(0, 2 + 2 * start) + address.slice(2) + code.slice(42 + 2 * start);
  }
  return code;
}
