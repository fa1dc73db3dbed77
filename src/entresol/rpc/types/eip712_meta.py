"""What clients of the ZK Stack add to a call: the fields of type 0x71 that no other type has."""

from __future__ import annotations

from entresol.errors import (
    InvalidBytecode,
    PaymasterNotSupported,
    TooManyFactoryDeps,
    UnserializableCall,
)
from entresol.primitives.bytecode import eravm_hash
from entresol.primitives.transactions.zk import DEFAULT_GAS_PER_PUBDATA, MAX_FACTORY_DEPS
from entresol.primitives.values import Address, Hash32, Quantity
from entresol.rpc.jsonrpc.codec import ByteArray, JsonModel


class PaymasterParams(JsonModel, frozen=True, kw_only=True):
    """Who pays in the sender's place."""

    paymaster: Address
    paymaster_input: ByteArray | None = None


class Eip712Meta(JsonModel, frozen=True, kw_only=True):
    """The member `eip712Meta` of a call."""

    gas_per_pubdata: Quantity | None = None
    factory_deps: list[ByteArray] | None = None
    custom_signature: ByteArray | None = None
    paymaster_params: PaymasterParams | None = None

    @property
    def gas_per_pubdata_limit(self) -> int:
        """The most gas for a published byte; clients send zero for the usual number."""
        return int(self.gas_per_pubdata or DEFAULT_GAS_PER_PUBDATA)

    def check(self) -> None:
        """Reject what no transaction may have."""
        self.dependencies()
        named = self.paymaster_params
        if named is not None and any(named.paymaster):
            raise PaymasterNotSupported(named.paymaster)

    def dependencies(self) -> tuple[tuple[Hash32, bytes], ...]:
        """Return the factory dependencies with their hashes."""
        count = len(self.factory_deps or ())
        if count > MAX_FACTORY_DEPS:
            raise TooManyFactoryDeps(count, MAX_FACTORY_DEPS)
        return tuple(
            (_dependency_hash(index, code), bytes(code))
            for index, code in enumerate(self.factory_deps or ())
        )


def _dependency_hash(index: int, code: bytes) -> Hash32:
    try:
        return eravm_hash(code)
    except InvalidBytecode as error:
        raise UnserializableCall(f"factory dependency #{index} is invalid: {error}") from error
