"""Open the forks of a node: the remote chains that its layers are copies of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.errors import InvalidConfig
from entresol.node.config.forking.resolving import planned_forks

if TYPE_CHECKING:
    from entresol.node.config.schema import NodeConfig


def check_forks(config: NodeConfig) -> None:
    """Reject a configuration with forks, which cannot be opened yet."""
    planned = planned_forks(config)
    fork = planned.l2 or planned.l1
    if fork is not None:
        flag = fork.settings.flag("fork-url")
        raise InvalidConfig(flag, "the chains of forks are not wired to the node yet")
