/** The bridge: every deposit, message and withdrawal as a line, one of them with its stages and its proof. */

import { depositDialog, withdrawDialog } from "./act.js";
import {
  crossings,
  followCrossings,
  hasOlder,
  isClaimable,
  isMoving,
  isReturnable,
  loadOlder,
  loadOne,
  STEPS,
} from "./crossings.js";
import { called } from "./describe.js";
import { choice, differs, h, ICONS, icon, keyed, s, show } from "./dom.js";
import { ago, count, textOf } from "./format.js";
import { houseOf, live } from "./houses.js";
import { whileDisabled } from "./input.js";
import { claim, claimBack, depositPart, isUp, lineView, title } from "./lines.js";
import { watch } from "./live.js";
import { proofView } from "./proof.js";
import { ETHER, node } from "./rpc.js";
import { accountSelect, canSend } from "./signers.js";
import { addressLink, badge, empty, errorBox, explained, txLink } from "./view.js";

/** @typedef {import("./crossings.js").Crossing} Crossing */

/** @type {Record<string, (it: Crossing) => boolean>} */
const FILTERS = { all: () => true, moving: isMoving, claim: isClaimable, failed: (it) => it.failed };
let filter = "all";
let whose = "";
let where = "";
/** The one that was claimed last: it stays in view, and the next is not in its place. */
let claimed = "";

/**
 * @param {string} [id] the chosen one
 * @param {string} [layer] its house
 * @returns {import("./main.js").Page}
 */
export function page(id, layer = "l2") {
  const house = houseOf(layer);
  followCrossings();
  const lines = h("ul.lines");
  const bar = h("div.filters");
  const panel = h("aside.panel.one", { "aria-label": "One line" });
  const nothing = h("div");
  const older = h("button", { type: "button", hidden: true, onclick: () => loadOlder() }, "Older");
  let state = "";
  const draw = () => {
    if (!live.ready) return;
    const all = crossings().filter(
      (it) => (!whose || it.from === whose || it.to === whose) && (!where || it.house === where),
    );
    const isChosen = (/** @type {Crossing} */ it) => it.id === chosen && it.house === house.name;
    const shown = all.filter(FILTERS[filter]);
    drawFilters(bar, all, draw);
    keyed(
      lines,
      shown.slice(0, 200),
      keyOf,
      (it) => [it.stage, it.failed, it.returned, it.what, it.batch, it.arrived, isChosen(it)],
      (it) => lineView(it, isChosen(it)),
    );
    older.hidden = !hasOlder();
    show(nothing, shown.length ? null : nothingYet());
    const it = all.find(isChosen) ?? (chosen ? null : (all.find((one) => keyOf(one) === claimed) ?? shown[0]));
    panel.hidden = !it;
    const next = it ? JSON.stringify([it.house, it.id, it.stage, it.failed, it.returned, it.batch, it.leaf]) : "";
    if (next !== state) {
      state = next;
      if (it) show(panel, oneView(it));
    }
  };
  const chosen = id ?? "";
  claimed = "";
  if (chosen) loadOne(house, chosen).catch(() => {});
  const act = (/** @type {string} */ text, /** @type {string} */ path, /** @type {() => void} */ onclick, kind = "") =>
    h(`button.acts${kind}`, { type: "button", onclick }, icon(path), text);
  const actions = h(
    "div.actions",
    canSend(node.l2) ? act("Withdraw", ICONS.down, () => withdrawDialog(undefined, where || undefined)) : null,
    canSend(node.l1) ? act("Deposit", ICONS.up, () => depositDialog(undefined, where || undefined), ".primary") : null,
  );
  return {
    title: "Bridge",
    body: [
      h(
        "div.head",
        h(
          "div",
          h("h1", "Between the floors"),
          h("p.muted", "Deposits climb from layer 1 to layer 2. Messages and withdrawals go down."),
        ),
        actions,
      ),
      h(
        `div.with-panel${id ? ".chosen" : ""}`,
        h("section", { "aria-label": "Lines" }, bar, lines, nothing, older),
        panel,
      ),
    ],
    leave: watch(draw),
  };
}

/**
 * @param {Element} element
 * @param {Crossing[]} all
 * @param {() => void} draw
 */
function drawFilters(element, all, draw) {
  const counts = Object.entries(FILTERS).map(([name, test]) => [name, all.filter(test).length]);
  const text = JSON.stringify([counts, filter, whose, where]);
  if (!differs(element, text)) return;
  const words = /** @type {Record<string, string>} */ ({
    all: "All",
    moving: "Moving",
    claim: "To claim",
    failed: "Failed",
  });
  const options = /** @type {[string, any][]} */ (
    counts.map(([name, number]) => [name, name === "all" ? "All" : `${words[name]} ${number}`])
  );
  const people = node.l2?.accounts ?? [];
  const select = h(
    "select",
    { "aria-label": "Whose" },
    h("option", { value: "" }, "everyone"),
    people.map((it) => h("option", { value: it, selected: it === whose }, called(it, "l2"))),
  );
  select.addEventListener("change", () => {
    whose = select.value;
    draw();
  });
  show(
    element,
    choice("Which lines", options, filter, (value) => {
      filter = value;
      claimed = "";
      draw();
    }),
    h("div.actions", node.several ? houseSelect(draw) : null, people.length ? select : null),
  );
}

/** @param {() => void} draw */
function houseSelect(draw) {
  const select = h(
    "select",
    { "aria-label": "Which house" },
    h("option", { value: "" }, "every house"),
    node.l2s.map((it) => h("option", { value: it.name, selected: it.name === where }, `${it.chainId} ${it.title}`)),
  );
  select.addEventListener("change", () => {
    where = select.value;
    draw();
  });
  return select;
}

function nothingYet() {
  const stairs = s(
    "svg",
    { viewBox: "0 0 100 48", width: 100, height: 48, "aria-hidden": "true" },
    s("path.of-l2", { d: "M0 1h100" }),
    s("path.of-l1", { d: "M0 47h100" }),
    s("path.faint", { d: "M20 47v-8h8v-8h8v-8h8v-8h8v-8h8V7h8V1", "stroke-dasharray": "3 3" }),
  );
  const first = node.l1?.accounts[0];
  const element = empty(
    "Nothing on the stairs yet",
    "A deposit from layer 1 arrives here within a second.",
    ...(first
      ? [
          h(
            "button.acts",
            { type: "button", onclick: () => depositDialog() },
            icon(ICONS.up),
            `Deposit 1 ${(node.l2?.token ?? ETHER).symbol}`,
          ),
        ]
      : []),
  );
  element.prepend(stairs);
  return element;
}

/** @param {Crossing} it */
function oneView(it) {
  const body = h("div");
  const acting = actionOf(it);
  const parts = [
    h(
      "header",
      h("h2", h(isUp(it) ? "span.up" : "span.down", icon(isUp(it) ? ICONS.up : ICONS.down)), title(it)),
      acting?.button ?? null,
    ),
    h(
      "p",
      it.from ? [addressLink(it.from, isUp(it) ? "l1" : it.house, { copies: false }), it.to ? " to " : ""] : null,
      it.to ? addressLink(it.to, isUp(it) ? it.house : "l1", { copies: false }) : null,
      ", sent in ",
      txLink(isUp(it) ? "l1" : it.house, it.tx),
      node.several ? [isUp(it) ? ", to " : ", from ", badge(it.house)] : null,
    ),
    acting?.note ?? null,
    h(
      `ol.stages.${isUp(it) ? "rising" : "sinking"}`,
      STEPS[it.kind].map((name, at) =>
        h(
          `li${at <= it.stage ? ".done" : ""}${it.failed && at === it.stage ? ".failed" : ""}`,
          { "aria-current": at === it.stage ? "step" : null },
          h("span", it.failed && at === it.stage ? "Failed" : name),
          h("span.small.muted", noteOf(it, at)),
        ),
      ),
    ),
    body,
  ];
  if (isUp(it)) show(body, depositPart(it));
  else messagePart(it, body);
  return parts;
}

/**
 * @param {Crossing} it
 * @param {number} at
 */
function noteOf(it, at) {
  if (isUp(it))
    return at === 0 ? [ago(it.at, "l1", " ago")] : at === 2 && it.stage === 2 ? [`block ${count(it.arrived)}`] : [];
  const batch = houseOf(it.house).batches.get(it.batch);
  const times = [it.at, batch?.at, batch?.committed, batch?.proven, batch?.executed];
  if (at <= it.stage && times[at]) return [ago(/** @type {number} */ (times[at]), at < 2 ? it.house : "l1", " ago")];
  return at === 5 && it.stage < 5 ? ["by any account"] : [];
}

/**
 * @param {Crossing} it
 * @param {Element} body
 */
async function messagePart(it, body) {
  const text = it.kind === "message" ? textOf(it.message) : null;
  const quote = text ? h("blockquote", text) : null;
  if (it.stage < 4 || it.leaf < 0) {
    const stage = STEPS[it.kind][it.stage];
    const bar = h(
      "span.pillar.flat",
      { "aria-hidden": "true" },
      [1, 2, 3, 4].map((at) => h(at <= it.stage ? "i.done" : at === it.stage + 1 ? "i.work" : "i")),
    );
    const waiting = empty(
      "Proof not there yet",
      it.batch
        ? `Batch ${count(it.batch)} is ${stage.toLowerCase()}. The proof exists once layer 1 has executed it.`
        : "Its batch is not sealed yet.",
    );
    waiting.append(bar);
    show(body, quote, waiting);
    return;
  }
  show(
    body,
    quote,
    proofView(
      it,
      await houseOf(it.house)
        .loadBatch(it.batch)
        .catch(() => null),
    ),
  );
}

/** @param {Crossing} it */
const keyOf = (it) => `${it.house}/${it.id}`;

/** @param {Crossing} it */
function actionOf(it) {
  const l1 = node.l1;
  if (it.kind === "withdrawal" && it.stage === 5) return { button: h("span.badge.ok", "Paid"), note: null };
  const back = isReturnable(it);
  if (!l1 || !(isClaimable(it) || back) || !canSend(l1)) return null;
  const select = accountSelect(l1);
  const problem = h("div");
  const button = h("button.primary.acts", { type: "button" }, back ? "Claim back" : "Claim on L1");
  const act = async () => {
    claimed = keyOf(it);
    try {
      await (back ? claimBack(it, select.value) : claim(it, select.value));
    } catch (error) {
      show(problem, errorBox(new Error(await explained(error))));
    }
  };
  button.addEventListener("click", () => whileDisabled(button, act));
  return { button, note: h("div.acting", h("span.small.muted", "as"), select, problem) };
}
