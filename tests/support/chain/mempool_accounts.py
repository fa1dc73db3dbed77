"""Accounts in a dictionary, and unsigned transactions, for tests of the mempool."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

from entresol._native import Account, Snapshot, keccak256
from entresol.chain.mempool import ValidationRules
from entresol.primitives.transactions import FeeMarketTransaction, Payload, Transaction
from entresol.primitives.values import Address, Hash32
from tests.support.evm.in_memory_state import EMPTY_CODE, ETHER

CHAIN_ID = 270
BASE_FEE = 100
RULES = ValidationRules(chain_id=CHAIN_ID, gas_limit=30_000_000)

ANN = Address(bytes([0xA1] * 20))
BEN = Address(bytes([0xB0] * 20))
CAT = Address(bytes([0xC0] * 20))

_serial = count()


@dataclass
class Accounts:
    """The provider of a state; an address it does not know has an ether and no nonce yet."""

    nonces: dict[bytes, int] = field(default_factory=dict)
    balances: dict[bytes, int] = field(default_factory=dict)
    codes: dict[bytes, bytes] = field(default_factory=dict)
    reads: int = 0

    @property
    def state(self) -> Snapshot:
        return Snapshot(self, cache_entries=0)

    def account(self, address: bytes) -> Account:
        self.reads += 1
        code = self.codes.get(address, b"")
        return Account(
            self.nonces.get(address, 0), self.balances.get(address, ETHER), keccak256(code)
        )

    def code(self, code_hash: bytes) -> bytes:
        assert code_hash != EMPTY_CODE
        return next(code for code in self.codes.values() if keccak256(code) == code_hash)

    def slot(self, _address: bytes, _slot: bytes) -> bytes:
        return bytes(32)

    def block_hash(self, _number: int) -> bytes:
        return bytes(32)


def wrap(payload: Payload, sender: Address = ANN, *, size: int = 110) -> Transaction:
    """Return a transaction with this payload, a hash of its own, and `size` bytes."""
    unique = Hash32(keccak256(next(_serial).to_bytes(8)))
    return Transaction(payload=payload, sender=sender, hash=unique, raw=bytes(size))


def transfer(
    sender: Address = ANN,
    nonce: int = 0,
    *,
    tip: int = 1,
    fee_cap: int = 1_000,
    value: int = 0,
    size: int = 110,
) -> Transaction:
    payload = FeeMarketTransaction(
        nonce=nonce,
        gas_limit=21_000,
        to=Address.zero(),
        value=value,
        r=1,
        s=1,
        chain_id=CHAIN_ID,
        max_priority_fee_per_gas=tip,
        max_fee_per_gas=fee_cap,
    )
    return wrap(payload, sender, size=size)
