"""The console of `entresol shell`: Python with both layers of a devnet."""

from __future__ import annotations

import code
import contextlib
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from entresol.inprocess.web3_package import require_web3

if TYPE_CHECKING:
    from entresol.inprocess.devnet import Devnet


def open_shell(net: Devnet) -> None:
    """Let the user type Python until it ends: in IPython if it is installed, else in Python's own console."""
    require_web3()
    names, banner = namespace_of(net), banner_of(net)
    if find_spec("IPython") is not None:
        import_module("IPython").embed(user_ns=names, banner1=banner, exit_msg="")
        return
    _complete(names)
    code.interact(banner, local=names, exitmsg="")


def namespace_of(net: Devnet) -> dict[str, Any]:
    """Return the names that the console starts with."""
    clients = {layer.name.lower(): layer.new_w3() for layer in net.layers}
    names = {"net": net, **clients, "accounts": net.accounts, "ether": 10**18}
    if "l1" in clients:
        names["bridge"] = net.bridge_of(clients["l1"], clients["l2"])
    return names


def banner_of(net: Devnet) -> str:
    """Return what the console shows first."""
    lines = [f"{layer.name}: {layer.url}, chain {layer.chain_id}" for layer in net.layers]
    clients = ", ".join(layer.name.lower() for layer in net.layers)
    lines += [
        f"{clients}   web3.py clients: l2.eth.get_balance(accounts[1].address) // ether",
        f"accounts   {len(net.accounts)} with ether, which the node signs for; each has an address and a key",
    ]
    if len(net.layers) > 1:
        lines.append("bridge   bridge.deposit(ether), bridge.finalize(bridge.withdraw(ether))")
    lines.append("net   the devnet: net.snapshot(), net.revert(…), net.l2.request('evm_mine')")
    return "\n".join(lines)


def _complete(names: dict[str, Any]) -> None:
    """Complete names by the tabulator, where Python is built with readline."""
    with contextlib.suppress(ImportError):
        readline, rlcompleter = import_module("readline"), import_module("rlcompleter")
        readline.set_completer(rlcompleter.Completer(names).complete)
        readline.parse_and_bind("tab: complete")
