"""Join a cluster: take genesis, settings and contracts from its database, and open the chain."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from entresol.chain.genesis.genesis import Genesis
from entresol.chain.genesis.stored_genesis import ExpectedGenesis, identity
from entresol.errors import GenesisMismatch, InvalidConfig, LayerOneFailed
from entresol.features.cluster.postgres import tables
from entresol.features.cluster.postgres.connection import FLAG, ClusterAddress, ClusterDatabase
from entresol.features.cluster.postgres.tables import ClusterChain, read_chain
from entresol.features.cluster.settings import ClusterConfig
from entresol.l1.remote_layer_one import RemoteLayerOne
from entresol.l1.urls import is_http_url
from entresol.node.config.schema import SETTINGS, NodeConfig
from entresol.node.config.secrets import operator_keys
from entresol.node.layer_two_configs import layer_two_configs
from entresol.node.opening.chain_parts import closed_on_failure
from entresol.node.opening.development_keys import OPERATOR
from entresol.node.opening.layer_two import open_with_genesis
from entresol.node.settlement.manifest import parse_manifest
from entresol.node.settlement.remote_setup import checked_url
from entresol.node.settlement.remote_tokens import check_flags
from entresol.node.settlement.settlement_layer import SettlementLayer, ether_price_watcher
from entresol.rollup.batches import seal_genesis
from entresol.storage.tables import START

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.chain.fees import FeeModel
    from entresol.rollup.l1_prices import EtherPriceWatcher

log = logging.getLogger(__name__)

COMMAND_SECONDS: Final = 20.0
"""How long a statement of a command, or of a start, may take: it holds no lease that could expire meanwhile."""

SHARED: Final = {
    "chain": (
        "hardfork",
        "gas_limit",
        "gas_price",
        "block_time",
        "mixed_mining",
        "max_transactions",
        "fee_recipient",
        "order",
    ),
    "evm": ("code_size_limit", "disable_code_size_limit", "enable_tx_gas_limit"),
    "settlement": ("settle", "settle_interval", "batch_blocks", "data_availability", "production"),
    "l1": ("l1_confirmations", "l1_finality"),
}
"""The settings that `entresol cluster init` takes for all nodes: what they execute and produce depends on them."""

_OF_OTHERS: Final = ("state", "load_state", "dump_state", "relay", "finalize_withdrawals")
"""Settings of features that a node of a cluster has not."""


class Joined(NamedTuple):
    """A chain that was opened to follow a cluster's."""

    config: NodeConfig
    database: ClusterDatabase
    chain: Chain
    fees: FeeModel
    settlement_layer: SettlementLayer
    genesis: bytes
    """The genesis that all nodes have in common, as geth's JSON."""
    ether_price: EtherPriceWatcher | None = None
    """The watcher of the price of ether in the base token; None if gas is paid in ether."""


def open_database(
    config: NodeConfig, timeout_seconds: float | None = COMMAND_SECONDS
) -> ClusterDatabase:
    """Return the database that `--cluster` names; without a timeout, that of a node that may hold the lease."""
    settings = config.of(ClusterConfig)
    if settings.cluster is None:
        raise InvalidConfig(FLAG, "this command needs the URL of the cluster's database")
    address = ClusterAddress(settings.cluster)
    return ClusterDatabase(address, settings.lease_seconds, timeout_seconds)


async def join(config: NodeConfig) -> Joined:
    """Open the chain of a cluster; errors name the flag that has to change."""
    _check_flags(config)
    reading = open_database(config)
    check_l1_url(config)
    async with reading.session() as connection:
        await tables.check(connection)
        row = await read_chain(connection)
    config = with_shared(config, row.settings)
    check_flags(config, parse_manifest(row.settlement).base_token, "in this cluster")
    database = open_database(config, None)
    chain, fees = _open(config, row)
    async with contextlib.AsyncExitStack() as cleanup:
        cleanup.callback(chain.close)
        layer = _settlement_layer(config, row)
        cleanup.push_async_callback(layer.l1.close)
        await _check_l1(layer)
        ether_price = ether_price_watcher(layer, fees, config.l1)
        if ether_price is not None:
            await ether_price.refresh()
        cleanup.pop_all()
    return Joined(config, database, chain, fees, layer, row.genesis, ether_price)


def check_l1_url(config: NodeConfig) -> None:
    """Reject a cluster without a remote L1."""
    if config.l1.l1_url is None or not config.l1.l1:
        raise InvalidConfig(
            "--l1-url", f"{FLAG} needs it: a cluster settles on an L1 that all its nodes reach"
        )


def shared_settings(config: NodeConfig) -> bytes:
    """Return the settings that all nodes have in common, as JSON."""
    shared = {
        section: {name: getattr(getattr(config, section), name) for name in names}
        for section, names in SHARED.items()
    }
    return msgspec.json.encode(shared)


def with_shared(config: NodeConfig, settings: bytes) -> NodeConfig:
    """Return a configuration with the settings that all nodes have in common."""
    shared: dict[str, Any] = {}
    for section, values in msgspec.json.decode(settings).items():
        own, known = getattr(config, section), SHARED.get(section, ())
        given = {name: value for name, value in values.items() if name in known}
        shared[section] = msgspec.convert(msgspec.to_builtins(own) | given, type(own))
    return msgspec.structs.replace(config, **shared)


def _open(config: NodeConfig, row: ClusterChain) -> tuple[Chain, FeeModel]:
    genesis = Genesis.parse(row.genesis)
    assert identity(genesis) == row.identity
    # Log and position restore what a power cut undoes.
    try:
        expected, token = ExpectedGenesis(genesis), parse_manifest(row.settlement).base_token
        chain, fees = open_with_genesis(config, expected, is_synced=False, base_token=token)
    except GenesisMismatch:
        raise _other_chain(config) from None
    with closed_on_failure(chain):
        if chain.number > chain.ledger.first and chain.ledger.store.position.get() == START:
            raise _other_chain(config)
        seal_genesis(chain)
    return chain, fees


def _other_chain(config: NodeConfig) -> InvalidConfig:
    path = config.chain.data_dir
    return InvalidConfig(
        "--data-dir", f"the chain in {path} is not of this cluster: choose another directory"
    )


def _settlement_layer(config: NodeConfig, row: ClusterChain) -> SettlementLayer:
    manifest = parse_manifest(row.settlement)
    return SettlementLayer(
        l1=RemoteLayerOne(checked_url(config)),
        l1_chain_id=row.l1_chain_id,
        contracts=manifest.contracts,
        operator_keys=operator_keys(config.l1, OPERATOR.secret),
        deployment_block=manifest.deployment_block or 0,
        base_token=manifest.base_token,
    )


def _is_set(config: NodeConfig, name: str) -> bool:
    """Return whether a setting of a feature is not its default; one of a feature that is not there never is."""
    for setting in SETTINGS.all:
        if setting.name == name:
            section = config.of(SETTINGS.sections[setting.section].kind)
            return bool(getattr(section, setting.field) != setting.default)
    return False


def _check_flags(config: NodeConfig) -> None:
    rejected = {
        "--dev-methods": config.api.dev_methods,
        "--expose-unlocked-accounts": config.api.expose_unlocked_accounts,
        "--auto-impersonate": config.api.auto_impersonate,
        **{f"--{name.replace('_', '-')}": _is_set(config, name) for name in _OF_OTHERS},
        "--no-mining": not config.chain.mining,
    }
    for flag, is_set in rejected.items():
        if is_set:
            raise InvalidConfig(flag, "this cannot be combined with --cluster")
    # It rejects several chains, and tables.
    layer_two_configs(config)
    url = config.of(ClusterConfig).advertise_url
    if url is not None and not is_http_url(url):
        raise InvalidConfig(
            "--advertise-url", f"{url!r} is not a URL that begins with http:// or https://"
        )


async def _check_l1(layer: SettlementLayer) -> None:
    """Reject another L1; one that cannot be reached now is checked by what uses it."""
    try:
        found = await layer.l1.chain_id()
    except LayerOneFailed as error:
        log.warning("%s", error)
        return
    if found != layer.l1_chain_id:
        raise InvalidConfig(
            "--l1-url",
            f"its chain id is {found}, but the cluster settles on chain {layer.l1_chain_id}",
        )
