"""`zks_getBytecodeByHash`: published bytecode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Raw

from entresol._native import byte_array_json
from entresol.cache_limits import CACHES
from entresol.offload import Offload
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.values import Hash32
from entresol.rpc.jsonrpc.method import Past, ServedBy, method
from entresol.rpc.jsonrpc.model import ByteArray

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.storage.store_view import BytecodeReader

_ENTRY_BYTES: Final = 256
MAX_SHORT_BYTES: Final = 64 * 1024
"""How long code is that is rendered on the event loop."""


class ZksBytecode:
    """Published bytecode.

    Remembers: rendered code, until the next block: what a block has published may be reverted.
    """

    prefix = "zks"

    def __init__(self, codes: BytecodeReader, head: Callable[[], object]) -> None:
        """Read published code; `head` returns another object once there is another block."""
        self._codes = codes
        self._head = head
        self._known: BoundedMap[bytes, Raw] = BoundedMap(max_weight=CACHES.bytecodes)
        self._known_at: object = None

    @method(getter=True, served_by=ServedBy.REPLICA, past=Past.LOCAL)
    def get_bytecode_by_hash(self, hash: Hash32) -> Annotated[Raw, ByteArray] | Offload[Raw] | None:
        """Return published bytecode as an array of bytes.

        `hash` is the keccak of a contract's code, its EVM versioned hash (0x02…), which returns the code
        padded as it was hashed, or the hash of a factory dependency (0x01…).
        """
        if (head := self._head()) is not self._known_at:
            self._known_at = head
            self._known = BoundedMap(max_weight=CACHES.bytecodes)
        if (known := self._known.touch(hash)) is not None:
            return known
        code = self._codes.bytecode(hash)
        if code is None:
            return None
        if len(code) > MAX_SHORT_BYTES:
            return Offload(lambda: Raw(byte_array_json(code)))
        rendered = byte_array_json(code)
        found = Raw(rendered)
        self._known.put(bytes(hash), found, _ENTRY_BYTES + len(rendered))
        return found
