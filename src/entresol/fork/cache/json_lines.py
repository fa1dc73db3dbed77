"""A fork's cache as text, for a repository: one JSON array a line, sorted, so that it diffs and merges well.

docs/fork-cache.md describes the format. The first line says version and fork; every other one is a value that stands
for itself, so lines may come in any order and more than once, as a merge of two branches leaves them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

import msgspec

from entresol._native import keccak256
from entresol.bounded_file import read_lines
from entresol.errors import (
    ForkCacheConflict,
    ForkCacheUnusable,
    MalformedForkFile,
    MalformedValue,
)
from entresol.fork.cache.database import ForkDatabase
from entresol.fork.cache.rows import (
    ANCHOR,
    KINDS,
    MAX_NUMBER,
    Fork,
    Row,
    RowKey,
    RowValue,
    big_endian,
)
from entresol.primitives.values import Address, Data, Hash32, Quantity

VERSION: Final = 1
HEADER: Final = "entresol-fork"
SUFFIX: Final = ".jsonl"
MAX_FILE_BYTES: Final = 4 << 30

_MARKERS: Final = (b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||")
_COLUMNS: Final = {name: (*kind.key, *kind.value) for name, kind in KINDS.items()}
_JSON: Final = ("json", "params")
_LOADED_ROWS: Final = 10_000
"""How many rows are inserted at once while a file is read."""


def dump(fork: Fork, rows: Iterable[Row]) -> Iterator[bytes]:
    """Yield the lines of an export, in their order."""
    yield _line([HEADER, VERSION, fork.chain_id, fork.number, _hex(fork.hash)])
    for row in sorted(rows):
        yield _line([row.kind, *_WRITERS[row.kind](row)])


def load(path: Path) -> ForkDatabase:
    """Read an export into a database in memory, or raise an error that names the line."""
    try:
        with path.open("rb") as file:
            lines = read_lines(path, file, MAX_FILE_BYTES)
            database = ForkDatabase.memory(_read_header(path, next(lines, b"")))
            _load_rows(path, lines, database)
            return database
    except OSError as error:
        raise ForkCacheUnusable(path, error.strerror or str(error)) from error


def read_header(path: Path) -> Fork:
    """Return which fork an export is of."""
    try:
        with path.open("rb") as file:
            lines = read_lines(path, file, MAX_FILE_BYTES)
            return _read_header(path, next(lines, b""))
    except OSError as error:
        raise ForkCacheUnusable(path, error.strerror or str(error)) from error


def write_file(path: Path, fork: Fork, rows: Iterable[Row]) -> int:
    """Write an export, all or nothing, and return its number of values."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    lines = -1
    try:
        with unfinished.open("wb") as file:
            for line in dump(fork, rows):
                file.write(line)
                lines += 1
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise ForkCacheUnusable(path, error.strerror or str(error)) from error
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    return lines


def compact(json: bytes) -> bytes:
    """Return JSON in one line, its numbers and strings as they are; raise a `ValueError` for anything else."""
    try:
        text = msgspec.json.format(json, indent=-1)
        text.decode()
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(str(error)) from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return text


def _load_rows(path: Path, lines: Iterable[bytes], database: ForkDatabase) -> None:
    """Insert every line; of two with one key the later one is named if they differ."""
    waiting: dict[tuple[str, RowKey], RowValue] = {}

    def insert() -> None:
        database.insert([Row(*key, value) for key, value in waiting.items()])
        waiting.clear()

    number = 1
    try:
        for number, line in enumerate(lines, 2):
            row = _read_row(path, number, line)
            if waiting.setdefault((row.kind, row.key), row.value) != row.value:
                insert()
                database.insert([row])
            if len(waiting) >= _LOADED_ROWS:
                insert()
        insert()
    except ForkCacheConflict as error:
        raise MalformedForkFile(path, number, f"two lines differ: {error}") from None


def _read_header(path: Path, line: bytes) -> Fork:
    try:
        cells = [_plain(it) for it in _array(path, 1, line)]
    except ValueError:
        cells = []
    match cells:
        case [str(header), int(version), *_] if header == HEADER and version > VERSION:
            problem = f"the file has version {version}, and this entresol knows up to {VERSION}: update it"
            raise MalformedForkFile(path, 1, problem)
        case [str(header), int(version), int(chain_id), int(number), str(block_hash)] if (
            header == HEADER and version == VERSION and chain_id >= 0 and 0 <= number <= MAX_NUMBER
        ):
            try:
                return Fork(chain_id, number, bytes(Hash32.parse(block_hash)))
            except MalformedValue as error:
                raise MalformedForkFile(path, 1, str(error)) from None
    raise MalformedForkFile(path, 1, f'an export starts with ["{HEADER}",{VERSION},…]')


def _read_row(path: Path, number: int, line: bytes) -> Row:
    name, *cells = _array(path, number, line) or [msgspec.Raw(b"null")]
    kind = KINDS.get(_plain(name)) if bytes(name).startswith(b'"') else None
    if kind is None:
        raise MalformedForkFile(path, number, f"a line starts with one of {', '.join(KINDS)}")
    columns = _COLUMNS[kind.name]
    if len(cells) != len(columns):
        raise MalformedForkFile(path, number, f"{kind.name}: {len(columns)} values are expected")
    try:
        values = (
            raw if column in _JSON else _plain(raw)
            for column, raw in zip(columns, cells, strict=True)
        )
        return _READERS[kind.name](*values)
    except (MalformedValue, ValueError) as error:
        raise MalformedForkFile(path, number, f"{kind.name}: {error}") from None


def _array(path: Path, number: int, line: bytes) -> list[msgspec.Raw]:
    if line.startswith(_MARKERS):
        problem = "a conflict of a merge is left: keep the lines of both sides"
        raise MalformedForkFile(path, number, problem)
    try:
        line.decode()
        return msgspec.json.decode(line, type=list[msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise MalformedForkFile(path, number, "not a JSON array, or cut off") from None


def _plain(raw: msgspec.Raw) -> Any:
    """Decode a string or an integer."""
    try:
        return msgspec.json.decode(raw, type=str | int)
    except (msgspec.MsgspecError, RecursionError):
        raise ValueError("a string or an integer is expected") from None


def _line(cells: list[object]) -> bytes:
    return msgspec.json.encode(cells) + b"\n"


def _hex(value: bytes) -> str:
    return "0x" + value.hex()


def _quantity(value: bytes) -> str:
    return hex(int.from_bytes(value, "big"))


def _block(block: bytes) -> str:
    return _hex(block) if block else "anchor"


def _write_json(row: Row) -> list[object]:
    return [row.key[0], *(msgspec.Raw(it) for it in (*row.key[1:], *row.value))]


def _write_account(row: Row) -> list[object]:
    (block, address), (nonce, balance, code_hash) = row.key, row.value
    return [
        _block(block),
        _hex(address),
        int.from_bytes(nonce, "big"),
        _quantity(balance),
        _hex(code_hash),
    ]


def _write_slot(row: Row) -> list[object]:
    block, address, slot = row.key
    return [_block(block), _hex(address), _hex(slot), _quantity(row.value[0])]


_WRITERS: Final[Mapping[str, Callable[[Row], list[object]]]] = {
    "answer": _write_json,
    "account": _write_account,
    "code": lambda row: [_hex(row.key[0]), _hex(row.value[0])],
    "slot": _write_slot,
    "hash": lambda row: [row.key[0], _hex(row.value[0])],
    "response": _write_json,
    "absent": _write_json,
}


def _read_block(text: object) -> bytes:
    return ANCHOR if text == "anchor" else bytes(Hash32.parse(text))


def _read_json(raw: msgspec.Raw) -> bytes:
    return compact(bytes(raw))


def _read_text(value: object) -> str:
    return value if isinstance(value, str) else _fail("a name is a string")


def _read_word(value: object, bits: int = 256) -> bytes:
    number = Quantity.parse(value)
    return big_endian(number) if number >> bits == 0 else _fail(f"a value of more than {bits} bits")


def _read_account(
    block: object, address: object, nonce: object, balance: object, code: object
) -> Row:
    if not isinstance(nonce, int) or not 0 <= nonce < 1 << 64:
        _fail("a nonce is an integer of 64 bits")
    key = (_read_block(block), bytes(Address.parse(address)))
    return Row("account", key, (big_endian(nonce), _read_word(balance), bytes(Hash32.parse(code))))


def _read_code(code_hash: object, code: object) -> Row:
    expected, found = bytes(Hash32.parse(code_hash)), bytes(Data.parse(code))
    if keccak256(found) != expected:
        _fail(f"the code has the hash {_hex(keccak256(found))}")
    return Row("code", (expected,), (found,))


def _read_slot(block: object, address: object, slot: object, value: object) -> Row:
    key = (_read_block(block), bytes(Address.parse(address)), bytes(Hash32.parse(slot)))
    return Row("slot", key, (_read_word(value),))


def _read_hash(number: object, block_hash: object) -> Row:
    if not isinstance(number, int) or not 0 <= number <= MAX_NUMBER:
        _fail("a block number is an integer")
    return Row("hash", (number,), (bytes(Hash32.parse(block_hash)),))


_READERS: Final[Mapping[str, Callable[..., Row]]] = {
    "answer": lambda name, json: Row("answer", (_read_text(name),), (_read_json(json),)),
    "account": _read_account,
    "code": _read_code,
    "slot": _read_slot,
    "hash": _read_hash,
    "response": lambda method, params, json: Row(
        "response", (_read_text(method), _read_json(params)), (_read_json(json),)
    ),
    "absent": lambda method, params: Row("absent", (_read_text(method), _read_json(params)), ()),
}


def _fail(problem: str) -> NoReturn:
    raise ValueError(problem)
