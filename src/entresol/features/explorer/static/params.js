/** The parameters of a method as fields of a form, by their schemas. */

import { h, show } from "./dom.js";
import { hex } from "./format.js";
import { exactly } from "./input.js";

/**
 * @param {{name: string, required: boolean, schema: any}} param
 * @param {any} value
 */
export function paramField(param, value) {
  const { kind, pattern, isText, isFlag, isNumber } = shapeOf(param.schema);
  const fallback = param.schema?.default;
  const shown = value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value);
  const hint =
    fallback !== undefined ? JSON.stringify(fallback) : isFlag ? "true or false" : kind === "object" ? "{ }" : kind;
  const input = h("input.mono", {
    value: shown,
    placeholder: hint,
    spellcheck: "false",
    autocomplete: "off",
    "aria-label": param.name,
  });
  const problem = h("span.small.bad");
  const read = () => {
    const text = input.value.trim();
    if (!text) return undefined;
    if (isText && !/^[[{]/.test(text)) return /^\d+$/.test(text) && !pattern?.test(text) ? exactNumber(text) : text;
    try {
      return JSON.parse(exactly(text));
    } catch {
      return text;
    }
  };
  const check = () => {
    const text = input.value.trim();
    const digits = /\[0-9a-fA-F\]\{(\d+)\}\$$/.exec(pattern?.source ?? "");
    const wrong = !text
      ? param.required
        ? `${param.name} is needed.`
        : ""
      : digits && pattern && !pattern.test(text)
        ? `${kind === "Address" ? "An address" : "A hash"} has ${digits[1]} digits after 0x. This has ${text.replace(/^0x/, "").length}.`
        : isNumber && Math.abs(Number(text)) > Number.MAX_SAFE_INTEGER
          ? `${param.name} is larger than JSON numbers are exact.`
          : "";
    show(problem, wrong);
    input.setAttribute("aria-invalid", String(Boolean(wrong)));
    return wrong;
  };
  const element = h(
    "label.field",
    h(
      "span.split",
      h("span", param.name, h("span.muted", param.required ? " required" : " optional")),
      h("span.mono.faint", kind),
    ),
    input,
    problem,
  );
  return { element, read, check };
}

/** @param {string} digits */
const exactNumber = (digits) => (Number.isSafeInteger(Number(digits)) ? Number(digits) : hex(BigInt(digits)));

/** @param {any} schema */
function shapeOf(schema) {
  const inner =
    schema?.anyOf?.find((/** @type {any} */ it) => it.type !== "null") ?? schema?.allOf?.[0] ?? schema ?? {};
  const types = [inner.type].flat();
  const kind = inner.title ?? inner.$ref?.split("/").at(-1) ?? types.filter(Boolean).join(" or ") ?? "any";
  const isText = types.includes("string");
  return {
    kind: kind || "any",
    pattern: inner.pattern ? new RegExp(inner.pattern) : null,
    isText,
    isFlag: types.includes("boolean"),
    isNumber: (schema?.anyOf ?? [inner]).every((/** @type {any} */ it) => /^(integer|number|null)$/.test(it.type)),
  };
}
