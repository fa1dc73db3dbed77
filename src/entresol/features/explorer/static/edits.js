/** Panels that edit a chain: faucet, accounts, base fee, reorganisations. Each shows its request first. */

import { accountPanel, impersonationPanel } from "./accounts.js";
import { choice, differs, h, show } from "./dom.js";
import { big, hex, parseUnits, plural, price } from "./format.js";
import { addressInput, field, formPanel, textInput } from "./forms.js";
import { stateOf } from "./houses.js";
import { floorOf, isUpper, node } from "./rpc.js";

/** @typedef {import("./forms.js").Floor} Floor */
/** @typedef {import("./forms.js").Tools} Tools */

/**
 * @param {import("./forms.js").Act} act
 * @param {import("./forms.js").MakeButton} button
 * @param {Floor[]} able
 */
export function editPanels(act, button, able) {
  let layer = able[0].name;
  const floor = () => /** @type {Floor} */ (floorOf(layer));
  const tools = { act, button, floor };
  const panels = [faucetPanel, accountPanel, impersonationPanel, feePanel, reorgPanel].map((it) => it(tools));
  const draw = () => {
    for (const it of panels) it.draw();
  };
  const pick = choice(
    "Layer to edit",
    able.map((it) => [it.name, node.several && isUpper(it.name) ? it.name : `L${it.layer}`]),
    layer,
    (it) => {
      layer = it;
      draw();
    },
  );
  return {
    element: h(
      "section.part",
      h("header", h("h2", "Edit the chain"), able.length > 1 ? pick : null),
      h(
        "div.panels",
        panels.map((it) => it.element),
      ),
    ),
    draw,
  };
}

/** @param {Tools} tools */
function faucetPanel(tools) {
  const to = addressInput("Receiver of the funds", tools.floor);
  const value = textInput("Amount to add", "100", { inputmode: "decimal" });
  const unit = h("span.muted");
  const form = formPanel(tools, {
    title: "Faucet",
    aside: unit,
    fields: [to.element, field("Amount", value)],
    verb: "Fund",
    request: () => ({
      method: "anvil_addBalance",
      params: [to.read(), hex(parseUnits(value.value, tools.floor().token.decimals))],
    }),
  });
  const draw = () => {
    const { token } = tools.floor();
    if (!differs(unit, tools.floor().name)) return;
    show(unit, `${token.symbol} from nowhere`);
    to.fill();
  };
  return { ...form, draw };
}

/** @param {Tools} tools */
function feePanel(tools) {
  const value = textInput("Base fee in gwei", "1", { inputmode: "decimal" });
  const now = h("span.muted");
  const form = formPanel(tools, {
    title: "Base fee",
    aside: now,
    fields: field("Of the next block, gwei", value),
    verb: "Set",
    request: () => ({ method: "anvil_setNextBlockBaseFeePerGas", params: [hex(parseUnits(value.value, 9))] }),
  });
  form.preview();
  const draw = async () => {
    const floor = tools.floor();
    if (!differs(now, `${floor.name}${stateOf(floor.name).head}`)) return;
    const block = await floor.maybe("eth_getBlockByNumber", "latest", false);
    if (block?.baseFeePerGas) show(now, `now ${price(big(block.baseFeePerGas), floor.token).join(" ")}`);
  };
  return { ...form, draw };
}

/** @param {Tools} tools */
function reorgPanel(tools) {
  const depth = h("input", { type: "number", min: 1, max: 1000, value: 1, "aria-label": "Depth" });
  let replaces = true;
  const blocks = () => Math.max(1, Math.floor(Number(depth.value)) || 1);
  const form = formPanel(tools, {
    title: "Reorg",
    aside: choice(
      "What follows",
      [
        ["replace", "Replace"],
        ["drop", "Roll back"],
      ],
      "replace",
      (it) => {
        replaces = it === "replace";
        form.preview();
      },
    ),
    fields: field("Newest blocks that go", depth),
    verb: "Reorganise",
    request: () =>
      replaces ? { method: "anvil_reorg", params: [blocks(), []] } : { method: "anvil_rollback", params: [blocks()] },
    confirm: () =>
      `${plural(blocks(), "block")} of ${node.several ? tools.floor().title : `layer ${tools.floor().layer}`} and what is in them will be lost${
        replaces ? "; as many empty ones take their place." : "."
      }`,
  });
  form.preview();
  return { ...form, draw: () => {} };
}
