"""Settings of the explorer."""

from typing import Annotated

from msgspec import Meta, Struct


class ExplorerConfig(Struct, frozen=True, kw_only=True):
    """The explorer, which browsers show."""

    explorer: Annotated[
        bool,
        Meta(
            description="Serve the explorer to browsers at `/`, its files below `/explorer/`, and the other "
            "layer to it at `/explorer/l1` or `/explorer/l2`.",
            extra={
                "anvil": {
                    "group": "server",
                    "before": "json",
                    "description": "Serve the explorer to browsers at `/`.",
                }
            },
        ),
    ] = True
