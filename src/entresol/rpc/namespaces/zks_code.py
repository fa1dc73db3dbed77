"""Code that was published, by the hashes people know it by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.primitives.values import Hash32
from entresol.rpc.method import method
from entresol.rpc.wire import ByteArray

if TYPE_CHECKING:
    from entresol.storage.readers import CodeReader


class ZksCode:
    """Published code."""

    prefix = "zks"

    def __init__(self, codes: CodeReader) -> None:
        self._codes = codes

    @method()
    def get_bytecode_by_hash(self, hash: Hash32) -> ByteArray | None:
        """Return published code as an array of bytes.

        `hash` is the keccak of a contract's code, its EVM versioned hash (0x02…), which gives the code
        padded as it was hashed, or the hash of a factory dependency (0x01…).
        """
        code = self._codes.published(hash)
        return None if code is None else ByteArray(code)
