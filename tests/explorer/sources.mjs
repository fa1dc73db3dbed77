// Contracts whose source a node can be given, compiled before: those of tests/vectors.

import { readFileSync } from "node:fs";
import { AbiCoder, Interface } from "ethers";
import { rpc, send } from "./harness.mjs";

const GAS = "0x1c9c380";

export class Project {
  // The file that has input and output of the compiler.
  constructor(path) {
    this.compiled = JSON.parse(readFileSync(new URL(`../vectors/${path}`, import.meta.url), "utf8"));
    this.contracts = Object.assign({}, ...Object.values(this.compiled.output.contracts));
  }

  // Give the node the sources, with other names of files and contracts, and other texts.
  give({ file = (name) => name, contract = (name) => name, text = (content) => content } = {}) {
    const renamed = (found, name, change = (it) => it) =>
      Object.fromEntries(Object.entries(found).map(([key, it]) => [name(key), change(it)]));
    const { input, output } = structuredClone(this.compiled);
    input.sources = renamed(input.sources, file, (it) => ({ content: text(it.content) }));
    output.sources = renamed(output.sources, file);
    output.contracts = renamed(output.contracts, file, (it) => renamed(it, contract));
    return rpc("hardhat_addCompilationResult", "0.8.26", input, output);
  }

  // Deploy a contract with its libraries, and return its address and what calls it: the hash of the transaction.
  async deploy(name, types = [], values = []) {
    const args = AbiCoder.defaultAbiCoder().encode(types, values).slice(2);
    const { contractAddress, transactionHash } = await send({ data: (await this.linked(name)) + args, gas: GAS });
    const abi = new Interface(this.contracts[name].abi);
    const call = async (method, ...given) =>
      (await send({ to: contractAddress, data: abi.encodeFunctionData(method, given), gas: GAS })).transactionHash;
    return { address: contractAddress, transactionHash, call };
  }

  async linked(name) {
    const { object, linkReferences } = this.contracts[name].evm.bytecode;
    let code = `0x${object}`;
    for (const [library, places] of Object.values(linkReferences ?? {}).flatMap(Object.entries)) {
      const { address } = await this.deploy(library);
      for (const { start } of places)
        code = code.slice(0, 2 + 2 * start) + address.slice(2) + code.slice(42 + 2 * start);
    }
    return code;
  }
}

// A router and a pool with two tokens, and the transactions of one swap that succeeds and one that fails.
export async function swaps(path = "swap/plain.json") {
  const project = new Project(path);
  const [a, b] = [
    await project.deploy("Token", ["string"], ["WOOD"]),
    await project.deploy("Token", ["string"], ["USDC"]),
  ];
  const pool = await project.deploy("Pool", ["address", "address"], [a.address, b.address]);
  await a.call("transfer", pool.address, 4_080_000_000n);
  await b.call("transfer", pool.address, 4_080_800_000n);
  await pool.call("fill");
  const router = await project.deploy("Router");
  const swap = (least) => router.call("swap", [pool.address], 40_000_000n, least);
  return { project, pool, router, failed: await swap(40_000_000n), succeeded: await swap(39_000_000n) };
}
