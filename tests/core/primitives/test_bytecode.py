"""Versioned bytecode hashes and the rules for factory dependencies."""

from __future__ import annotations

import pytest

from entresol.errors import InvalidBytecode
from entresol.primitives.bytecode import eravm_hash, evm_hash, pad_evm

TAIL = "f862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925"


def test_the_published_hashes_of_a_zero_word() -> None:
    assert eravm_hash(bytes(32)).hex() == "01000001" + TAIL
    assert evm_hash(bytes(32)).hex() == "02000020" + TAIL


def test_an_evm_hash_counts_bytes_before_padding() -> None:
    assert evm_hash(bytes(5)).hex() == "02000005" + TAIL
    assert evm_hash(b"").hex() == "02000000" + TAIL


@pytest.mark.parametrize(("size", "padded"), [(0, 32), (1, 32), (32, 32), (33, 96), (64, 96)])
def test_evm_code_is_padded_to_an_odd_number_of_words(size: int, padded: int) -> None:
    assert pad_evm(b"\xfe" * size) == b"\xfe" * size + bytes(padded - size)


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (2_097_152, "Bytecode too long: 2097152 bytes, while max 2097120 allowed"),
        (2_097_121, "Bytecode too long: 2097121 bytes, while max 2097120 allowed"),
        (31, "Bytecode length is not divisible by 32"),
        (64, "Bytecode has even number of 32-byte words"),
        (0, "Bytecode has even number of 32-byte words"),
    ],
)
def test_other_code_is_rejected_in_known_words(size: int, message: str) -> None:
    with pytest.raises(InvalidBytecode) as caught:
        eravm_hash(bytes(size))
    assert str(caught.value) == message


def test_evm_code_has_a_limit_of_its_own() -> None:
    with pytest.raises(InvalidBytecode, match="while max 65535 allowed"):
        evm_hash(bytes(65_536))
