"""Distinguish public networks from those for development.

`DevelopmentVerifier` accepts proofs that prove nothing, and rejects public networks by a list of chain ids. The
contract has the only list of those: its constructor is executed in this process. Any other chain has to be known as one
for development.
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

DEVELOPMENT_CHAINS: Final = frozenset({9, 260, 270, 271, 1337, 31337, 31338, 3151908})
"""The ids of local chains: of the ZK Stack (9, 260, 270, 271), of geth and Ganache (1337), of anvil and Hardhat (31337,
and 31338 for a second one), of Kurtosis (3151908)."""


@cache
def is_public_network(chain_id: int) -> bool:
    """Return whether the contracts cannot be deployed on a chain, because it is a public network."""
    if chain_id > _MAX_CHAIN_ID:
        return False
    code = artifact("DevelopmentVerifier").bytecode
    result = run_unchecked(empty_overlay(), Rules(chain_id), Address.zero(), None, code)
    return result.status != "success"


def development_problem(chain_id: int, *, is_development: bool) -> str | None:
    """Return why contracts and money for development are not for an L1; None if they are.

    An id that nobody knows may be that of a public network which is younger than this list, so an L1 is only taken for
    a development chain by an id that developers use, or because its user says so.
    """
    if is_public_network(chain_id):
        return (
            f"{chain_id} is the chain id of a public network, and these contracts accept proofs that prove "
            "nothing: an operator could take what others deposit there; use an L1 of your own, and give a "
            "fork of a public network another chain id"
        )
    if is_development or chain_id in DEVELOPMENT_CHAINS:
        return None
    return (
        f"{chain_id} is not known as the chain id of a development chain, and these contracts accept proofs that "
        "prove nothing: if that L1 is for development and nobody else uses it, say so by --l1-development"
    )
