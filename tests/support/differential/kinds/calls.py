"""Calls between contracts, their failures, and what a contract can read of its environment."""

from __future__ import annotations

from tests.support.differential.contracts import FAULTS
from tests.support.differential.transactions import Draft
from tests.support.differential.world import (
    ACTORS,
    FACTORY,
    FAULTY,
    FORWARD,
    LOAD,
    RECURSE,
    RECURSE_AND_STORE,
    STORE,
    TOKEN,
    TRANSIENT,
    World,
)
from tests.support.evm.assembler import OPCODES, assemble
from tests.support.hex_data import word

CALL, CALLCODE, DELEGATECALL, STATICCALL = range(4)
QUIET, STRICT = 16, 32
ALL_GAS = 2**64


def forward(
    target: bytes, payload: bytes, *, flags: int = CALL, value: int = 0, gas: int = ALL_GAS
) -> bytes:
    """Return the call data that makes the forwarder call `target`."""
    return b"".join(map(word, (flags, gas, int.from_bytes(target, "big"), value))) + payload


def nested(world: World) -> Draft:
    """Call through one to five forwarders, each in its own way and with some value."""
    random = world.random
    target, payload = _leaf(world)
    for _ in range(random.randrange(1, 6)):
        quiet = QUIET if random.random() < 0.5 else 0
        strict = STRICT if random.random() < 0.3 else 0
        value = random.choice((0, 0, 0, 1, 10**30))
        gas = random.choice((ALL_GAS, ALL_GAS, 100_000, 2300))
        flags = random.choice((CALL, CALL, CALLCODE, DELEGATECALL, STATICCALL)) | quiet | strict
        payload = forward(target, payload, flags=flags, value=value, gas=gas)
        target = FORWARD
    return Draft(to=FORWARD, data=payload, value=random.randrange(2), gas=800_000)


def _leaf(world: World) -> tuple[bytes, bytes]:
    random = world.random
    slots = word(random.randrange(4)) + word(random.randrange(3))
    leaves = (
        (STORE, slots),
        (LOAD, slots),
        (world.address(), b""),
        (ACTORS[2].address, b"hello"),
        (FAULTY, word(random.randrange(len(FAULTS))) + b"reason"),
        (TOKEN, bytes.fromhex("40c10f19") + slots),
        (FACTORY, word(0) * 4),
        (TRANSIENT if world.since("cancun") else STORE, word(3) * 2),
    )
    return random.choice(leaves)


def to_faulty(world: World) -> Draft:
    """Fail in every way there is."""
    way = world.random.randrange(len(FAULTS) + 1)
    data = word(way) + world.random.randbytes(world.random.randrange(100))
    return Draft(to=FAULTY, data=data, value=world.random.randrange(2), gas=60_000)


def every_failure() -> list[Draft]:
    """Fail once in each way, but for the full stack, which makes huge traces."""
    ways = [way for way, name in enumerate(FAULTS) if name != "overflow"]
    return [Draft(to=FAULTY, data=word(way) + b"reason", gas=40_000) for way in ways]


def out_of_gas(world: World) -> Draft:
    """Run out of gas at some depth."""
    depth = world.random.randrange(1, 30)
    gas = world.random.randrange(60_000, 60_000 + 40_000 * depth)
    return Draft(to=RECURSE_AND_STORE, data=word(depth), gas=gas)


def with_little_gas(world: World) -> Draft:
    """Run out of gas somewhere in the first instructions."""
    draft = world.random.choice((nested, to_faulty))(world)
    return Draft(to=draft.to, data=draft.data, gas=world.random.randrange(60_000, 90_000))


def recursion(world: World) -> Draft:
    """Recurse as deep as the gas goes."""
    depth = world.random.choice((50, 200, 1000, 5000))
    return Draft(to=RECURSE, data=word(depth), gas=world.random.randrange(1, 16) * 10**6)


SURROUNDINGS = """ADDRESS ORIGIN CALLER CALLVALUE CALLDATASIZE CODESIZE GASPRICE RETURNDATASIZE
    COINBASE TIMESTAMP NUMBER PREVRANDAO GASLIMIT CHAINID SELFBALANCE BASEFEE PC MSIZE GAS"""
SURROUNDINGS_SINCE = {
    "shanghai": "PUSH0",
    "cancun": "BLOBBASEFEE 0_BLOBHASH",
    "osaka": "0_CLZ 1_CLZ 0xffff_CLZ",
}


def surroundings(world: World) -> Draft:
    """Log and store everything that a contract can read, from a constructor."""
    names = SURROUNDINGS.split()
    for fork, more in SURROUNDINGS_SINCE.items():
        names += more.split() if world.since(fork) else []
    names += ["COINBASE_BALANCE", "COINBASE_EXTCODEHASH", "ADDRESS_EXTCODESIZE"]
    names += [f"{n}_NUMBER_SUB_BLOCKHASH" for n in (0, 1, 2, 3, 255, 256, 257, 300)]
    names += [f"{int.from_bytes(place, 'big')}_EXTCODEHASH" for place in (STORE, world.address())]
    code = " ".join(f"{name.replace('_', ' ')} {32 * n} mstore" for n, name in enumerate(names))
    code += f" {32 * len(names)} 0 log0 {32 * len(names)} 0 keccak256 0 sstore"
    if world.since("cancun"):
        code += " 200 33 7 mcopy 300 0 log0"
    value = world.random.randrange(5)
    return Draft(to=None, data=assemble(code), value=value, gas=1_000_000)


ARITHMETIC = [name for name, code in OPCODES.items() if 0x01 <= code <= 0x1D]


def arithmetic(world: World) -> Draft:
    """Store what the arithmetic of random words gives."""
    random = world.random
    numbers = (0, 1, 2**255, 2**256 - 1, random.getrandbits(256), random.getrandbits(64), 31, 255)
    code = ""
    for n in range(24):
        operands = " ".join(str(random.choice(numbers)) for _ in range(3))
        code += f"{operands} {random.choice(ARITHMETIC)} {32 * n} mstore "
    return Draft(to=None, data=assemble(code + "768 0 log0"), gas=500_000)


def at_cap(world: World) -> Draft:
    """Set the largest gas limit of a transaction (EIP-7825)."""
    return Draft(to=STORE, data=word(1) + word(world.random.randrange(3)), gas=2**24)


KINDS = {
    "nested calls": nested,
    "failures": to_faulty,
    "out of gas at depth": out_of_gas,
    "little gas": with_little_gas,
    "recursion": recursion,
    "surroundings": surroundings,
    "arithmetic": arithmetic,
    "gas cap": at_cap,
}
