"""Settings of the server: address, access, limits, timeouts."""

from typing import Annotated

from msgspec import Meta, Struct

MIB = 1 << 20
DEFAULT_IPC = "/tmp/entresol.ipc"  # noqa: S108 - as anvil's, for clients that are given none


class ServerConfig(Struct, frozen=True, kw_only=True):
    """The address that the server listens on, and its limits."""

    host: Annotated[
        str,
        Meta(
            description="Address or name to listen on; several are separated by commas.",
            extra={"short": "address to listen on"},
        ),
    ] = "127.0.0.1"
    port: Annotated[
        int,
        Meta(
            ge=0,
            le=65_535,
            description="Port to listen on; 0 picks a free one.",
            extra={"is_per_chain": True, "short": "port; 0 picks a free one"},
        ),
    ] = 3050
    ipc: Annotated[
        str | None,
        Meta(
            title="PATH",
            description="Unix socket to serve the same methods on, as geth and anvil do.",
            extra={"without_value": DEFAULT_IPC, "is_per_chain": True},
        ),
    ] = None

    allowed_hosts: Annotated[
        tuple[str, ...] | None,
        Meta(
            description="Values of the Host header to accept, without port; `*` is any. "
            "When unset: on loopback any IP address, `localhost` and names below it; elsewhere any."
        ),
    ] = None
    cors_origins: Annotated[
        tuple[str, ...],
        Meta(description="Origins whose web pages may read responses (CORS); `*` is any."),
    ] = ("*",)

    body_limit_bytes: Annotated[
        int, Meta(ge=1, description="Maximum size of a request body, and of a WebSocket message.")
    ] = 15 * MIB
    request_limit_bytes: Annotated[
        int,
        Meta(
            ge=1,
            description="Maximum bytes of all requests over 64 KiB that are received or in progress at a time. "
            "Beyond it such requests are rejected, with status 503 and the error -32005.",
        ),
    ] = 128 * MIB
    connection_limit: Annotated[
        int, Meta(ge=1, description="Maximum number of open connections.")
    ] = 10_000
    requests_per_second: Annotated[
        float, Meta(ge=0, description="Maximum requests per second of a connection; 0 is no limit.")
    ] = 0.0

    header_seconds: Annotated[
        float, Meta(gt=0, description="Time limit for a request's headers, from their first byte.")
    ] = 10.0
    body_seconds: Annotated[
        float,
        Meta(gt=0, description="Time limit for a request's body, from the end of its headers."),
    ] = 60.0
    idle_seconds: Annotated[
        float, Meta(gt=0, description="Time after which a connection without a request is closed.")
    ] = 120.0
    stop_seconds: Annotated[
        float, Meta(ge=0, description="Time for responses in progress when the server stops.")
    ] = 0.8
    unsent_limit_bytes: Annotated[
        int,
        Meta(
            ge=1,
            description="Maximum unsent bytes of all connections together. Beyond it connections are closed: "
            "first those that do not read, the ones with most unsent bytes before others.",
        ),
    ] = 256 * MIB

    @property
    def hosts(self) -> tuple[str, ...]:
        """The addresses and names to listen on."""
        return tuple(dict.fromkeys(host.strip() for host in self.host.split(",")))
