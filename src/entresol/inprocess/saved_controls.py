"""What a test changes on a layer and snapshots do not restore."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from entresol.chain.mining_schedule import MiningState
    from entresol.dev.keyring import Impersonation
    from entresol.node.chain_service import ChainService


class SavedControls(NamedTuple):
    """The mining mode, the impersonated accounts and the filters of a layer. The node's event loop uses it."""

    mining: MiningState
    impersonation: Impersonation
    filters: frozenset[int]

    @classmethod
    def of(cls, service: ChainService) -> Self:
        """Return those of now."""
        api = service.api
        return cls(service.chain.schedule.state, api.keyring.impersonation, frozenset(api.filters))

    def restore(self, service: ChainService) -> None:
        """Set them again, and remove the filters that were installed since."""
        service.chain.schedule.restore(self.mining, time.monotonic())
        api = service.api
        api.keyring.impersonation = self.impersonation
        for installed in api.filters:
            if installed not in self.filters:
                api.filters.uninstall(installed)
        api.forget_failures()
