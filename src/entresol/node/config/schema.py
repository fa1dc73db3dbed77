"""What can be set about a node."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Meta, Struct

from entresol.chain.genesis.accounts import DEVELOPMENT_MNEMONIC
from entresol.execution.call.limits import CallLimits
from entresol.node.config.loader import Settings
from entresol.rpc.jsonrpc.dispatch import RequestLimits
from entresol.rpc.services.log_search import LogLimits
from entresol.rpc.types.log_filter import MAX_ALTERNATIVES
from entresol.rpc.types.overrides import OverrideLimits
from entresol.server.config import MIB, ServerConfig

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
        Meta(
            title="DIR",
            description="Directory that keeps the chain; without it the chain is temporary.",
        ),
    ] = None
    chain_id: Annotated[int, Meta(ge=1, description="Chain id.")] = 270
    hardfork: Annotated[Fork, Meta(description="EVM fork.")] = "osaka"
    genesis: Annotated[
        str | None,
        Meta(
            title="FILE", description="geth-style genesis file; without it the development genesis."
        ),
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
        Meta(
            title="SECONDS", description="Time between blocks; without it a block for each burst."
        ),
    ] = None
    mining: Annotated[
        bool, Meta(description="Whether transactions are sealed without a request.")
    ] = True
    order: Annotated[
        Literal["fees", "fifo"],
        Meta(description="Who goes first: the best tip, or who came first."),
    ] = "fees"


class L1Config(Struct, frozen=True, kw_only=True):
    """The layer 1: a development chain in the same process, or another one by its URL."""

    l1: Annotated[
        bool, Meta(description="Whether there is a layer 1; without one nothing settles.")
    ] = True
    l1_url: Annotated[
        str | None,
        Meta(
            title="URL",
            description="JSON-RPC of the L1 to use in place of the development one. Only scheme, host "
            "and port are ever shown of it.",
        ),
    ] = None
    l1_port: Annotated[
        int,
        Meta(ge=0, le=65_535, description="Port of the development L1; 0 takes any free one."),
    ] = 8545
    l1_chain_id: Annotated[int, Meta(ge=1, description="Chain id of the development L1.")] = 31337
    l1_delay: Annotated[
        float,
        Meta(
            ge=0,
            description="Seconds that a transaction waits on the development L1 until it is sealed. "
            "Clients that keep a nonce for a moment stumble over a shorter one.",
        ),
    ] = 0.3
    l1_confirmations: Annotated[
        int, Meta(ge=0, description="L1 blocks that must stand on one before it counts.")
    ] = 0
    bridgehub: Annotated[
        str | None,
        Meta(
            title="ADDRESS",
            description="Bridgehub on the L1 of --l1-url, where the chain is registered.",
        ),
    ] = None
    deploy_l1: Annotated[
        bool, Meta(description="Deploy the settlement contracts to the L1 of --l1-url.")
    ] = False
    operator_key: Annotated[
        str | None,
        Meta(
            title="KEY",
            description="Secret key of the account that deploys to L1 and settles there; "
            "the development L1 has one of its own.",
        ),
    ] = None


class SettlementSettings(Struct, frozen=True, kw_only=True):
    """When blocks become a batch, and a batch goes to L1."""

    settle: Annotated[bool, Meta(description="Whether batches are settled without a request.")] = (
        True
    )
    settle_interval: Annotated[
        float,
        Meta(gt=0, description="Seconds from the first transaction of a batch until it is sealed."),
    ] = 0.25
    batch_blocks: Annotated[int, Meta(ge=1, description="Most blocks of a batch.")] = 1_024
    batch_messages: Annotated[
        int,
        Meta(
            ge=1,
            le=16_384,
            description="Most L2-to-L1 logs of a batch; a block with more has one of its own.",
        ),
    ] = 16_384


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


class LimitsConfig(Struct, frozen=True, kw_only=True):
    """How much one question may ask for."""

    batch_limit: Annotated[int, Meta(ge=1, description="Calls in a batch.")] = 500
    answer_limit_bytes: Annotated[
        int, Meta(ge=1, description="Longest answer, and longest answers of a batch together.")
    ] = 24 * MIB
    call_gas_cap: Annotated[
        int,
        Meta(
            ge=21_000, description="Gas that a call may use, or the calls of a simulation together."
        ),
    ] = 50_000_000
    call_seconds: Annotated[
        float, Meta(gt=0, description="Time for a call, an estimate or a simulation.")
    ] = 5.0
    log_limit: Annotated[
        int, Meta(ge=1, description="Logs in an answer; a single block may have more.")
    ] = 10_000
    log_block_limit: Annotated[
        int, Meta(ge=0, description="Blocks that a question for logs may cover; 0 is any number.")
    ] = 0
    log_filter_limit: Annotated[
        int,
        Meta(
            ge=1,
            le=MAX_ALTERNATIVES,
            description="Addresses that a question for logs may name, and topics at one position.",
        ),
    ] = 1_000
    override_account_limit: Annotated[
        int, Meta(ge=0, description="Accounts that a question may override.")
    ] = 1_000
    override_slot_limit: Annotated[
        int, Meta(ge=0, description="Storage slots that a question may override.")
    ] = 20_000
    filter_limit: Annotated[
        int, Meta(ge=1, description="Filters; the one used longest ago gives way.")
    ] = 10_000
    subscription_limit: Annotated[
        int, Meta(ge=0, description="Subscriptions of one connection.")
    ] = 1_024

    def calls(self) -> CallLimits:
        """Return the limits of questions that run code."""
        return CallLimits(gas_cap=self.call_gas_cap, seconds=self.call_seconds)

    def logs(self) -> LogLimits:
        """Return the limits of questions for logs."""
        return LogLimits(
            results=self.log_limit,
            blocks=self.log_block_limit or None,
            alternatives=self.log_filter_limit,
        )

    def overrides(self) -> OverrideLimits:
        """Return the limits of what a question assumes."""
        return OverrideLimits(accounts=self.override_account_limit, slots=self.override_slot_limit)

    def requests(self) -> RequestLimits:
        """Return the limits of any request."""
        return RequestLimits(batch=self.batch_limit, response_bytes=self.answer_limit_bytes)


class LogConfig(Struct, frozen=True, kw_only=True):
    """What the node tells on the terminal."""

    silent: Annotated[bool, Meta(description="Print nothing but errors.")] = False
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Meta(description="What is worth a line; requests and transactions are told at info."),
    ] = "info"
    json_logs: Annotated[
        bool, Meta(description="Print a JSON object a line, with level, time, message and fields.")
    ] = False
    config_out: Annotated[
        str | None,
        Meta(
            title="FILE",
            description="File to write accounts, keys, chain id, fees and URLs to, as JSON.",
        ),
    ] = None


class NodeConfig(Struct, frozen=True, kw_only=True):
    """Everything that can be set."""

    chain: ChainConfig = ChainConfig()
    l1: L1Config = L1Config()
    settlement: SettlementSettings = SettlementSettings()
    server: ServerConfig = ServerConfig()
    api: ApiConfig = ApiConfig()
    limits: LimitsConfig = LimitsConfig()
    log: LogConfig = LogConfig()


SETTINGS: Final = Settings(NodeConfig)
