// Clients of viem for layers at any URL, and receipts that it may have to poll for again.

import assert from "node:assert/strict";
import { WaitForTransactionReceiptTimeoutError, createPublicClient, defineChain, http } from "viem";
import { foundry } from "viem/chains";
import { publicActionsL1 } from "viem/zksync";

export const POLL_MS = 150;
const LOOK_MS = 3_000;

export const at = (rpc) => ({ rpcUrls: { default: { http: [rpc] } } });
export const options = (chain) => ({ chain, transport: http(), pollingInterval: POLL_MS });
export const l1Chain = defineChain({ ...foundry, ...at(process.env.L1_URL) });
export const l1 = createPublicClient(options(l1Chain)).extend(publicActionsL1());

// viem misses a block that comes while it checks for replacements, so it may have to poll again.
export async function receiptOf(client, hash) {
  try {
    return await client.waitForTransactionReceipt({ hash, timeout: LOOK_MS });
  } catch (error) {
    if (!(error instanceof WaitForTransactionReceiptTimeoutError)) throw error;
    return await receiptOf(client, hash);
  }
}

export async function mined(client, hash) {
  const receipt = await receiptOf(client, hash);
  assert.equal(receipt.status, "success");
  return receipt;
}
