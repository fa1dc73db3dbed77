"""Open a chain that is derived from L1, from nothing but its published genesis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from entresol.chain.base_fee import L2BaseFee
from entresol.chain.chain import Chain
from entresol.chain.fees import FeeModel
from entresol.chain.rules import FORKS, ChainRules, fee_constants_of
from entresol.errors import GenesisMismatch, UnreadableData
from entresol.rollup.batches import sealed_genesis
from entresol.rollup.publication.publication import Publication, genesis_of
from entresol.storage.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from entresol.primitives.published.genesis import PublishedGenesis
    from entresol.primitives.published.rules import BlockRules


def open_derived(path: Path | None, genesis: PublishedGenesis, data: bytes | None = None) -> Chain:
    """Open the chain in a directory, or a temporary one, that begins with a published genesis.

    A new one gets batch 0, with the published bytes `data`; without them the genesis is compressed here. Raises
    `GenesisMismatch` if the directory has another chain, and `UnreadableData` for rules that are not known here.
    """
    store = Store.temporary() if path is None else Store.open(path)
    try:
        chain = Chain(store, rules_of(_last_rules(store, genesis)), genesis_of(genesis))
        if chain.batches.last() is None:
            _seal_genesis(chain, data)
    except BaseException:
        store.close()
        raise
    return chain


def rules_of(published: BlockRules) -> ChainRules:
    """Return the rules of a chain that has published these; raise `UnreadableData` for a fork that is not known."""
    if published.fork not in FORKS:
        raise UnreadableData("rules.fork", f"{published.fork} is not known: update entresol")
    fees = L2BaseFee(FeeModel(fee_constants_of(published)))
    rules = msgspec.structs.replace(ChainRules.layer_2(published.chain_id), fees=fees)
    return msgspec.structs.replace(rules.at(published), publishes=True)


def _last_rules(store: Store, genesis: PublishedGenesis) -> BlockRules:
    """Return the rules of the last block; those of the genesis, if there is none."""
    if store.head_number is None:
        return genesis.rules
    first, last = store.rules.at(store.first_number), store.rules.at(store.head_number)
    if first != genesis.rules or last is None:
        raise GenesisMismatch(store.path, "its rules are not those of the published genesis")
    return last


def _seal_genesis(chain: Chain, data: bytes | None) -> None:
    sealed = sealed_genesis(chain.ledger.record(chain.ledger.first), Publication(chain))
    if data is not None:
        batch = msgspec.structs.replace(sealed.batch, data_size=len(data))
        sealed = sealed._replace(batch=batch, data=data)
    chain.batches.append(*sealed)
