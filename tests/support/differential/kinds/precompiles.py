"""Every precompile, with inputs that are right and inputs that are not."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from random import Random

from eth_typing import Hash32

from tests.support.differential.curves import (
    BLS12,
    BLS12_G2,
    BN254,
    BN254_G2,
    P256,
    Point,
    sign_p256,
)
from tests.support.differential.kinds.calls import CALL, STATICCALL, forward
from tests.support.differential.transactions import Draft
from tests.support.differential.world import ACTORS, FORWARD, World
from tests.support.hex_data import word

Input = Callable[[Random], bytes]


def ecrecover(random: Random) -> bytes:
    """Sign a random digest."""
    digest = random.randbytes(32)
    signed = ACTORS[0].account.unsafe_sign_hash(Hash32(digest))
    return digest + word(signed.v) + word(signed.r) + word(signed.s)


def anything(random: Random) -> bytes:
    """Return random bytes, some of them zero."""
    return random.randbytes(random.randrange(200)) + bytes(random.randrange(40))


def modexp(random: Random) -> bytes:
    """Return lengths and numbers; sometimes with empty numbers or longer ones than there are."""
    base, exponent, modulus = (random.choice((0, 1, 32, 33, 96)) for _ in range(3))
    if random.random() < 0.1:
        modulus = random.choice((1024, 1025, 2**40))
    lengths = word(base) + word(exponent) + word(modulus)
    return lengths + random.randbytes(base + exponent + min(modulus, 1025))


def bn254_add(random: Random) -> bytes:
    """Return two points."""
    return _bn254_point(random) + _bn254_point(random)


def bn254_multiply(random: Random) -> bytes:
    """Return a point and a scalar."""
    return _bn254_point(random) + random.randbytes(32)


def bn254_pairing(random: Random) -> bytes:
    """Return a point and its opposite, paired with the same: the product is one. Or not."""
    point = BN254.multiply(random.randrange(1, 100))
    assert point is not None
    second = b"".join(map(word, BN254_G2))
    opposite = BN254.negate(point) if random.random() < 0.7 else point
    pairs = [_words(point) + second, _words(opposite) + second]
    return b"".join(pairs[: random.randrange(3)])


def _bn254_point(random: Random) -> bytes:
    point = BN254.multiply(random.randrange(1, 1000))
    assert point is not None
    return random.choice((_words(point), _words(point), bytes(64)))


def _words(point: Point) -> bytes:
    return word(point[0]) + word(point[1])


def blake2(random: Random) -> bytes:
    """Return rounds, state, message, offset and the flag of the last block."""
    rounds = random.randrange(20).to_bytes(4, "big")
    return rounds + random.randbytes(64 + 128 + 16) + random.choice((b"\0", b"\1", b"\2"))


def point_evaluation(random: Random) -> bytes:
    """Return the proof that a constant polynomial, 0 or 1, is that everywhere."""
    y = random.randrange(2)
    infinity = b"\xc0" + bytes(47)
    generator = (BLS12.generator[0] | 0x80 << 376).to_bytes(48, "big")
    commitment = generator if y else infinity
    version = b"\x01" + hashlib.sha256(commitment).digest()[1:]
    return version + word(random.getrandbits(250)) + word(y) + commitment + infinity


def g1_add(random: Random) -> bytes:
    """Return two points of the curve, which need not be of the group."""
    return _g1(random, everywhere=True) + _g1(random, everywhere=True)


def g1_multiply(random: Random) -> bytes:
    """Return points with scalars; rarely one outside the group."""
    terms = range(random.randrange(1, 4))
    strays = random.random() < 0.2
    return b"".join(_g1(random, everywhere=strays) + random.randbytes(32) for _ in terms)


def g2_add(random: Random) -> bytes:
    """Return two points."""
    return _g2(random) + _g2(random)


def g2_multiply(random: Random) -> bytes:
    """Return points with scalars."""
    return b"".join(_g2(random) + random.randbytes(32) for _ in range(random.randrange(1, 3)))


def bls_pairing(random: Random) -> bytes:
    """Return a point and its opposite, paired with the same: the product is one. Or not."""
    point = BLS12.multiply(random.randrange(1, 100))
    assert point is not None
    opposite = BLS12.negate(point) if random.random() < 0.7 else point
    second = b"".join(map(_field, BLS12_G2))
    pairs = [_fields(point) + second, _fields(opposite) + second]
    return b"".join(pairs[: random.randrange(1, 3)])


def map_to_g1(random: Random) -> bytes:
    """Return a field element, or the first number that is none."""
    return _field(random.choice((random.randrange(BLS12.p), BLS12.p - 1, BLS12.p)))


def map_to_g2(random: Random) -> bytes:
    """Return an element of the quadratic field."""
    return _field(random.randrange(BLS12.p)) + map_to_g1(random)


def _g1(random: Random, *, everywhere: bool) -> bytes:
    point = BLS12.multiply(random.randrange(1, 100))
    if everywhere and random.random() < 0.5:
        point = BLS12.some_point(random.getrandbits(64))
    assert point is not None
    return random.choice((_fields(point), _fields(point), bytes(128)))


def _g2(random: Random) -> bytes:
    return random.choice((b"".join(map(_field, BLS12_G2)), bytes(256)))


def _field(element: int) -> bytes:
    return element.to_bytes(64, "big")


def _fields(point: Point) -> bytes:
    return _field(point[0]) + _field(point[1])


def p256(random: Random) -> bytes:
    """Sign a random digest on the other curve."""
    digest, key = random.randbytes(32), random.randrange(1, 100)
    public = P256.multiply(key)
    assert public is not None
    r, s = sign_p256(digest, key, random.randrange(1, 100))
    return digest + word(r) + word(s) + _words(public)


INPUTS: dict[int, tuple[str, Input]] = {
    0x01: ("london", ecrecover),
    0x02: ("london", anything),
    0x03: ("london", anything),
    0x04: ("london", anything),
    0x05: ("london", modexp),
    0x06: ("london", bn254_add),
    0x07: ("london", bn254_multiply),
    0x08: ("london", bn254_pairing),
    0x09: ("london", blake2),
    0x0A: ("cancun", point_evaluation),
    0x0B: ("prague", g1_add),
    0x0C: ("prague", g1_multiply),
    0x0D: ("prague", g2_add),
    0x0E: ("prague", g2_multiply),
    0x0F: ("prague", bls_pairing),
    0x10: ("prague", map_to_g1),
    0x11: ("prague", map_to_g2),
    0x100: ("osaka", p256),
}


def precompile(world: World, number: int) -> Draft:
    """Call a precompile directly, or through the forwarder, which logs the output."""
    random = world.random
    data = INPUTS[number][1](random)
    if random.random() < 0.35:
        data = _spoil(random, data)
    target = number.to_bytes(20, "big")
    if random.random() < 0.2:
        return Draft(to=target, data=data, value=random.randrange(2), gas=2_000_000)
    gas = random.choice((1_000_000, 1_000_000, 1_000_000, random.randrange(3000)))
    flags = random.choice((CALL, STATICCALL))
    return Draft(to=FORWARD, data=forward(target, data, flags=flags, gas=gas), gas=3_000_000)


def _spoil(random: Random, data: bytes) -> bytes:
    if not data:
        return b"\xff"
    where = random.randrange(len(data))
    flipped = data[:where] + bytes([data[where] ^ 1 << random.randrange(8)]) + data[where + 1 :]
    return random.choice((flipped, flipped, data[:where], data + b"\0", b"\xff" * len(data)))


def _kind(number: int) -> Callable[[World], Draft]:
    return lambda world: precompile(world, number)


KINDS = {f"precompile {number:#04x}": _kind(number) for number in INPUTS}
SINCE = {f"precompile {number:#04x}": fork for number, (fork, _) in INPUTS.items()}
