"""The settlement layer of an L2: an L1, the contracts of this chain on it, and the operator's keys."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from entresol.errors import (
    InvalidConfig,
    LayerOneMalformed,
    LayerOneMismatch,
    LayerOneRejected,
    LayerOneUnreachable,
)
from entresol.l1.contracts import ZkChain
from entresol.l1.deployment import SettlementContracts, addresses_of, contracts_of_chain
from entresol.l1.embedded_genesis import development_problem
from entresol.l1.fee_limits import GWEI, FeeLimits
from entresol.node.layer_two_configs import layer_two_configs
from entresol.node.opening.development_keys import OPERATOR
from entresol.node.settlement.manifest import ManifestFile, RecordedToken, SettlementManifest
from entresol.primitives.base_token import ETHER_TOKEN, BaseToken
from entresol.rollup.batches import genesis_batch_hash
from entresol.rollup.interop.root_reader import MessageRootContract
from entresol.rollup.l1_prices import EtherPriceWatcher

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.chain.fees import FeeModel
    from entresol.l1.layer_one import LayerOne
    from entresol.l1.operator import OperatorKeys
    from entresol.node.config.schema import L1Config, NodeConfig

log = logging.getLogger(__name__)

T = TypeVar("T")

RETRY_SECONDS: Final = 1.0
MAX_REJECTIONS: Final = 5
"""How often L1 may respond with an error before a start fails."""
REMOTE_CONFIRMATIONS: Final = 12
"""More than the longest reorg that Ethereum had under proof of stake, which was of 7 blocks."""


class SettlementLayer(msgspec.Struct, frozen=True, kw_only=True):
    """An L1, the contracts of this chain on it, and the keys of the operator that settles there."""

    l1: LayerOne
    l1_chain_id: int
    contracts: SettlementContracts
    operator_keys: OperatorKeys
    deployment_block: int = 0
    """An L1 block before which the contracts did not exist."""
    base_token: BaseToken = ETHER_TOKEN
    """The base token, which pays for gas on the L2, at the price when it was created."""

    @property
    def contract(self) -> ZkChain:
        """The contract of this chain."""
        return ZkChain(self.l1, self.contracts.chain, self.deployment_block)

    @property
    def message_root(self) -> MessageRootContract:
        """The contract with the roots of all chains."""
        root, hub = self.contracts.message_root, self.contracts.bridgehub
        return MessageRootContract(self.l1, root, hub, self.deployment_block)


def fee_limits(config: L1Config) -> FeeLimits:
    """Return the limits of what the operator offers for gas on L1."""
    return FeeLimits(
        max_fee=int(config.l1_max_fee_gwei * GWEI), multiplier=config.l1_fee_multiplier
    )


def required_confirmations(config: L1Config) -> int:
    """Return how many L1 blocks must follow one before it counts."""
    if config.l1_confirmations is not None:
        return config.l1_confirmations
    counts = config.l1_url is not None and config.l1_finality == "latest"
    return REMOTE_CONFIRMATIONS if counts else 0


def ether_price_watcher(
    layer: SettlementLayer,
    fees: FeeModel,
    config: L1Config,
    on_repriced: Callable[[], object] = lambda: None,
) -> EtherPriceWatcher | None:
    """Return what follows the price of ether in the base token of this chain; None if gas is paid in ether."""
    if fees.is_in_ether:
        return None
    return EtherPriceWatcher(
        *(layer.contract, fees),
        confirmations=required_confirmations(config),
        finality=config.l1_finality,
        on_repriced=on_repriced,
    )


def development_contracts(index: int = 0) -> SettlementContracts:
    """Return the addresses of the contracts of one of the L2s, which are the same on every development L1."""
    return contracts_of_chain(addresses_of(OPERATOR.address), OPERATOR.address, index)


def configured_contracts(
    config: NodeConfig, index: int = 0
) -> tuple[int, SettlementContracts] | tuple[None, None]:
    """Return L1's chain id and the contracts of an L2 there, from configuration and data directory alone."""
    if not config.l1.l1:
        return None, None
    manifest = ManifestFile(config.chain).manifest
    if manifest is None:
        return config.l1.l1_chain_id, development_contracts(index)
    return manifest.l1_chain_id, manifest.contracts


def check_development_l1(config: NodeConfig, *, is_copy: bool = False) -> None:
    """Reject flags and data directories that need a remote L1, if there is no `--l1-url`.

    An L1 that `is_copy` of a chain may have the id of a public network: nobody else can reach it.
    """
    for chain in (config, *layer_two_configs(config)):
        manifest = ManifestFile(chain.chain).manifest
        if manifest is not None:
            raise InvalidConfig(
                "--l1-url",
                f"the chain in {chain.chain.data_dir} settles on chain {manifest.l1_chain_id}: "
                "give the URL of that L1",
            )
        flags = {
            "--bridgehub": chain.l1.bridgehub is not None,
            "--bridgehub-owner-key": chain.l1.bridgehub_owner_key is not None,
            "--deploy-l1": chain.l1.deploy_l1,
            "--operator-key": chain.l1.operator_key is not None,
            "--prove-key": chain.l1.prove_key is not None,
            "--execute-key": chain.l1.execute_key is not None,
        }
        for flag, is_set in flags.items():
            if is_set:
                raise InvalidConfig(flag, "this needs the L1's --l1-url")
    if is_copy:
        return
    # An older chain keeps the contracts that it has.
    problem = development_problem(
        config.l1.l1_chain_id, is_development=config.settlement.l1_development
    )
    if problem is not None and not ManifestFile(config.chain).has_development_l1:
        raise InvalidConfig("--l1-chain-id", problem)


async def verify_registration(
    config: NodeConfig, settlement_layer: SettlementLayer, chain: Chain
) -> None:
    """Check that L1 registered `chain` with the same genesis, and record it in the manifest."""
    contract = ZkChain(settlement_layer.l1, settlement_layer.contracts.chain)
    registered = await retry_until_reachable(
        settlement_layer.l1, lambda: contract.stored_batch_hash(0)
    )
    if registered != genesis_batch_hash(chain):
        raise LayerOneMismatch(
            f"the genesis of chain {chain.rules.chain_id} differs from the one registered on "
            f"{settlement_layer.l1.name}: use the same genesis, accounts and balances"
        )
    file = ManifestFile(config.chain)
    manifest = file.manifest or SettlementManifest(
        l1_chain_id=settlement_layer.l1_chain_id,
        contracts=settlement_layer.contracts,
        paid_in=RecordedToken.of(settlement_layer.base_token),
    )
    block = settlement_layer.deployment_block
    file.write(msgspec.structs.replace(manifest, deployment_block=block))


async def retry_until_reachable(
    l1: LayerOne,
    attempt: Callable[[], Awaitable[T]],
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    *,
    max_failures: int | None = None,
) -> T:
    """Return the result of `attempt`, repeated until L1 can be reached, or until it has failed so often in a row.

    An error of L1 may come from one of several nodes behind its URL, so a few of them are retried too.
    """
    problem, rejections, failures = "", 0, 0
    while True:
        try:
            result = await attempt()
        except (LayerOneUnreachable, LayerOneRejected, LayerOneMalformed) as error:
            rejections += not isinstance(error, LayerOneUnreachable)
            failures += 1
            if rejections > MAX_REJECTIONS or failures == max_failures:
                raise
            if str(error) != problem:
                log.warning("%s; retrying", error)
            problem = str(error)
            await sleep(RETRY_SECONDS)
        else:
            if problem:
                log.info("L1 at %s is reachable", l1.name)
            return result
