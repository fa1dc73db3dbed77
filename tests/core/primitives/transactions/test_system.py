"""Transactions of the node itself: one encoding of each, and no other call."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol._native import keccak256, rlp_encode, stored_transaction_hash
from entresol.errors import MalformedTransaction, TransactionRuleBroken
from entresol.primitives.interop_roots import (
    MAX_ROOTS_PER_IMPORT,
    ROOT_STORAGE,
    InteropRoot,
    import_call,
    import_size,
)
from entresol.primitives.rlp import encode_uint
from entresol.primitives.transactions import (
    SystemTransaction,
    Transaction,
    decode,
    decode_many,
    load,
)
from entresol.primitives.transactions.system import SYSTEM_SENDER, SYSTEM_TYPE
from entresol.primitives.values import Address, Hash32
from tests.support.chain.dev_chain import root, roots
from tests.support.run.examples import examples

WORDS = st.integers(0, 2**256 - 1)
ROOTS = st.builds(
    InteropRoot.of, WORDS, WORDS, WORDS, st.binary(min_size=32, max_size=32).map(Hash32)
)
IMPORTS = st.lists(ROOTS, min_size=1, max_size=MAX_ROOTS_PER_IMPORT)


def raw_of(to: bytes = ROOT_STORAGE, data: bytes | None = None, salt: bytes = b"\1") -> bytes:
    call = import_call(roots(1)) if data is None else data
    return bytes([SYSTEM_TYPE]) + rlp_encode([to, call, salt])


@settings(max_examples=examples(100))
@given(imported=IMPORTS, salt=st.integers(0, 2**64 - 2))
def test_an_import_is_decoded_as_it_was_encoded(imported: list[InteropRoot], salt: int) -> None:
    payload = SystemTransaction.root_import(imported, salt)
    raw = payload.encode()
    assert raw == bytes([0x7D]) + rlp_encode([ROOT_STORAGE, payload.data, encode_uint(salt)])
    assert (SystemTransaction.decode(raw), payload.roots) == (payload, imported)
    transaction = load(raw, Address.zero())
    assert transaction == Transaction.of_system(payload)
    assert (transaction.sender, transaction.raw) == (SYSTEM_SENDER, raw)
    assert transaction.hash == payload.hash() == keccak256(raw)
    # The crate knows the hash without decoding it.
    assert stored_transaction_hash(raw, SYSTEM_SENDER) == transaction.hash


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (raw_of(to=b"\x11" * 20), "to: 0x0000000000000000000000000000000000010008 expected"),
        (raw_of(data=b""), "1 to 100 roots expected, got 0"),
        (raw_of(data=import_call(roots(101))), "1 to 100 roots expected, got 101"),
        (raw_of(data=import_call([root(1)._replace(sides=())])), "a root has one side"),
        (raw_of(data=import_call(roots(1)) + bytes(32)), "not canonical"),
        (raw_of(data=import_call(roots(1))[:-1]), "the encoding ends too early"),
        (raw_of(salt=b"\0"), "salt"),
        (raw_of(salt=b"\xff" * 8), "the salt is too large"),
        (bytes([SYSTEM_TYPE]) + rlp_encode([ROOT_STORAGE, b""]), "3 items"),
        (b"\x7e" + raw_of()[1:], "0x7d expected first"),
    ],
)
def test_anything_else_is_rejected(raw: bytes, problem: str) -> None:
    with pytest.raises(MalformedTransaction) as rejected:
        SystemTransaction.decode(raw)
    assert problem in str(rejected.value)


def test_nobody_can_send_one() -> None:
    raw = raw_of()
    with pytest.raises(TransactionRuleBroken, match="0x7d"):
        decode(raw)
    assert isinstance(decode_many([raw])[0], TransactionRuleBroken)


@pytest.mark.parametrize("count", [1, 2, MAX_ROOTS_PER_IMPORT])
def test_the_size_of_a_call_follows_from_the_number_of_roots(count: int) -> None:
    assert len(import_call(roots(count))) == import_size(count)
