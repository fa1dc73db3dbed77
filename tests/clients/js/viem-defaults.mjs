// viem with its default caches, by which it knows the number of the last block for 4 seconds, on the chains of the preset.

import assert from "node:assert/strict";
import { createPublicClient, createWalletClient, defineChain, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { check, contracts, run, url } from "./harness.mjs";

const chain = defineChain({
  id: Number(process.env.CHAIN_ID),
  name: "Entresol",
  nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
  rpcUrls: { default: { http: [url] } },
});
const reader = createPublicClient({ chain, transport: http() });
const account = privateKeyToAccount(process.env.KEY);
const wallet = createWalletClient({ account, chain, transport: http() });
const { abi, bytecode } = contracts.token;

check("finds the event of a transaction that it has waited for, up to the block that it takes for the last", async () => {
  const { contractAddress: address } = await reader.waitForTransactionReceipt({
    hash: await wallet.deployContract({ abi, bytecode, args: ["Token", "TOK", 18] }),
  });
  await reader.getBlockNumber();
  const approval = { address, abi, functionName: "approve", args: [address, 5n] };
  const receipt = await reader.waitForTransactionReceipt({ hash: await wallet.writeContract(approval) });
  assert.equal(receipt.status, "success");
  const toBlock = await reader.getBlockNumber();
  const found = await reader.getContractEvents({ address, abi, eventName: "Approval", fromBlock: 0n, toBlock });
  assert.deepEqual(found.map((it) => it.transactionHash), [receipt.transactionHash]);
});

await run();
