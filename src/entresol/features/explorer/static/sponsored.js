/** What transactions of type 0x71 have beyond others: who pays their fee, and the calls that accounts answer. */

import { parseLine, parseType } from "./abi.js";
import { decode } from "./codec.js";
import { tokenOf } from "./describe.js";
import { h } from "./dom.js";
import { amount, byteLength, plural } from "./format.js";
import { addEntries } from "./known.js";
import { addressLink } from "./view.js";

const GENERAL = "0x8c5a3445";
const APPROVAL_BASED = "0x949431dc";
const APPROVAL = ["address", "uint256", "bytes"].map(parseType);
const STRUCT =
  "(uint256 txType,uint256 from,uint256 to,uint256 gasLimit,uint256 gasPerPubdataByteLimit,uint256 maxFeePerGas," +
  "uint256 maxPriorityFeePerGas,uint256 paymaster,uint256 nonce,uint256 value,uint256[4] reserved,bytes data," +
  "bytes signature,bytes32[] factoryDeps,bytes paymasterInput,bytes reservedDynamic) transaction";
const HASHES = "bytes32 hash,bytes32 suggestedHash";

/** Learn the functions of accounts and paymasters, which calls of such transactions name. */
export function learnAccounts() {
  const lines = [
    `f validateTransaction(${HASHES},${STRUCT}) (bytes4 magic) p`,
    ...["payForTransaction", "prepareForPaymaster", "executeTransaction"].map((it) => `f ${it}(${HASHES},${STRUCT}) p`),
    `f validateAndPayForPaymasterTransaction(${HASHES},${STRUCT}) (bytes4 magic,bytes context) p`,
    `f postTransaction(bytes context,${STRUCT},${HASHES},uint8 result,uint256 maxRefundedGas) p`,
  ];
  addEntries(
    "Account",
    lines.map((it) => parseLine(it, "Account")),
  );
}

/**
 * Who pays the fee in place of the sender, and what for; null if the sender does.
 * @param {import("./rpc.js").Floor} floor
 * @param {string} hash
 */
export async function paymasterOf(floor, hash) {
  const found = await readPaymaster(floor, hash);
  return found && [addressLink(found.address, floor.name, { both: true }), " ", await termsOf(floor, found.input)];
}

/**
 * The signed bytes of a transaction alone name its paymaster: they are their last item.
 * @param {import("./rpc.js").Floor} floor
 * @param {string} hash
 */
async function readPaymaster(floor, hash) {
  const raw = await floor.call("eth_getRawTransactionByHash", hash);
  const [fields] = itemsOf(raw.slice(4));
  const [address, input] = fields.at(-1) ?? [];
  return address ? { address: `0x${address}`, input: `0x${input}` } : null;
}

/**
 * The items of RLP.
 * @param {string} digits
 * @returns {any[]} digits, or items again
 */
function itemsOf(digits) {
  const items = [];
  for (let at = 0; at < digits.length; ) {
    const first = Number.parseInt(digits.slice(at, at + 2), 16);
    const isList = first >= 0xc0;
    const short = first - (isList ? 0xc0 : 0x80);
    const lengthSize = short > 55 ? 2 * (short - 55) : 0;
    const start = first < 0x80 ? at : at + 2 + lengthSize;
    const size = first < 0x80 ? 1 : lengthSize ? Number.parseInt(digits.slice(at + 2, start), 16) : short;
    const body = digits.slice(start, start + 2 * size);
    if (body.length < 2 * size) throw new Error("the bytes are too short");
    items.push(isList ? itemsOf(body) : body);
    at = start + 2 * size;
  }
  return items;
}

/**
 * What the paymaster takes for it.
 * @param {import("./rpc.js").Floor} floor
 * @param {string} input
 */
async function termsOf(floor, input) {
  if (input.startsWith(GENERAL)) {
    const [inner] = decode([parseType("bytes")], input.slice(10));
    return inner === "0x" ? null : h("span.muted", `by an input of ${plural(byteLength(inner), "byte")}`);
  }
  if (!input.startsWith(APPROVAL_BASED)) return h("span.muted", `by an input of ${plural(byteLength(input), "byte")}`);
  const [token, allowance] = decode(APPROVAL, input.slice(10));
  const known = await tokenOf(floor.name, token);
  return h(
    "span.muted",
    `for at least ${known ? amount(allowance, known) : `${allowance} of `}`,
    known ? "" : addressLink(token, floor.name, { copies: false }),
  );
}
