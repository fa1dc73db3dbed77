"""The flags of `entresol anvil`, which are anvil's, and the settings of a node that they stand for: an L1 alone.

Most are settings of a node with other words. Those of features are changed where they are declared, by `anvil`.
"""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct, structs

from entresol.chain.genesis.accounts import DEVELOPMENT_MNEMONIC, DEVELOPMENT_PATH
from entresol.chain.genesis.genesis import Genesis
from entresol.chain.genesis.mnemonics import random_mnemonic, seeded_mnemonic
from entresol.errors import InvalidConfig, MalformedValue
from entresol.execution.evm_env import MAX_GAS_LIMIT
from entresol.node.config.evm import Fork
from entresol.node.config.loader import Settings
from entresol.node.config.schema import SETTINGS, ChainConfig, L1Config, NodeConfig
from entresol.node.config.setting import PREFIX, AnvilGroup, Setting, settings_of
from entresol.server.config import ServerConfig


class AnvilFlags(Struct, frozen=True, kw_only=True):
    """The flags that are not settings of a node, or take other values."""

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
    hardfork: Annotated[
        Literal["latest", Fork], Meta(description="EVM fork.", extra={"short": "rules of the EVM"})
    ] = "latest"
    disable_block_gas_limit: Annotated[
        bool, Meta(description="Let a block, and so a transaction, have any gas limit.")
    ] = False
    disable_min_priority_fee: Annotated[
        bool,
        Meta(
            description="Suggest no priority fee, instead of 1 gwei.",
            extra={"aliases": ("--no-priority-fee",)},
        ),
    ] = False
    no_mining: Annotated[
        bool,
        Meta(
            description="Seal blocks only on request.",
            extra={"aliases": ("--no-mine",), "short": "seal blocks only on request"},
        ),
    ] = False
    host: Annotated[
        tuple[str, ...],
        Meta(
            title="ADDRESS",
            description="Addresses to listen on.",
            extra={"short": "address to listen on"},
        ),
    ] = ("127.0.0.1",)
    no_cors: Annotated[bool, Meta(description="Let no web page read responses.")] = False
    no_request_size_limit: Annotated[
        bool, Meta(description="Take request bodies of up to 1 GiB.")
    ] = False


_SAME: Final[Mapping[str, Any]] = {}
_BEFORE: Final[Mapping[AnvilGroup, Mapping[str, Mapping[str, Any]]]] = {
    AnvilGroup("accounts", "Development accounts, whose keys the node has."): {
        "accounts": {"description": "Accounts to fund.", "aliases": ("-a",), "default": 10},
        "balance": {"description": "Balance of each account, in ether."},
        "mnemonic": {
            "description": "BIP-39 mnemonic of the accounts.",
            "aliases": ("-m",),
            "default": None,
        },
        "mnemonic_random": _SAME,
        "mnemonic_seed_unsafe": _SAME,
        "derivation_path": {
            "description": "BIP-32 path that the accounts are below.",
            "default": f"{DEVELOPMENT_PATH}/",
        },
    },
    AnvilGroup("chain", "The chain: genesis, fees, limits of the EVM."): {
        "chain_id": {
            "description": "Chain id; by default that of --init, or 31337.",
            "default": None,
        },
        "hardfork": _SAME,
        "init": {"description": "geth-style genesis file to start from."},
        "timestamp": {"description": "Unix time of the genesis; by default now."},
        "number": {"description": "Number of the genesis block; by default that of --init, or 0."},
        "gas_limit": {
            "description": "Gas limit of a block; by default that of --init, or 30000000.",
            "default": None,
        },
        "disable_block_gas_limit": _SAME,
        "l1_base_fee": {
            "name": "block_base_fee_per_gas",
            "description": "Base fee of the genesis; by default that of --init, or 1 gwei.",
            "metavar": "WEI",
            "aliases": ("--base-fee",),
            "default": None,
        },
        "disable_min_priority_fee": _SAME,
        "enable_tx_gas_limit": {
            "description": "Reject transactions with a gas limit above 16777216 from Osaka on (EIP-7825)."
        },
        "code_size_limit": {"description": "Maximum size of deployed code."},
        "disable_code_size_limit": {"description": "Deploy code and init code of any size."},
        "disable_default_create2_deployer": {
            "description": "Start without the CREATE2 deployer at 0x4e59…956c."
        },
        "l1_slots_in_an_epoch": {
            "name": "slots_in_an_epoch",
            "description": "Blocks that the safe block is behind the head; the finalized one twice.",
        },
    },
    AnvilGroup("mining", "When blocks are sealed, and with what."): {
        "block_time": {"aliases": ("-b", "--blockTime")},
        "no_mining": _SAME,
        "mixed_mining": {
            "description": "Seal at --block-time, and at once when transactions are pending."
        },
        "max_transactions": {
            "description": "Maximum number of transactions in a block.",
            "default": 1_000,
        },
        "order": {"description": "Order of transactions in a block."},
        "auto_impersonate": {"description": "Send transactions of every account."},
    },
}
"""The groups before those of features: names of settings, and what is otherwise in them."""

_AFTER: Final[Mapping[AnvilGroup, Mapping[str, Mapping[str, Any]]]] = {
    AnvilGroup("server", "The server, and what the node prints."): {
        "host": _SAME,
        "port": {"aliases": ("-p",), "default": 8545},
        "ipc": {
            "description": "Unix socket to serve the same methods on.",
            "aliases": ("--ipcpath",),
            "without_value": "/tmp/anvil.ipc",  # noqa: S108
        },
        "cors_origins": {
            "name": "allow_origin",
            "description": "Origins whose web pages may read responses.",
        },
        "no_cors": _SAME,
        "no_request_size_limit": _SAME,
        "config_out": {"description": "File to write accounts, keys and fees to, as JSON."},
        "silent": {"name": "quiet", "aliases": ("-q", "--silent")},
        "json_logs": {"name": "json", "description": "Log one JSON object per line."},
    },
    AnvilGroup("log", "The settings for the log of transactions."): {
        "disable_console_log": _SAME,
        "print_traces": _SAME,
        "verbosity": {
            "description": "Log more of transactions: -v the call, -vv events, -vvv the call tree of failed ones, "
            "-vvvv that of all.",
            "counted": ("-v", "--verbosity"),
            "short": "log more of transactions; repeat it for more",
        },
    },
    AnvilGroup(
        "tools",
        "Settings for tools of Hardhat; these flags are not anvil's, and have variables (`ENTRESOL_HARDHAT_ERRORS`).",
        reads_variables=True,
    ): {"client_version": _SAME, "hardhat_errors": _SAME, "hardhat_call_failures": _SAME},
}
"""The groups after those of features."""


class AnvilConfig(NodeConfig, frozen=True, kw_only=True):
    """All flags: settings of a node, and others."""

    flags: AnvilFlags = AnvilFlags()


class AnvilSettings(Settings[AnvilConfig]):
    """The flags of `entresol anvil` as settings, with anvil's names, texts and defaults."""

    def __init__(self, node: Settings[NodeConfig]) -> None:
        """Take the settings of a node with the same features."""
        super().__init__(AnvilConfig, given="given", features=node.features)
        self._node = node

    @cached_property
    def groups(self) -> tuple[AnvilGroup, ...]:
        """The groups of the help, in order."""
        found = (getattr(section.kind, "anvil", None) for section in self.sections.values())
        return (*_BEFORE, *dict.fromkeys(group for group in found if group is not None), *_AFTER)

    @cached_property
    def all(self) -> tuple[Setting, ...]:
        """All flags, by groups."""
        known = {setting.name: setting for setting in self._node.all}
        known |= {setting.name: setting for setting in settings_of("flags", AnvilFlags)}
        found: dict[str, list[Setting]] = {group.name: [] for group in self.groups}
        for group, flags in (*_BEFORE.items(), *_AFTER.items()):
            for name, changes in flags.items():
                found[group.name].append(structs.replace(known[name], group=group.name, **changes))
        for setting in self._node.all:
            if setting.anvil is not None:
                changes = dict(setting.anvil)
                flags_of_group, before = found[changes["group"]], changes.pop("before", None)
                names = [flag.name for flag in flags_of_group]
                index = len(names) if before is None else names.index(before)
                flags_of_group.insert(index, structs.replace(setting, **changes))
        return tuple(flag for flags_of_group in found.values() for flag in flags_of_group)

    def titles(self) -> dict[str, str]:
        """Return the description of each group."""
        return {group.name: group.title for group in self.groups}

    def load(
        self,
        arguments: Mapping[str, Any],
        environment: Mapping[str, str],
        file: Path | None = None,
        *,
        defaults: Mapping[str, Any] | None = None,
    ) -> AnvilConfig:
        """Merge flags and variables; what no flag says is as in anvil."""
        of_anvil = {flag.name: flag.default for flag in self.all if flag.default is not None}
        return super().load(arguments, environment, file, defaults={**of_anvil, **(defaults or {})})


ANVIL_SETTINGS: Final = AnvilSettings(SETTINGS)


def anvil_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that count: the one that anvil reads, and those of flags that anvil does not have.

    Others are those of two layers, and do not change it.
    """
    groups = {group.name for group in ANVIL_SETTINGS.groups if group.reads_variables}
    # A variable is a node's, and has its units.
    own = {
        flag.variable for flag in ANVIL_SETTINGS.all if flag.group in groups and flag.factor == 1
    }
    found = {name: value for name, value in environment.items() if name in own}
    if "ANVIL_IP_ADDR" in environment:
        found[f"{PREFIX}HOST"] = environment["ANVIL_IP_ADDR"]
    return found


CHAIN_ID: Final = 31337
LATEST_FORK: Final[Fork] = "osaka"
_LARGEST_BODY: Final = 1 << 30


def node_config(config: AnvilConfig) -> NodeConfig:
    """Return the settings of a node that serves the chain of these flags, and no other."""
    chain, flags, blocks = config.chain, config.flags, config.l1_blocks
    # A genesis file has what no flag sets; without one this has anvil's defaults.
    empty = Genesis(chain_id=CHAIN_ID, alloc={})
    genesis = empty if chain.init is None else Genesis.load(Path(chain.init))
    if "block_base_fee_per_gas" not in config.given:
        blocks = structs.replace(blocks, l1_base_fee=genesis.base_fee)
    if flags.disable_min_priority_fee:
        blocks = structs.replace(blocks, l1_tip=0)
    return NodeConfig(
        chain=_chain(config, genesis),
        evm=config.evm,
        l1=L1Config(l1=False),
        l1_blocks=blocks,
        # Anvil serves its methods and signs wherever it listens, and its users rely on it.
        api=structs.replace(config.api, dev_methods=True, expose_unlocked_accounts=True),
        server=_server(config.server, flags),
        log=config.log,
        features=config.features,
        given=_given_flags(config),
    )


def _chain(config: AnvilConfig, genesis: Genesis) -> ChainConfig:
    chain, flags = config.chain, config.flags
    if chain.mixed_mining and chain.block_time is None:
        raise InvalidConfig("--mixed-mining", "it needs --block-time")
    if flags.no_mining and chain.block_time is not None:
        raise InvalidConfig("--no-mining", "it cannot be combined with --block-time")
    return structs.replace(
        chain,
        chain_id=chain.chain_id if "chain_id" in config.given else genesis.chain_id,
        hardfork=LATEST_FORK if flags.hardfork == "latest" else flags.hardfork,
        mnemonic=_mnemonic(config),
        gas_limit=_gas_limit(config, genesis),
        mining=not flags.no_mining,
    )


def _given_flags(config: AnvilConfig) -> frozenset[str]:
    """Return the settings that a fork does not take from its remote."""
    given = {
        "chain_id": "chain_id" in config.given,
        "hardfork": config.flags.hardfork != "latest",
        "gas_limit": "gas_limit" in config.given or config.flags.disable_block_gas_limit,
        "l1_base_fee": "block_base_fee_per_gas" in config.given,
    }
    return frozenset(name for name, is_given in given.items() if is_given)


def _gas_limit(config: AnvilConfig, genesis: Genesis) -> int:
    if config.flags.disable_block_gas_limit:
        return MAX_GAS_LIMIT
    return config.chain.gas_limit if "gas_limit" in config.given else genesis.gas_limit


def _mnemonic(config: AnvilConfig) -> str:
    names = ("mnemonic", "mnemonic_random", "mnemonic_seed_unsafe")
    given = [f"--{name.replace('_', '-')}" for name in names if name in config.given]
    if len(given) > 1:
        raise InvalidConfig(given[1], f"it cannot be combined with {given[0]}")
    flags = config.flags
    try:
        if flags.mnemonic_random is not None:
            return random_mnemonic(flags.mnemonic_random)
        if flags.mnemonic_seed_unsafe is not None:
            return seeded_mnemonic(flags.mnemonic_seed_unsafe)
    except MalformedValue as error:
        raise InvalidConfig(given[0], error.problem) from error
    return config.chain.mnemonic or DEVELOPMENT_MNEMONIC


def _server(server: ServerConfig, flags: AnvilFlags) -> ServerConfig:
    if flags.no_request_size_limit:
        server = structs.replace(server, body_limit_bytes=_LARGEST_BODY)
    return structs.replace(
        server, host=",".join(flags.host), cors_origins=() if flags.no_cors else server.cors_origins
    )
