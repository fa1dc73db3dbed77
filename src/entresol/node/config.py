"""What can be set about a node."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Meta, Struct

from entresol.chain.accounts import DEVELOPMENT_MNEMONIC
from entresol.node.settings import Settings
from entresol.rpc.server.config import ServerConfig

ETHER: Final = 10**18
DEFAULT_GAS_PRICE: Final = 100_000_000

Fork: TypeAlias = Literal[
    "byzantium", "petersburg", "istanbul", "berlin", "london", "paris", "shanghai", "cancun",
    "prague", "osaka",
]  # fmt: skip


class ChainConfig(Struct, frozen=True, kw_only=True):
    """The chain: what it is, where it is kept, and when it seals blocks."""

    data_dir: Annotated[
        str | None,
        Meta(description="Directory that keeps the chain; without it the chain is temporary."),
    ] = None
    chain_id: Annotated[int, Meta(ge=1, description="Chain id.")] = 270
    hardfork: Annotated[Fork, Meta(description="EVM fork.")] = "osaka"
    genesis: Annotated[
        str | None, Meta(description="geth-style genesis file; without it the development genesis.")
    ] = None
    accounts: Annotated[int, Meta(ge=0, le=1_000, description="Development accounts to fund.")] = 10
    balance: Annotated[int, Meta(ge=0, description="Ether that each of them has.")] = 10_000
    mnemonic: Annotated[str, Meta(description="Words from which the accounts are derived.")] = (
        DEVELOPMENT_MNEMONIC
    )
    gas_limit: Annotated[int, Meta(ge=21_000, description="Gas limit of a block.")] = 30_000_000
    gas_price: Annotated[int, Meta(ge=0, description="Base fee of every block, in wei.")] = (
        DEFAULT_GAS_PRICE
    )
    block_time: Annotated[
        float | None,
        Meta(description="Seconds between blocks; without it a block for each burst."),
    ] = None
    mining: Annotated[
        bool, Meta(description="Whether transactions are sealed without a request.")
    ] = True
    order: Annotated[
        Literal["fees", "fifo"],
        Meta(description="Who goes first: the best tip, or who came first."),
    ] = "fees"


class ApiConfig(Struct, frozen=True, kw_only=True):
    """What the methods may do."""

    dev_methods: Annotated[
        bool, Meta(description="Whether the methods of evm_, anvil_ and hardhat_ are served.")
    ] = True
    expose_unlocked_accounts: Annotated[
        bool,
        Meta(
            description="Sign for the development accounts, and impersonate others, also where "
            "other machines can ask for it."
        ),
    ] = False
    receipt_seconds: Annotated[
        float,
        Meta(gt=0, description="Longest time that eth_sendRawTransactionSync waits for a block."),
    ] = 60.0


class LogConfig(Struct, frozen=True, kw_only=True):
    """What the node tells on the terminal."""

    silent: Annotated[bool, Meta(description="Print nothing but errors.")] = False


class NodeConfig(Struct, frozen=True, kw_only=True):
    """Everything that can be set."""

    chain: ChainConfig = ChainConfig()
    server: ServerConfig = ServerConfig()
    api: ApiConfig = ApiConfig()
    log: LogConfig = LogConfig()


SETTINGS: Final = Settings(NodeConfig)
