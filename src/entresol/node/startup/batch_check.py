"""Check before a chain is served that it has every batch that L1 has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.errors import LayerOneMismatch
from entresol.l1.contracts import ZkChain
from entresol.node.settlement.settlement_layer import retry_until_reachable

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.node.settlement.settlement_layer import SettlementLayer


async def check_batches(chain: Chain, settlement_layer: SettlementLayer) -> None:
    """Raise `LayerOneMismatch` if L1 has more batches: blocks on top of what is left could never settle.

    A batch is stored durably before it is committed. If it is missing, the end of the store is lost.
    """
    l1, chain_id = settlement_layer.l1, chain.rules.chain_id
    contract = ZkChain(l1, settlement_layer.contracts.chain)
    committed = (await retry_until_reachable(l1, contract.totals)).committed
    last = chain.batches.last()
    sealed = 0 if last is None else last.number
    if committed > sealed:
        raise LayerOneMismatch(
            f"{l1.name} has {committed} batches of chain {chain_id}, but {chain.blocks.path} has {sealed} "
            f"and ends at block {chain.number}: its end is lost, or it is an old or another copy. Restore a "
            f"copy with batch {committed}, or start a new chain: an empty --data-dir, and with --l1-url also "
            "contracts of its own (--deploy-l1)"
        )
