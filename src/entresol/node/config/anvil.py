"""The flags of `entresol anvil`, which are anvil's, and the settings of a node that they stand for: an L1 alone."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct, structs

from entresol.chain.clock import LATEST
from entresol.chain.genesis.accounts import DEVELOPMENT_MNEMONIC, DEVELOPMENT_PATH
from entresol.chain.genesis.genesis import MAX_NUMBER, Genesis
from entresol.chain.genesis.mnemonics import random_mnemonic, seeded_mnemonic
from entresol.chain.rules import EPOCH_SLOTS, MAX_CODE_SIZE, SUGGESTED_TIP
from entresol.errors import InvalidConfig, MalformedValue
from entresol.execution.evm_env import MAX_GAS_LIMIT
from entresol.features.fork.config.section import ForkConfig
from entresol.features.fork.settings import DEFAULT_BACKOFF, DEFAULT_TIMEOUT
from entresol.node.config.api import (
    ApiConfig,
    ClientVersion,
    HardhatCallFailures,
    HardhatErrors,
    Sources,
)
from entresol.node.config.evm import EvmConfig, Fork, L1BlockConfig
from entresol.node.config.loader import Settings
from entresol.node.config.schema import MAX_ACCOUNTS, ChainConfig, L1Config, NodeConfig
from entresol.node.config.setting import PREFIX
from entresol.node.config.state_files import ChainStateFiles, StateFilesConfig
from entresol.server.config import ServerConfig
from entresol.terminal.config import MAX_VERBOSITY, DisableConsoleLog, LogConfig, PrintTraces

MILLISECONDS: Final = ("fork_timeout", "fork_retry_backoff")
"""The settings that anvil has in milliseconds, and a node in seconds; their variables are a node's."""


class AnvilAccounts(Struct, frozen=True, kw_only=True):
    """Development accounts, whose keys the node has."""

    accounts: Annotated[
        int,
        Meta(ge=0, le=MAX_ACCOUNTS, description="Accounts to fund.", extra={"aliases": ("-a",)}),
    ] = 10
    balance: Annotated[int, Meta(ge=0, description="Balance of each account, in ether.")] = 10_000
    mnemonic: Annotated[
        str | None, Meta(description="BIP-39 mnemonic of the accounts.", extra={"aliases": ("-m",)})
    ] = None
    mnemonic_random: Annotated[
        int | None,
        Meta(
            title="WORDS",
            description="Make a mnemonic, by default of 12 words.",
            extra={"without_value": "12"},
        ),
    ] = None
    mnemonic_seed_unsafe: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(title="SEED", description="Make the mnemonic that anvil makes of this seed."),
    ] = None
    derivation_path: Annotated[
        str, Meta(title="PATH", description="BIP-32 path that the accounts are below.")
    ] = f"{DEVELOPMENT_PATH}/"


class AnvilChain(Struct, frozen=True, kw_only=True):
    """The chain: genesis, fees, limits of the EVM."""

    chain_id: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(title="N", description="Chain id; by default that of --init, or 31337."),
    ] = None
    hardfork: Annotated[Literal["latest", Fork], Meta(description="EVM fork.")] = "latest"
    init: Annotated[
        str | None, Meta(title="FILE", description="geth-style genesis file to start from.")
    ] = None
    timestamp: Annotated[
        Annotated[int, Meta(ge=0, le=LATEST)] | None,
        Meta(title="SECONDS", description="Unix time of the genesis; by default now."),
    ] = None
    number: Annotated[
        Annotated[int, Meta(ge=0, le=MAX_NUMBER)] | None,
        Meta(
            title="N", description="Number of the genesis block; by default that of --init, or 0."
        ),
    ] = None
    gas_limit: Annotated[
        Annotated[int, Meta(ge=21_000)] | None,
        Meta(
            title="N", description="Gas limit of a block; by default that of --init, or 30000000."
        ),
    ] = None
    disable_block_gas_limit: Annotated[
        bool, Meta(description="Let a block, and so a transaction, have any gas limit.")
    ] = False
    block_base_fee_per_gas: Annotated[
        Annotated[int, Meta(ge=0, le=2**63 - 1)] | None,
        Meta(
            title="WEI",
            description="Base fee of the genesis; by default that of --init, or 1 gwei.",
            extra={"aliases": ("--base-fee",)},
        ),
    ] = None
    disable_min_priority_fee: Annotated[
        bool,
        Meta(
            description="Suggest no priority fee, instead of 1 gwei.",
            extra={"aliases": ("--no-priority-fee",)},
        ),
    ] = False
    enable_tx_gas_limit: Annotated[
        bool,
        Meta(
            description="Reject transactions with a gas limit above 16777216 from Osaka on (EIP-7825).",
            extra={"aliases": ("--tx-gas-limit",)},
        ),
    ] = False
    code_size_limit: Annotated[
        int, Meta(ge=1, title="BYTES", description="Maximum size of deployed code.")
    ] = MAX_CODE_SIZE
    disable_code_size_limit: Annotated[
        bool, Meta(description="Deploy code and init code of any size.")
    ] = False
    disable_default_create2_deployer: Annotated[
        bool,
        Meta(
            description="Start without the CREATE2 deployer at 0x4e59…956c.",
            extra={"aliases": ("--no-create2",)},
        ),
    ] = False
    slots_in_an_epoch: Annotated[
        int,
        Meta(
            ge=0,
            description="Blocks that the safe block is behind the head; the finalized one twice.",
        ),
    ] = EPOCH_SLOTS


class AnvilMining(Struct, frozen=True, kw_only=True):
    """When blocks are sealed, and with what."""

    block_time: Annotated[
        Annotated[float, Meta(gt=0)] | None,
        Meta(
            title="SECONDS",
            description="Time between blocks; without it a block is sealed as soon as transactions are pending.",
            extra={"aliases": ("-b", "--blockTime")},
        ),
    ] = None
    no_mining: Annotated[
        bool, Meta(description="Seal blocks only on request.", extra={"aliases": ("--no-mine",)})
    ] = False
    mixed_mining: Annotated[
        bool, Meta(description="Seal at --block-time, and at once when transactions are pending.")
    ] = False
    max_transactions: Annotated[
        int, Meta(ge=1, description="Maximum number of transactions in a block.")
    ] = 1_000
    order: Annotated[
        Literal["fees", "fifo"], Meta(description="Order of transactions in a block.")
    ] = "fees"
    auto_impersonate: Annotated[
        bool,
        Meta(
            description="Send transactions of every account.", extra={"aliases": ("--auto-unlock",)}
        ),
    ] = False


class AnvilFork(ForkConfig, frozen=True, kw_only=True):
    """The chain as a copy of a remote chain."""

    fork_timeout: Annotated[
        float,
        Meta(
            gt=0,
            le=3_600_000,
            title="MILLISECONDS",
            description="Longest time that a read of the remote takes, with its retries.",
            extra={"aliases": ("--timeout",)},
        ),
    ] = DEFAULT_TIMEOUT * 1000
    fork_retry_backoff: Annotated[
        float,
        Meta(
            ge=0,
            le=600_000,
            title="MILLISECONDS",
            description="Time before a request is tried again; it grows.",
        ),
    ] = DEFAULT_BACKOFF * 1000


class AnvilServer(Struct, frozen=True, kw_only=True):
    """The server, and what the node prints."""

    host: Annotated[
        tuple[str, ...], Meta(title="ADDRESS", description="Addresses to listen on.")
    ] = ("127.0.0.1",)
    port: Annotated[
        int,
        Meta(
            ge=0,
            le=65_535,
            description="Port to listen on; 0 picks a free one.",
            extra={"aliases": ("-p",)},
        ),
    ] = 8545
    ipc: Annotated[
        str | None,
        Meta(
            title="PATH",
            description="Unix socket to serve the same methods on.",
            extra={"aliases": ("--ipcpath",), "without_value": "/tmp/anvil.ipc"},  # noqa: S108
        ),
    ] = None
    allow_origin: Annotated[
        tuple[str, ...], Meta(description="Origins whose web pages may read responses.")
    ] = ("*",)
    no_cors: Annotated[bool, Meta(description="Let no web page read responses.")] = False
    no_request_size_limit: Annotated[
        bool, Meta(description="Take request bodies of up to 1 GiB.")
    ] = False
    config_out: Annotated[
        str | None,
        Meta(title="FILE", description="File to write accounts, keys and fees to, as JSON."),
    ] = None
    quiet: Annotated[
        bool,
        Meta(
            description="Log errors only, and print no banner.",
            extra={"aliases": ("-q", "--silent")},
        ),
    ] = False
    explorer: Annotated[bool, Meta(description="Serve the explorer to browsers at `/`.")] = True
    json: Annotated[bool, Meta(description="Log one JSON object per line.")] = False


class AnvilTransactionLog(Struct, frozen=True, kw_only=True):
    """The settings for the log of transactions."""

    disable_console_log: DisableConsoleLog = False
    print_traces: PrintTraces = False
    verbosity: Annotated[
        int,
        Meta(
            ge=0,
            le=MAX_VERBOSITY,
            description="Log more of transactions: -v the call, -vv events, -vvv the call tree of failed ones, "
            "-vvvv that of all.",
            extra={"counted": ("-v", "--verbosity")},
        ),
    ] = 0


class AnvilTools(Struct, frozen=True, kw_only=True):
    """Settings for tools of Hardhat; these flags are not anvil's, and have variables (`ENTRESOL_HARDHAT_ERRORS`)."""

    client_version: ClientVersion = None
    hardhat_errors: HardhatErrors = False
    hardhat_call_failures: HardhatCallFailures = True
    sources: Sources = ()


class AnvilConfig(Struct, frozen=True, kw_only=True):
    """All flags, by section."""

    accounts: AnvilAccounts = AnvilAccounts()
    chain: AnvilChain = AnvilChain()
    mining: AnvilMining = AnvilMining()
    fork: AnvilFork = AnvilFork()
    state_files: ChainStateFiles = ChainStateFiles()
    server: AnvilServer = AnvilServer()
    log: AnvilTransactionLog = AnvilTransactionLog()
    tools: AnvilTools = AnvilTools()


ANVIL_SETTINGS: Final = Settings(AnvilConfig)


def anvil_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that count: the one that anvil reads, and those of flags that anvil does not have.

    Others are those of two layers, and do not change it.
    """
    own = {
        setting.variable
        for setting in ANVIL_SETTINGS.all
        if setting.section == "tools"
        or (setting.section == "fork" and setting.name not in MILLISECONDS)
    }
    found = {name: value for name, value in environment.items() if name in own}
    if "ANVIL_IP_ADDR" in environment:
        found[f"{PREFIX}HOST"] = environment["ANVIL_IP_ADDR"]
    return found


CHAIN_ID: Final = 31337
LATEST_FORK: Final[Fork] = "osaka"
_LARGEST_BODY: Final = 1 << 30


def node_config(flags: AnvilConfig) -> NodeConfig:
    """Return the settings of a node that serves the chain of these flags, and no other."""
    chain, server = flags.chain, flags.server
    # A genesis file has what no flag sets; without one this has anvil's defaults.
    empty = Genesis(chain_id=CHAIN_ID, alloc={})
    genesis = empty if chain.init is None else Genesis.load(Path(chain.init))
    return NodeConfig(
        chain=_chain(flags, genesis),
        evm=EvmConfig(
            code_size_limit=chain.code_size_limit,
            disable_code_size_limit=chain.disable_code_size_limit,
            enable_tx_gas_limit=chain.enable_tx_gas_limit,
            disable_default_create2_deployer=chain.disable_default_create2_deployer,
        ),
        l1=L1Config(l1=False),
        l1_blocks=L1BlockConfig(
            l1_base_fee=_given(chain.block_base_fee_per_gas, genesis.base_fee),
            l1_tip=0 if chain.disable_min_priority_fee else SUGGESTED_TIP,
            l1_slots_in_an_epoch=chain.slots_in_an_epoch,
        ),
        # Anvil serves its methods and signs wherever it listens, and its users rely on it.
        api=ApiConfig(
            dev_methods=True,
            expose_unlocked_accounts=True,
            auto_impersonate=flags.mining.auto_impersonate,
            explorer=server.explorer,
            **structs.asdict(flags.tools),
        ),
        fork=_fork(flags),
        given=_given_flags(chain),
        state_files=StateFilesConfig(**structs.asdict(flags.state_files)),
        server=_server(server),
        log=LogConfig(
            silent=server.quiet,
            json_logs=server.json,
            config_out=server.config_out,
            **structs.asdict(flags.log),
        ),
    )


def _chain(flags: AnvilConfig, genesis: Genesis) -> ChainConfig:
    accounts, chain, mining = flags.accounts, flags.chain, flags.mining
    if mining.mixed_mining and mining.block_time is None:
        raise InvalidConfig("--mixed-mining", "it needs --block-time")
    if mining.no_mining and mining.block_time is not None:
        raise InvalidConfig("--no-mining", "it cannot be combined with --block-time")
    return ChainConfig(
        chain_id=_given(chain.chain_id, genesis.chain_id),
        hardfork=LATEST_FORK if chain.hardfork == "latest" else chain.hardfork,
        init=chain.init,
        timestamp=chain.timestamp,
        number=chain.number,
        accounts=accounts.accounts,
        balance=accounts.balance,
        mnemonic=_mnemonic(accounts),
        derivation_path=accounts.derivation_path,
        gas_limit=_gas_limit(chain, genesis),
        block_time=mining.block_time,
        mining=not mining.no_mining,
        mixed_mining=mining.mixed_mining,
        max_transactions=mining.max_transactions,
        order=mining.order,
    )


def _fork(flags: AnvilConfig) -> ForkConfig:
    plain = structs.asdict(flags.fork)
    return ForkConfig(**{**plain, **{name: plain[name] / 1000 for name in MILLISECONDS}})


def _given_flags(chain: AnvilChain) -> frozenset[str]:
    """Return the settings that a fork does not take from its remote."""
    given = {
        "chain_id": chain.chain_id is not None,
        "hardfork": chain.hardfork != "latest",
        "gas_limit": chain.gas_limit is not None or chain.disable_block_gas_limit,
        "l1_base_fee": chain.block_base_fee_per_gas is not None,
    }
    return frozenset(name for name, is_given in given.items() if is_given)


def _gas_limit(chain: AnvilChain, genesis: Genesis) -> int:
    if chain.disable_block_gas_limit:
        return MAX_GAS_LIMIT
    return _given(chain.gas_limit, genesis.gas_limit)


def _mnemonic(accounts: AnvilAccounts) -> str:
    flags = {
        "--mnemonic": accounts.mnemonic,
        "--mnemonic-random": accounts.mnemonic_random,
        "--mnemonic-seed-unsafe": accounts.mnemonic_seed_unsafe,
    }
    given = [flag for flag, value in flags.items() if value is not None]
    if len(given) > 1:
        raise InvalidConfig(given[1], f"it cannot be combined with {given[0]}")
    try:
        if accounts.mnemonic_random is not None:
            return random_mnemonic(accounts.mnemonic_random)
        if accounts.mnemonic_seed_unsafe is not None:
            return seeded_mnemonic(accounts.mnemonic_seed_unsafe)
    except MalformedValue as error:
        raise InvalidConfig(given[0], error.problem) from error
    return accounts.mnemonic or DEVELOPMENT_MNEMONIC


def _server(server: AnvilServer) -> ServerConfig:
    default = ServerConfig()
    return ServerConfig(
        host=",".join(server.host),
        port=server.port,
        ipc=server.ipc,
        cors_origins=() if server.no_cors else server.allow_origin,
        body_limit_bytes=_LARGEST_BODY
        if server.no_request_size_limit
        else default.body_limit_bytes,
    )


def _given(value: int | None, default: int) -> int:
    return default if value is None else value
