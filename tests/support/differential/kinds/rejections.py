"""Transactions that no block may contain."""

from __future__ import annotations

from dataclasses import replace

from tests.support.differential.kinds.creations import MAX_INITCODE
from tests.support.differential.transactions import CHAIN_ID, Authorization, Draft, Signed
from tests.support.differential.world import ACTORS, AUTHORITIES, ETHER, STORE, World

_AUTHORIZATION = Authorization(AUTHORITIES[0], STORE, 0)

DRAFTS: dict[str, tuple[str, Draft]] = {
    "more value than there is": ("london", Draft(to=STORE, value=10**7 * ETHER)),
    "less gas than a transfer costs": ("london", Draft(to=STORE, gas=20_999)),
    "signed for another chain": ("london", Draft(to=STORE, chain_id=CHAIN_ID + 1, type=2)),
    "a tip above the price": ("london", Draft(to=STORE, gas_price=2, tip=3, type=2)),
    "more gas than the block": ("london", Draft(to=STORE, gas=10**13, type=0)),
    "a byte too much of init code": (
        "shanghai",
        Draft(to=None, data=bytes(MAX_INITCODE + 1), gas=10**7),
    ),
    "less than the floor price of data": (
        "prague",
        Draft(to=STORE, data=b"\xff" * 1000, gas=21_000 + 16_000 + 1_000),
    ),
    "a creation with authorizations": ("prague", Draft(to=None, authorizations=[_AUTHORIZATION])),
    "more gas than a transaction may have": ("osaka", Draft(to=STORE, gas=2**24 + 1)),
}


def rejections(world: World, spent: Signed) -> list[Signed]:
    """Write one of each, and one with the nonce that `spent` used."""
    known = [(name, draft) for name, (fork, draft) in DRAFTS.items() if world.since(fork)]
    drafts = [(name, replace(draft, sender=ACTORS[1])) for name, draft in known]
    nonce = world.nonce(ACTORS[1].address)
    again = replace(spent.draft, value=spent.draft.value + 1, sender=spent.sender)
    return [
        world.sign("a nonce that was used", again, spent.nonce),
        *(world.sign(name, draft, nonce) for name, draft in drafts),
    ]
