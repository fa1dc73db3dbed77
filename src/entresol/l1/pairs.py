"""Tell chains of each other, so that bundles can be sent from one to the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from entresol.errors import LayerOneMismatch
from entresol.l1.contracts import read_contract
from entresol.l1.deployment import send_step
from entresol.l1.deployment_steps import pair_registration

if TYPE_CHECKING:
    from collections.abc import Iterable

    from entresol.l1.deployment import SettlementContracts
    from entresol.l1.layer_one import LayerOne
    from entresol.l1.operator import Operator
    from entresol.primitives.values import Address

Pair: TypeAlias = tuple[int, int]
"""A chain, and another one that is told of it."""


async def register_pairs(
    l1: LayerOne, sender: Operator, contracts: SettlementContracts, pairs: Iterable[Pair]
) -> None:
    """Tell chains of others on L1; anyone may, each once, so it can be interrupted and run again."""
    registrar = contracts.chain_registration_sender
    for pair in pairs:
        if await is_registered(l1, registrar, pair):
            continue
        step = pair_registration(registrar, *pair)
        try:
            await send_step(l1, sender, step, await l1.nonce(sender.address))
        except LayerOneMismatch:
            # Somebody else may have done it meanwhile.
            if not await is_registered(l1, registrar, pair):
                raise


async def is_registered(l1: LayerOne, registrar: Address, pair: Pair) -> bool:
    """Return whether L1 has told a chain of another."""
    signature = "isRegistered(uint256,uint256)"
    return bool(await read_contract(l1, registrar, signature, "bool", *pair))
