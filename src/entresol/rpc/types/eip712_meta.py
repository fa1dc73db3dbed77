"""`eip712Meta`: the fields of a ZK Stack transaction (type 0x71) that no other type has."""

from __future__ import annotations

from typing import Annotated

from entresol._native import MAX_FACTORY_DEPS
from entresol.errors import (
    InvalidBytecode,
    TooManyFactoryDeps,
    UnserializableCall,
)
from entresol.execution.call.call import ZkCall
from entresol.primitives.bytecode import byte_counts, eravm_hash
from entresol.primitives.transactions import Paymaster
from entresol.primitives.transactions.zk import DEFAULT_GAS_PER_PUBDATA
from entresol.primitives.values import Address, Hash32, Quantity
from entresol.rpc.jsonrpc.model import ByteArray, JsonModel, says


class PaymasterParams(JsonModel, frozen=True, kw_only=True):
    """The paymaster that pays in the sender's place."""

    paymaster: Annotated[Address, says("The contract that pays in place of the sender.")]
    paymaster_input: Annotated[ByteArray | None, says("What the paymaster receives.")] = None


class Eip712Meta(JsonModel, frozen=True, kw_only=True):
    """The member `eip712Meta` of a call object."""

    gas_per_pubdata: Annotated[
        Quantity | None, says("How much gas a byte of pubdata may cost.")
    ] = None
    factory_deps: Annotated[list[ByteArray] | None, says("The code that it brings along.")] = None
    custom_signature: Annotated[
        ByteArray | None, says("The signature if it is not of a key: a contract verifies it.")
    ] = None
    paymaster_params: Annotated[PaymasterParams | None, says("Who pays for the sender.")] = None

    @property
    def gas_per_pubdata_limit(self) -> int:
        """The gas per pubdata byte limit; clients send zero for the default."""
        return int(self.gas_per_pubdata or DEFAULT_GAS_PER_PUBDATA)

    @property
    def size(self) -> int:
        """The length of the factory dependencies."""
        return sum(map(len, self.factory_deps or ()))

    def check(self) -> None:
        """Reject fields that no transaction may have."""
        self.dependencies()

    def paymaster(self) -> Paymaster | None:
        """Return the paymaster; the zero address is none."""
        named = self.paymaster_params
        if named is None:
            return None
        paymaster = Paymaster(named.paymaster, bytes(named.paymaster_input or b""))
        return paymaster if paymaster.pays else None

    def call(self) -> ZkCall:
        """Return the domain value."""
        paymaster, named = self.paymaster(), self.paymaster_params
        return ZkCall(
            paymaster=None if paymaster is None else paymaster.address,
            # Also that of no paymaster: where it is published, it has a price.
            paymaster_input=b"" if named is None else bytes(named.paymaster_input or b""),
            signature=bytes(self.custom_signature or b""),
            gas_per_pubdata_limit=self.gas_per_pubdata_limit,
            factory_dep_hashes=tuple(name for name, _ in self.dependencies()),
            published=byte_counts(self.factory_deps) if self.factory_deps else None,
            has_meta=True,
        )

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
