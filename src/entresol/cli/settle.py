"""The command `settle`: what an operator does on L1 by hand."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.errors import InvalidConfig, LayerOneMismatch
from entresol.l1.discovery import find_contracts
from entresol.l1.operator import Operator, OperatorKeys
from entresol.l1.remote_layer_one import RemoteLayerOne
from entresol.l1.tx_manager import TxManager
from entresol.l1.validators import is_validator, rejection
from entresol.node.config.secrets import step_keys
from entresol.node.genesis_config import chain_id_of
from entresol.node.settlement.chain_operators import derived_key
from entresol.node.settlement.manifest import ManifestFile
from entresol.node.settlement.remote_setup import checked_url, given_bridgehub
from entresol.node.settlement.settlement_layer import fee_limits, retry_until_reachable
from entresol.rollup.settlement.batch_revert import RevertedBatches, revert_batches
from entresol.terminal.exit_codes import SUCCEEDED

if TYPE_CHECKING:
    from entresol.l1.deployment import SettlementContracts
    from entresol.l1.layer_one import LayerOne
    from entresol.node.config.schema import NodeConfig
    from entresol.primitives.values import Address, Hash32

MAX_FAILURES: Final = 5
"""How often in a row L1 may fail before anything is signed."""


class RevertedChain(NamedTuple):
    """The chain whose batches were reverted, and which."""

    chain_id: int
    batches: RevertedBatches


async def revert_chain(config: NodeConfig, last: int) -> RevertedChain:
    """Revert the batches after `last` of the chain that a configuration names, with the key of its operator."""
    if config.l1.l1_url is None:
        raise InvalidConfig("--l1-url", "settle needs the URL of the L1")
    secret = step_keys(config.l1)[0]
    if secret is None:
        raise InvalidConfig(
            "--operator-key-file", "settle needs the key of a validator of the chain"
        )
    file = ManifestFile(config.chain)
    bridgehub = _bridgehub(config, file)
    chain_id = chain_id_of(config.chain)
    l1 = RemoteLayerOne(checked_url(config))
    try:
        l1_chain_id, contracts, key = await retry_until_reachable(
            l1, lambda: _found(l1, bridgehub, chain_id, secret, file), max_failures=MAX_FAILURES
        )
        operator = Operator(l1, key, fee_limits(config.l1), chain_id=l1_chain_id)
        reverted = await revert_batches(l1, contracts, TxManager(operator), last)
        return RevertedChain(chain_id, reverted)
    finally:
        await l1.close()


async def _found(
    l1: LayerOne, bridgehub: Address, chain_id: int, secret: Hash32, file: ManifestFile
) -> tuple[int, SettlementContracts, Hash32]:
    """Return the id of L1, the contracts of the chain there, and the key that settles it."""
    l1_chain_id = await l1.chain_id()
    contracts = await find_contracts(l1, bridgehub, chain_id)
    manifest = file.manifest
    if manifest is not None and (manifest.l1_chain_id, manifest.contracts.chain) != (
        l1_chain_id,
        contracts.chain,
    ):
        raise LayerOneMismatch(
            f"the chain in {file.path} settles on chain {manifest.l1_chain_id} by "
            f"{manifest.contracts.chain.checksummed()}; on {l1.name}, chain {l1_chain_id}, it is "
            f"{contracts.chain.checksummed()}"
        )
    # Of several chains of a node all but the first have keys that follow from the one that is given.
    for key in (secret, derived_key(secret, chain_id)):
        if await is_validator(l1, contracts, OperatorKeys.of(key).deployer.address):
            return l1_chain_id, contracts, key
    raise LayerOneMismatch(await rejection(l1, contracts, OperatorKeys.of(secret).deployer))


def _bridgehub(config: NodeConfig, file: ManifestFile) -> Address:
    given = given_bridgehub(config)
    stored = None if file.manifest is None else file.manifest.contracts.bridgehub
    if given is None and stored is None:
        raise InvalidConfig(
            "--bridgehub",
            "settle needs the address of the Bridgehub on L1, or a --data-dir that knows it",
        )
    if None not in (given, stored) and given != stored:
        raise InvalidConfig("--bridgehub", f"{file.path} names another one")
    found = given or stored
    assert found is not None
    return found


def run_settle(config: NodeConfig, last: int | None) -> int:
    """Revert the batches after `last` on L1, print which, and return the exit code."""
    if last is None or last < 0:
        raise InvalidConfig("--to", "revert needs the last batch that is left, from 0 on")
    logging.basicConfig(format="%(levelname)s: %(message)s", level=logging.WARNING)
    for line in summary(asyncio.run(revert_chain(config, last))):
        print(line)
    return SUCCEEDED


def summary(reverted: RevertedChain) -> list[str]:
    """Return what was reverted, as lines."""
    found, before = reverted.batches, reverted.batches.before
    batches = _range(found.first, before.committed)
    proven = (
        f", of which {_range(found.first, before.verified)} had a proof"
        if before.verified > found.last
        else ""
    )
    return [
        f"chain {reverted.chain_id}: {batches} reverted{proven}, by {found.transaction} in L1 block {found.block}",
        f"L1 has batch {found.last:,} as the last one; a node that has later ones commits its own again",
    ]


def _range(first: int, last: int) -> str:
    return f"batch {first:,}" if first == last else f"batches {first:,} to {last:,}"
