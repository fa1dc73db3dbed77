"""Storage, tokens, access lists, transient storage and self-destruction."""

from __future__ import annotations

from entresol._native import keccak256
from tests.support.differential import contracts
from tests.support.differential.transactions import Draft
from tests.support.differential.world import (
    ACTORS,
    BOMBS,
    FACTORY,
    LOAD,
    STORE,
    TOKEN,
    TRANSIENT,
    World,
)
from tests.support.evm.assembler import initcode
from tests.support.hex_data import word

MINT, TRANSFER, APPROVE, TRANSFER_FROM, BALANCE_OF = (
    bytes.fromhex(selector)
    for selector in ("40c10f19", "a9059cbb", "095ea7b3", "23b872dd", "70a08231")
)


def patterns(world: World) -> Draft:
    """Set, clear and reset a few slots over and over, for all the prices and refunds."""
    random = world.random
    writes = [
        (random.randrange(6), random.choice((0, 0, 1, 2))) for _ in range(random.randrange(16))
    ]
    return Draft(to=STORE, data=b"".join(word(slot) + word(value) for slot, value in writes))


def many_slots(world: World) -> Draft:
    """Write many new slots, or clear what such a transaction wrote."""
    first = world.random.randrange(4) * 1000
    value = world.random.randrange(2)
    pairs = (word(first + n) + word(value) for n in range(100))
    return Draft(to=STORE, data=b"".join(pairs), gas=3_000_000)


def reads(world: World) -> Draft:
    """Read slots cold and warm, from a contract that has nothing in them."""
    return Draft(to=LOAD, data=b"".join(word(world.random.randrange(5)) for _ in range(12)))


def listed(world: World) -> Draft:
    """Announce slots and accounts in an access list: used, unused and twice."""
    random = world.random
    slots = [word(random.randrange(8)) for _ in range(random.randrange(6))]
    others = (TOKEN, STORE, bytes(19) + b"\x02", world.address(), ACTORS[0].address)
    entries = [(STORE, slots), *((other, slots[:1]) for other in random.sample(others, 2))]
    return Draft(to=STORE, data=patterns(world).data, access_list=entries)


def token(world: World) -> Draft:
    """Mint, move, allow and overdraw tokens."""
    random = world.random
    holder, other = (word(int.from_bytes(random.choice(ACTORS).address, "big")) for _ in range(2))
    amount = word(random.randrange(1000))
    calls = (MINT + holder + amount, TRANSFER + holder + amount, APPROVE + holder + amount)
    more = (TRANSFER_FROM + holder + other + amount, BALANCE_OF + holder, b"\x00\x01\x02\x03", b"")
    return Draft(to=TOKEN, data=random.choice(calls * 2 + more), gas=150_000)


def transient(world: World) -> Draft:
    """Use transient storage across calls, one of which reverts."""
    return Draft(to=TRANSIENT, data=word(world.random.randrange(1, 9)))


def destruction(world: World) -> Draft:
    """Destroy an old contract in favour of itself, an account, or a new account."""
    bomb = world.random.choice(BOMBS)
    beneficiaries = (
        bomb,
        ACTORS[0].address,
        world.address(),
        world.random.choice(BOMBS),
        bytes(20),
    )
    beneficiary = world.random.choice(beneficiaries)
    value = world.random.choice((0, 0, 77))
    return Draft(to=bomb, data=bytes(12) + beneficiary, value=value)


def vain_destructions() -> list[Draft]:
    """Destroy an old contract in its own favour, with and without sending it something."""
    return [Draft(to=BOMBS[0], data=bytes(12) + BOMBS[0], value=value) for value in (0, 5)]


def short_life(world: World) -> Draft:
    """Create a contract and destroy it in the same transaction, money in it."""
    code = initcode(contracts.BOMB, contracts.BOMB_CONSTRUCTOR)
    beneficiaries = (FACTORY, ACTORS[1].address, world.address(), bytes(20))
    beneficiary = int.from_bytes(world.random.choice(beneficiaries), "big")
    flags = 2 + world.random.choice((0, 1, 4, 5))
    arguments = (flags, world.random.randrange(3), world.random.randrange(3), beneficiary)
    return Draft(to=FACTORY, data=b"".join(map(word, arguments)) + code, gas=1_000_000)


def suicidal_constructor(world: World) -> Draft:
    """Destroy the contract in its constructor, in its own favour or in another's."""
    beneficiary = world.random.choice(("address", "caller", "7"))
    code = initcode(contracts.BOMB, f"1 1 sstore {beneficiary} selfdestruct")
    return Draft(to=None, data=code, value=world.random.randrange(3))


def phoenix(world: World) -> Draft:
    """Create, destroy and create again, at the same address and in separate transactions."""
    salt = word(world.random.randrange(100, 102))
    code = initcode(contracts.BOMB, contracts.BOMB_CONSTRUCTOR)
    if world.random.random() < 0.5:
        return Draft(to=FACTORY, data=word(1) + word(3) + salt + word(0) + code, gas=1_000_000)
    address = keccak256(b"\xff" + FACTORY + salt + keccak256(code))[12:]
    return Draft(to=address, data=bytes(12) + ACTORS[3].address)


KINDS = {
    "storage patterns": patterns,
    "storage of many slots": many_slots,
    "storage reads": reads,
    "access list": listed,
    "token": token,
    "transient storage": transient,
    "destruction": destruction,
    "short life": short_life,
    "suicidal constructor": suicidal_constructor,
    "phoenix": phoenix,
}
SINCE = {"transient storage": "cancun"}
