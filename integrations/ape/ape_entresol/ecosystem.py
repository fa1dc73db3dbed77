"""The ecosystem: one layer 1, and the chains of layer 2 on it."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

from ape.api import NetworkAPI
from ape_ethereum.ecosystem import Ethereum

from ape_entresol.config import EntresolConfig
from ape_entresol.provider import EntresolProvider

PROVIDER = "entresol"


class EntresolNetwork(NetworkAPI):
    """A layer of a node, or one of a node that forks."""

    @property
    def is_dev(self) -> bool:
        """Every layer is a development chain, though none is called `local`."""
        return True

    @property
    def default_provider_name(self) -> str:
        """The only provider, unless a configuration names another."""
        return self._default_provider or PROVIDER

    @cached_property
    def providers(self) -> dict[str, Any]:
        """The provider of this package, also for chains that only the configuration has."""
        return {PROVIDER: partial(EntresolProvider, name=PROVIDER, network=self)}


class Entresol(Ethereum):
    """The ecosystem. Its networks are `l2`, `l1`, their forks, and `l2-2` to `l2-N` if there are several L2s."""

    name: str = "entresol"

    @property
    def config(self) -> EntresolConfig:
        """The section of the configuration."""
        found: EntresolConfig = self.config_manager.get_config(self.name)
        return found

    @property
    def networks(self) -> dict[str, NetworkAPI]:
        """All networks; those of further chains follow from the setting `chains`, or from several URLs."""
        return {**super().networks, **self._further(self._chain_count)}

    @property
    def _chain_count(self) -> int:
        config = self.config
        if config.uri is not None:
            return len(config.uri) if isinstance(config.uri, list) else 1
        chains = config.node.get("chains", 1)
        return chains if isinstance(chains, int) else len(chains)

    def _further(self, count: int) -> dict[str, NetworkAPI]:
        names = [f"l2-{number}" for number in range(2, count + 1)]
        # Ape compares networks by identity.
        known = self.__dict__.setdefault("_further_networks", {})
        for name in names:
            if name not in known:
                known[name] = EntresolNetwork(name=name, ecosystem=self)
        return {name: known[name] for name in names}
