"""Write state files: what anvil reads, and beside it our own part, which restores a chain exactly."""

from __future__ import annotations

import zlib
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import msgspec

from entresol._native import Snapshot, keccak256
from entresol.chain.edits import stored_edits
from entresol.errors import ChainReplaced, StoreFailed, UnknownBlock
from entresol.features.dev.state_file.anvil_json import (
    bytecode_fields,
    header_fields,
    transaction_fields,
)
from entresol.features.dev.state_file.reading import ChainPart, FileAccount, FileAnchor
from entresol.state.snapshots import HistoricalState
from entresol.version import FORMAT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from entresol.chain.chain import Chain
    from entresol.execution.evm_env import State
    from entresol.primitives.headers import Header
    from entresol.primitives.receipts import Receipt
    from entresol.primitives.records import BlockRecord, StoredChange
    from entresol.primitives.transactions import Transaction

_LEVEL: Final = 6
_GZIP_WINDOW: Final = 31
_PIECE_BYTES: Final = 64 << 10

_encode: Final = msgspec.json.Encoder().encode


class ChainDump:
    """A chain as of now, to be written on any thread.

    Assumes: it is created on the thread of the chain. Fails: with `ChainReplaced` if a chain is reverted meanwhile.
    """

    def __init__(self, chain: Chain) -> None:
        self.number = chain.number
        self._hash = chain.ledger.head_hash
        self._store = chain.ledger.store
        self._chain_id = chain.rules.chain_id
        self._latest = chain.latest
        self._edited = chain.edits.checkpoint()
        self._rows = tuple(self._store.loaded.rows(self.number))
        self._anchor = FileAnchor.of(chain.ledger.anchor)

    def written(
        self, others: Iterable[ChainDump] = (), *, historical: bool = False
    ) -> Iterator[bytes]:
        """Yield the file as JSON, in pieces: this chain as anvil has it, and all of them in our own part.

        In pieces, because encoding or freeing the whole document would hold the GIL for as long as that takes.
        """
        chains = (self, *others)
        try:
            yield from self._written(chains, historical=historical)
        except UnknownBlock:
            # All were there when the dump began.
            raise ChainReplaced(
                "the chain was reverted while it was dumped; dump it again once its blocks stay"
            ) from None
        except StoreFailed:
            # A revert removes the code of its blocks, too.
            _check_current(chains)
            raise
        _check_current(chains)

    def _written(self, chains: Iterable[ChainDump], *, historical: bool) -> Iterator[bytes]:
        accounts = self._accounts(self._latest)
        transactions = (
            transaction for record in self.records() for transaction in _transactions(record)
        )
        own = {
            "version": [_encode(FORMAT)],
            "chains": _array(_object(chain.own_part()) for chain in chains),
        }
        return _object(
            {
                "block": [_encode(_block_env(self._store.record(self.number).header()))],
                "accounts": _object((key, [_encode(account)]) for key, account in accounts),
                "best_block_number": [_encode(self.number)],
                "blocks": _array([_encode(_block(record))] for record in self.records()),
                "transactions": _array([_encode(transaction)] for transaction in transactions),
                "historical_states": _array(self._states()) if historical else [b"null"],
                "entresol": _object(own.items()),
            }.items()
        )

    @property
    def _edits(self) -> tuple[StoredChange, ...]:
        return self._stored_edits[0]

    @cached_property
    def _stored_edits(self) -> tuple[tuple[StoredChange, ...], tuple[bytes, ...]]:
        return stored_edits(self._edited)

    def is_current(self) -> bool:
        """Return whether the chain still has the block that was its last."""
        return self._store.block_hash(self.number) == self._hash

    def part(self) -> ChainPart:
        """Return our own part about this chain."""
        return ChainPart(
            chain_id=self._chain_id,
            records=tuple(self.records()),
            rows=self._rows,
            edits=self._edits,
            edited_codes=self._stored_edits[1],
            anchor=self._anchor,
        )

    def own_part(self) -> Iterator[tuple[str, Iterable[bytes]]]:
        """Yield the members of `part` as JSON."""
        edits = msgspec.msgpack.encode(self._stored_edits, enc_hook=bytes)
        rows = (["0x" + key.hex(), "0x" + row.hex()] for key, row in self._rows)
        yield "chainId", [_encode(self._chain_id)]
        if self._anchor is not None:
            chain_id, number, block_hash = self._anchor
            anchor = {"chainId": chain_id, "number": number, "hash": str(block_hash)}
            yield "anchor", [_encode(anchor)]
        yield (
            "records",
            _array([_encode("0x" + record.encode().hex())] for record in self.records()),
        )
        yield "rows", _array([_encode(row)] for row in rows)
        yield "edits", [_encode("0x" + edits.hex() if self._edits else None)]

    def records(self) -> Iterator[BlockRecord]:
        """Yield the records of all blocks."""
        return (
            self._store.record(number)
            for number in range(self._store.first_number, self.number + 1)
        )

    def _accounts(self, state: State) -> Iterator[tuple[str, dict[str, Any]]]:
        edited = {bytes(edit.address) for edit in self._edits}
        slots_of = {edit.address: [slot for slot, _ in edit.slots] for edit in self._edits}
        for address in dict.fromkeys((*self._store.state_keys.addresses(), *sorted(edited))):
            account = state.account(address)
            if account is None:
                continue
            slots = (*self._store.state_keys.slots(address), *slots_of.get(address, ()))
            values = {slot: state.slot(address, slot) for slot in slots}
            shown = FileAccount(
                nonce=account.nonce,
                balance=account.balance,
                code=state.code(account.code_hash),
                storage={slot: value for slot, value in values.items() if any(value)},
            )
            yield "0x" + address.hex(), _account(shown)

    def _states(self) -> Iterator[Iterator[bytes]]:
        """Yield the states of the blocks before the last one, as far as they are known."""
        first = max(self._store.first_number, self._store.loaded.first)
        for number in range(first, self.number):
            block_hash = "0x" + self._store.record(number).hash().hex()
            yield _array([[_encode(block_hash)], self._state(number)])

    def _state(self, number: int) -> Iterator[bytes]:
        accounts = list(self._accounts(Snapshot(HistoricalState(self._store, number))))
        members = {
            "accounts": _object(
                (key, [_encode(_historical(account))]) for key, account in accounts
            ),
            "storage": _object((key, [_encode(account["storage"])]) for key, account in accounts),
            "block_hashes": [b"{}"],
        }
        return _object(members.items())


def _check_current(chains: Iterable[ChainDump]) -> None:
    if not all(chain.is_current() for chain in chains):
        raise ChainReplaced(
            "the chain was reverted while it was dumped; dump it again once its blocks stay"
        )


def write_state_file(pieces: Iterable[bytes], *, packed: bool) -> bytes:
    """Return a file, plain or packed by gzip."""
    if not packed:
        return b"".join(pieces)
    packing = zlib.compressobj(_LEVEL, wbits=_GZIP_WINDOW)
    # Other threads run while a long piece is packed, and for short ones that takes longer than packing them.
    done = [packing.compress(piece) for piece in _joined(pieces)]
    return b"".join((*done, packing.flush()))


def _joined(pieces: Iterable[bytes]) -> Iterator[bytes]:
    joined, size = list[bytes](), 0
    for piece in pieces:
        joined.append(piece)
        size += len(piece)
        if size >= _PIECE_BYTES:
            yield b"".join(joined)
            joined, size = [], 0
    yield b"".join(joined)


def _object(members: Iterable[tuple[str, Iterable[bytes]]]) -> Iterator[bytes]:
    """Yield a JSON object whose values are written in pieces."""
    before = b"{"
    for name, value in members:
        yield before + _encode(name) + b":"
        yield from value
        before = b","
    yield b"{}" if before == b"{" else b"}"


def _array(items: Iterable[Iterable[bytes]]) -> Iterator[bytes]:
    """Yield a JSON array of items that are written in pieces."""
    before = b"["
    for item in items:
        yield before
        yield from item
        before = b","
    yield b"[]" if before == b"[" else b"]"


def _account(account: FileAccount) -> dict[str, Any]:
    return {
        "nonce": account.nonce,
        "balance": hex(account.balance),
        "code": "0x" + account.code.hex(),
        "storage": {
            "0x" + slot.hex(): "0x" + value.hex() for slot, value in account.storage.items()
        },
    }


def _historical(account: dict[str, Any]) -> dict[str, Any]:
    code = bytes.fromhex(account["code"][2:])
    return {
        "balance": account["balance"],
        "nonce": account["nonce"],
        "code_hash": "0x" + keccak256(code).hex(),
        "code": bytecode_fields(code) if code else None,
    }


def _block_env(header: Header) -> dict[str, Any]:
    return {
        "number": hex(header.number),
        "beneficiary": str(header.beneficiary),
        "timestamp": hex(header.timestamp),
        "gas_limit": header.gas_limit,
        "basefee": header.base_fee_per_gas,
        "difficulty": hex(header.difficulty),
        "prevrandao": str(header.mix_hash),
        "blob_excess_gas_and_price": {"excess_blob_gas": 0, "blob_gasprice": 1},
        "slot_num": 0,
    }


def _block(record: BlockRecord) -> dict[str, Any]:
    transactions = (record.transaction(index) for index in range(len(record.transactions)))
    return {
        "header": header_fields(record.header()),
        "transactions": [
            {
                "transaction": transaction_fields(transaction),
                "impersonated_sender": str(transaction.sender)
                if transaction.is_impersonated
                else None,
            }
            for transaction in transactions
        ],
        "ommers": [],
        "withdrawals": None,
    }


def _transactions(record: BlockRecord) -> Iterator[dict[str, Any]]:
    header = record.header()
    block_hash = str(header.hash())
    for index, receipt in enumerate(record.receipts()):
        transaction, result = record.transaction(index), record.results[index]
        created = result.created
        info = {
            "transaction_hash": str(transaction.hash),
            "transaction_index": index,
            "from": str(transaction.sender),
            "to": None if transaction.payload.to is None else str(transaction.payload.to),
            "contract_address": None if created is None else "0x" + created.hex(),
            "traces": [],
            "exit": "Return" if result.succeeded else "Revert",
            "out": None,
            "nonce": transaction.payload.nonce,
            "gas_used": result.gas_used,
        }
        yield {
            "info": info,
            "receipt": _receipt(receipt, transaction),
            "block_hash": block_hash,
            "block_number": header.number,
        }


def _receipt(receipt: Receipt, transaction: Transaction) -> dict[str, Any]:
    return {
        "type": hex(transaction.type),
        "status": hex(receipt.succeeded),
        "cumulativeGasUsed": hex(receipt.cumulative_gas_used),
        "logs": [
            {
                "address": str(log.address),
                "topics": [str(topic) for topic in log.topics],
                "data": "0x" + log.data.hex(),
            }
            for log in receipt.logs
        ],
        "logsBloom": str(receipt.bloom),
    }
