"""Settings of batches, their settlement, and the relay of what they bring."""

from typing import Annotated, Literal

from msgspec import Meta, Struct


class SettlementSettings(Struct, frozen=True, kw_only=True):
    """Sealing of batches, and their settlement on L1."""

    settle: Annotated[
        bool, Meta(description="Seal and settle batches automatically; otherwise only on request.")
    ] = True
    settle_interval: Annotated[
        float,
        Meta(gt=0, description="Seconds from the first transaction of a batch until it is sealed."),
    ] = 0.25
    batch_blocks: Annotated[
        int,
        Meta(
            ge=1,
            description="Maximum number of blocks in a batch; at most 1024 on a chain that publishes.",
        ),
    ] = 1_024
    data_availability: Annotated[
        Literal["none", "calldata"] | None,
        Meta(
            description="What of its batches a new chain publishes on L1. none: the operator alone has their "
            "transactions. calldata: L1 has them, so that anybody can rebuild and check the chain (entresol derive). By "
            "default none; an existing chain stays what it is."
        ),
    ] = None
    production: Annotated[
        bool,
        Meta(
            description="Create a chain for production, or open one: L1 says that its blocks have neither edits nor "
            "transactions without a signature, developer methods are off, and its data is published."
        ),
    ] = False
    change_rules: Annotated[
        bool,
        Meta(
            description="Let blocks have the rules of these flags from now on (gas limit, gas price, hardfork, fee "
            "recipient, limits of code and gas), and publish that they do; without it, others than the chain has "
            "published last are an error."
        ),
    ] = False
    l1_development: Annotated[
        bool,
        Meta(
            description="Take the L1 for a development chain, though its chain id is not known as one: there a "
            "verifier that accepts any proof may be deployed, and accounts may be funded."
        ),
    ] = False


class RelayConfig(Struct, frozen=True, kw_only=True):
    """The relay between the L2s of a node, and from them to L1."""

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
