"""Steers a chain as methods for developers do, for tests that run without them: edits, and reverts to a mark."""

from __future__ import annotations

from entresol.chain.chain import Chain
from entresol.chain.history import ChainMark
from entresol.primitives.values import Address
from tests.support.hex_data import unhex


def set_balance(chain: Chain, address: Address, wei: int) -> None:
    chain.edit(address, lambda state: state.set_balance(address, wei))


def set_nonce(chain: Chain, address: Address, nonce: int) -> None:
    chain.edit(address, lambda state: state.set_nonce(address, nonce))


def set_code(chain: Chain, address: Address, code: str) -> None:
    chain.edit(address, lambda state: state.set_code(address, unhex(code)))


def set_slot(chain: Chain, address: Address, slot: int, value: str) -> None:
    chain.edit(address, lambda state: state.set_slot(address, slot.to_bytes(32), unhex(value)))


def revert(chain: Chain, mark: ChainMark) -> None:
    """Revert a chain to what `chain.history.mark()` has returned: blocks, pool, edits, clock and settings."""
    assert mark.pool is not None
    state = chain.ledger.state_after(mark.number) if mark.edited is None else mark.edited
    pool = chain.pool.restored(mark.pool, state, mark.base_fee)
    chain.history.unwind(mark, pool, chain.ledger.reverted_by(mark.number))
