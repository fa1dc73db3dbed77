"""The section `entresol` of `ape-config.yaml`."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from ape.exceptions import ConfigError
from ape.types import AutoGasLimit
from ape_ethereum.ecosystem import BaseEthereumConfig, NetworkConfig
from pydantic import Field, model_validator

OWN = ("node", "fork", "uri", "l1_uri", "settles_by_itself")
"""Members that are not networks."""
NETWORK = re.compile(r"l1|l2([-_]\d+)?|(l1|l2)[-_]fork|local")


class LayerConfig(NetworkConfig):
    """The settings of a layer; Ape's own of a network, with the defaults of a development chain."""

    default_provider: str | None = "entresol"
    transaction_acceptance_timeout: int = 20


class EntresolConfig(BaseEthereumConfig):
    """How the node is started, or where one runs."""

    NETWORKS: ClassVar[dict[str, tuple[int, int]]] = {"l2": (0, 0), "l1": (0, 0)}
    # The limit of a block is above what one transaction may have.
    DEFAULT_LOCAL_GAS_LIMIT: ClassVar[AutoGasLimit] = AutoGasLimit()

    default_network: str = "l2"
    l2: LayerConfig = LayerConfig()
    l1: LayerConfig = LayerConfig()
    node: dict[str, Any] = Field(default_factory=dict)
    """Settings of the node, by their names in its configuration; `chains` gives the L1 several L2s."""
    fork: dict[str, Any] = Field(default_factory=dict)
    """What the networks `l2-fork` and `l1-fork` add to them: `fork_url`, `l1_fork_url` and their kin."""
    uri: str | list[str] | None = None
    """A node that runs: the URL of its L2, or of each L2. Without it, one is started in this process."""
    l1_uri: str | None = None
    """The URL of the L1 of that node."""
    settles_by_itself: bool = True
    """Whether the node that runs settles; one with `--no-settle` settles when the bridge asks it to."""

    @model_validator(mode="before")
    @classmethod
    def load_network_configs(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Take what is left without the members of this class for networks, as Ape does."""
        known = cls.model_fields.keys()
        for name in values:
            if name not in known and not NETWORK.fullmatch(name) and not name.startswith("_"):
                raise ConfigError(
                    f"entresol.{name}: there is no such setting; those of the node are below `node`"
                )
        own = {name: values[name] for name in OWN if name in values}
        others = {name: it for name, it in values.items() if name not in OWN}
        found: dict[str, Any] = super().load_network_configs(others)
        return {**found, **own}

    def get(self, key: str, default: Any = None) -> Any:
        """Return a member; Ape's own class takes every other name for a network, too."""
        name = key.replace("-", "_")
        if name in type(self).model_fields or NETWORK.fullmatch(name):
            return super().get(key, default)
        return (self.model_extra or {}).get(name, default)
