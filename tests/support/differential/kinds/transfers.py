"""Transfers of every sort."""

from __future__ import annotations

from tests.support.differential.transactions import Draft
from tests.support.differential.world import ACTORS, COINBASE, PAUPER_BALANCE, STORE, World

TRANSFER_GAS = 21_000


def to_known(world: World) -> Draft:
    """Send to an existing account."""
    value = world.random.randrange(10**18)
    return Draft(to=world.random.choice(ACTORS).address, value=value, gas=TRANSFER_GAS)


def to_new(world: World) -> Draft:
    """Send to a new account."""
    return Draft(to=world.address(), value=world.random.randrange(1, 10**18), gas=TRANSFER_GAS)


def to_self(world: World) -> Draft:
    """Send to the sender."""
    sender = world.random.choice(ACTORS)
    return Draft(sender=sender, to=sender.address, value=world.random.randrange(10**18))


def of_nothing(world: World) -> Draft:
    """Send nothing to an absent account, which stays absent."""
    return Draft(to=world.address())


def to_precompile(world: World) -> Draft:
    """Send ether to a precompile, or to an address near them."""
    number = world.random.choice((*range(1, 0x13), 0x100, 0x101))
    return Draft(to=number.to_bytes(20, "big"), value=world.random.randrange(2), gas=1_000_000)


def to_beneficiary(world: World) -> Draft:
    """Send to the beneficiary of the fees."""
    return Draft(to=COINBASE, value=world.random.randrange(10), gas=TRANSFER_GAS)


def of_everything(world: World) -> Draft:
    """Send the exact balance, so that nothing is left."""
    if not world.paupers:
        return to_new(world)
    price = world.random.randrange(2 * 10**9, 4 * 10**9)
    value = PAUPER_BALANCE - TRANSFER_GAS * price
    to = world.random.choice((world.address(), ACTORS[0].address))
    sender = world.paupers.pop()
    return Draft(sender=sender, to=to, value=value, gas=TRANSFER_GAS, gas_price=price, type=0)


def without_chain(world: World) -> Draft:
    """Sign for any chain, as before EIP-155."""
    return Draft(to=world.address(), value=1, type=0, chain_id=None)


def with_data(world: World) -> Draft:
    """Send so much data that its floor price counts (EIP-7623)."""
    size = world.random.randrange(1, 6000)
    data = world.random.randbytes(size) if world.random.random() < 0.5 else bytes(size)
    return Draft(to=world.address(), data=data, gas=300_000 + world.random.randrange(9))


def with_data_and_work(world: World) -> Draft:
    """Send much data to a contract whose work costs about the floor price."""
    pairs = world.random.randrange(1, 8)
    data = b"".join(
        world.random.randrange(20).to_bytes(32, "big") + world.random.randbytes(32)
        for _ in range(pairs)
    )
    return Draft(to=STORE, data=data + bytes(64 * world.random.randrange(100)), gas=2_000_000)


KINDS = {
    "transfer to known": to_known,
    "transfer to new": to_new,
    "transfer to self": to_self,
    "transfer of nothing": of_nothing,
    "transfer to precompile": to_precompile,
    "transfer to beneficiary": to_beneficiary,
    "transfer of everything": of_everything,
    "transfer without chain id": without_chain,
    "transfer with data": with_data,
    "data and work": with_data_and_work,
}
