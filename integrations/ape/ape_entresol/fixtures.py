"""Both layers and the bridge, for tests that `ape test` runs on a network of this plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ape
import pytest

from ape_entresol.provider import FORK_SUFFIX, EntresolProvider
from entresol.inprocess.bridge import Bridge

if TYPE_CHECKING:
    from ape.api import ProviderContextManager


@pytest.fixture
def l1() -> ProviderContextManager:
    """Return the layer 1: `with l1:` makes it the active network."""
    return _context("l1")


@pytest.fixture
def l2() -> ProviderContextManager:
    """Return the layer 2 of the test, or the first on layer 1: `with l2:` makes it the active network."""
    return _context(_name(_number_of_l2()))


@pytest.fixture
def bridges() -> tuple[Bridge, ...]:
    """Return the bridge of each L2; senders and receivers are addresses."""
    active = _active()
    l1 = _connected("l1")
    if active.devnet is not None:
        l2s = [_connected(_name(number)) for number in range(1, len(active.devnet.l2s) + 1)]
        return tuple(active.devnet.bridge_of(l1.web3, it.web3) for it in l2s)
    section = active.section
    urls = section.uri if isinstance(section.uri, list) else [section.uri]
    l2s = [_connected(_name(number)) for number in range(1, len(urls) + 1)]
    settles = section.settles_by_itself
    return tuple(Bridge(l1.web3, it.web3, settles_by_itself=settles) for it in l2s)


@pytest.fixture
def bridge(bridges: tuple[Bridge, ...]) -> Bridge:
    """Return the bridge of the layer 2 of the test, or of the first on layer 1."""
    return bridges[_number_of_l2() - 1]


def _name(number: int) -> str:
    return "l2" if number == 1 else f"l2-{number}"


def _number_of_l2() -> int:
    name = _active().network.name.removesuffix(FORK_SUFFIX)
    _, dash, number = name.partition("-")
    return int(number) if dash else 1


def _active() -> EntresolProvider:
    """Return the provider of the test, whose node has the other layers, too."""
    provider: Any = ape.networks.active_provider
    if not isinstance(provider, EntresolProvider):
        name = "none" if provider is None else provider.network.choice
        pytest.fail(f"this fixture needs --network entresol:l2, but the network is {name}")
    return provider


def _context(name: str) -> ProviderContextManager:
    suffix = FORK_SUFFIX if _active().is_fork else ""
    network = ape.networks.get_ecosystem("entresol").get_network(name + suffix)
    return network.use_provider("entresol")


def _connected(name: str) -> EntresolProvider:
    with _context(name) as provider:
        return provider
