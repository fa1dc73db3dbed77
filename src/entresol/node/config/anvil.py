"""Schema of the flags of `entresol anvil`, which are anvil's."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from entresol.chain.clock import LATEST
from entresol.chain.genesis.accounts import DEVELOPMENT_PATH
from entresol.chain.genesis.genesis import MAX_NUMBER
from entresol.chain.rules import EPOCH_SLOTS, MAX_CODE_SIZE
from entresol.node.config.api import ClientVersion, HardhatCallFailures, HardhatErrors, Sources
from entresol.node.config.evm import Fork
from entresol.node.config.forking.anvil_section import MILLISECONDS, AnvilFork
from entresol.node.config.loader import Settings
from entresol.node.config.schema import MAX_ACCOUNTS
from entresol.node.config.setting import PREFIX
from entresol.terminal.config import MAX_VERBOSITY, DisableConsoleLog, PrintTraces


class AnvilAccounts(Struct, frozen=True, kw_only=True):
    """Development accounts, whose keys the node has."""

    accounts: Annotated[
        int,
        Meta(
            ge=0,
            le=MAX_ACCOUNTS,
            description="Accounts to fund.",
            extra={"aliases": ("-a",)},
        ),
    ] = 10
    balance: Annotated[int, Meta(ge=0, description="Balance of each account, in ether.")] = 10_000
    mnemonic: Annotated[
        str | None,
        Meta(description="BIP-39 mnemonic of the accounts.", extra={"aliases": ("-m",)}),
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
        bool,
        Meta(description="Seal blocks only on request.", extra={"aliases": ("--no-mine",)}),
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
            description="Send transactions of every account.",
            extra={"aliases": ("--auto-unlock",)},
        ),
    ] = False


class AnvilStateFiles(Struct, frozen=True, kw_only=True):
    """State files."""

    state: Annotated[
        str | None,
        Meta(
            title="FILE",
            description="Load the chain from this file if there is one, and dump it there.",
        ),
    ] = None
    load_state: Annotated[
        str | None, Meta(title="FILE", description="Load the chain from this file.")
    ] = None
    dump_state: Annotated[
        str | None,
        Meta(title="FILE", description="Dump the chain to this file, at the end and at intervals."),
    ] = None
    state_interval: Annotated[
        float,
        Meta(gt=0, description="Seconds between dumps of the state.", extra={"aliases": ("-s",)}),
    ] = 60.0
    preserve_historical_states: Annotated[
        bool, Meta(description="Dump the states after all blocks.")
    ] = False


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
    """What is logged of transactions."""

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
    """What tools of Hardhat expect; these flags are not anvil's, and have variables (`ENTRESOL_HARDHAT_ERRORS`)."""

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
    state_files: AnvilStateFiles = AnvilStateFiles()
    server: AnvilServer = AnvilServer()
    log: AnvilTransactionLog = AnvilTransactionLog()
    tools: AnvilTools = AnvilTools()


ANVIL_SETTINGS: Final = Settings(AnvilConfig)


def anvil_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that count: the one that anvil reads, and those of flags that anvil does not have.

    Others are those of two layers, and do not change it.
    """
    own = {
        it.variable
        for it in ANVIL_SETTINGS.all
        if it.section == "tools" or (it.section == "fork" and it.name not in MILLISECONDS)
    }
    found = {name: value for name, value in environment.items() if name in own}
    if "ANVIL_IP_ADDR" in environment:
        found[f"{PREFIX}HOST"] = environment["ANVIL_IP_ADDR"]
    return found
