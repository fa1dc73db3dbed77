// What sends bundles: the calls of the interop center, as its clients encode them.

import { AbiCoder, Interface, keccak256, toBeHex } from "ethers";
import { ALICE, rpcAt, until } from "./harness.mjs";

export const CENTER = "0x000000000000000000000000000000000001000d";
export const HANDLER = "0x000000000000000000000000000000000001000e";
export const HOLDER = "0x0000000000000000000000000000000000010011";
// For each call, of an ether chain.
const FEE = 10n ** 12n;

const center = new Interface([
  "function sendBundle(bytes, (bytes to, bytes data, bytes[] callAttributes)[], bytes[]) payable returns (bytes32)",
  "function interopCallValue(uint256)",
  "function indirectCall(uint256)",
  "function unbundlerAddress(bytes)",
  "function executionAddress(bytes)",
  "event InteropBundleSent(bytes32, bytes32 hash, (bytes1,uint256,uint256,bytes32,bytes32,(bytes1,bool,address,address,uint256,bytes)[],(bytes,bytes,bool)))",
]);

const chainOf = (id) => {
  const digits = toBeHex(id).slice(2);
  return `0x00010000${(digits.length / 2).toString(16).padStart(2, "0")}${digits}00`;
};
const addressOf = (account) => `0x000100000014${account.slice(2)}`;

const ROUTER = "0x0000000000000000000000000000000000010003";
const VAULT = "0x0000000000000000000000000000000000010004";
const ETHER_TOKEN = "0x0000000000000000000000000000000000000001";

// The call by which the routers of both chains move ether to a chain where it does not pay for gas.
export function etherTo(receiver, amount, l1ChainId = 31337) {
  const coder = AbiCoder.defaultAbiCoder();
  const asset = keccak256(coder.encode(["uint256", "address", "address"], [l1ChainId, VAULT, ETHER_TOKEN]));
  const burnt = coder.encode(["uint256", "address", "address"], [amount, receiver, ETHER_TOKEN]);
  const data = `0x01${coder.encode(["bytes32", "bytes"], [asset, burnt]).slice(2)}`;
  return { to: ROUTER, data, paid: amount, attributes: [center.encodeFunctionData("indirectCall", [amount])] };
}

// Send calls `{to, value, data}` from the chain at `url` to another one, and wait for the block.
export async function sendBundle(url, destination, calls, { from = ALICE, unbundler, executor } = {}) {
  const starters = calls.map((it) => ({
    to: addressOf(it.to),
    data: it.data ?? "0x",
    callAttributes: it.attributes ?? (it.value ? [center.encodeFunctionData("interopCallValue", [it.value])] : []),
  }));
  const attributes = [
    ...(unbundler ? [center.encodeFunctionData("unbundlerAddress", [addressOf(unbundler)])] : []),
    ...(executor ? [center.encodeFunctionData("executionAddress", [addressOf(executor)])] : []),
  ];
  const data = center.encodeFunctionData("sendBundle", [chainOf(destination), starters, attributes]);
  const total = calls.reduce((sum, it) => sum + FEE + (it.paid ?? it.value ?? 0n), 0n);
  const hash = await rpcAt(url, "eth_sendTransaction", { from, to: CENTER, data, value: toBeHex(total) });
  const receipt = await until(() => rpcAt(url, "eth_getTransactionReceipt", hash));
  const topic = center.getEvent("InteropBundleSent").topicHash;
  const log = receipt.logs.find((it) => it.topics[0] === topic);
  return { receipt, bundle: log && `0x${log.data.slice(66, 130)}` };
}
