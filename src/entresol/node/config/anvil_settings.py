"""The settings of a node that anvil's flags stand for: an L1 alone, which is the node's one chain."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import structs

from entresol.chain.genesis.accounts import DEVELOPMENT_MNEMONIC
from entresol.chain.genesis.genesis import Genesis
from entresol.chain.genesis.mnemonics import random_mnemonic, seeded_mnemonic
from entresol.chain.rules import SUGGESTED_TIP
from entresol.errors import InvalidConfig, MalformedValue
from entresol.execution.evm_env import MAX_GAS_LIMIT
from entresol.node.config.api import ApiConfig
from entresol.node.config.evm import EvmConfig, Fork, L1BlockConfig
from entresol.node.config.forking.anvil_section import MILLISECONDS
from entresol.node.config.forking.section import ForkConfig
from entresol.node.config.schema import ChainConfig, L1Config, NodeConfig
from entresol.node.config.state_files import StateFilesConfig
from entresol.server.config import ServerConfig
from entresol.terminal.config import LogConfig

if TYPE_CHECKING:
    from entresol.node.config.anvil import AnvilAccounts, AnvilChain, AnvilConfig, AnvilServer

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
