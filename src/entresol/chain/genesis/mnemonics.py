"""New mnemonics: random ones, and those that anvil makes of a seed."""

from __future__ import annotations

import secrets
import struct
from typing import Final

from mnemonic import Mnemonic

from entresol.errors import MalformedValue

MAX_SEED: Final = 2**64 - 1

_BYTES_BY_WORDS: Final = {12: 16, 15: 20, 18: 24, 21: 28, 24: 32}
_SEEDED_BYTES: Final = 16
_WORD: Final = 2**32 - 1
_ROUNDS: Final = 12
_PCG_MULTIPLIER: Final = 6364136223846793005
_PCG_INCREMENT: Final = 11634580027462260723
_QUARTER_ROUNDS: Final = (
    *((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)),
    *((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)),
)


def random_mnemonic(words: int = 12) -> str:
    """Return a mnemonic that nobody knows."""
    if words not in _BYTES_BY_WORDS:
        raise MalformedValue(f"a mnemonic is 12, 15, 18, 21 or 24 words, got {words}")
    return _in_words(secrets.token_bytes(_BYTES_BY_WORDS[words]))


def seeded_mnemonic(seed: int) -> str:
    """Return the 12 words that `anvil --mnemonic-seed-unsafe` makes of a seed.

    Its generator is `StdRng` of the Rust crate rand 0.8: ChaCha with 12 rounds, of whose words each gives a byte.
    """
    if not 0 <= seed <= MAX_SEED:
        raise MalformedValue("a seed has at most 64 bits")
    block = _chacha_block(_expand(seed))
    return _in_words(bytes(word & 0xFF for word in block[:_SEEDED_BYTES]))


def _in_words(entropy: bytes) -> str:
    return Mnemonic("english").to_mnemonic(entropy)


def _expand(seed: int) -> tuple[int, ...]:
    """Return the eight words of a key, which PCG32 makes of a seed."""
    state, words = seed, []
    for _ in range(8):
        state = (state * _PCG_MULTIPLIER + _PCG_INCREMENT) & MAX_SEED
        words.append(_rotate_left(((state >> 18 ^ state) >> 27) & _WORD, -(state >> 59) % 32))
    return tuple(words)


def _chacha_block(key: tuple[int, ...]) -> list[int]:
    """Return the first 16 words of the stream of a key."""
    start = [*struct.unpack("<4I", b"expand 32-byte k"), *key, 0, 0, 0, 0]
    words = start.copy()
    for _ in range(_ROUNDS // 2):
        for a, b, c, d in _QUARTER_ROUNDS:
            for target, source, mixed, bits in (
                (a, b, d, 16),
                (c, d, b, 12),
                (a, b, d, 8),
                (c, d, b, 7),
            ):
                words[target] = (words[target] + words[source]) & _WORD
                words[mixed] = _rotate_left(words[mixed] ^ words[target], bits)
    return [(left + right) & _WORD for left, right in zip(words, start, strict=True)]


def _rotate_left(word: int, bits: int) -> int:
    return (word << bits | word >> (32 - bits)) & _WORD
