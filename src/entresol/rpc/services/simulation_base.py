"""The block of a chain that a simulation builds on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.chain.fees import BlobFees
from entresol.execution.simulation import SimulationBase
from entresol.primitives.headers import EMPTY_TRIE

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.rpc.services.past.open_past import PastEnv


def simulation_base(chain: Chain, number: int) -> SimulationBase:
    """Return a block with what its chain gives to those after it."""
    rules, header = chain.rules, chain.blocks.header(number)
    return SimulationBase(
        header=header,
        state=chain.state_after(number),
        rules=rules.evm_rules(),
        state_root=chain.state_trie.root(header.state_root),
        trie=chain.state_trie.native,
        next_base_fee=rules.fees.next,
        fork_fields=chain.ledger.blob_fees.fork_fields if rules.has_fork_fields else None,
    )


def past_simulation_base(chain: Chain, past: PastEnv) -> SimulationBase:
    """Return a block of the chain below a fork; roots are of what the simulation changes, as those of the fork are."""
    rules = chain.rules
    blobs = BlobFees(past.env.rules, has_fork_fields=rules.has_fork_fields)
    return SimulationBase(
        header=past.header,
        state=past.env.state,
        rules=past.env.rules,
        state_root=chain.state_trie.root(EMPTY_TRIE),
        trie=chain.state_trie.native,
        next_base_fee=rules.fees.next,
        fork_fields=blobs.fork_fields if rules.has_fork_fields else None,
    )
