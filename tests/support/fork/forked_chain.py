"""A chain that is a fork of a remote in memory: an anchor, contracts there, and transactions for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from entresol._native import address_of, public_key, wait_for_remote
from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.genesis.fork_genesis import AnchoredAccount as KnownAccount
from entresol.chain.genesis.fork_genesis import fork_genesis
from entresol.chain.genesis.genesis import Genesis, GenesisAccount
from entresol.chain.rules import ChainRules
from entresol.primitives.anchor import Anchor
from entresol.primitives.transactions import Transaction, sign
from entresol.primitives.values import Address, Hash32
from tests.support.chain.dev_chain import fee_market
from tests.support.evm.assembler import assemble
from tests.support.fork.fake_remote import FakeRemote, RemoteAccount

CHAIN_ID = 31337
REMOTE_ID = 1
ETHER = 10**18
NUMBER = 20_000_000
TIMESTAMP = 1_700_000_000
HASH = Hash32(b"\xa5" * 32)
SECRETS = [bytes([number]) * 32 for number in (1, 2)]
ALICE, BOB = (Address(address_of(public_key(secret))) for secret in SECRETS)

# Called with a slot and a value, it stores that; with a slot alone, it returns what is there.
STORAGE_CODE = assemble(
    "32 calldatasize gt @write jumpi 0 calldataload sload 0 mstore 32 0 return "
    "write: jumpdest 32 calldataload 0 calldataload sstore stop"
)
STORAGE = Address(b"\xc0" * 20)
SLOTS = {1: 11, 2: 22, 3: 33}
# Gives its balance away and is gone, if it is created in the same transaction; so it is only ever called by edits.
OTHER = Address(b"\xc1" * 20)


def block_json(**fields: Any) -> bytes:
    """Return the anchor as a remote returns it, with a field that only other chains have."""
    block = {
        "number": hex(NUMBER),
        "hash": str(HASH),
        "parentHash": "0x" + "b6" * 32,
        "stateRoot": "0x" + "c7" * 32,
        "timestamp": hex(TIMESTAMP),
        "gasLimit": hex(36_000_000),
        "gasUsed": hex(36_000_000),
        "baseFeePerGas": hex(8 * 10**9),
        "blobGasUsed": hex(131_072),
        "excessBlobGas": hex(10 * 131_072),
        "withdrawalsRoot": "0x" + "d8" * 32,
        "parentBeaconBlockRoot": "0x" + "e9" * 32,
        "requestsHash": "0x" + "fa" * 32,
        "l1BatchNumber": "0x7",
    }
    return msgspec.json.encode(block | fields)


ANCHOR = Anchor.of_json(REMOTE_ID, block_json())
RULES = msgspec.structs.replace(ChainRules.layer_1(CHAIN_ID), gas_limit=36_000_000)


def remote() -> FakeRemote:
    """Return a remote with a contract that has storage, and one that has another code."""
    return FakeRemote(
        {
            STORAGE: RemoteAccount(nonce=1, balance=5, code=STORAGE_CODE),
            OTHER: RemoteAccount(nonce=1, code=assemble("0 0 revert")),
        },
        {(STORAGE, slot): value for slot, value in SLOTS.items()},
    )


def genesis(
    anchor: Anchor = ANCHOR,
    *,
    contracts: dict[Address, GenesisAccount] | None = None,
    funded: dict[Address, KnownAccount] | None = None,
    kept: dict[Address, KnownAccount] | None = None,
) -> Genesis:
    rich = {ALICE: KnownAccount(nonce=3), BOB: KnownAccount()} if funded is None else funded
    return fork_genesis(
        anchor,
        chain_id=CHAIN_ID,
        funded=rich,
        balance=1_000 * ETHER,
        contracts=contracts,
        kept=kept,
    )


def open_fork(
    remote: FakeRemote | None, path: Path | None = None, start: Genesis | None = None
) -> Chain:
    """Open the fork in memory, or in a directory; without a remote only what it has itself can be read."""
    table = None if remote is None else remote.table
    begun = genesis() if start is None else start
    return Chain.open(path, RULES, begun, clock=Clock(lambda: 1_000.0), remote=table)


@contextmanager
def waiting(seconds: float = 10) -> Iterator[None]:
    wait_for_remote(seconds)
    try:
        yield
    finally:
        wait_for_remote(None)


def call(nonce: int, *words: int, to: Address | None = STORAGE, wei: int = 0) -> Transaction:
    payload = fee_market(
        nonce,
        to,
        chain_id=CHAIN_ID,
        value=wei,
        data=b"".join(word.to_bytes(32) for word in words),
        gas=500_000,
        fee=100 * 10**9,
    )
    return sign(payload, SECRETS[0])


def seal(chain: Chain, *transactions: Transaction) -> None:
    for transaction in transactions:
        chain.add(transaction)
    chain.builder.seal()
    assert not len(chain.pool)


def slot(chain: Chain, number: int, address: Address = STORAGE, block: int | None = None) -> int:
    """Return a slot after a block, or now."""
    state = chain.latest if block is None else chain.state_after(block)
    return int.from_bytes(state.slot(address, number.to_bytes(32)))
