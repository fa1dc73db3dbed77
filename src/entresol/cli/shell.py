"""The console of `entresol shell`: Python with all chains of a devnet."""

from __future__ import annotations

import code
import contextlib
from importlib import import_module
from importlib.util import find_spec
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

from entresol.inprocess.web3_package import require_web3

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.inprocess.devnet import Devnet
    from entresol.primitives.base_token import BaseToken


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
    """Return the names that the console starts with; each of several L2s is there by its chain id, too."""
    l2s = tuple(layer.new_w3() for layer in net.l2s)
    names = {"net": net, "l2": l2s[0], "l2s": l2s, "accounts": net.accounts}
    names |= _by_id("l2", net, l2s)
    if _has_l1(net):
        l1 = net.l1.new_w3()
        bridges = tuple(net.bridge_of(l1, l2) for l2 in l2s)
        names |= {"l1": l1, "bridge": bridges[0], "bridges": bridges}
        names |= _by_id("bridge", net, bridges)
    return units_of(net) | names


def units_of(net: Devnet) -> dict[str, int]:
    """Return ether and one of each token that pays for gas, in their smallest units, by symbols in lower case."""
    return {"ether": 10**18} | {
        name: layer.base_token.unit
        for layer in net.l2s
        if (name := _unit_name(layer.base_token)).isidentifier()
    }


def banner_of(net: Devnet) -> str:
    """Return what the console shows first."""
    lines = [f"L1: {net.l1.url}, chain {net.l1.chain_id}"] if _has_l1(net) else []
    lines += [
        f"L2: {layer.url}, chain {layer.chain_id}, gas in {layer.base_token.symbol}"
        for layer in net.l2s
    ]
    clients, unit = "l1, l2" if _has_l1(net) else "l2", _unit_name(net.l2.base_token)
    lines.append(f"{clients}   web3.py clients: l2.eth.get_balance(accounts[1].address) // {unit}")
    if len(net.l2s) > 1:
        ids = ", ".join(f"l2_{layer.chain_id}, bridge_{layer.chain_id}" for layer in net.l2s)
        lines.append(f"l2s, bridges   a client and a bridge of each L2, also by its id: {ids}")
    lines.append(
        f"accounts   {len(net.accounts)} with money, which the node signs for; each has an address and a key"
    )
    if len(units := units_of(net)) > 1:
        lines.append(f"{', '.join(units)}   one of each, in its smallest units")
    if _has_l1(net):
        lines.append(f"bridge   bridge.deposit({unit}), bridge.finalize(bridge.withdraw({unit}))")
        if len(net.l2s) > 1:
            sent = f"bridge.send({unit}, chain=l2s[1])"
            lines.append(f"         {sent}.execute() on another L2; net.relay() does it for all")
    lines.append("net   the devnet: net.snapshot(), net.revert(…), net.l2.request('evm_mine')")
    return "\n".join(lines)


def _unit_name(token: BaseToken) -> str:
    """Return what one of a token is called in the console: a number if its symbol cannot be a name."""
    name = "ether" if token.is_ether else token.symbol.lower()
    return name if name.isidentifier() and not iskeyword(name) else f"10**{token.decimals}"


def _has_l1(net: Devnet) -> bool:
    return len(net.layers) > len(net.l2s)


def _by_id(prefix: str, net: Devnet, values: Sequence[Any]) -> dict[str, Any]:
    """Return a name for the value of each L2, by its chain id; none if there is only one."""
    if len(values) == 1:
        return {}
    return {f"{prefix}_{l2.chain_id}": value for l2, value in zip(net.l2s, values, strict=True)}


def _complete(names: dict[str, Any]) -> None:
    """Complete names by the tabulator, where Python is built with readline."""
    with contextlib.suppress(ImportError):
        readline, rlcompleter = import_module("readline"), import_module("rlcompleter")
        readline.set_completer(rlcompleter.Completer(names).complete)
        readline.parse_and_bind("tab: complete")
