/** Controls for a chain of one's own: blocks, time, snapshots, settlement by hand. */

import { choice, h, say, show } from "./dom.js";
import { count, hex, int } from "./format.js";
import { live, refresh, watch } from "./live.js";
import { floorOf, floors, node } from "./rpc.js";
import { timePanel } from "./time.js";
import { empty, reasonOf } from "./view.js";

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
  );
  if (!works)
    return {
      title: "Controls",
      body: [
        head,
        empty(
          "The developer methods are off",
          "Start the node with --dev-methods to mine, to move the clock and to take snapshots.",
        ),
      ],
    };
  const time = timePanel(act, button);
  const snapshots = snapshotPanel();
  const settlement = node.l1 && node.l2 && !node.l1.remote ? settlementPanel() : null;
  const stop = watch(() => {
    time.draw();
    snapshots.draw();
    settlement?.draw();
  });
  return {
    title: "Controls",
    leave: stop,
    body: [head, h("div.panels", blocksPanel(able), time.element, snapshots.element, settlement?.element ?? null)],
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
    shown.append(h("div.box.bad", { role: "alert" }, `${method} was rejected: ${reasonOf(error)}`));
    return undefined;
  }
}

/**
 * @param {string} text
 * @param {() => unknown} onclick
 * @param {string} [kind]
 */
const button = (text, onclick, kind = "") => h(`button.acts${kind}`, { type: "button", onclick }, text);

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
  automine.addEventListener("change", () => act(shown, layer, "evm_setAutomine", [automine.checked]).then(read));
  interval.addEventListener("change", () =>
    act(shown, layer, "evm_setIntervalMining", [interval.checked ? 5000 : 0]).then(read),
  );
  read();
  const pick =
    able.length > 1
      ? choice(
          "Layer",
          /** @type {any} */ ([
            ["l2", "L2"],
            ["l1", "L1"],
          ]),
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
      button(
        "Mine",
        () => act(shown, layer, "anvil_mine", [hex(Number(blocks.value)), hex(Number(apart.value))]),
        ".primary",
      ),
    ),
    h("label.switch", h("span", "Seal each transaction as it comes"), automine),
    h("label.switch", h("span", "Seal a block every 5 s"), interval),
    shown,
  );
}

/** @typedef {{id: string, l1: number, l2: number, name: string}} Snapshot */

/** @returns {Snapshot[]} */
const savedSnapshots = () => JSON.parse(sessionStorage.getItem(SNAPSHOTS) ?? "[]");

function snapshotPanel() {
  const shown = h("div.request", { "aria-live": "polite" });
  const list = h("ul.snapshots");
  let state = "";
  const save = (/** @type {Snapshot[]} */ all) => sessionStorage.setItem(SNAPSHOTS, JSON.stringify(all));
  const take = async () => {
    const id = await act(shown, node.own.name, "evm_snapshot", []);
    if (id === undefined) return;
    const name = new Date().toLocaleTimeString("en-GB");
    save([{ id, l1: live.l1.head, l2: live.l2.head, name }, ...savedSnapshots()]);
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
    const text = JSON.stringify([savedSnapshots(), live.l1.head, live.l2.head]);
    if (text === state) return;
    state = text;
    const both = node.l1 && node.l2 && !node.l1.remote;
    const own = node.own.name === "l1" ? "l1" : "l2";
    show(
      list,
      savedSnapshots().map((it) => {
        const lost = Math.max(0, live[own].head - it[own]);
        const action = button(
          `Revert ${count(lost)} blocks`,
          () => {
            show(
              item,
              h("span", `${count(lost)} blocks of layer ${own[1]} and what is in them will be lost.`),
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
        const heads = [
          node.l2 ? h("span.l2", count(it.l2)) : null,
          both ? " / " : null,
          node.l1 && (both || own === "l1") ? h("span.l1", count(it.l1)) : null,
        ];
        const item = h("li", h("span", `${int(it.id)}`), h("span", `taken at ${it.name}`), h("span", heads), action);
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
          ? "Both floors are reverted together."
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
  const row = h("div.thirds");
  let state = "";
  const draw = () => {
    const open = [...live.batches.values()].filter((it) => it.stage < 4).sort((a, b) => a.number - b.number);
    const next = (/** @type {number} */ stage) => open.find((it) => it.stage === stage)?.number ?? 0;
    const wanted = /** @type {[string, number][]} */ ([
      ["Commit", next(1)],
      ["Prove", next(2)],
      ["Execute", next(3)],
    ]);
    if (JSON.stringify(wanted) === state) return;
    state = JSON.stringify(wanted);
    show(
      row,
      wanted.map(([word, number]) => {
        const made = button(number ? `${word} ${count(number)}` : word, () =>
          act(shown, "l2", `anvil_zks_${word.toLowerCase()}Batch`, [number]),
        );
        made.disabled = !number;
        return made;
      }),
    );
  };
  return {
    element: h(
      "section.panel",
      h("header", h("h2", "Settlement by hand"), h("span.muted", "automatic, too")),
      h("p.muted", "It goes on by itself unless --no-settle is given; a step here makes it happen now."),
      row,
      shown,
    ),
    draw,
  };
}
