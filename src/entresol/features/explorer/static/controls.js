/** Controls for a chain of one's own: blocks, time, snapshots, settlement by hand. */

import { choice, h, say, show } from "./dom.js";
import { clockTime, count, hex, int } from "./format.js";
import { numberIn } from "./forms.js";
import { heads, houseOf, stateOf } from "./houses.js";
import { whileDisabled } from "./input.js";
import { refresh, watch } from "./live.js";
import { floorOf, floors, isUpper, node, toneOf } from "./rpc.js";
import { timePanel } from "./time.js";
import { empty, explained, walletButton } from "./view.js";

const SNAPSHOTS = "entresol-snapshots";
let layer = "";

/** @returns {Promise<import("./main.js").Page>} */
export async function page() {
  layer = layer || node.own.name;
  const able = floors().filter((it) => !it.remote);
  const works = await node.own.call("anvil_getAutomine").then(
    () => true,
    () => false,
  );
  const head = h(
    "div.head",
    h(
      "div",
      h("h1", "Controls"),
      h("p.muted", "For a chain of your own. Each button shows the request that it sends."),
    ),
    walletButton(),
  );
  if (!works)
    return {
      title: "Controls",
      body: [
        head,
        empty(
          "The developer methods are off",
          "Start the node with --dev-methods to mine, to move the clock, to take snapshots and to edit accounts.",
        ),
      ],
    };
  const time = timePanel(act, button);
  const snapshots = snapshotPanel();
  const settlement = node.l1 && node.l2 && !node.l1.remote ? settlementPanel() : null;
  const edits = able.length ? (await import("./edits.js")).editPanels(act, button, able) : null;
  edits?.draw();
  const stop = watch(() => {
    edits?.draw();
    time.draw();
    snapshots.draw();
    settlement?.draw();
  });
  return {
    title: "Controls",
    leave: stop,
    body: [
      head,
      h("div.panels", blocksPanel(able), time.element, snapshots.element, settlement?.element ?? null),
      edits?.element ?? h("span"),
    ],
  };
}

/**
 * Send one request, and show it and how it went.
 * @param {Element} shown
 * @param {string} where
 * @param {string} method
 * @param {any[]} params
 * @returns {Promise<any>}
 */
async function act(shown, where, method, params) {
  const floor = /** @type {import("./rpc.js").Floor} */ (floorOf(where));
  show(shown, h("p.mono.faint", `${method} ${JSON.stringify(params)}`));
  try {
    const result = await floor.call(method, ...params);
    say(`${method} is done.`);
    refresh();
    return result;
  } catch (error) {
    shown.append(h("div.box.bad", { role: "alert" }, `${method} was rejected: ${await explained(error)}`));
    return undefined;
  }
}

/**
 * A button that cannot be pressed again before what it does is done.
 * @param {string} text
 * @param {() => unknown} onclick
 * @param {string} [kind]
 */
function button(text, onclick, kind = "") {
  const made = h(`button.acts${kind}`, { type: "button", onclick: () => whileDisabled(made, onclick) }, text);
  return made;
}

/** @param {import("./rpc.js").Floor[]} able */
function blocksPanel(able) {
  const shown = h("div.request", { "aria-live": "polite" });
  const blocks = h("input", { type: "number", min: 1, max: 1000, value: 1, "aria-label": "Blocks" });
  const apart = h("input", { type: "number", min: 1, value: 1, "aria-label": "Seconds apart" });
  const automine = h("input", { type: "checkbox", role: "switch", "aria-label": "Seal each transaction as it comes" });
  const interval = h("input", { type: "checkbox", role: "switch", "aria-label": "Seal a block every 5 seconds" });
  const read = async () => {
    const floor = floorOf(layer);
    const [mines, every] = await Promise.all([
      floor?.maybe("anvil_getAutomine"),
      floor?.maybe("anvil_getIntervalMining"),
    ]);
    automine.checked = Boolean(mines);
    interval.checked = Boolean(every);
  };
  const set = (/** @type {any} */ one, /** @type {string} */ method, /** @type {() => any} */ value) =>
    one.addEventListener("change", () => whileDisabled(one, () => act(shown, layer, method, [value()]).then(read)));
  set(automine, "evm_setAutomine", () => automine.checked);
  set(interval, "evm_setIntervalMining", () => (interval.checked ? 5000 : 0));
  read();
  const mine = () => {
    try {
      const numbers = [numberIn(blocks.value, "How many blocks"), numberIn(apart.value, "How far they are apart")];
      return act(shown, layer, "anvil_mine", numbers.map(hex));
    } catch (error) {
      return show(shown, h("p.small.bad", { role: "alert" }, /** @type {Error} */ (error).message));
    }
  };
  const pick =
    able.length > 1
      ? choice(
          "Layer",
          able.map((it) => [it.name, node.several && isUpper(it.name) ? it.name : `L${it.layer}`]),
          layer,
          (it) => {
            layer = it;
            read();
          },
        )
      : null;
  return h(
    "section.panel",
    h("header", h("h2", "Blocks"), pick),
    h(
      "div.mine",
      blocks,
      h("span.muted", "blocks,"),
      apart,
      h("span.muted", "s apart"),
      button("Mine", mine, ".primary"),
    ),
    h("label.switch", h("span", "Seal each transaction as it comes"), automine),
    h("label.switch", h("span", "Seal a block every 5 s"), interval),
    shown,
  );
}

/** @typedef {{id: string, heads: Record<string, number>, name: string}} Snapshot */

/** @returns {Snapshot[]} */
const savedSnapshots = () =>
  JSON.parse(sessionStorage.getItem(SNAPSHOTS) ?? "[]").filter((/** @type {any} */ it) => it.heads);

function snapshotPanel() {
  const shown = h("div.request", { "aria-live": "polite" });
  const list = h("ul.snapshots");
  let state = "";
  const save = (/** @type {Snapshot[]} */ all) => sessionStorage.setItem(SNAPSHOTS, JSON.stringify(all));
  const take = async () => {
    const id = await act(shown, node.own.name, "evm_snapshot", []);
    if (id === undefined) return;
    const name = clockTime(Date.now());
    const taken = Object.fromEntries(floors().map((it) => [it.name, stateOf(it.name).head]));
    save([{ id, heads: taken, name }, ...savedSnapshots()]);
    draw();
  };
  const revert = async (/** @type {Snapshot} */ one) => {
    const done = await act(shown, node.own.name, "evm_revert", [one.id]);
    if (done === false)
      show(shown, h("div.box.bad", { role: "alert" }, "The node does not know this snapshot any more."));
    save(savedSnapshots().filter((it) => int(it.id) < int(one.id)));
    draw();
  };
  const draw = () => {
    const text = JSON.stringify([savedSnapshots(), heads()]);
    if (text === state) return;
    state = text;
    const own = node.own.name;
    const reverted = floors().filter((it) => it === node.own || !it.remote);
    show(
      list,
      savedSnapshots().map((it) => {
        const lost = Math.max(0, stateOf(own).head - it.heads[own]);
        const action = button(
          `Revert ${count(lost)} blocks`,
          () => {
            show(
              item,
              h(
                "span",
                `${count(lost)} blocks of ${node.several ? node.own.title : `layer ${node.own.layer}`} and what is in them will be lost.`,
              ),
              h(
                "span.actions",
                button("Revert", () => revert(it), ".primary"),
                button("Keep", () => {
                  state = "";
                  draw();
                }),
              ),
            );
          },
          ".small",
        );
        const blocks = reverted.map((floor, at) => [
          at ? " / " : null,
          h(`span.${toneOf(floor.name)}`, count(it.heads[floor.name] ?? 0)),
        ]);
        const item = h("li", h("span", `${int(it.id)}`), h("span", `taken at ${it.name}`), h("span", blocks), action);
        return item;
      }),
      savedSnapshots().length ? null : h("li.muted", "None was taken in this tab."),
    );
  };
  return {
    element: h(
      "section.panel",
      h("header", h("h2", "Snapshots"), button("Take one", take, ".small")),
      h(
        "p.muted",
        node.l1 && node.l2
          ? `${node.several ? "All houses and the ground" : "Both floors"} are reverted together.`
          : "The chain is reverted to the block of the snapshot.",
      ),
      list,
      shown,
    ),
    draw,
  };
}

function settlementPanel() {
  const shown = h("div.request", { "aria-live": "polite" });
  let house = houseOf(isUpper(layer) ? layer : "l2");
  const row = h("div.thirds");
  let state = "";
  const draw = () => {
    const open = [...house.batches.values()].filter((it) => it.stage < 4).sort((a, b) => a.number - b.number);
    const next = (/** @type {number} */ stage) => open.find((it) => it.stage === stage)?.number ?? 0;
    const wanted = /** @type {[string, number][]} */ ([
      ["Commit", next(1)],
      ["Prove", next(2)],
      ["Execute", next(3)],
    ]);
    if (JSON.stringify([house.name, wanted]) === state) return;
    state = JSON.stringify([house.name, wanted]);
    show(
      row,
      wanted.map(([word, number]) => {
        const made = button(number ? `${word} ${count(number)}` : word, () =>
          act(shown, house.name, `anvil_zks_${word.toLowerCase()}Batch`, [number]),
        );
        made.disabled = !number;
        return made;
      }),
    );
  };
  return {
    element: h(
      "section.panel",
      h(
        "header",
        h("h2", "Settlement by hand"),
        node.several
          ? choice(
              "House",
              node.l2s.map((it) => [it.name, it.name]),
              house.name,
              (it) => {
                house = houseOf(it);
                draw();
              },
            )
          : h("span.muted", "automatic, too"),
      ),
      h("p.muted", "It goes on by itself unless --no-settle is given; a step here makes it happen now."),
      row,
      shown,
    ),
    draw,
  };
}
