"""Settings of the EVM of each layer, and of the blocks of the development L1."""

from typing import Annotated, ClassVar, Literal, TypeAlias

from msgspec import Meta, Struct

from entresol.chain.genesis.genesis import DEFAULT_BASE_FEE, DEFAULT_GAS_LIMIT, MAX_NUMBER
from entresol.chain.rules import EPOCH_SLOTS, MAX_CODE_SIZE, SUGGESTED_TIP

Fork: TypeAlias = Literal[
    "byzantium", "petersburg", "istanbul", "berlin", "london", "paris", "shanghai", "cancun",
    "prague", "osaka",
]  # fmt: skip


class EvmConfig(Struct, frozen=True, kw_only=True):
    """The EVM of the L2 and of the development L1: fork and limits."""

    is_per_chain: ClassVar = True

    l1_hardfork: Annotated[
        Literal["cancun", "prague", "osaka"],
        Meta(
            description="EVM fork of the development L1; the settlement contracts need Cancun.",
            extra={"is_per_chain": False},
        ),
    ] = "osaka"
    code_size_limit: Annotated[
        int,
        Meta(
            ge=1,
            title="BYTES",
            description="Maximum size of deployed code on both layers, on the development L1 at least 24576; init code may "
            "have twice as much.",
        ),
    ] = MAX_CODE_SIZE
    disable_code_size_limit: Annotated[
        bool, Meta(description="Deploy code and init code of any size on both layers.")
    ] = False
    enable_tx_gas_limit: Annotated[
        bool,
        Meta(
            description="Reject transactions with a gas limit above 16777216 from Osaka on (EIP-7825), on "
            "both layers.",
            extra={"aliases": ("--tx-gas-limit",)},
        ),
    ] = False
    disable_default_create2_deployer: Annotated[
        bool,
        Meta(
            description="Create both layers without deterministic deployers: the one for CREATE2 at 0x4e59…956c, "
            "Safe's at 0x914d…43d7 and ERC-2470's at 0xce00…cf9f.",
            extra={"aliases": ("--no-create2",)},
        ),
    ] = False


class L1BlockConfig(Struct, frozen=True, kw_only=True):
    """The blocks of the development L1."""

    l1_number: Annotated[
        Annotated[int, Meta(ge=0, le=MAX_NUMBER)] | None,
        Meta(
            title="N",
            description="Number of the genesis block of the development L1; by default that of --l1-init, or 0.",
        ),
    ] = None
    l1_gas_limit: Annotated[
        int, Meta(ge=1_000_000, description="Gas limit of a block of the development L1.")
    ] = DEFAULT_GAS_LIMIT
    l1_base_fee: Annotated[
        int,
        Meta(
            ge=0,
            le=2**63 - 1,
            description="Base fee of the genesis of the development L1, in wei; it then follows EIP-1559.",
        ),
    ] = DEFAULT_BASE_FEE
    l1_block_time: Annotated[
        Annotated[float, Meta(gt=0)] | None,
        Meta(
            title="SECONDS",
            description="Time between blocks of the development L1, instead of --l1-delay.",
        ),
    ] = None
    l1_slots_in_an_epoch: Annotated[
        int,
        Meta(
            ge=0,
            description="Blocks that the safe block of the development L1 is behind its head; the finalized one is "
            "twice as many.",
        ),
    ] = EPOCH_SLOTS
    l1_tip: Annotated[
        int,
        Meta(
            ge=0, le=2**63 - 1, description="Priority fee that the development L1 suggests, in wei."
        ),
    ] = SUGGESTED_TIP
