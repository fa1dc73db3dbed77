"""What clients of the ZK Stack add to a call: the fields of type 0x71 that no other type has."""

from __future__ import annotations

from entresol.errors import InvalidBytecode, UnserializableCall
from entresol.primitives.bytecode import eravm_hash
from entresol.primitives.values import Address, Hash32, Quantity
from entresol.rpc.wire import ByteArray, Wire


class PaymasterParams(Wire, frozen=True, kw_only=True):
    """Who pays in the sender's place."""

    paymaster: Address
    paymaster_input: ByteArray | None = None


class ZkMeta(Wire, frozen=True, kw_only=True):
    """The member `eip712Meta` of a call."""

    gas_per_pubdata: Quantity | None = None
    factory_deps: list[ByteArray] | None = None
    custom_signature: ByteArray | None = None
    paymaster_params: PaymasterParams | None = None

    def dependencies(self) -> tuple[tuple[Hash32, bytes], ...]:
        """Return the factory dependencies with their hashes."""
        return tuple(
            (_dependency_hash(index, code), bytes(code))
            for index, code in enumerate(self.factory_deps or ())
        )


def _dependency_hash(index: int, code: bytes) -> Hash32:
    try:
        return eravm_hash(code)
    except InvalidBytecode as error:
        raise UnserializableCall(f"factory dependency #{index} is invalid: {error}") from error
