"""Read state files of anvil, of any version, and our own."""

from __future__ import annotations

import zlib
from typing import Any, Final, NamedTuple, Self, TypeAlias

import msgspec

from entresol.chain.genesis.geth_json import (
    optional,
    read_data,
    read_number,
    read_object,
    read_table,
    read_word,
    required,
    within,
)
from entresol.chain.transaction_json import read_list
from entresol.errors import InvalidGenesis, InvalidTransaction, MalformedValue
from entresol.features.dev.errors import InvalidStateFile
from entresol.features.dev.state_file.anvil_json import (
    read_bytecode,
    read_header,
    read_tagged_payload,
)
from entresol.primitives.anchor import Anchor
from entresol.primitives.headers import Header
from entresol.primitives.records import BlockRecord, StoredChange, TransactionResult
from entresol.primitives.transactions import Transaction, load
from entresol.primitives.values import Address, Hash32
from entresol.version import FORMAT

MAX_BYTES: Final = 512 * 1024 * 1024
"""How long a file may be, unpacked; it is read into memory."""

BYTES_PER_VALUE: Final = 128
"""About how much memory a value of a file takes besides its text: an account, a field of it, a slot."""


class FileAccount(msgspec.Struct, frozen=True, kw_only=True):
    """An account with its code and all of its slots."""

    nonce: int = 0
    balance: int = 0
    code: bytes = b""
    storage: dict[bytes, bytes] = {}


class FileResult(NamedTuple):
    """The result of a transaction, with its sender."""

    sender: Address
    result: TransactionResult


class FileBlock(msgspec.Struct, frozen=True, kw_only=True):
    """A block with the results of its transactions."""

    header: Header
    transactions: tuple[Transaction, ...] = ()
    results: tuple[TransactionResult, ...] = ()


class FileAnchor(NamedTuple):
    """The block of a remote chain that a dumped fork stands on."""

    chain_id: int
    number: int
    hash: Hash32

    @classmethod
    def of(cls, anchor: Anchor | None) -> Self | None:
        """Return what a file says of an anchor."""
        return None if anchor is None else cls(anchor.chain_id, anchor.number, anchor.hash)

    def __str__(self) -> str:
        return f"block {self.number} ({self.hash}) of chain {self.chain_id}"


class ChainPart(msgspec.Struct, frozen=True, kw_only=True):
    """A chain with everything that it stores, so that it can be restored exactly."""

    chain_id: int
    records: tuple[BlockRecord, ...]
    rows: tuple[tuple[bytes, bytes], ...] = ()
    """Rows that do not follow from the records: batches, their settlement, prices."""
    edits: tuple[StoredChange, ...] = ()
    edited_codes: tuple[bytes, ...] = ()
    anchor: FileAnchor | None = None
    """The block that the chain stands on; None if it is not a fork."""


class StateFile(msgspec.Struct, frozen=True, kw_only=True):
    """A state file."""

    best: int | None = None
    """The number of the last block; None if the file has accounts alone."""
    accounts: dict[Address, FileAccount] = {}
    blocks: dict[int, FileBlock] = {}
    states: dict[Hash32, dict[Address, FileAccount]] = {}
    """States after blocks before the last one, by block hash."""
    chains: tuple[ChainPart, ...] = ()
    """Our own part: every chain of the node that wrote the file."""

    def part_of(self, chain_id: int) -> ChainPart | None:
        """Return our own part about a chain."""
        return next((chain for chain in self.chains if chain.chain_id == chain_id), None)


_GZIP: Final = b"\x1f\x8b"
_GZIP_WINDOW: Final = 31

Results: TypeAlias = dict[tuple[Hash32, int], FileResult]
"""Results by block hash and index: a transaction without a signature has another hash in its block."""
States: TypeAlias = dict[Hash32, dict[Address, FileAccount]]
Edits: TypeAlias = tuple[tuple[StoredChange, ...], tuple[bytes, ...]]

_NOTHING: Final[list[Any]] = []


def read_state_file(
    data: bytes,
    chain_id: int | None = None,
    *,
    max_bytes: int = MAX_BYTES,
    max_memory: int | None = None,
) -> StateFile:
    """Read a file, plain or packed by gzip; raise `InvalidStateFile` with the field that is wrong.

    If our own part has the chain with this id, nothing else is read. A file of a client may take `max_memory` bytes,
    with `BYTES_PER_VALUE` for each of its values; it is unpacked no further than that.
    """
    if max_memory is None:
        document = _unpacked(data, max_bytes)
    else:
        document = _unpacked_within(data, max_memory)
    try:
        item = msgspec.json.decode(document)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidStateFile(f"not JSON: {error}") from None
    try:
        return _read_file(read_object(item), chain_id)
    except (InvalidGenesis, MalformedValue) as error:
        raise InvalidStateFile(error.problem, field=error.field) from None


def _unpacked_within(data: bytes, max_memory: int) -> bytes:
    """Unpack the file of a client, whose few bytes may stand for any number of accounts."""
    too_large = InvalidStateFile(
        f"it takes more than {max_memory} bytes unpacked: raise --load-state-limit-bytes, or give the file to "
        "--load-state"
    )
    try:
        document = _unpacked(data, max_memory)
    except _TooLong:
        raise too_large from None
    values = document.count(b",") + document.count(b":")
    if len(document) + BYTES_PER_VALUE * values > max_memory:
        raise too_large
    return document


class _TooLong(InvalidStateFile):
    """A file has more bytes than allowed, unpacked."""


def _unpacked(data: bytes, max_bytes: int) -> bytes:
    if data.startswith(_GZIP):
        unpacking = zlib.decompressobj(_GZIP_WINDOW)
        try:
            data = unpacking.decompress(data, max_bytes + 1)
        except zlib.error as error:
            raise InvalidStateFile(f"not gzip: {error}") from None
        if not unpacking.eof and len(data) <= max_bytes:
            raise InvalidStateFile("not gzip: the end is missing")
    if len(data) > max_bytes:
        raise _TooLong(f"a file has at most {max_bytes} bytes unpacked")
    return data


def _read_file(item: dict[str, object], chain_id: int | None) -> StateFile:
    chains = required(item, "entresol", _read_own) if item.get("entresol") else ()
    if any(chain.chain_id == chain_id for chain in chains):
        return StateFile(chains=chains)
    block: dict[str, object] = optional(item, "block", read_object, dict[str, object]())
    number = required(block, "number", read_number) if block else None
    results = optional(item, "transactions", _read_results, Results())
    blocks: list[FileBlock] = []
    for index, block_item in enumerate(optional(item, "blocks", read_list, _NOTHING)):
        with within(f"blocks[{index}]"):
            blocks.append(_read_block(read_object(block_item), results))
    if item.get("best_block_number") is not None:
        number = required(item, "best_block_number", read_number)
    return StateFile(
        best=number,
        accounts=optional(item, "accounts", _read_accounts, dict[Address, FileAccount]()),
        blocks=_canonical(blocks, number),
        states=optional(item, "historical_states", _read_states, States()),
        chains=chains,
    )


def _canonical(blocks: list[FileBlock], best: int | None) -> dict[int, FileBlock]:
    """Return the chain up to the best block, by number.

    A file may have more: anvil keeps its own genesis beside one that it has loaded.
    """
    by_hash = {block.header.hash(): block for block in blocks}
    longest: dict[int, FileBlock] = {}
    for block in blocks:
        if block.header.number != best:
            continue
        chain: dict[int, FileBlock] = {}
        at: FileBlock | None = block
        while at is not None and at.header.number not in chain:
            chain[at.header.number] = at
            at = by_hash.get(at.header.parent_hash)
        longest = max(longest, chain, key=len)
    return longest


def _read_accounts(value: object) -> dict[Address, FileAccount]:
    return read_table(value, Address.parse, _read_account)


def _read_account(value: object) -> FileAccount:
    item = read_object(value)
    return FileAccount(
        nonce=optional(item, "nonce", read_number, 0),
        balance=optional(item, "balance", read_number, 0),
        code=optional(item, "code", read_data, b""),
        storage=optional(item, "storage", _read_storage, dict[bytes, bytes]()),
    )


def _read_storage(value: object) -> dict[bytes, bytes]:
    return {
        bytes(key): bytes(word) for key, word in read_table(value, read_word, read_word).items()
    }


def _optional_address(item: dict[str, object], name: str) -> Address | None:
    return None if item.get(name) is None else required(item, name, Address.parse)


# Blocks and their results


def _read_block(item: dict[str, object], results: Results) -> FileBlock:
    header = required(item, "header", lambda it: read_header(read_object(it)))
    block_hash = header.hash()
    transactions, found = [], []
    for index, given in enumerate(optional(item, "transactions", read_list, _NOTHING)):
        with within(f"transactions[{index}]"):
            result = results.get((block_hash, index))
            if result is None:
                raise MalformedValue("there is no result of it")
            transactions.append(_read_transaction(read_object(given), result.sender))
            found.append(result.result)
    return FileBlock(header=header, transactions=tuple(transactions), results=tuple(found))


def _read_transaction(item: dict[str, object], sender: Address) -> Transaction:
    """Read a transaction; files before 1.3 have it bare, later ones beside its impersonated sender."""
    fields = required(item, "transaction", read_object) if "transaction" in item else item
    payload = read_tagged_payload(fields)
    try:
        return load(payload.encode(), sender)
    except InvalidTransaction as error:
        raise MalformedValue(str(error)) from None


def _read_results(value: object) -> Results:
    results: Results = {}
    for index, given in enumerate(read_list(value)):
        with within(f"[{index}]"):
            item = read_object(given)
            info = required(item, "info", read_object)
            sender = required(info, "from", Address.parse)
            result = _read_result(info, required(item, "receipt", read_object))
            block_hash = required(item, "block_hash", Hash32.parse)
            at = required(info, "transaction_index", read_number)
            results[block_hash, at] = FileResult(sender, result)
    return results


def _read_result(info: dict[str, object], receipt: dict[str, object]) -> TransactionResult:
    created = _optional_address(info, "contract_address")
    return TransactionResult(
        succeeded=bool(optional(receipt, "status", read_number, 1)),
        gas_used=required(info, "gas_used", read_number),
        created=bytes(created) if created else None,
        logs=tuple(map(_read_log, optional(receipt, "logs", read_list, _NOTHING))),
    )


def _read_log(value: object) -> tuple[bytes, tuple[bytes, ...], bytes]:
    item = read_object(value)
    return (
        bytes(required(item, "address", Address.parse)),
        tuple(bytes(Hash32.parse(topic)) for topic in required(item, "topics", read_list)),
        bytes(required(item, "data", read_data)),
    )


# States of earlier blocks


def _read_states(value: object) -> States:
    states: States = {}
    for index, entry in enumerate(read_list(value)):
        with within(f"[{index}]"):
            block_hash, state = read_list(entry)
            states[Hash32.parse(block_hash)] = _read_state(read_object(state))
    return states


def _read_state(item: dict[str, object]) -> dict[Address, FileAccount]:
    slots = optional(item, "storage", read_object, dict[str, object]())
    with within("storage"):
        storage = read_table(slots, Address.parse, _read_storage)

    def read(value: object) -> FileAccount:
        account = read_object(value)
        return FileAccount(
            nonce=required(account, "nonce", read_number),
            balance=required(account, "balance", read_number),
            code=optional(account, "code", read_bytecode, b""),
        )

    accounts = required(item, "accounts", lambda it: read_table(it, Address.parse, read))
    return {
        address: msgspec.structs.replace(account, storage=storage.get(address, {}))
        for address, account in accounts.items()
    }


# Our own part


def _read_own(value: object) -> tuple[ChainPart, ...]:
    item = read_object(value)
    version = required(item, "version", read_number)
    if version != FORMAT:
        problem = f"is format {version}, and this version reads format {FORMAT} alone: dump it again with this version"
        raise MalformedValue(problem, field="version")
    return tuple(_read_part(read_object(chain)) for chain in required(item, "chains", read_list))


def _read_part(item: dict[str, object]) -> ChainPart:
    nothing: Edits = (), ()
    edits, codes = optional(item, "edits", _read_edits, nothing)
    return ChainPart(
        chain_id=required(item, "chainId", read_number),
        records=tuple(
            BlockRecord.decode(read_data(record)) for record in required(item, "records", read_list)
        ),
        rows=tuple(
            (read_data(key), read_data(row))
            for key, row in optional(item, "rows", read_list, _NOTHING)
        ),
        edits=edits,
        edited_codes=codes,
        anchor=optional(item, "anchor", _read_anchor, None),
    )


def _read_anchor(value: object) -> FileAnchor | None:
    if value is None:
        return None
    item = read_object(value)
    return FileAnchor(
        required(item, "chainId", read_number),
        required(item, "number", read_number),
        required(item, "hash", Hash32.parse),
    )


def _read_edits(value: object) -> Edits:
    try:
        edits: Edits = msgspec.msgpack.decode(read_data(value), type=Edits)
    except msgspec.DecodeError as error:
        raise MalformedValue(str(error)) from None
    return edits
