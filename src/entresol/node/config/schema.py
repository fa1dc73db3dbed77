"""Schema of the configuration: every setting with its type, default and description."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final, Literal, TypeVar, cast

from msgspec import Meta, Struct, structs

from entresol.chain.clock import LATEST
from entresol.chain.genesis.accounts import DEVELOPMENT_MNEMONIC, DEVELOPMENT_PATH
from entresol.chain.genesis.genesis import MAX_NUMBER
from entresol.features import FEATURES
from entresol.l1.layer_one import L1Finality
from entresol.node.config.api import PRESETS, ApiConfig, LimitsConfig
from entresol.node.config.evm import EvmConfig, Fork, L1BlockConfig
from entresol.node.config.loader import Settings, Tables
from entresol.node.config.setting import sections_of
from entresol.node.config.settlement import SettlementSettings
from entresol.server.config import MIB, ServerConfig
from entresol.terminal.config import LogConfig

DEFAULT_L1_IPC: Final = "/tmp/entresol-l1.ipc"  # noqa: S108 - as anvil's, for clients that are given none

ETHER: Final = 10**18
DEFAULT_GAS_PRICE: Final = 100_000_000
MAX_ACCOUNTS: Final = 1_000
MAX_TOKEN_DECIMALS: Final = 30
"""More than any known token has, and few enough that supplies fit the vault."""


class ChainConfig(Struct, frozen=True, kw_only=True):
    """The L2 chain: genesis, data directory, gas, block production."""

    is_per_chain: ClassVar = True

    data_dir: Annotated[
        str | None,
        Meta(
            title="DIR",
            description="Directory to store the chain in; without it the chain is temporary.",
            extra={"is_per_chain": False, "short": "keep the chains here; else they are temporary"},
        ),
    ] = None
    chain_id: Annotated[int, Meta(ge=1, description="Chain id.", extra={"short": "chain id"})] = 270
    hardfork: Annotated[
        Fork, Meta(description="EVM fork of the L2.", extra={"short": "rules of the EVM"})
    ] = "osaka"
    genesis: Annotated[
        str | None,
        Meta(
            title="FILE", description="geth-style genesis file; without it the development genesis."
        ),
    ] = None
    init: Annotated[
        str | None,
        Meta(
            title="FILE",
            description="As --genesis, with the development accounts besides; an account with a secretKey signs, too.",
        ),
    ] = None
    timestamp: Annotated[
        Annotated[int, Meta(ge=0, le=LATEST)] | None,
        Meta(
            title="SECONDS",
            description="Unix time of the genesis of both layers, from which their clocks start; by default "
            "the time of the genesis file, or now.",
            extra={"is_per_chain": False},
        ),
    ] = None
    number: Annotated[
        Annotated[int, Meta(ge=0, le=MAX_NUMBER)] | None,
        Meta(
            title="N",
            description="Number of the genesis block of the L2; by default that of the genesis file, or 0.",
        ),
    ] = None
    accounts: Annotated[
        Annotated[int, Meta(ge=0, le=MAX_ACCOUNTS)] | None,
        Meta(
            title="N",
            description="Accounts of the mnemonic to fund in the genesis, beside two that tools of the ZK Stack expect; "
            "by default 10, none at all with --l1-url, and in an existing chain as many as it was created with. "
            "Ether of a genesis is not locked on L1, so its owners can withdraw what others deposit.",
            extra={"short": "accounts with ether"},
        ),
    ] = None
    balance: Annotated[
        int,
        Meta(
            ge=0,
            description="Balance of each development account, in ether; on an L2 with a base token, in that one.",
            extra={"short": "ether of each account"},
        ),
    ] = 10_000
    base_token: Annotated[
        str | None,
        Meta(
            title="SYMBOL|ADDRESS",
            description="Token of the L1 that pays for gas on the L2, instead of ether. A symbol is a new token of the "
            "development L1, which any account may mint; chains that name the same one share it. An address is that of "
            "a token on the L1 of --l1-url, or of another chain's token.",
            extra={"short": "token that pays for gas on the L2"},
        ),
    ] = None
    base_token_ratio: Annotated[
        str | int | float | None,
        Meta(
            title="N[/M]",
            description="How many base tokens an ether costs, such as 3000, 0.5 or 628/17; by default 1.",
        ),
    ] = None
    base_token_decimals: Annotated[
        Annotated[int, Meta(ge=0, le=MAX_TOKEN_DECIMALS)] | None,
        Meta(
            title="N",
            description="Decimals of the token that --base-token names by a symbol; by default 18.",
        ),
    ] = None
    mnemonic: Annotated[
        str,
        Meta(
            description="BIP-39 mnemonic of the development accounts.",
            extra={"short": "mnemonic of the accounts"},
        ),
    ] = DEVELOPMENT_MNEMONIC
    mnemonic_file: Annotated[
        str | None,
        Meta(
            title="FILE",
            description="File with the mnemonic, so that it is not in the list of processes; its keys are not shown.",
        ),
    ] = None
    derivation_path: Annotated[
        str, Meta(title="PATH", description="BIP-32 path that the development accounts are below.")
    ] = DEVELOPMENT_PATH
    gas_limit: Annotated[
        int,
        Meta(
            ge=21_000, description="Gas limit of a block.", extra={"short": "gas limit of a block"}
        ),
    ] = 30_000_000
    gas_price: Annotated[
        int,
        Meta(
            ge=0,
            description="Base fee of every block, in wei of ether: on a chain with another base token, times "
            "what ether costs in it, and at least a unit.",
        ),
    ] = DEFAULT_GAS_PRICE
    block_time: Annotated[
        Annotated[float, Meta(gt=0)] | None,
        Meta(
            title="SECONDS",
            description="Time between blocks; without it a block is sealed as soon as transactions are pending.",
            extra={"short": "seal blocks at intervals, not at once"},
        ),
    ] = None
    mining: Annotated[
        bool,
        Meta(
            description="Seal blocks automatically; otherwise only on request (evm_mine).",
            extra={"short": "seal blocks only on request"},
        ),
    ] = True
    mixed_mining: Annotated[
        bool,
        Meta(
            description="Seal blocks at --block-time, and one at once when transactions are pending."
        ),
    ] = False
    max_transactions: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(
            title="N",
            description="Maximum number of transactions in a block of the L2; by default gas alone limits it.",
        ),
    ] = None
    fee_recipient: Annotated[
        str | None,
        Meta(
            title="ADDRESS",
            description="Account that receives priority fees and the fees of deposits on the L2; by default the "
            "zero address.",
        ),
    ] = None
    order: Annotated[
        Literal["fees", "fifo"],
        Meta(
            description="Order of transactions in a block: by priority fee, or first in, first out."
        ),
    ] = "fees"
    pool_limit_bytes: Annotated[
        int,
        Meta(
            ge=1,
            description="Maximum memory of the transactions in the pool; each takes two to five times its size.",
        ),
    ] = 128 * MIB
    disable_validation_rules: Annotated[
        bool,
        Meta(
            description="Let contract accounts read what others can change while they validate; their gas stays limited."
        ),
    ] = False


class EcosystemConfig(Struct, frozen=True, kw_only=True):
    """Several L2s on one L1."""

    chains: Annotated[
        tuple[str, ...] | None,
        Meta(
            title="N|ID:PORT,…",
            description="L2s on the L1: how many, or the id and the port of each. Those that are not given count up from "
            "--chain-id and --port. The configuration file may have a table [[chains]] for each instead, with any "
            "setting of a chain.",
            extra={"short": "several L2s on the L1: how many, or which"},
        ),
    ] = None


class L1Config(Struct, frozen=True, kw_only=True):
    """The L1: a development chain in the same process, or a remote one by its URL."""

    l1: Annotated[
        bool,
        Meta(
            description="Settle on an L1; without one nothing settles.",
            extra={"short": "start no L1; nothing settles"},
        ),
    ] = True
    l1_url: Annotated[
        str | None,
        Meta(
            title="URL",
            description="JSON-RPC URL of a remote L1, instead of the development L1. Only its scheme, "
            "host and port are ever shown.",
            extra={"short": "settle on this L1, instead of a development one"},
        ),
    ] = None
    l1_port: Annotated[
        int,
        Meta(
            ge=0,
            le=65_535,
            description="Port of the development L1; 0 picks a free one.",
            extra={"short": "port of the L1"},
        ),
    ] = 8545
    l1_extra_port: Annotated[
        Annotated[int, Meta(ge=0, le=65_535)] | None,
        Meta(
            title="PORT",
            description="Another port of the same development L1, for tools that expect a chain there, too; 0 picks "
            "a free one.",
        ),
    ] = None
    l1_ipc: Annotated[
        str | None,
        Meta(
            title="PATH",
            description="As --ipc, for the development L1.",
            extra={"without_value": DEFAULT_L1_IPC},
        ),
    ] = None
    l1_chain_id: Annotated[int, Meta(ge=1, description="Chain id of the development L1.")] = 31337
    l1_init: Annotated[
        str | None,
        Meta(
            title="FILE",
            description="As --init, for the development L1; its chain id has to be --l1-chain-id.",
        ),
    ] = None
    l1_delay: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        Meta(
            title="SECONDS",
            description="Time that a transaction is pending on the development L1 before it is sealed. By default it "
            "is sealed at once, and the response to a raw one comes after 0.3 s, when clients that cache a nonce for "
            "a moment have forgotten it; with 0 it comes at once.",
        ),
    ] = None
    l1_confirmations: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(
            title="N",
            description="L1 blocks that must follow one before it counts; by default 12 with --l1-url, and 0 on "
            "the development L1 or with --l1-finality safe or finalized.",
        ),
    ] = None
    l1_finality: Annotated[
        L1Finality,
        Meta(
            description="L1 block that confirmations are counted from: the latest, safe or finalized one."
        ),
    ] = "latest"
    bridgehub: Annotated[
        str | None,
        Meta(
            title="ADDRESS",
            description="Address of the Bridgehub on the L1 of --l1-url that the chain is registered with.",
            extra={"short": "Bridgehub that the chain is registered with"},
        ),
    ] = None
    bridgehub_owner_key: Annotated[
        str | None,
        Meta(
            title="KEY",
            description="Private key of the owner of --bridgehub, which registers a chain there that it does not know.",
            extra={"is_secret": True},
        ),
    ] = None
    bridgehub_owner_key_file: Annotated[
        str | None,
        Meta(title="FILE", description="File with the private key of the Bridgehub's owner."),
    ] = None
    deploy_l1: Annotated[
        bool,
        Meta(
            description="Deploy the settlement contracts to the L1 of --l1-url; with --bridgehub, only that of the "
            "chain itself."
        ),
    ] = False
    operator_key: Annotated[
        str | None,
        Meta(
            title="KEY",
            description="Private key of the operator, which deploys to L1 and settles there, unless another "
            "key proves or executes; by default a well-known development key.",
            extra={"is_secret": True, "is_per_chain": True},
        ),
    ] = None
    operator_key_file: Annotated[
        str | None,
        Meta(
            title="FILE",
            description="File with the operator's private key, so that it is not in the list of processes.",
            extra={"is_per_chain": True, "short": "file with the key"},
        ),
    ] = None
    prove_key: Annotated[
        str | None,
        Meta(
            title="KEY",
            description="Private key that proves batches on L1; by default the operator's.",
            extra={"is_secret": True, "is_per_chain": True},
        ),
    ] = None
    prove_key_file: Annotated[
        str | None,
        Meta(
            title="FILE",
            description="File with the private key that proves batches.",
            extra={"is_per_chain": True},
        ),
    ] = None
    execute_key: Annotated[
        str | None,
        Meta(
            title="KEY",
            description="Private key that executes batches on L1; by default the operator's.",
            extra={"is_secret": True, "is_per_chain": True},
        ),
    ] = None
    execute_key_file: Annotated[
        str | None,
        Meta(
            title="FILE",
            description="File with the private key that executes batches.",
            extra={"is_per_chain": True},
        ),
    ] = None
    operator_low_balance: Annotated[
        float,
        Meta(
            ge=0,
            description="Balance of each of the operator's keys on L1, in ether, below which the node warns.",
        ),
    ] = 0.5
    l1_max_fee_gwei: Annotated[
        float,
        Meta(
            gt=0,
            description="Maximum fee cap of the operator's transactions, in gwei per gas; while L1's base "
            "fee is above it, nothing is sent.",
        ),
    ] = 500.0
    l1_fee_multiplier: Annotated[
        float,
        Meta(
            ge=1.0,
            description="How many times the fee cap of a new transaction one may have that replaces a stuck "
            "transaction.",
        ),
    ] = 5.0


S = TypeVar("S", bound=Struct)


class NodeConfig(Struct, frozen=True, kw_only=True):
    """All settings of a node, by section."""

    chain: ChainConfig = ChainConfig()
    ecosystem: EcosystemConfig = EcosystemConfig()
    evm: EvmConfig = EvmConfig()
    l1: L1Config = L1Config()
    l1_blocks: L1BlockConfig = L1BlockConfig()
    settlement: SettlementSettings = SettlementSettings()
    server: ServerConfig = ServerConfig()
    api: ApiConfig = ApiConfig()
    limits: LimitsConfig = LimitsConfig()
    log: LogConfig = LogConfig()
    features: Mapping[tuple[type[Struct], str], Struct] = {}
    """The sections of features that are not defaults, by class and prefix; `of` returns them."""
    chains: tuple["NodeConfig", ...] = ()
    """The L2s that tables of the file describe; `layer_two_configs` has all of them."""
    given: frozenset[str] = frozenset()
    """The names of the settings that are not defaults: a fork has those of its remote in place of defaults."""
    urls_of_clients: frozenset[str] = frozenset()
    """The URLs that a client has named after the start, of `fork_url` and `l1_fork_url`."""

    def of(self, section: type[S], prefix: str = "") -> S:
        """Return the section of a feature, or the one for another layer, whose names have a prefix."""
        found = self.features.get((section, prefix))
        return section() if found is None else cast(S, found)

    def with_(self, section: type[Struct], prefix: str = "", /, **values: Any) -> "NodeConfig":
        """Return the configuration with other values in a section of a feature."""
        changed = structs.replace(self.of(section, prefix), **values)
        return structs.replace(self, features={**self.features, (section, prefix): changed})

    def each_section(self, change: Callable[[Struct], Struct]) -> "NodeConfig":
        """Return the configuration with what `change` returns for each section, also of `chains`."""
        own: dict[str, Any] = {
            name: change(getattr(self, name)) for name in sections_of(NodeConfig)
        }
        features = {key: change(section) for key, section in self.features.items()}
        chains = tuple(chain.each_section(change) for chain in self.chains)
        return structs.replace(self, **own, features=features, chains=chains)


def settings_with(features: Sequence[str]) -> Settings[NodeConfig]:
    """Return the settings of a node that has these features."""
    tables = Tables("chains", scope="the whole node", counted="server.port")
    return Settings(NodeConfig, PRESETS, tables, given="given", features=features)


SETTINGS: Final = settings_with(FEATURES)
