"""Blocks and their size."""

from __future__ import annotations

import pytest
import rlp as reference

from entresol.primitives.blocks import Block, block_size
from entresol.primitives.headers import Header
from entresol.primitives.transactions import (
    FeeMarketTransaction,
    LegacyTransaction,
    PriorityTransaction,
    Transaction,
    sign,
)
from entresol.primitives.values import Address, Hash32

SECRET = bytes([0x46]) * 32
TO = Address(b"\x11" * 20)
HEADER = Header(
    parent_hash=Hash32.zero(),
    state_root=Hash32.zero(),
    number=1,
    gas_limit=30_000_000,
    timestamp=12,
    base_fee_per_gas=7,
)
LEGACY = sign(LegacyTransaction(nonce=0, gas_price=1, gas_limit=21_000, to=TO), SECRET)
TYPED = sign(
    FeeMarketTransaction(
        chain_id=270,
        nonce=1,
        max_fee_per_gas=2,
        max_priority_fee_per_gas=1,
        gas_limit=21_000,
        to=TO,
    ),
    SECRET,
)
PRIORITY = Transaction.from_l1(
    PriorityTransaction(
        sender=TO, to=TO, gas_limit=1, gas_per_pubdata_limit=800, max_fee_per_gas=1, nonce=0
    )
)


@pytest.mark.parametrize("transactions", [(), (LEGACY,), (TYPED,), (LEGACY, TYPED, PRIORITY) * 9])
def test_the_size_is_that_of_the_encoding(transactions: tuple[Transaction, ...]) -> None:
    block = Block(header=HEADER, transactions=transactions)
    assert block.size() == block_size(HEADER, transactions) == len(block.encode())


def test_a_block_is_a_list_of_header_transactions_and_no_ommers() -> None:
    block = Block(header=HEADER, transactions=(LEGACY, TYPED, PRIORITY))
    header, transactions, ommers = reference.decode(block.encode())
    assert header == HEADER.to_rlp()
    assert transactions == [reference.decode(LEGACY.raw), TYPED.raw, PRIORITY.raw]
    assert ommers == []
