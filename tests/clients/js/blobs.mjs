// Blob transactions of viem and ethers on an L1. c-kzg's Python binding has made the commitment and the proof.

import assert from "node:assert/strict";
import { JsonRpcProvider, Wallet } from "ethers";
import { createPublicClient, createWalletClient, defineChain, http, parseGwei, toHex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { ALICE, BOB, NOBODY, check, rpc, run, thrown, url } from "./harness.mjs";

const { commitment, proof, hash: name } = JSON.parse(process.env.BLOB);
const ELEMENTS = 4096;
// The blob that `sample_blob(1)` makes.
const blob = `0x${Array.from({ length: ELEMENTS }, (_, i) => toHex(ELEMENTS + i, { size: 32 }).slice(2)).join("")}`;
const bytes = (hex) => Uint8Array.from(Buffer.from(hex.slice(2), "hex"));
const kzg = {
  blobToKzgCommitment: () => bytes(commitment),
  computeBlobKzgProof: () => bytes(proof),
};

const chain = defineChain({
  id: Number(await rpc("eth_chainId")),
  name: "L1",
  nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
  rpcUrls: { default: { http: [url] } },
});
// The first proof takes long: the node loads the trusted setup for it.
const settings = { chain, pollingInterval: 20, transport: http(url, { timeout: 60_000 }) };
const reader = createPublicClient(settings);
const wallet = createWalletClient({ ...settings, account: privateKeyToAccount(ALICE) });

async function fits(hash) {
  const receipt = await reader.waitForTransactionReceipt({ hash });
  assert.equal(receipt.status, "success");
  assert.equal(receipt.type, "eip4844");
  assert.equal(receipt.blobGasUsed, 131_072n);
  assert.equal(receipt.blobGasPrice, 1n);
  const sent = await reader.getTransaction({ hash });
  assert.deepEqual(sent.blobVersionedHashes, [name]);
  const block = await reader.getBlock({ blockNumber: receipt.blockNumber });
  assert.equal(block.blobGasUsed, 131_072n);
  assert.equal(block.excessBlobGas, 0n);
  assert.deepEqual(await rpc("anvil_getBlobsByTransactionHash", hash), [blob]);
}

check("viem sends a blob", async () => {
  await fits(await wallet.sendTransaction({
    blobs: [blob], kzg, to: NOBODY, maxFeePerBlobGas: parseGwei("30"),
  }));
});

check("viem prices a blob by the node", async () => {
  assert.equal(await reader.getBlobBaseFee(), 1n);
  const prepared = await wallet.prepareTransactionRequest({ blobs: [blob], kzg, to: NOBODY });
  assert.equal(prepared.type, "eip4844");
  const { baseFeePerBlobGas } = await rpc("eth_feeHistory", "0x1", "latest", []);
  assert.deepEqual(baseFeePerBlobGas, ["0x1", "0x1"]);
});

check("viem reads why a wrong blob is rejected", async () => {
  const other = `${blob.slice(0, -2)}00`;
  const error = await thrown(wallet.sendTransaction({
    blobs: [other], kzg, to: NOBODY, maxFeePerBlobGas: 1n,
  }));
  assert.match(error.details, /invalid blob sidecar: invalid KZG proof/);
});

check("ethers sends a blob", async () => {
  const provider = new JsonRpcProvider(url);
  const signer = new Wallet(BOB, provider);
  const sent = await signer.sendTransaction({
    type: 3,
    to: NOBODY,
    gasLimit: 21_000,
    maxFeePerBlobGas: 10n ** 9n,
    blobs: [{ data: blob, commitment, proof }],
  });
  const receipt = await sent.wait();
  assert.equal(receipt.blobGasUsed, 131_072n);
  assert.equal(receipt.blobGasPrice, 1n);
  const shown = await provider.getTransaction(sent.hash);
  assert.deepEqual(shown.blobVersionedHashes, [name]);
  await fits(sent.hash);
});

await run();
