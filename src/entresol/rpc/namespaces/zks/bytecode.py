"""`zks_getBytecodeByHash`: published bytecode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Raw

from entresol.offload import Offload
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.values import Hash32
from entresol.rpc.jsonrpc.codec import ByteArray
from entresol.rpc.jsonrpc.method import ServedBy, method

if TYPE_CHECKING:
    from entresol.storage.store_view import BytecodeReader

MAX_CACHED: Final = 64
MAX_CACHED_BYTES: Final = 64 * 1024


class ZksBytecode:
    """Published bytecode.

    Remembers: encoded results. An array of numbers takes ten times as long to encode as to look up, and the
    code of a hash never changes; whether it is published does.
    """

    prefix = "zks"

    def __init__(self, codes: BytecodeReader) -> None:
        self._codes = codes
        self._cache: BoundedMap[Hash32, Raw] = BoundedMap(MAX_CACHED)

    @method(served_by=ServedBy.REPLICA)
    def get_bytecode_by_hash(self, hash: Hash32) -> Annotated[Raw, ByteArray] | Offload[Raw] | None:
        """Return published bytecode as an array of bytes.

        `hash` is the keccak of a contract's code, its EVM versioned hash (0x02…), which returns the code
        padded as it was hashed, or the hash of a factory dependency (0x01…).
        """
        code = self._codes.bytecode(hash)
        if code is None:
            return None
        if len(code) > MAX_CACHED_BYTES:
            return Offload(lambda: _encoded(code))
        return self._encoded(hash, code)

    def _encoded(self, name: Hash32, code: bytes) -> Raw:
        encoded = self._cache.touch(name)
        if encoded is None:
            encoded = _encoded(code)
            self._cache.put(name, encoded)
        return encoded


def _encoded(code: bytes) -> Raw:
    return Raw(msgspec.json.encode(list(code)))
