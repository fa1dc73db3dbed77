"""Chains of one L1 to test clients against: one node, and an account for each client on each chain."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from web3 import Web3

from tests.support.clients.javascript import Results, checks_of, run_checks, token_checks_of
from tests.support.inprocess_node import inprocess_node

CHAINS: Final = ("second", "token", "six decimals")
"""The chains that clients are tested on: the second whose gas is paid in ether, and two with tokens of their own."""
TOKEN_CHAINS: Final = CHAINS[1:]

_CONFIG: Final = """
[settlement]
settle_interval = 0.2
[[chains]]
chain_id = 270
[[chains]]
chain_id = 271
[[chains]]
chain_id = 272
base_token = "GOLD"
base_token_ratio = 3000
[[chains]]
chain_id = 273
base_token = "COPPER"
base_token_decimals = 6
base_token_ratio = 3000
"""
_ACCOUNTS: Final = 20
ETHER_ADDRESS: Final = "0x0000000000000000000000000000000000000001"


class ClientChain(NamedTuple):
    """A chain, with the key of an account that no other test uses."""

    name: str
    url: str
    l1_url: str
    key: str
    known: dict[str, Any]
    """All that the node writes about the chain by `--config-out`, and its base token: null if that is ether."""


class Ecosystem:
    """A running node with several chains. Remembers: which accounts are taken."""

    def __init__(self, known: dict[str, Any]) -> None:
        self.l1_url: str = known["l1"]["http_url"]
        self._chains = dict(zip(("first", *CHAINS), known["chains"], strict=False))
        self._keys = iter(known["private_keys"])

    def chain(self, name: str) -> ClientChain:
        known = self._chains[name]
        return ClientChain(name, known["http_url"], self.l1_url, next(self._keys), known)

    def run_checks(self, file: str, names: Sequence[str]) -> Results:
        chains = [self.chain(name) for name in names]
        described = [{**chain.known, "name": chain.name, "key": chain.key} for chain in chains]
        return run_checks(
            file,
            chains[0].url,
            self.l1_url,
            checks=on_each(file, names),
            CHAINS=json.dumps(described),
        )


def on_each(file: str, names: Sequence[str]) -> list[str]:
    of_tokens = [
        f"{check} [{name}]"
        for name in names
        if name in TOKEN_CHAINS
        for check in token_checks_of(file)
    ]
    return [f"{check} [{name}]" for name in names for check in checks_of(file)] + of_tokens


@contextlib.contextmanager
def running_ecosystem() -> Iterator[Ecosystem]:
    """Start a node with the chains, and stop it at the end."""
    with TemporaryDirectory() as folder:
        info, config = Path(folder) / "info.json", Path(folder) / "node.toml"
        config.write_text(_CONFIG, encoding="utf-8")
        flags = ("--config", str(config), "--config-out", str(info), "--accounts", str(_ACCOUNTS))
        with inprocess_node(*flags, info=info):
            known = json.loads(info.read_text(encoding="utf-8"))
            for chain in known["chains"]:
                chain["base_token"] = _base_token(chain["base_token"])
            yield Ecosystem(known)


def _base_token(token: dict[str, Any]) -> dict[str, Any] | None:
    address = Web3.to_checksum_address(token["l1_address"])
    return None if address == ETHER_ADDRESS else {**token, "l1_address": address}
