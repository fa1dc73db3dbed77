"""What a commit says of a batch's data: scheme, commitment and the operator's input, as the contract on L1 checks them."""

from __future__ import annotations

from typing import Final

from entresol._native import keccak256
from entresol.primitives.values import Hash32

NO_DATA_COMMITMENT: Final = Hash32.zero()
NO_DATA_INPUT: Final = bytes(32)
"""Only the operator has the data, and L1 requires none of it."""

_NO_STATE_DIFFERENCES: Final = bytes(32)
_ONE_BLOB: Final = b"\x01"
_NO_BLOB_HASH: Final = bytes(32)
_IN_CALLDATA: Final = b"\x00"
_NO_BLOB_COMMITMENT: Final = bytes(32)


def calldata_commitment(data: bytes) -> Hash32:
    """Return what commits to data that is part of the call."""
    return Hash32(keccak256(_header(data)))


def calldata_input(data: bytes) -> bytes:
    """Return the operator's input with the data that is part of the call."""
    return _header(data) + _IN_CALLDATA + data + _NO_BLOB_COMMITMENT


def _header(data: bytes) -> bytes:
    return _NO_STATE_DIFFERENCES + keccak256(data) + _ONE_BLOB + _NO_BLOB_HASH
