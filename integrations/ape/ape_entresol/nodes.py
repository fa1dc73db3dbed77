"""The nodes of this process: one, and one that forks, each shared by the providers of its layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ape.exceptions import ConfigError, ProviderError

import entresol
from entresol.errors import EntresolError, InvalidConfig

if TYPE_CHECKING:
    from entresol.inprocess.devnet import Devnet


@dataclass
class SharedNode:
    """A running devnet, and who is connected to it."""

    devnet: Devnet
    users: set[int] = field(default_factory=set)


class Nodes:
    """Starts a node when the first provider of a layer connects, and stops it when the last one disconnects.

    Remembers: what runs, by its settings. Fails: with Ape's `ConfigError` and `ProviderError`, with the node's reason.
    """

    def __init__(self) -> None:
        self._running: dict[str, SharedNode] = {}

    def connect(self, user: object, settings: Mapping[str, Any]) -> Devnet:
        """Return the node with these settings, for a provider."""
        key = repr(sorted(settings.items()))
        if key not in self._running:
            self._running[key] = SharedNode(_start(settings))
        shared = self._running[key]
        shared.users.add(id(user))
        return shared.devnet

    def disconnect(self, user: object) -> None:
        """Stop the nodes that nobody uses besides this provider."""
        for key, shared in list(self._running.items()):
            shared.users.discard(id(user))
            if not shared.users:
                self._running.pop(key).devnet.stop()


NODES = Nodes()


def _start(settings: Mapping[str, Any]) -> Devnet:
    try:
        # Blocks of L1 come only from what a test does; the bridge requests settlement.
        return entresol.devnet(**{"settle": False, **settings}).start()
    except InvalidConfig as error:
        raise ConfigError(f"entresol: {error}") from error
    except (EntresolError, OSError) as error:
        raise ProviderError(f"the node did not start: {error}") from error
