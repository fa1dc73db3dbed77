"""A second reader of published data, written from `docs/availability.md` alone.

It shares nothing with the node's reader but zstd and keccak, so that where the two disagree, the page or a reader is
wrong. It gives plain values (dicts, lists, numbers and bytes), and reads slowly and plainly: one table of the page is
one function here, in the page's order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import zstandard
from eth_hash.auto import keccak

from tests.support.published.second_cursor import Cursor, RejectedError

LARGEST_BATCH_DATA = 126_976
LARGEST_GENESIS_DATA = 1 << 20
LARGEST_CONTENT = 8_388_608
LARGEST_BLOCK = 131_072
LARGEST_RATIO = 256
LARGEST_NUMBER = 2**53 - 1
MOST_BLOCKS = 1_024
MOST_DEPOSITS = 1_024
MOST_GAS_OF_A_BLOCK = 2**30
MOST_ROOTS_OF_A_BLOCK = 100
MOST_ROOTS = 350
MOST_TRANSACTIONS = 65_535
MAGIC = bytes.fromhex("28b52ffd")
NO_CODE = keccak(b"")

Value = dict[str, Any]


def _whole(data: bytes, read: Callable[[Cursor], Value]) -> Value:
    cursor = Cursor(data)
    value = read(cursor)
    cursor.end()
    return value


# Compression


def unpack(published: bytes, largest: int) -> bytes:
    if len(published) > largest:
        raise RejectedError("published data is too long")
    if not published:
        raise RejectedError("published data is empty")
    if published[0] != 1:
        raise RejectedError(
            f"unknown version {published[0]} of published data", unknown_version=True
        )
    frame = published[1:]
    header = Cursor(frame)
    size = _content_size(header)
    _check_blocks(header, size)
    return _unpacked(frame, size)


def _content_size(header: Cursor) -> int:
    length = header.left()
    header.require(header.take(4) == MAGIC, "another magic number")
    descriptor = header.byte()
    header.require(descriptor & 0x1F == 0, "checksum, dictionary or reserved bits")
    header.require(bool(descriptor & 0x20), "not a single segment")
    kind = descriptor >> 6
    size = int.from_bytes(header.take((1, 2, 4, 8)[kind]), "little") + (256 if kind == 1 else 0)
    header.require(1 <= size <= LARGEST_CONTENT, "content size out of range")
    header.require(size <= LARGEST_RATIO * length, "content is larger than 256 times the frame")
    return size


def _check_blocks(at: Cursor, content_size: int) -> None:
    last = 0
    while not last:
        header = int.from_bytes(at.take(3), "little")
        last, kind, size = header & 1, (header >> 1) & 3, header >> 3
        at.require(kind != 3, "a reserved type of block")
        at.require(size <= min(LARGEST_BLOCK, content_size), "a block is too large")
        data = at.take(1 if kind == 1 else size)
        at.require(
            kind != 2 or (len(data) > 0 and data[0] & 3 in (0, 1)), "literals are compressed"
        )
    at.end()


def _unpacked(frame: bytes, size: int) -> bytes:
    """Unpack byte by byte at first, then in pieces, so that zstd never has the frame whole."""
    unpacker = zstandard.ZstdDecompressor().decompressobj()
    content = bytearray()
    pieces = [*range(min(20, len(frame))), *range(20, len(frame), 16)]
    try:
        for begin, end in zip(pieces, [*pieces[1:], len(frame)], strict=True):
            content += unpacker.decompress(frame[begin:end])
            if len(content) > size:
                raise RejectedError("there is more than the content size")
    except zstandard.ZstdError as error:
        raise RejectedError(f"zstd: {error}") from None
    if len(content) != size:
        raise RejectedError("there is less than the content size")
    return bytes(content)


# Rules


def read_rules(data: bytes) -> Value:
    return _whole(data, _rules)


def _rules(at: Cursor) -> Value:
    at.version("rules")
    flags = at.flags(0x07)
    return {
        "development": bool(flags & 0x01),
        "caps_transaction_gas": bool(flags & 0x02),
        "chain_id": at.varint(1),
        "fork": _fork(at),
        "code_size_limit": at.varint() if flags & 0x04 else None,
        "beneficiary": at.take(20),
        "gas_limit": at.varint(0, MOST_GAS_OF_A_BLOCK),
        "minimal_l2_gas_price": at.varint(),
        "compute_overhead_part": at.varint(),
        "pubdata_overhead_part": at.varint(),
        "batch_overhead_l1_gas": at.varint(),
        "max_gas_per_batch": at.varint(1),
        "max_pubdata_per_batch": at.varint(1),
    }


def _fork(at: Cursor) -> str:
    name = at.string(1, 32)
    letters = b"abcdefghijklmnopqrstuvwxyz"
    at.require(
        name[0] in letters and all(byte in letters + b"0123456789_" for byte in name),
        "not a name of a fork",
    )
    return name.decode("ascii")


# Edits


def read_edits(data: bytes) -> Value:
    return _whole(data, _edits)


def _edits(at: Cursor) -> Value:
    accounts: list[Value] = []
    for _ in range(at.count(21, least=1)):
        account = _edited_account(at)
        at.require(
            not accounts or accounts[-1]["address"] < account["address"], "accounts do not ascend"
        )
        accounts.append(account)
    named = {account["code_hash"] for account in accounts}
    codes: list[bytes] = []
    last = b""
    for _ in range(at.count(2)):
        code = at.string(1)
        code_hash = keccak(code)
        at.require(last < code_hash, "codes do not ascend by their hashes")
        at.require(code_hash in named, "a code that no account has")
        codes.append(code)
        last = code_hash
    return {"accounts": accounts, "codes": codes}


def _edited_account(at: Cursor) -> Value:
    address = at.take(20)
    flags = at.flags(0x0F)
    exists = bool(flags & 0x01)
    at.require(exists or not flags & 0x0C, "code or slots of a deleted account")
    nonce, balance, code_hash = 0, 0, None
    if exists:
        nonce, balance = at.varint(), at.word()
    if flags & 0x04:
        code_hash = at.take(32)
        at.require(code_hash != NO_CODE, "the hash of no code")
    return {
        "address": address,
        "exists": exists,
        "nonce": nonce,
        "balance": balance,
        "cleared": bool(flags & 0x02),
        "code_hash": code_hash,
        "slots": _slots(at, 0) if flags & 0x08 else [],
    }


def _slots(at: Cursor, least_value: int) -> list[tuple[bytes, int]]:
    slots: list[tuple[bytes, int]] = []
    for _ in range(at.count(34 if least_value else 33, least=1)):
        slot = at.take(32)
        at.require(not slots or slots[-1][0] < slot, "slots do not ascend")
        slots.append((slot, at.word(least_value)))
    return slots


# Genesis


def read_genesis(data: bytes) -> Value:
    return _whole(data, _genesis)


def _genesis(at: Cursor) -> Value:
    at.version("genesis")
    genesis: Value = {
        "rules": _rules(at),
        "number": at.varint(),
        "timestamp": at.varint(),
        "gas_limit": at.varint(),
        "base_fee": at.varint(),
        "beneficiary": at.take(20),
        "extra_data": at.string(),
        "difficulty": at.word(),
        "mix_hash": at.take(32),
        "nonce": at.take(8),
        "accounts": [],
    }
    accounts = genesis["accounts"]
    for _ in range(at.count(21)):
        account = _genesis_account(at)
        at.require(
            not accounts or accounts[-1]["address"] < account["address"], "accounts do not ascend"
        )
        accounts.append(account)
    return genesis


def _genesis_account(at: Cursor) -> Value:
    address = at.take(20)
    flags = at.flags(0x0F)
    return {
        "address": address,
        "nonce": at.varint(1) if flags & 0x01 else 0,
        "balance": at.word(1) if flags & 0x02 else 0,
        "code": at.string(1) if flags & 0x04 else b"",
        "slots": _slots(at, 1) if flags & 0x08 else [],
    }


# Body of a batch


def read_body(data: bytes) -> Value:
    return _whole(data, _body)


def _body(at: Cursor) -> Value:
    at.version("body")
    body: Value = {
        "batch": at.varint(1, LARGEST_NUMBER),
        "first_block": at.varint(1, LARGEST_NUMBER),
        "parent_hash": at.take(32),
        "rules_hash": at.take(32),
    }
    body["blocks"] = _Entries(at, at.varint(1, MOST_BLOCKS), body["rules_hash"]).read()
    body["last_hash"] = at.take(32)
    return body


class _Entries:
    """The entries of a body. *Remembers* what holds already, and the sums of the batch."""

    def __init__(self, at: Cursor, blocks: int, rules_hash: bytes) -> None:
        self._at = at
        self._count = blocks
        self._rules_hash = rules_hash
        self._prices: tuple[int, int, int] | None = None
        self._step_of_run: int | None = None
        self._deposits = self._roots = self._transactions = 0

    def read(self) -> list[Value]:
        """Every block by itself, runs taken apart."""
        blocks: list[Value] = []
        while len(blocks) < self._count:
            flags = self._at.byte()
            step = self._at.varint()
            if flags:
                blocks.append(self._block(flags, step))
                self._step_of_run = None
            else:
                blocks += self._run(step, self._count - len(blocks))
        return blocks

    def _run(self, step: int, missing: int) -> list[Value]:
        self._at.require(self._prices is not None, "the first block has no prices")
        self._at.require(self._step_of_run != step, "two runs that could be one")
        self._step_of_run = step
        return [{"step": step} for _ in range(self._at.varint(1, missing))]

    def _block(self, flags: int, step: int) -> Value:
        at = self._at
        at.require(self._prices is not None or bool(flags & 0x04), "the first block has no prices")
        at.require(flags & 0x18 != 0x18, "edits both whole and by hash")
        block: Value = {"step": step}
        if flags & 0x01:
            block["rules"] = self._new_rules()
        if flags & 0x02:
            block["settings"] = _settings(at)
        if flags & 0x04:
            block["prices"] = self._new_prices()
        if flags & 0x08:
            block["edits"] = _edits(at)
        if flags & 0x10:
            block["edits_by_hash"] = (at.take(32), at.varint(1))
        if flags & 0x20:
            block["roots"] = self._roots_of_block()
        if flags & 0x40:
            block["deposits"] = at.varint(1, MOST_DEPOSITS)
            self._deposits += block["deposits"]
            self._transactions += block["deposits"]
        if flags & 0x80:
            block["transactions"] = self._transactions_of_block()
        at.require(self._deposits <= MOST_DEPOSITS, "too many deposits in the batch")
        at.require(self._roots <= MOST_ROOTS, "too many roots in the batch")
        at.require(self._transactions <= MOST_TRANSACTIONS, "too many transactions in the batch")
        return block

    def _new_rules(self) -> Value:
        start = self._at.offset
        rules = _rules(self._at)
        rules_hash = keccak(self._at.data[start : self._at.offset])
        self._at.require(rules_hash != self._rules_hash, "rules that hold already")
        self._rules_hash = rules_hash
        return rules

    def _new_prices(self) -> tuple[int, int, int]:
        at = self._at
        prices = (at.varint(), at.word(1, 16), at.word(1, 16))
        at.require(prices != self._prices, "prices that hold already")
        self._prices = prices
        return prices

    def _roots_of_block(self) -> list[tuple[int, int, int, bytes]]:
        at = self._at
        count = at.count(35, 1, MOST_ROOTS_OF_A_BLOCK)
        self._roots += count
        self._transactions += 1
        return [(at.varint(), at.varint(), at.varint(), at.take(32)) for _ in range(count)]

    def _transactions_of_block(self) -> list[bytes]:
        at = self._at
        count = at.count(2, 1, MOST_TRANSACTIONS)
        self._transactions += count
        transactions = []
        for _ in range(count):
            raw = at.string(1)
            at.require(
                raw[0] in (0x01, 0x02, 0x04, 0x71) or 0xC0 <= raw[0] <= 0xFD,
                "not a type of transaction",
            )
            transactions.append(raw)
        return transactions


def _settings(at: Cursor) -> Value:
    flags = at.flags(0x0F)
    at.require(flags != 0, "settings without a flag")
    settings: Value = {}
    if flags & 0x01:
        settings["gas_limit"] = at.varint(0, MOST_GAS_OF_A_BLOCK)
    if flags & 0x02:
        settings["beneficiary"] = at.take(20)
    if flags & 0x04:
        settings["base_fee"] = at.varint()
    if flags & 0x08:
        settings["prevrandao"] = at.take(32)
    return settings
