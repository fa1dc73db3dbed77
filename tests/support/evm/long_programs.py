"""Programs that take as long as possible for their gas: each precompile, and each instruction that takes long."""

from __future__ import annotations

import hashlib
from typing import Final, NamedTuple

# Copy the call data to memory, then pass it to a precompile again and again.
_CALLS: Final = "36 5f 5f 37 5b 5f 5f 36 5f 61{address:04x} 5a fa 50 6004 56"

_G1: Final = bytes(31) + b"\1" + bytes(31) + b"\2"
_G2: Final = b"".join(
    number.to_bytes(32)
    for number in (
        0x198E9393920D483A7260BFB731FB5D25F1AA493335A9E71297E485B7AEF312C2,
        0x1800DEEF121F1E76426A00665E5C4479674322D4F75EDADD46DEBD5CD992F6ED,
        0x090689D0585FF075EC9E99AD690C3395BC4B313370B38EF355ACDADCD122975B,
        0x12C85EA5DB8C6DEB4AAB71808DCB408FE3D1E7690C43D37B4CE6CC0166FA7DAA,
    )
)
_BLS_G1: Final = b"".join(
    number.to_bytes(64)
    for number in (
        0x17F1D3A73197D7942695638C4FA9AC0FC3688C4F9774B905A14E3A3F171BAC586C55E83FF97A1AEFFB3AF00ADB22C6BB,
        0x08B3F481E3AAA0F1A09E30ED741D8AE4FCF5E095D5D00AF600DB18CB2C04B3EDD03CC744A2888AE40CAA232946C5E7E1,
    )
)
_BLS_G2: Final = b"".join(
    number.to_bytes(64)
    for number in (
        0x024AA2B2F08F0A91260805272DC51051C6E47AD4FA403B02B4510B647AE3D1770BAC0326A805BBEFD48056C8C121BDB8,
        0x13E02B6052719F607DACD3A088274F65596BD0D09920B61AB5DA61BBDC7F5049334CF11213945D57E5AC7D055D042B7E,
        0x0CE5D527727D6E118CC9CDC6DA2E351AADFD9BAA8CBDD3A76D429A695160D12C923AC9CC3BACA289E193548608B82801,
        0x0606C4A02EA734CC32ACD2B02BC28B99CB3E287E85A763AF267492AB572E99AB3F370D275CEC1DA1AAA9075FF05F79BE,
    )
)
_SCALAR: Final = (2**255 - 19).to_bytes(32)
_P256_G: Final = bytes.fromhex(
    "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
    "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"
)
_INFINITY: Final = b"\xc0" + bytes(47)


class Program(NamedTuple):
    code: str
    data: bytes = b""
    fork: str = "osaka"


def _precompile(address: int, data: bytes, fork: str = "osaka") -> Program:
    return Program(_CALLS.format(address=address), data, fork)


def _modexp(size: int, exponent: bytes, fork: str, *, is_odd: bool = True) -> Program:
    lengths = b"".join(entry.to_bytes(32) for entry in (size, len(exponent), size))
    base, modulus = b"\xfe" * size, b"\xff" * (size - 1) + (b"\xfd" if is_odd else b"\xfe")
    return _precompile(5, lengths + base + exponent + modulus, fork)


def _blake2f(rounds: int) -> Program:
    return _precompile(9, rounds.to_bytes(4) + bytes(range(64)) + bytes(128 + 16) + b"\1")


def _straight(head: str, repeated: str) -> Program:
    start, body = bytes.fromhex(head), bytes.fromhex(repeated)
    return Program((start + body * ((24_000 - len(start)) // len(body))).hex())


def _reads(opcode: str) -> Program:
    """Read another account each time: its address is the counter of the program."""
    return _straight("", f"58 {opcode} 50")


PRECOMPILES: Final = {
    "ecrecover": _precompile(1, b"\x11" * 32 + bytes(31) + b"\x1b" + b"\x22" * 32 + b"\x33" * 32),
    "sha256 of 32 bytes": _precompile(2, bytes(32)),
    "sha256 of 16 kB": _precompile(2, bytes(16_384)),
    "ripemd160 of 16 kB": _precompile(3, bytes(16_384)),
    "identity of 0 bytes": _precompile(4, b""),
    "identity of 64 kB": _precompile(4, bytes(65_536)),
    "modexp 32/32": _modexp(32, b"\xff" * 32, "osaka"),
    "modexp 32/32, even": _modexp(32, b"\xff" * 32, "osaka", is_odd=False),
    "modexp 64/64": _modexp(64, b"\xff" * 64, "osaka"),
    "modexp 256/3": _modexp(256, b"\1\0\1", "osaka"),
    "modexp 256/32": _modexp(256, b"\xff" * 32, "osaka"),
    "modexp 1024/1": _modexp(1024, b"\3", "osaka"),
    "modexp 1024/1, even": _modexp(1024, b"\3", "osaka", is_odd=False),
    "modexp 32/32 in Prague": _modexp(32, b"\xff" * 32, "prague"),
    "modexp 32/32, even, in Prague": _modexp(32, b"\xff" * 32, "prague", is_odd=False),
    "modexp 8/128 in Prague": _modexp(8, b"\xff" * 128, "prague"),
    "modexp 64/1 in Prague": _modexp(64, b"\3", "prague"),
    "modexp 192/2 in Prague": _modexp(192, b"\xff\xff", "prague"),
    "modexp 1024/1, even, in Prague": _modexp(1024, b"\3", "prague", is_odd=False),
    "bn254 add": _precompile(6, _G1 * 2),
    "bn254 mul": _precompile(7, _G1 + _SCALAR),
    "bn254 pairing of 2": _precompile(8, (_G1 + _G2) * 2),
    "bn254 pairing of 1": _precompile(8, _G1 + _G2),
    "blake2f of 1 round": _blake2f(1),
    "blake2f of 10,000 rounds": _blake2f(10_000),
    "KZG point evaluation": _precompile(
        10,
        b"\1"
        + hashlib.sha256(_INFINITY).digest()[1:]
        + bytes(31)
        + b"\5"
        + bytes(32)
        + _INFINITY * 2,
    ),
    "BLS G1 add": _precompile(11, _BLS_G1 * 2),
    "BLS G1 MSM of 1": _precompile(12, _BLS_G1 + _SCALAR),
    "BLS G1 MSM of 16": _precompile(12, (_BLS_G1 + _SCALAR) * 16),
    "BLS G2 add": _precompile(13, _BLS_G2 * 2),
    "BLS G2 MSM of 1": _precompile(14, _BLS_G2 + _SCALAR),
    "BLS G2 MSM of 8": _precompile(14, (_BLS_G2 + _SCALAR) * 8),
    "BLS pairing of 1": _precompile(15, _BLS_G1 + _BLS_G2),
    "BLS pairing of 4": _precompile(15, (_BLS_G1 + _BLS_G2) * 4),
    "BLS map to G1": _precompile(16, bytes(32) + b"\7" * 32),
    "BLS map to G2": _precompile(17, (bytes(32) + b"\7" * 32) * 2),
    "P256VERIFY": _precompile(256, b"\x11" * 32 + b"\x22" * 32 + b"\x33" * 32 + _P256_G),
}

INSTRUCTIONS: Final = {
    "a loop": Program("5b 5f 56"),
    "KECCAK256 of 100 kB": _straight("", "6201 86a0 5f 20 50"),
    "KECCAK256 of 32 bytes": _straight("", "6020 5f 20 50"),
    "CALLDATACOPY of 100 kB": _straight("", "6201 86a0 5f 5f 37"),
    "CODECOPY of 100 kB": _straight("", "6201 86a0 5f 5f 39"),
    "MCOPY of 100 kB": _straight("", "6201 86a0 5f 6020 5e"),
    "EXTCODECOPY of 100 kB": _straight("", "6201 86a0 5f 5f 30 3c"),
    "LOG0 of 100 kB": _straight("", "6201 86a0 5f a0"),
    "EXP": _straight("5f 19 5f 19", "81 81 0a 50"),
    "SLOAD": _reads("54"),
    "SSTORE": _straight("", "58 58 55"),
    "TSTORE": _straight("", "58 58 5d"),
    "BALANCE": _reads("31"),
    "EXTCODESIZE": _reads("3b"),
    "EXTCODEHASH": _reads("3f"),
    "CREATE of 48 kB": _straight("", "61c000 5f 5f f0 50"),
}
"""Instructions that take long, most of them in code that neither jumps nor calls."""

SHORT: Final = {
    "BLOCKHASH": _reads("40"),
    "MULMOD": _straight("5f 19 80 80", "82 82 82 09 50"),
    "SDIV": _straight("5f 19 6003", "81 81 05 50"),
    "RETURN of 256 kB": Program("6204 0000 5f f3"),
}
"""Instructions that do not check limits: what the size of code bounds."""


BLAKE2F: Final = "0x" + "9".rjust(40, "0")
PASSES_ON: Final = "0x365f5f375f5f365f60095afa5000"
"""A program that passes its call data on to 0x09."""


def blake2f(rounds: int) -> str:
    """Return the input of 0x09 for so many rounds, each of which costs one gas."""
    return "0x" + (rounds.to_bytes(4) + bytes(64 + 128 + 16) + b"\1").hex()


def forwarded(rounds: int) -> str:
    """Return init code that passes the input on to 0x09, and creates nothing."""
    data = bytes.fromhex(blake2f(rounds)[2:])
    # It copies the input behind it to memory.
    code = f"60{len(data):02x} 6013 5f 39 5f 5f 60{len(data):02x} 5f 6009 5a fa 50 00 00"
    return "0x" + bytes.fromhex(code).ljust(0x13, b"\0").hex() + data.hex()
