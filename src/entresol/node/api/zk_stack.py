"""The namespaces of an L2: `zks_` and `unstable_`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.node.api.adapters import l2_contracts
from entresol.rollup.batches import stored_info_of
from entresol.rpc.namespaces.books import EntresolBooks
from entresol.rpc.namespaces.edits import EntresolEdits
from entresol.rpc.namespaces.transfers import EntresolTransfers
from entresol.rpc.namespaces.zks.batches import ZksBatches
from entresol.rpc.namespaces.zks.contracts import ZksBytecode, ZksContracts
from entresol.rpc.namespaces.zks.fees import ZksFees
from entresol.rpc.namespaces.zks.merkle_proofs import ZksProofs
from entresol.rpc.namespaces.zks.protocol import ZksProtocol
from entresol.rpc.namespaces.zks.tokens import ZksTokens
from entresol.rpc.namespaces.zks.transactions import ZksTransactions
from entresol.rpc.services.batch_status import BatchStatus

if TYPE_CHECKING:
    from entresol.node.api.services import ApiServices
    from entresol.node.chain_plan import OpenChain
    from entresol.rpc.jsonrpc.method import Namespace


def zk_stack_namespaces(services: ApiServices, opened: OpenChain) -> list[Namespace]:
    """Return what serves the methods of an L2; most of them need a rollup."""
    chain, resolver, rollup = services.chain, services.resolver, opened.rollup
    assert opened.fees is not None
    namespaces: list[Namespace] = [
        ZksBytecode(chain.blocks, lambda: chain.ledger.head_hash),
        ZksFees(resolver, services.runner, opened.fees),
    ]
    if rollup is None:
        return namespaces
    limits, batch_status = services.limits, BatchStatus(chain, rollup.l1_chain_id)
    transactions = ZksTransactions(
        chain,
        batch_status,
        services.pending,
        services.rendered,
        services.submission,
        limits.answer_limit_bytes,
        threads=services.threads,
        validations=services.validations,
        pending_block=services.pending_builder.executor,
    )
    return [
        *namespaces,
        EntresolTransfers(rollup.transfers),
        EntresolEdits(resolver, chain.blocks),
        EntresolBooks(chain.batches),
        ZksBatches(
            chain,
            batch_status,
            opened.fees,
            lambda batch: stored_info_of(batch, chain.rules.chain_id).commitment,
        ),
        ZksProofs(
            *(chain.blocks, chain.batches, chain.state_trie),
            *(rollup.prover, rollup.interop_prover),
        ),
        ZksProtocol(chain.blocks, chain.genesis),
        ZksContracts(rollup.l1_chain_id, rollup.contracts, l2_contracts(chain.genesis)),
        ZksTokens(resolver),
        transactions,
    ]
