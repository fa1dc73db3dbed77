"""The genesis of a chain whose blocks are published."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from entresol.primitives.base_token import BaseToken
from entresol.primitives.values import Address
from entresol.rollup.system_contracts import system_genesis
from tests.support.chain.varied_chain import varied_genesis
from tests.support.contracts.layer_two import L1_ASSET_ROUTER, L1_CHAIN_ID

if TYPE_CHECKING:
    from entresol.chain.genesis.genesis import Genesis

EDITED: Final = Address(b"\xb2" * 20)
STRANGER: Final = Address(b"\xb3" * 20)
"""Somebody who is impersonated."""


def publishing_genesis() -> Genesis:
    """Return the genesis of the chain: contracts of every ending, and the system contracts."""
    genesis = varied_genesis(270)
    system = system_genesis(
        l1_chain_id=L1_CHAIN_ID,
        l1_asset_router=L1_ASSET_ROUTER,
        base_token=BaseToken(),
        l1_takes_l2_tokens=True,
    )
    return msgspec.structs.replace(genesis, alloc={**genesis.alloc, **system})
