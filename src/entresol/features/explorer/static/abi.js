/**
 * ABIs: parse the lines of `abis.json` and the JSON that compilers write.
 *
 * @typedef {{base: string, bits: number, name: string, indexed: boolean, parts: Type[] | null, of: Type | null,
 *   length: number}} Type a `length` of -1 is any
 * @typedef {{kind: "f" | "e" | "x", name: string, inputs: Type[], outputs: Type[], reads: boolean, pays: boolean,
 *   contract: string}} Entry
 */

/**
 * @param {string} text a type as Solidity writes it, perhaps `*` and a name
 * @returns {Type}
 */
export function parseType(text) {
  const end = text.startsWith("(") ? closing(text, 0) + 1 : (/^\w+/.exec(text) ?? [""])[0].length;
  const arrays = (/^(\[\d*\])*/.exec(text.slice(end)) ?? [""])[0];
  const rest = /^(\*?) ?(\w*)$/.exec(text.slice(end + arrays.length));
  const base = text.slice(0, end);
  if (!rest || !base || text.length > 20_000) throw new Error(`“${text.slice(0, 80)}” is not a type`);
  const plain = base.replace(/^u?int$/, "$&256");
  /** @type {Type} */
  let type = { base: plain, bits: 0, name: "", indexed: false, parts: null, of: null, length: 0 };
  if (base.startsWith("(")) {
    type.base = "tuple";
    type.parts = split(base.slice(1, -1)).map(parseType);
  } else {
    const match = /^(uint|int|bytes)(\d+)$/.exec(plain);
    if (match) [type.base, type.bits] = [match[1] === "bytes" ? "fixed" : match[1], Number(match[2])];
    else if (plain === "function") [type.base, type.bits] = ["fixed", 24];
    else if (!["address", "bool", "bytes", "string"].includes(plain))
      throw new Error(`“${plain.slice(0, 80)}” is not a type`);
  }
  for (const [, length] of arrays.matchAll(/\[(\d*)\]/g))
    type = {
      base: "array",
      bits: 0,
      name: "",
      indexed: false,
      parts: null,
      of: type,
      length: length ? Number(length) : -1,
    };
  return { ...type, indexed: rest[1] === "*", name: rest[2] };
}

/**
 * @param {string} text
 * @param {number} start
 */
function closing(text, start) {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    if (text[at] === "(") depth++;
    if (text[at] === ")" && --depth === 0) return at;
  }
  throw new Error("a bracket is open");
}

/** @param {string} text the types between brackets */
export function split(text) {
  const items = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at <= text.length; at++) {
    if (text[at] === "(") depth++;
    if (text[at] === ")") depth--;
    if (at === text.length || (text[at] === "," && !depth)) {
      if (at > start) items.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return items;
}

/**
 * @param {string} line an entry as `signatures.py` writes it
 * @param {string} contract
 * @returns {Entry}
 */
export function parseLine(line, contract) {
  const open = line.indexOf("(");
  const end = closing(line, open);
  const outputs = line[end + 2] === "(" ? closing(line, end + 2) : end;
  const flag = line.slice(outputs + 1).trim();
  return {
    kind: /** @type {any} */ (line[0]),
    name: line.slice(2, open),
    inputs: split(line.slice(open + 1, end)).map(parseType),
    outputs: outputs > end ? split(line.slice(end + 3, outputs)).map(parseType) : [],
    reads: flag === "v",
    pays: flag === "p",
    contract,
  };
}

/**
 * The entries of a JSON ABI, of an artifact that has one, or of lines in Solidity's own words.
 * @param {any} json
 * @param {string} contract
 * @returns {Entry[]}
 */
export function parseAbi(json, contract) {
  const list = Array.isArray(json) ? json : (json?.abi ?? json?.output?.abi);
  if (!Array.isArray(list)) throw new Error("There is no ABI in this file.");
  const kinds = /** @type {Record<string, "f" | "e" | "x">} */ ({ function: "f", event: "e", error: "x" });
  return list
    .filter((it) => kinds[it?.type] && /^[\w$]{1,200}$/.test(it.name))
    .slice(0, 2000)
    .map((it) => ({
      kind: kinds[it.type],
      name: it.name,
      inputs: (it.inputs ?? []).map(typeOf),
      outputs: (it.outputs ?? []).map(typeOf),
      reads: it.stateMutability === "view" || it.stateMutability === "pure",
      pays: it.stateMutability === "payable",
      contract,
    }));
}

/**
 * @param {any} parameter
 * @returns {Type}
 */
function typeOf(parameter) {
  /** @param {any} it @returns {string} */
  const write = (it) =>
    String(it.type).startsWith("tuple")
      ? `(${it.components.map(named).join(",")})${it.type.slice(5)}`
      : String(it.type);
  /** @param {any} it */
  const named = (it) => write(it) + (/^\w+$/.test(it.name ?? "") ? ` ${it.name}` : "");
  return { ...parseType(named(parameter)), indexed: Boolean(parameter.indexed) };
}

/**
 * @param {Type} type
 * @returns {string} as it stands in a signature
 */
export function typeName(type) {
  if (type.base === "array") return `${typeName(/** @type {Type} */ (type.of))}[${type.length < 0 ? "" : type.length}]`;
  if (type.parts) return `(${type.parts.map(typeName).join(",")})`;
  return (type.base === "fixed" ? "bytes" : type.base) + (type.bits || "");
}

/** @param {Entry} entry */
export const signatureOf = (entry) => `${entry.name}(${entry.inputs.map(typeName).join(",")})`;
