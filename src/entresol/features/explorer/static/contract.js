/** A contract's functions: read with a call, write as a development account or through the wallet. */

import { signatureOf, typeName } from "./abi.js";
import { decode } from "./codec.js";
import { h, show } from "./dom.js";
import { byteLength, count, hex, parseUnits } from "./format.js";
import { exactly, whileDisabled } from "./input.js";
import { abiAt, abiOf, dataOf, learn } from "./known.js";
import { refresh } from "./live.js";
import { node } from "./rpc.js";
import { accountSelect, canSend, receiptOf, send } from "./signers.js";
import { fields } from "./values.js";
import { badge, errorBox, explained, txLink } from "./view.js";

/**
 * @param {import("./rpc.js").Floor} floor
 * @param {string} address
 * @param {string} code
 */
export function contractPart(floor, address, code) {
  const body = h("div");
  const file = h("input.unseen", {
    type: "file",
    accept: ".json,.abi",
    id: `abi-${floor.name}`,
    "aria-label": "ABI file",
  });
  const draw = () => {
    const abi = abiAt(address, floor.name);
    if (!abi) {
      show(
        body,
        h(
          "p.muted",
          "Its ABI is not known. Drop the JSON file of a compiler here, or choose one, to read and write the contract.",
        ),
        h("p.muted.small", "An ERC-20 token can be used at once."),
        h(
          "div.actions",
          h("button", { type: "button", onclick: () => use(abiOf("TestERC20") ?? []) }, "Use it as an ERC-20"),
        ),
      );
      return;
    }
    use(abi);
  };
  /** @param {import("./abi.js").Entry[]} abi */
  const use = (abi) => {
    const functions = abi.filter((it) => it.kind === "f");
    const group = (/** @type {string} */ title, /** @type {boolean} */ reads) => {
      const found = functions.filter((it) => it.reads === reads).sort((a, b) => a.name.localeCompare(b.name));
      return found.length
        ? h(
            "div",
            h("h3.muted", `${title}, ${count(found.length)}`),
            found.map((it) => functionForm(floor, address, it)),
          )
        : null;
    };
    show(body, h("div.functions", group("Read", true), group("Write", false)));
  };
  file.addEventListener("change", async () => {
    try {
      const chosen = file.files?.[0];
      if (!chosen) return;
      learn(await chosen.text(), chosen.name, [`${floor.name}:${address}`]);
      // Its name and its functions are all over the page.
      dispatchEvent(new Event("learned"));
    } catch (error) {
      show(body, errorBox(error));
    }
  });
  draw();
  return h(
    "section.part.contract",
    h(
      "header",
      h("h2", node.several ? ["Contract ", badge(floor.name), " ", floor.title] : `Contract on L${floor.layer}`),
      h("label.button.small", { for: `abi-${floor.name}` }, "Choose an ABI"),
      file,
    ),
    body,
    h(
      "details",
      h("summary", `Code, ${count(byteLength(code))} bytes`),
      h("pre.raw", { tabindex: 0 }, code.slice(0, 60_000)),
    ),
  );
}

/**
 * @param {import("./rpc.js").Floor} floor
 * @param {string} to
 * @param {import("./abi.js").Entry} entry
 */
function functionForm(floor, to, entry) {
  const inputs = entry.inputs.map((type, at) => ({
    type,
    input: h("input.mono", {
      placeholder: typeName(type),
      "aria-label": `${type.name || `argument ${at}`}, ${typeName(type)}`,
      spellcheck: "false",
    }),
  }));
  const value = entry.pays
    ? h("input", { placeholder: "0", "aria-label": `Value in ${floor.token.name.toLowerCase()}`, inputmode: "decimal" })
    : null;
  const account = entry.reads ? null : accountSelect(floor);
  const result = h("output");
  const verb = h("button.acts", { type: "submit" }, entry.reads ? "Read" : "Write");
  const run = async () => {
    try {
      const data = dataOf(
        entry,
        inputs.map(({ type, input }) => read(type, input.value)),
      );
      if (entry.reads) {
        const found = await floor.call("eth_call", { to, data }, "latest");
        show(
          result,
          entry.outputs.length
            ? fields(entry.outputs, decode(entry.outputs, found), floor.name)
            : h("span.mono", found),
        );
        return;
      }
      show(result, h("span.muted", "Sending…"));
      const tx = {
        from: account.value,
        to,
        data,
        value: hex(value?.value ? parseUnits(value.value, floor.token.decimals) : 0n),
      };
      const hash = await send(floor, tx);
      show(result, h("span.muted", "Pending: "), txLink(floor.name, hash));
      const receipt = await receiptOf(floor, hash);
      refresh();
      show(
        result,
        BigInt(receipt.status) ? h("span.badge.ok", "Succeeded") : h("span.badge.bad", "Failed"),
        " ",
        txLink(floor.name, hash),
        BigInt(receipt.status) ? null : h("p", (await import("./reasons.js")).reasonLater(floor, hash)),
      );
    } catch (error) {
      show(result, h("span.bad", await explained(error)));
    }
  };
  const isAble = entry.reads || canSend(floor);
  return h(
    "details.function",
    h("summary.mono", h("b", entry.name), h("span.faint", signatureOf(entry).slice(entry.name.length))),
    h(
      "form",
      {
        onsubmit: (/** @type {Event} */ event) => {
          event.preventDefault();
          return whileDisabled(verb, run);
        },
      },
      inputs.map(({ type, input }, at) =>
        h("label.field", h("span", type.name || `argument ${at}`, h("span.muted", ` ${typeName(type)}`)), input),
      ),
      value ? h("label.field", h("span", `Value, ${floor.token.symbol}`), value) : null,
      account ? h("label.field", h("span", "From"), account) : null,
      h("div.actions", isAble ? verb : h("span.muted", "No account can send here.")),
      result,
    ),
  );
}

/**
 * Parse an argument as it was typed; tuples and arrays are JSON.
 * @param {import("./abi.js").Type} type
 * @param {string} text
 * @returns {any}
 */
function read(type, text) {
  if (type.parts || type.base === "array")
    return JSON.parse(exactly(text), (_, it) => (typeof it === "number" ? BigInt(it) : it));
  if (type.base === "string") return text;
  return text.trim() || (type.base === "bytes" ? "0x" : "");
}
