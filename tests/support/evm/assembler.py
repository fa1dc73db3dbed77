"""A small EVM assembler, so that the test contracts can be read."""

from __future__ import annotations

import re

_NAMES = {
    0x00: "STOP ADD MUL SUB DIV SDIV MOD SMOD ADDMOD MULMOD EXP SIGNEXTEND",
    0x10: "LT GT SLT SGT EQ ISZERO AND OR XOR NOT BYTE SHL SHR SAR CLZ",
    0x20: "KECCAK256",
    0x30: "ADDRESS BALANCE ORIGIN CALLER CALLVALUE CALLDATALOAD CALLDATASIZE CALLDATACOPY CODESIZE"
    " CODECOPY GASPRICE EXTCODESIZE EXTCODECOPY RETURNDATASIZE RETURNDATACOPY EXTCODEHASH",
    0x40: "BLOCKHASH COINBASE TIMESTAMP NUMBER PREVRANDAO GASLIMIT CHAINID SELFBALANCE BASEFEE"
    " BLOBHASH BLOBBASEFEE",
    0x50: "POP MLOAD MSTORE MSTORE8 SLOAD SSTORE JUMP JUMPI PC MSIZE GAS JUMPDEST TLOAD TSTORE"
    " MCOPY PUSH0",
    0x80: " ".join(f"DUP{n}" for n in range(1, 17))
    + " "
    + " ".join(f"SWAP{n}" for n in range(1, 17)),
    0xA0: "LOG0 LOG1 LOG2 LOG3 LOG4",
    0xF0: "CREATE CALL CALLCODE RETURN DELEGATECALL CREATE2",
    0xFA: "STATICCALL",
    0xFD: "REVERT INVALID SELFDESTRUCT",
}
OPCODES = {
    name: first + n for first, names in _NAMES.items() for n, name in enumerate(names.split())
}


def assemble(text: str) -> bytes:
    """Assemble words: `name`, `@name` to push a label, `name:` to set one, a number to push it.

    A hexadecimal number is pushed in as many bytes as it has digits for; `#` quotes raw bytes.
    """
    pieces = [_piece(word) for word in re.sub(r";.*", "", text).split()]
    labels: dict[str, int] = {}
    position = 0
    for piece in pieces:
        if isinstance(piece, bytes):
            position += len(piece)
        elif piece.endswith(":"):
            labels[piece[:-1]] = position
            position += 1
        else:
            position += 3
    return b"".join(_resolve(piece, labels) for piece in pieces)


def push(value: int) -> bytes:
    return _push(value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big"))


def initcode(runtime: bytes, constructor: str = "") -> bytes:
    start = assemble(constructor)
    copy = f"{len(runtime)} dup1 @code 0 codecopy 0 return"
    offset = len(start) + len(assemble(f"{copy} code:")) - 1
    copy = copy.replace("@code", f"0x{offset:04x}")
    return start + assemble(copy) + runtime


def _piece(word: str) -> bytes | str:
    if word[0] == "@" or word[-1] == ":":
        return word
    if word.startswith("0x"):
        return _push(bytes.fromhex(word[2:]))
    if word[0] == "#":
        return bytes.fromhex(word[1:])
    if word.isdigit():
        return push(int(word))
    return bytes([OPCODES[word.upper()]])


def _push(data: bytes) -> bytes:
    return bytes([0x5F + len(data)]) + data


def _resolve(piece: bytes | str, labels: dict[str, int]) -> bytes:
    if isinstance(piece, bytes):
        return piece
    if piece.endswith(":"):
        return bytes([OPCODES["JUMPDEST"]])
    return _push(labels[piece[1:]].to_bytes(2, "big"))
