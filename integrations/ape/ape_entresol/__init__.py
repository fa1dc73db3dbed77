"""A plugin of Ape: the ecosystem `entresol` with the networks `l2` and `l1`, and forks of both.

Ape imports it in every command, so it imports the rest when a hook is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ape import plugins

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ape.api import EcosystemAPI, NetworkAPI, PluginConfig, ProviderAPI

ECOSYSTEM = "entresol"
NETWORKS = ("l2", "l1", "l2-fork", "l1-fork")
"""Those of every project; further chains of layer 2, `l2-2` and so on, come from its configuration."""


@plugins.register(plugins.Config)
def config_class() -> type[PluginConfig]:
    """Return the section `entresol` of the configuration."""
    from ape_entresol.config import EntresolConfig  # noqa: PLC0415

    return EntresolConfig


@plugins.register(plugins.EcosystemPlugin)
def ecosystems() -> Iterator[type[EcosystemAPI]]:
    """Yield the ecosystem."""
    from ape_entresol.ecosystem import Entresol  # noqa: PLC0415

    yield Entresol


@plugins.register(plugins.NetworkPlugin)
def networks() -> Iterator[tuple[str, str, type[NetworkAPI]]]:
    """Yield the networks."""
    from ape_entresol.ecosystem import EntresolNetwork  # noqa: PLC0415

    for name in NETWORKS:
        yield ECOSYSTEM, name, EntresolNetwork


@plugins.register(plugins.ProviderPlugin)
def providers() -> Iterator[tuple[str, str, type[ProviderAPI]]]:
    """Yield the provider of each network."""
    from ape_entresol.provider import EntresolProvider  # noqa: PLC0415

    for name in NETWORKS:
        yield ECOSYSTEM, name, EntresolProvider
