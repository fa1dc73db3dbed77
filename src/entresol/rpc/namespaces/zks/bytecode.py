"""Code that was published, by the hashes people know it by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Raw

from entresol.primitives.values import Hash32
from entresol.rpc.jsonrpc.codec import ByteArray
from entresol.rpc.jsonrpc.method import method

if TYPE_CHECKING:
    from entresol.storage.readers import BytecodeReader

ANSWERS_KEPT: Final = 64
LONGEST_KEPT: Final = 64 * 1024


class ZksBytecode:
    """Published code.

    Remembers: the answers given last. An array of numbers takes ten times as long to write as to look up,
    and what lies under a hash never changes; whether it is published does.
    """

    prefix = "zks"

    def __init__(self, codes: BytecodeReader) -> None:
        self._codes = codes
        self._answers: dict[Hash32, Raw] = {}

    @method()
    def get_bytecode_by_hash(self, hash: Hash32) -> Annotated[Raw, ByteArray] | None:
        """Return published code as an array of bytes.

        `hash` is the keccak of a contract's code, its EVM versioned hash (0x02…), which gives the code
        padded as it was hashed, or the hash of a factory dependency (0x01…).
        """
        code = self._codes.bytecode(hash)
        return None if code is None else self._encoded(hash, code)

    def _encoded(self, name: Hash32, code: bytes) -> Raw:
        answer = self._answers.pop(name, None) or Raw(msgspec.json.encode(list(code)))
        if len(code) <= LONGEST_KEPT:
            self._answers[name] = answer
            if len(self._answers) > ANSWERS_KEPT:
                del self._answers[next(iter(self._answers))]
        return answer
