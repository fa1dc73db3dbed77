"""Accounts that delegate to the code of others (EIP-7702)."""

from __future__ import annotations

from tests.support.differential.kinds.calls import forward
from tests.support.differential.transactions import CHAIN_ID, Actor, Authorization, Draft
from tests.support.differential.world import (
    ACTORS,
    AUTHORITIES,
    BOMBS,
    FORWARD,
    LOAD,
    STORE,
    TOKEN,
    TRANSIENT,
    World,
)
from tests.support.hex_data import word

PAYLOAD = word(1) + word(5)


def valid(world: World) -> Draft:
    """Delegate, and call the account in the same transaction."""
    authority = _somebody(world)
    authorization = _authorize(world, authority, _delegate(world))
    return Draft(to=authority.address, data=PAYLOAD, authorizations=[authorization])


def for_any_chain(world: World) -> Draft:
    """Delegate with an authorization for all chains."""
    authority = _somebody(world)
    authorization = _authorize(world, authority, STORE, chain_id=0)
    return Draft(to=STORE, data=PAYLOAD, authorizations=[authorization])


def invalid(world: World) -> Draft:
    """Sign for another chain, with another nonce, or not at all."""
    authority = _somebody(world)
    nonce = world.nonce(authority.address)
    wrong = (
        Authorization(authority, STORE, nonce, chain_id=CHAIN_ID + 1),
        Authorization(authority, STORE, nonce + 1),
        Authorization(authority, STORE, 2**64 - 1),
        Authorization(authority, STORE, nonce, spoiled=True),
    )
    return Draft(to=authority.address, data=PAYLOAD, authorizations=[world.random.choice(wrong)])


def several(world: World) -> Draft:
    """Bring several authorizations, of one account or of many, some of them wrong."""
    authorizations: list[Authorization] = []
    for _ in range(world.random.randrange(2, 5)):
        authority = world.random.choice(AUTHORITIES[:4])
        earlier = sum(given.authority == authority for given in authorizations)
        nonce = world.nonce(authority.address) + earlier + world.random.choice((0, 0, 7))
        authorizations.append(Authorization(authority, _delegate(world), nonce))
    to = authorizations[0].authority.address
    return Draft(to=to, data=PAYLOAD, authorizations=authorizations, gas=600_000)


def to_precompile(world: World) -> Draft:
    """Delegate to a precompile, which counts as empty code."""
    authority = _somebody(world)
    authorization = _authorize(world, authority, bytes(19) + b"\x02")
    return Draft(to=authority.address, data=PAYLOAD, authorizations=[authorization])


def to_delegated(world: World) -> Draft:
    """Delegate to an account that itself delegates."""
    first, second = world.random.sample(AUTHORITIES, 2)
    authorizations = [
        _authorize(world, first, second.address),
        _authorize(world, second, STORE),
    ]
    return Draft(to=first.address, data=PAYLOAD, authorizations=authorizations)


def clearing(world: World) -> Draft:
    """Take the delegation back."""
    authority = _somebody(world)
    authorization = _authorize(world, authority, bytes(20))
    return Draft(to=authority.address, data=PAYLOAD, authorizations=[authorization])


def self_sponsored(world: World) -> Draft:
    """Let the sender delegate itself."""
    sender = _sender(world)
    nonce = world.nonce(sender.address) + 1
    authorization = Authorization(sender, _delegate(world), nonce)
    return Draft(sender=sender, to=sender.address, data=PAYLOAD, authorizations=[authorization])


def new_account(world: World) -> Draft:
    """Delegate an account that nobody ever used; its code may give all its money away."""
    authority = Actor(f"newcomer {world.serial_number()}")
    authorization = _authorize(world, authority, world.random.choice((STORE, BOMBS[0])))
    value = world.random.randrange(3)
    return Draft(to=authority.address, data=PAYLOAD, value=value, authorizations=[authorization])


def call_of_delegated(world: World) -> Draft:
    """Call an account that may be delegated, directly or through the forwarder."""
    address = _somebody(world).address
    if world.random.random() < 0.5:
        return Draft(to=address, data=PAYLOAD, value=world.random.randrange(2))
    flags = world.random.randrange(4)
    return Draft(to=FORWARD, data=forward(address, PAYLOAD, flags=flags, gas=100_000))


def from_delegated(world: World) -> Draft:
    """Send from an account that may be delegated."""
    return Draft(sender=_sender(world), to=world.address(), value=1, gas=50_000)


def _somebody(world: World) -> Actor:
    return world.random.choice(AUTHORITIES)


def _sender(world: World) -> Actor:
    # Anvil's pool takes no transaction for a nonce that an authorization has yet to reach.
    idle = [actor for actor in AUTHORITIES if actor.address not in world.authorized]
    return world.random.choice(idle or ACTORS)


def _delegate(world: World) -> bytes:
    return world.random.choice((STORE, LOAD, TOKEN, TRANSIENT, world.address()))


def _authorize(
    world: World, authority: Actor, delegate: bytes, chain_id: int = CHAIN_ID
) -> Authorization:
    return Authorization(authority, delegate, world.nonce(authority.address), chain_id)


KINDS = {
    "delegation": valid,
    "delegation for any chain": for_any_chain,
    "delegation invalid": invalid,
    "delegations": several,
    "delegation to precompile": to_precompile,
    "delegation to delegated": to_delegated,
    "delegation cleared": clearing,
    "delegation self-sponsored": self_sponsored,
    "call of delegated": call_of_delegated,
    "sent by delegated": from_delegated,
}
# Not among them: `new_account`, whose price the two sides do not agree on (`test_transactions`).
SINCE = dict.fromkeys(KINDS, "prague")
