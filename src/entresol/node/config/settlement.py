"""Settings of batches, and of their settlement."""

from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct


class SettlementSettings(Struct, frozen=True, kw_only=True):
    """Sealing of batches, and their settlement on L1."""

    is_per_chain: ClassVar = True

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
            "verifier that accepts any proof may be deployed, and accounts may be funded.",
            extra={"is_per_chain": False},
        ),
    ] = False
