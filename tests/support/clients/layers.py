"""Nodes to test clients against: one with the L1 that it settles on, and one with several chains."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from web3 import Web3

from tests.support.anvil import running_anvil
from tests.support.clients.javascript import Results, checks_of, run_checks, token_checks_of
from tests.support.inprocess_node import inprocess_node
from tests.support.node_process import DEVELOPMENT_FLAGS

KINDS: Final = ("embedded", "anvil")
"""Where the L1 is: in the same process, or a real one that the node deploys its contracts to."""

OPERATOR_KEY: Final = "0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6"
"""The last development account, which none of the clients uses."""


class Layers(NamedTuple):
    """URLs of both layers, and the contracts on L1."""

    url: str
    l1_url: str
    contracts: dict[str, str]


@contextlib.contextmanager
def running_layers(kind: str, *more: str) -> Iterator[Layers]:
    """Start a node with an L1 of this kind, and `more` arguments, and stop both at the end."""
    with contextlib.ExitStack() as cleanup:
        info = Path(cleanup.enter_context(TemporaryDirectory())) / "facts.json"
        arguments = ["--config-out", str(info), *more]
        if kind == "anvil":
            anvil = cleanup.enter_context(running_anvil())
            arguments += ["--l1-url", anvil.url, "--deploy-l1", "--operator-key", OPERATOR_KEY]
            arguments += DEVELOPMENT_FLAGS
            arguments += ["--l1-confirmations", "0"]
        cleanup.enter_context(inprocess_node(*arguments, info=info))
        known: dict[str, Any] = json.loads(info.read_text(encoding="utf-8"))
        yield Layers(known["http_url"], known["l1"]["http_url"], known["l1"]["contracts"])


def run_on_each(name: str, kinds: tuple[str, ...]) -> Mapping[str, Results]:
    """Run a file of checks on these kinds of L1, concurrently since it mostly waits, and return the problems."""

    def run(kind: str) -> Results:
        with running_layers(kind) as layers:
            return run_checks(name, layers.url, layers.l1_url)

    with ThreadPoolExecutor() as pool:
        return dict(zip(kinds, pool.map(run, kinds), strict=True))


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
