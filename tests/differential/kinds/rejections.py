"""Transactions that no block may contain."""

from __future__ import annotations

from collections.abc import Callable

from tests.differential.kinds.creations import MAX_INITCODE
from tests.differential.transactions import CHAIN_ID, Authorization, Draft, Signed
from tests.differential.world import ACTORS, AUTHORITIES, ETHER, STORE, World


def used_nonce(world: World) -> Signed:
    """Use the first nonce again."""
    return _sign(world, Draft(to=STORE, sender=ACTORS[0]), nonce=0)


def poor_sender(world: World) -> Signed:
    """Send more than there is."""
    return _sign(world, Draft(to=STORE, value=10**7 * ETHER))


def little_gas(world: World) -> Signed:
    """Bring less gas than a transfer costs."""
    return _sign(world, Draft(to=world.address(), gas=20_999))


def below_floor(world: World) -> Signed:
    """Bring the gas that the data costs, not its floor price."""
    return _sign(world, Draft(to=world.address(), data=b"\xff" * 1000, gas=21_000 + 16_000))


def large_initcode(world: World) -> Signed:
    """Bring one byte of init code too many."""
    return _sign(world, Draft(to=None, data=bytes(MAX_INITCODE + 1), gas=10_000_000))


def above_cap(world: World) -> Signed:
    """Ask for more gas than a transaction may have."""
    return _sign(world, Draft(to=STORE, gas=2**24 + 1))


def above_block(world: World) -> Signed:
    """Ask for more gas than the block has."""
    return _sign(world, Draft(to=STORE, gas=10**15, gas_price=1, type=0))


def other_chain(world: World) -> Signed:
    """Sign for another chain."""
    return _sign(world, Draft(to=STORE, chain_id=CHAIN_ID + 1, type=2))


def large_tip(world: World) -> Signed:
    """Offer a larger tip than the whole price."""
    return _sign(world, Draft(to=STORE, gas_price=10**9, tip=2 * 10**9, type=2))


def no_authorizations(world: World) -> Signed:
    """Bring an empty list of authorizations."""
    return _sign(world, Draft(to=STORE, type=4))


def delegating_creation(world: World) -> Signed:
    """Bring an authorization for a creation."""
    authorization = Authorization(AUTHORITIES[0], STORE, 0)
    return _sign(world, Draft(to=None, authorizations=[authorization]))


def _sign(world: World, draft: Draft, nonce: int | None = None) -> Signed:
    sender = draft.sender or ACTORS[1]
    nonce = world.nonce(sender.address) if nonce is None else nonce
    draft = Draft(**{**draft.__dict__, "sender": sender})
    return world.sign("rejection", draft, nonce=nonce)


REJECTIONS: dict[Callable[[World], Signed], str] = {
    used_nonce: "london",
    poor_sender: "london",
    little_gas: "london",
    other_chain: "london",
    large_tip: "london",
    above_block: "london",
    large_initcode: "shanghai",
    below_floor: "prague",
    no_authorizations: "prague",
    above_cap: "osaka",
}
