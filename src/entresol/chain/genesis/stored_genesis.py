"""The genesis of a chain in its store: the first block, read back and compared with an expected genesis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from entresol._native import EMPTY_ROOT, Overlay, Snapshot, keccak256
from entresol.chain.genesis.genesis import Genesis, GenesisAccount
from entresol.errors import (
    GenesisMismatch,
    InvalidGenesis,
    MalformedValue,
    StoreDamaged,
    UnknownBlock,
)
from entresol.primitives.bytecode import EMPTY_CODE_HASH
from entresol.primitives.headers import ForkFields
from entresol.primitives.records import BlockRecord, stored_changes
from entresol.primitives.values import Address, Hash32
from entresol.state.snapshots import HistoricalState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from entresol.primitives.anchor import Anchor
    from entresol.primitives.records import StoredChange
    from entresol.state.state_trie import StateTrie
    from entresol.storage.store import Store
    from entresol.storage.store_view import StoreView


GenesisCheck: TypeAlias = Callable[[Genesis, Genesis], Iterable[str]]
"""Returns what prevents to open a chain: differences of its genesis from the expected one."""

SHOWN_DIFFERENCES: Final = 3


def differences(stored: Genesis, expected: Genesis) -> Iterator[str]:
    """Yield every difference, by the names of geth's JSON."""
    if stored.chain_id != expected.chain_id:
        yield f"config.chainId: {stored.chain_id}, not {expected.chain_id}"
    yield from header_differences(stored, expected)
    for address in sorted(stored.alloc.keys() | expected.alloc.keys()):
        yield from account_differences(address, stored, expected)


def header_differences(stored: Genesis, expected: Genesis) -> Iterator[str]:
    """Yield the differences in the header, except in the state root."""
    found, wanted = stored.header_json(), expected.header_json()
    for name, value in found.items():
        if value != wanted[name]:
            yield f"{name}: {value}, not {wanted[name]}"


def account_differences(address: Address, stored: Genesis, expected: Genesis) -> Iterator[str]:
    """Yield in which fields an account differs, or that only one genesis has it."""
    found, wanted = stored.alloc.get(address), expected.alloc.get(address)
    if found is None or wanted is None:
        yield f"alloc.{address}: {'only given now' if found is None else 'not given now'}"
    elif found.balance != wanted.balance:
        yield f"alloc.{address}.balance: {found.balance}, not {wanted.balance}"
    elif not found.same_state(wanted):
        yield f"alloc.{address}: another nonce, code or storage"


class ExpectedGenesis(msgspec.Struct, frozen=True):
    """The genesis of a new chain, and how that of an existing one is compared with it."""

    genesis: Genesis
    check: GenesisCheck = differences
    """By default nothing may differ."""


def identity(genesis: Genesis) -> bytes:
    """Return the hash that identifies a chain; unlike the genesis block hash it covers the chain id."""
    return keccak256(genesis.dump())


def open_genesis(store: Store, expected: ExpectedGenesis) -> Genesis:
    """Return the genesis of the chain in `store`, which is read only if it is not the expected one.

    Raise `GenesisMismatch` with the differences that prevent it. A fork is known by its chain id and its anchor; what
    it laid over that when it was created stays.
    """
    store.fork.check(expected.genesis.anchor)
    if store.genesis.identity == identity(expected.genesis):
        return expected.genesis
    stored = read_genesis(store)
    if stored.anchor is not None:
        if stored.chain_id != expected.genesis.chain_id:
            difference = f"config.chainId: {stored.chain_id}, not {expected.genesis.chain_id}"
            raise GenesisMismatch(store.path, difference)
        return stored
    found = tuple(islice(expected.check(stored, expected.genesis), SHOWN_DIFFERENCES))
    if found:
        raise GenesisMismatch(store.path, *found)
    return stored


def read_genesis(store: Store) -> Genesis:
    """Read the genesis from its block."""
    try:
        record = store.record(store.first_number)
        return _of_record(record, store.genesis.chain_id, store.fork.anchor)
    except (MalformedValue, InvalidGenesis, UnknownBlock) as error:
        raise StoreDamaged(store.path, f"its genesis: {error}") from error


def _of_record(record: BlockRecord, chain_id: int, anchor: Anchor | None) -> Genesis:
    codes = {keccak256(code): code for code in record.codes}
    alloc = {Address(change.address): _account(change, codes, anchor) for change in record.changes}
    return Genesis.of_header(record.header(), chain_id, alloc, anchor)


def _account(
    change: StoredChange, codes: dict[bytes, bytes], anchor: Anchor | None
) -> GenesisAccount:
    account = change.account
    if account is None:
        raise MalformedValue(f"account 0x{change.address.hex()} is deleted")
    code = b"" if account.code_hash == EMPTY_CODE_HASH else codes.get(account.code_hash)
    if code is None:
        raise MalformedValue(f"the code of account 0x{change.address.hex()} is missing")
    return GenesisAccount(
        balance=int.from_bytes(account.balance),
        nonce=account.nonce,
        code=code,
        storage={Hash32(slot): Hash32(value.rjust(32, b"\0")) for slot, value in change.slots},
        keeps_storage=anchor is not None and not change.destroyed,
    )


_NO_FIELDS: Final = ForkFields()


def genesis_block(
    genesis: Genesis, store: StoreView, trie: StateTrie, fields: ForkFields = _NO_FIELDS
) -> tuple[BlockRecord, list[tuple[bytes, bytes]]]:
    """Return the record and trie nodes of the genesis block, for an empty store; of a fork's remote nothing is read."""
    overlay = Overlay(Snapshot(HistoricalState(store, 0)))
    state = genesis.state()
    for address, account in state.accounts.items():
        code = state.codes.get(account.code_hash)
        if code is not None:
            overlay.set_code(address, code)
        overlay.set_account(address, account)
        for slot, value in state.storage.get(address, {}).items():
            overlay.set_slot(address, slot, value)
    changes = overlay.changes()
    root, nodes = trie.update(Hash32(EMPTY_ROOT), changes)
    codes = tuple(code for _, code in sorted(changes.codes.items()))
    header = genesis.header(root, fields)
    stored = stored_changes(changes)
    if genesis.anchor is not None:
        stored = tuple(_laid_over(change, genesis.alloc) for change in stored)
    return BlockRecord(header.encode(), (), (), stored, codes), nodes


def _laid_over(change: StoredChange, alloc: Mapping[Address, GenesisAccount]) -> StoredChange:
    """Return the change of an account that is laid over a remote one, whose storage is gone unless it is kept."""
    keeps = alloc[Address(change.address)].keeps_storage
    return msgspec.structs.replace(change, destroyed=not keeps)
