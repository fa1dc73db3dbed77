"""Settings of the relay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec import Meta, Struct

from entresol.errors import InvalidConfig

if TYPE_CHECKING:
    from entresol.node.config.schema import NodeConfig


class RelayConfig(Struct, frozen=True, kw_only=True):
    """The relay between the L2s of a node, and from them to L1."""

    is_per_chain: ClassVar = True

    relay: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        Meta(
            title="SECONDS",
            description="Execute the bundles that other L2s of the node send to the chain and that anybody may execute: at "
            "once, or every so many seconds. By default nobody does, so that every step can be seen.",
            extra={"without_value": "0"},
        ),
    ] = None
    finalize_withdrawals: Annotated[
        bool, Meta(description="Have L1 pay the withdrawals of the chain, once they can be proven.")
    ] = False
    relay_max_gas: Annotated[
        int,
        Meta(
            ge=100_000,
            description="Maximum gas of a transaction of the relay, on either layer; what needs more is left to others.",
        ),
    ] = 5_000_000


def relays(config: NodeConfig) -> bool:
    """Return whether the settings of a chain ask for a relay; raises `InvalidConfig` if there can be none."""
    settings = config.of(RelayConfig)
    wanted = settings.relay is not None or settings.finalize_withdrawals
    flag = "--relay" if settings.relay is not None else "--finalize-withdrawals"
    if wanted and not config.l1.l1:
        raise InvalidConfig(flag, "without an L1 nothing passes between chains")
    return wanted
