"""A development chain that imports roots of L1."""

from __future__ import annotations

from pathlib import Path

import msgspec

from entresol._native import keccak256
from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.genesis.genesis import GenesisAccount
from entresol.contracts import artifact
from entresol.primitives.interop_roots import ROOT_STORAGE, InteropRoot
from entresol.primitives.transactions.system import SYSTEM_SENDER
from entresol.primitives.values import Hash32
from tests.support.chain.dev_chain import GENESIS, RULES

L1_CHAIN_ID = 31337
GENESIS_NONCE = 1
"""The address of the bootloader, as of every contract of the genesis."""
ROOT_CONTRACT = GenesisAccount(code=bytes(artifact("L2InteropRootStorage").runtime), nonce=1)
_BOOTLOADER = GenesisAccount(code=bytes(artifact("Bootloader").runtime), nonce=GENESIS_NONCE)
IMPORTING = msgspec.structs.replace(
    GENESIS, alloc={**GENESIS.alloc, ROOT_STORAGE: ROOT_CONTRACT, SYSTEM_SENDER: _BOOTLOADER}
)


def root(number: int) -> InteropRoot:
    value = Hash32(keccak256(b"root" + number.to_bytes(8)))
    return InteropRoot.of(L1_CHAIN_ID, number, 1_000 + number, value)


def roots(count: int, first: int = 1) -> list[InteropRoot]:
    """Return the roots of consecutive blocks of L1."""
    return [root(number) for number in range(first, first + count)]


def open_importing(path: Path | None = None, *, gas_limit: int | None = None) -> Chain:
    rules = RULES if gas_limit is None else msgspec.structs.replace(RULES, gas_limit=gas_limit)
    return Chain.open(path, rules, IMPORTING, clock=Clock(lambda: 1_000.0))


def stored_root(chain: Chain, number: int) -> Hash32:
    """Return the root of a block of L1 that the chain has imported, or zero."""
    outer = keccak256(L1_CHAIN_ID.to_bytes(32) + bytes(32))
    slot = keccak256(number.to_bytes(32) + outer)
    return Hash32(chain.latest.slot(ROOT_STORAGE, slot))


def system_nonce(chain: Chain) -> int:
    account = chain.latest.account(SYSTEM_SENDER)
    assert account is not None
    return account.nonce
