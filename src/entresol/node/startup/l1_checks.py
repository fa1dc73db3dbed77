"""Check before a chain is served that L1 agrees with it: on batches, deposits, and on the gas of a request."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from entresol.counted import batches, counted
from entresol.errors import LayerOneMismatch
from entresol.l1.availability.chain_finder import read_settings
from entresol.l1.contracts import ZkChain
from entresol.node.settlement.settlement_layer import SettlementLayer, retry_until_reachable
from entresol.rollup.batches import stored_info_of
from entresol.rollup.interop.root_follower import ImportedRoots

if TYPE_CHECKING:
    from entresol.chain.chain import Chain

log = logging.getLogger(__name__)

_RESTORE: Final = "Restore both from one copy, or give a new directory"


async def check_gas_limit(chain: Chain, settlement_layer: SettlementLayer) -> None:
    """Raise `LayerOneMismatch` if L1 accepts requests with more gas than a block has.

    If it accepts only less, that is logged: deposits are limited, but nothing breaks.
    """
    l1, limit = settlement_layer.l1, chain.rules.gas_limit
    contract = ZkChain(l1, settlement_layer.contracts.chain)
    accepted = await retry_until_reachable(l1, contract.priority_tx_max_gas)
    if accepted > limit:
        raise LayerOneMismatch(
            f"{l1.name} accepts requests of up to {accepted} gas, but a block has {limit}: start with "
            f"--gas-limit {accepted}, or let the admin of {contract.address.checksummed()} call "
            f"setPriorityTxMaxGasLimit({limit})"
        )
    if accepted < limit:
        log.warning("%s accepts requests of up to %d gas, a block has %d", l1.name, accepted, limit)


async def check_availability(chain: Chain, settlement_layer: SettlementLayer) -> None:
    """Raise `LayerOneMismatch` if the contract on L1 was created for a chain that publishes otherwise, or for others."""
    l1, address = settlement_layer.l1, settlement_layer.contracts.chain
    found = await retry_until_reachable(l1, lambda: read_settings(l1, address))
    rules = chain.rules
    if (found.publishes, found.is_development) == (rules.publishes, rules.is_development):
        return
    flags = f"--data-availability {'calldata' if found.publishes else 'none'}"
    if not found.is_development:
        flags = "--production"
    raise LayerOneMismatch(
        f"the contract of chain {rules.chain_id} on {l1.name} was created with {flags}, and {chain.blocks.path} was not: "
        "start with the directory of that chain, or rebuild it by entresol derive"
    )


async def check_batches(chain: Chain, settlement_layer: SettlementLayer) -> None:
    """Raise `LayerOneMismatch` if L1 has more batches: blocks on top of what is left could never settle.

    A batch is stored durably before it is committed. If it is missing, the end of the store is lost.
    """
    l1, chain_id = settlement_layer.l1, chain.rules.chain_id
    contract = ZkChain(l1, settlement_layer.contracts.chain)
    committed = (await retry_until_reachable(l1, contract.totals)).committed
    last = chain.batches.last()
    sealed = 0 if last is None else last.number
    alarm = chain.batches.derivation.alarm
    if committed > sealed and alarm is not None:
        raise LayerOneMismatch(
            f"{l1.name} has {batches(committed)} of chain {chain_id}, but {chain.blocks.path} was derived up to batch "
            f"{sealed}: {alarm}. The operator reverts it (entresol settle revert --to {sealed}), or it is accepted "
            f"(entresol derive --accept-from {sealed + 1})"
        )
    if committed > sealed:
        copy = ", derive it from L1 (entresol derive)" if chain.rules.publishes else ""
        raise LayerOneMismatch(
            f"{l1.name} has {batches(committed)} of chain {chain_id}, but {chain.blocks.path} has {sealed} "
            f"and ends at block {chain.number}: its end is lost, or it is an old or another copy. Restore a "
            f"copy with batch {committed}{copy}, or start a new chain: an empty --data-dir, and with --l1-url also "
            "contracts of its own (--deploy-l1)"
        )


async def check_agreement(chain: Chain, settlement_layer: SettlementLayer) -> None:
    """Raise `LayerOneMismatch` if the development L1 has other batches of a chain, or fewer deposits than it.

    A block of that L1 is durable before anything reads it, so it is never behind the chain, unless the end of its store
    is lost; a remote one may be, for a while, by a reorg or a node that lags.
    """
    l1, chain_id, where = settlement_layer.l1, chain.rules.chain_id, chain.blocks.path
    contract = ZkChain(l1, settlement_layer.contracts.chain)
    sent, executed = await contract.total_priority_transactions(), chain.blocks.next_priority_id()
    if executed > sent:
        raise LayerOneMismatch(
            f"chain {chain_id} is ahead of its L1: {where} has {counted(executed, 'transaction')} from L1 and ends at block "
            f"{chain.number}, but L1 has sent {sent} and ends at block {await l1.block_number()}. {_RESTORE}"
        )
    await _check_roots(chain, settlement_layer)
    committed = (await contract.totals()).committed
    batch = chain.batches.get(committed)
    if batch is None:
        return
    if stored_info_of(batch, chain_id).hash() != await contract.stored_batch_hash(committed):
        raise LayerOneMismatch(
            f"batch {committed} of chain {chain_id} on its L1 is not that of {where}: one of them is another "
            f"directory's. {_RESTORE}"
        )


async def _check_roots(chain: Chain, settlement_layer: SettlementLayer) -> None:
    """Raise `LayerOneMismatch` if the chain has imported a root that its L1 does not have."""
    contract = settlement_layer.message_root
    newest = ImportedRoots(chain, settlement_layer.l1_chain_id).last()
    if newest is None:
        return
    l1, number = settlement_layer.l1, newest.block_number
    if number <= (head := await l1.block_number()):
        known, _ = await contract.historical_root(number)
        if known == newest.root:
            return
    raise LayerOneMismatch(
        f"chain {chain.rules.chain_id} is ahead of its L1: {chain.blocks.path} has the root {newest.root} of L1 block "
        f"{number} and ends at block {chain.number}, but L1 does not have that root and ends at block {head}. {_RESTORE}"
    )
