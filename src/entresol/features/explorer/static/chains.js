/** A dialog that brings the chains into a wallet, and the explorer onto a phone. */

import { h, say, show } from "./dom.js";
import { whileDisabled } from "./input.js";
import { floors, node } from "./rpc.js";
import { addChain, chainOf, findWallets, nameOfChain, wallets } from "./signers.js";
import { badge, copyButton, explained } from "./view.js";

const EXAMPLE = `${location.protocol}//192.168.1.20:${location.port || 80}/`;
const LOOPBACK = /^(localhost|127\.|\[::1\])/;

/** Open the dialog. Wallets that announce themselves while it is open join the list. */
export function walletDialog() {
  const choices = h("div.actions");
  const outcome = h("ul.outcome", { "aria-live": "polite" });
  const draw = () => {
    const found = wallets().map((it) => {
      const add = h("button", { type: "button" }, `Add ${allOfThem()} to ${it.name}`);
      add.addEventListener("click", () => whileDisabled(add, () => addAll(it, outcome)));
      return add;
    });
    const none = "No wallet has announced itself in this browser. One elsewhere takes these values by hand.";
    show(choices, found.length ? found : h("p.small.muted", none));
  };
  const dialog = /** @type {any} */ (
    h(
      "dialog.act",
      { "aria-label": "Wallets and phones" },
      h("h2.title", "Wallets and phones"),
      chainList(),
      choices,
      outcome,
      phonePart(),
      h("div.actions", h("button", { type: "button", onclick: () => dialog.close() }, "Close")),
    )
  );
  addEventListener("eip6963:announceProvider", draw);
  dialog.addEventListener("close", () => {
    removeEventListener("eip6963:announceProvider", draw);
    dialog.remove();
  });
  findWallets();
  draw();
  document.body.append(dialog);
  dialog.showModal();
}

/** The floors that a wallet can use: a path to a remote layer only reads. */
const usable = () => floors().filter((it) => !it.remote);

const allOfThem = () => {
  const number = usable().length;
  return number === 1 ? "the chain" : number === 2 ? "both chains" : `all ${number} chains`;
};

function chainList() {
  const rows = usable().map((floor) => {
    const [url] = chainOf(floor).rpcUrls;
    return h(
      "li",
      badge(floor.name),
      h("span", `${nameOfChain(floor)}, `, floor.token.symbol),
      h("span.small.muted.whole-line", h("span.whole", url), copyButton(url, "the URL")),
    );
  });
  return h(
    "ul.chains",
    rows,
    node.l1?.remote ? h("li.small.muted", "Layer 1 is remote: a wallet needs its own URL, which only you know.") : null,
  );
}

/**
 * The first layer 2 comes last: a wallet stays on the chain that it was given last.
 * @param {import("./signers.js").Wallet} wallet
 * @param {Element} outcome
 */
async function addAll(wallet, outcome) {
  show(outcome);
  for (const floor of usable().reverse()) {
    const said = await addChain(wallet.provider, floor).then(
      () => h("span.ok", "added"),
      async (error) => h("span.bad", await explained(error)),
    );
    outcome.append(h("li", badge(floor.name), " ", nameOfChain(floor), ": ", said));
  }
  say(`${wallet.name} was asked.`);
}

/** A code of this page's address, drawn once it is asked for. */
function phonePart() {
  const isLocal = LOOPBACK.test(location.host);
  const address = h("input.mono", {
    "aria-label": "The address that the phone opens",
    value: isLocal ? "" : `${location.origin}/`,
    placeholder: EXAMPLE,
    spellcheck: "false",
    inputmode: "url",
  });
  const code = h("div");
  const draw = async () => {
    const { qrPicture } = await import("./qr.js");
    try {
      const { protocol, href } = new URL(address.value.trim());
      if (!/^https?:$/.test(protocol)) throw new Error();
      show(code, qrPicture(href));
    } catch {
      show(code, address.value ? h("p.small.bad", `An address is written ${EXAMPLE}.`) : "");
    }
  };
  address.addEventListener("input", draw);
  const details = h(
    "details",
    h("summary", "Show a code for a phone"),
    isLocal
      ? h(
          "p.small.muted",
          `A phone does not reach ${location.hostname}. Start the node with --host 0.0.0.0, and name the address that this computer has in your network.`,
        )
      : null,
    h("label.field", h("span", "The address that the phone opens"), address),
    code,
  );
  details.addEventListener("toggle", () => details.open && draw());
  return details;
}
