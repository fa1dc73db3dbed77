"""Code of historical states in state files: as revm serializes it."""

from __future__ import annotations

from typing import Any, Final

from entresol.chain.genesis.geth_json import read_data, read_number, read_object, required
from entresol.errors import MalformedValue

_DELEGATION: Final = b"\xef\x01\x00"
_PADDING: Final = bytes(33)
"""revm wants code to end with STOP, also after a PUSH32 that is cut off."""

_JUMPDEST: Final = 0x5B
_PUSH1: Final = 0x60
_PUSH32: Final = 0x7F


def bytecode_fields(code: bytes) -> dict[str, Any]:
    """Return code as revm writes it: analyzed, or as a delegation (EIP-7702)."""
    if code.startswith(_DELEGATION):
        address = "0x" + code[len(_DELEGATION) :].hex()
        return {"Eip7702": {"delegated_address": address, "version": 0, "raw": "0x" + code.hex()}}
    padded = code + _PADDING
    table = {
        "order": "bitvec::order::Lsb0",
        "head": {"width": 8, "index": 0},
        "bits": len(padded),
        "data": list(_jump_table(padded)),
    }
    return {
        "LegacyAnalyzed": {
            "bytecode": "0x" + padded.hex(),
            "original_len": len(code),
            "jump_table": table,
        }
    }


def read_bytecode(value: object) -> bytes:
    """Read code as revm writes it."""
    if isinstance(value, str):
        return read_data(value)
    for name, fields in read_object(value).items():
        item = read_object(fields)
        if name == "LegacyAnalyzed":
            length = required(item, "original_len", read_number)
            return required(item, "bytecode", read_data)[:length]
        if "raw" in item:
            return required(item, "raw", read_data)
    raise MalformedValue("is no bytecode that is known here")


def _jump_table(code: bytes) -> bytes:
    """Return a bit for each byte of code that is a jump destination."""
    table, at = bytearray(-(-len(code) // 8)), 0
    while at < len(code):
        opcode = code[at]
        if opcode == _JUMPDEST:
            table[at // 8] |= 1 << at % 8
        at += opcode - _PUSH1 + 2 if _PUSH1 <= opcode <= _PUSH32 else 1
    return bytes(table)
