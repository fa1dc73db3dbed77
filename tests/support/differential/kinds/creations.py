"""Contracts created by transactions and by contracts, and some that fail to be."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.differential import contracts
from tests.support.differential.transactions import Draft
from tests.support.differential.world import ACTORS, FACTORY, World
from tests.support.evm.assembler import OPCODES, assemble, initcode, push
from tests.support.hex_data import word

MAX_CODE = 24_576
MAX_INITCODE = 2 * MAX_CODE


def of_contract(world: World) -> Draft:
    """Create a contract that works."""
    runtime = world.random.choice((contracts.STORE, contracts.BOMB, contracts.TOKEN, b""))
    value = world.random.choice((0, 0, 5))
    return Draft(to=None, data=initcode(runtime), value=value, gas=1_000_000)


def with_storage(world: World) -> Draft:
    """Let the constructor write, clear and log."""
    first = world.random.randrange(1, 2**64)
    constructor = f"{first} 1 sstore 7 2 sstore 0 2 sstore {first} 0 mstore 9 32 0 log1 "
    return Draft(to=None, data=initcode(contracts.BOMB, constructor))


def reverting(world: World) -> Draft:
    """Revert in the constructor."""
    return Draft(to=None, data=assemble("42 0 mstore 32 0 revert"), value=world.random.randrange(3))


def out_of_gas(world: World) -> Draft:
    """Give enough for the constructor, not for keeping the code."""
    code = initcode(bytes(world.random.randrange(1000, 5000)))
    return Draft(to=None, data=code, gas=190_000)


def of_rejected_code(world: World) -> Draft:
    """Return code that starts with 0xef."""
    return Draft(to=None, data=initcode(b"\xef" + world.random.randbytes(3)))


def of_large_code(world: World) -> Draft:
    """Return as much code as allowed, or a byte more."""
    size = MAX_CODE + world.random.randrange(2)
    return Draft(to=None, data=assemble(f"{size} 0 return"), gas=6_000_000)


def by_large_code(world: World) -> Draft:
    """Bring the largest init code there may be."""
    code = initcode(contracts.BOMB)
    filler = world.random.choice((b"\x00", b"\x5b"))
    return Draft(to=None, data=code + filler * (MAX_INITCODE - len(code)), gas=4_000_000)


def of_nothing(world: World) -> Draft:
    """Run no code at all."""
    return Draft(to=None, value=world.random.randrange(2))


def by_factory(world: World) -> Draft:
    """Create by CREATE or CREATE2 inside, sometimes twice at the same address."""
    flags = world.random.randrange(8)
    return _factory(world, flags, _some_initcode(world))


def by_deep_factory(world: World) -> Draft:
    """Create inside a constructor."""
    runtime = world.random.choice((contracts.STORE, contracts.BOMB))
    inner = initcode(runtime, contracts.BOMB_CONSTRUCTOR)
    outer = assemble(f"""
        {len(inner)} dup1 @inner 1 add 0 codecopy
        {world.random.choice(("0 0 create", "5 swap1 0 0 create2"))}
        0 mstore 32 0 log0 stop
        inner:
    """)
    return _factory(world, 0, outer + inner)


def too_large_inside(world: World) -> Draft:
    """Give the factory more init code than allowed, or just as much."""
    code = initcode(contracts.BOMB)
    size = MAX_INITCODE + world.random.randrange(2)
    return _factory(world, 0, code + bytes(size - len(code)), gas=6_000_000)


def at_random(world: World) -> Draft:
    """Run random instructions as a constructor."""
    return Draft(to=None, data=_random_program(world), gas=world.random.randrange(1, 9) * 10**6)


def _random_program(world: World) -> bytes:
    random = world.random
    names = [name for name in OPCODES if name not in _ENDS and _exists(world, name)]
    small = (0, 1, 2, 3, 31, 32, 64, 255)
    body = bytearray()
    for _ in range(random.randrange(10, 100)):
        # As many operands as the hungriest instruction takes; a wild one makes most programs short.
        for _ in range(7):
            wild = random.random() < 0.002
            body += push(random.getrandbits(256) if wild else random.choice(small))
        body.append(OPCODES[random.choice(names)])
    return bytes(body) + assemble("64 mstore 1 sstore msize 0 log0 96 0 return")


_ENDS = {"STOP", "JUMP", "JUMPI", "RETURN", "REVERT", "INVALID", "SELFDESTRUCT"}
_SINCE = {
    "PUSH0": "shanghai",
    "TLOAD": "cancun",
    "TSTORE": "cancun",
    "MCOPY": "cancun",
    "BLOBHASH": "cancun",
    "BLOBBASEFEE": "cancun",
    "CLZ": "osaka",
}


def _exists(world: World, name: str) -> bool:
    return name not in _SINCE or world.since(_SINCE[name])


def _some_initcode(world: World) -> bytes:
    choices: tuple[Callable[[], bytes], ...] = (
        lambda: initcode(contracts.BOMB, contracts.BOMB_CONSTRUCTOR),
        lambda: initcode(contracts.STORE),
        lambda: assemble("42 0 mstore 32 0 revert"),
        lambda: assemble("invalid"),
        lambda: initcode(b"\xef\x00"),
        lambda: b"",
        lambda: assemble("caller selfdestruct"),
    )
    return world.random.choice(choices)()


def _factory(world: World, flags: int, code: bytes, gas: int = 1_000_000) -> Draft:
    beneficiary = world.random.choice((FACTORY, ACTORS[1].address, world.address(), bytes(20)))
    value = world.random.choice((0, 0, 3, 10**30))
    arguments = (flags, value, world.random.randrange(4), int.from_bytes(beneficiary, "big"))
    return Draft(to=FACTORY, data=b"".join(map(word, arguments)) + code, gas=gas)


KINDS = {
    "create contract": of_contract,
    "create with storage": with_storage,
    "create reverting": reverting,
    "create out of gas": out_of_gas,
    "create rejected code": of_rejected_code,
    "create large code": of_large_code,
    "create by large code": by_large_code,
    "create nothing": of_nothing,
    "create by factory": by_factory,
    "create in constructor": by_deep_factory,
    "create too large inside": too_large_inside,
    "create at random": at_random,
}
