"""The L2s that the genesis of an L1 has registered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.contracts import artifact
from entresol.contracts.slots import storage_of
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from entresol.chain.genesis.genesis import Genesis
    from entresol.primitives.records import BlockRecord


def registered_contract(genesis: Genesis, chain_id: int) -> Address | None:
    """Return the contract that a Bridgehub in a genesis has for an L2; None if none knows it."""
    slot = _slot(chain_id)
    words = (it.storage.get(slot) for it in genesis.alloc.values())
    return next((Address(word[-20:]) for word in words if word), None)


def registered_contract_in(record: BlockRecord, chain_id: int) -> Address | None:
    """Return the same of an L1 whose first record this is."""
    slot = _slot(chain_id)
    words = (word for change in record.changes for key, word in change.slots if key == slot)
    return next((Address(word.rjust(20, b"\0")[-20:]) for word in words), None)


def _slot(chain_id: int) -> Hash32:
    (slot,) = storage_of(artifact("Bridgehub"), {"getZKChain": {chain_id: 0}})
    return slot
