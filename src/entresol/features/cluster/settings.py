"""Settings of a node of a cluster."""

from typing import Annotated

from msgspec import Meta, Struct


class ClusterConfig(Struct, frozen=True, kw_only=True):
    """A cluster: nodes that share a chain by a PostgreSQL database."""

    cluster: Annotated[
        str | None,
        Meta(
            title="URL",
            description="PostgreSQL URL of the cluster that the node joins, as postgresql://user@host/database; what it "
            "leaves out comes from the PG* variables. Only host, port and database are ever shown.",
            extra={"is_secret": True, "short": "PostgreSQL database of the cluster"},
        ),
    ] = None
    advertise_url: Annotated[
        str | None,
        Meta(
            title="URL",
            description="URL at which other nodes of the cluster reach this one; by default host and port that it "
            "listens on.",
        ),
    ] = None
    lease_seconds: Annotated[
        float,
        Meta(
            ge=0.5,
            description="How long a producer of the cluster may be silent before another node takes over.",
        ),
    ] = 3.0
    takeover: Annotated[
        bool,
        Meta(
            description="Take over when no node of the cluster produces blocks; otherwise only follow."
        ),
    ] = True
    max_lag: Annotated[
        float,
        Meta(
            gt=0,
            description="Seconds that a node of a cluster may lag behind before /health says 503.",
        ),
    ] = 10.0
    forward_seconds: Annotated[
        float,
        Meta(
            gt=0,
            description="How long a request waits for a producer of the cluster, and for its response; besides the time "
            "that eth_sendRawTransactionSync waits for the receipt.",
        ),
    ] = 5.0
