"""Distinguish public networks from those for development.

`DevelopmentVerifier` accepts proofs that prove nothing, and rejects public networks by a list of chain ids. The
contract has the only list: its constructor is executed in this process.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from entresol._native import Rules
from entresol.contracts import artifact
from entresol.l1.empty_state import empty_overlay, run_unchecked
from entresol.primitives.values import Address

_MAX_CHAIN_ID: Final = 2**64 - 1
"""Larger ids are not supported by the engine, and no public network has one."""


@cache
def is_public_network(chain_id: int) -> bool:
    """Return whether the contracts cannot be deployed on a chain, because it is a public network."""
    if chain_id > _MAX_CHAIN_ID:
        return False
    code = artifact("DevelopmentVerifier").bytecode
    result = run_unchecked(empty_overlay(), Rules(chain_id), Address.zero(), None, code)
    return result.status != "success"


def public_network_problem(chain_id: int) -> str:
    """Return why the contracts are not for this public network."""
    return (
        f"{chain_id} is the chain id of a public network, and these contracts accept proofs that prove "
        "nothing: an operator could take what others deposit there; use an L1 of your own, and give a "
        "fork of a public network another chain id"
    )
