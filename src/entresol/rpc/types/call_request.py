"""Call and transaction objects: `eth_call`, `eth_estimateGas`, `eth_sendTransaction`."""

from __future__ import annotations

from typing import Annotated

import msgspec

from entresol._native import MAX_FACTORY_DEPS
from entresol.errors import (
    InvalidBytecode,
    MalformedValue,
    TransactionRuleBroken,
    UnserializableCall,
)
from entresol.execution.calls import CallRequest, ZkCall
from entresol.primitives.bytecode import byte_counts, eravm_hash
from entresol.primitives.l1_to_l2_gas import REQUIRED_GAS_PER_PUBDATA
from entresol.primitives.transactions import Access, Authorization, Paymaster, PriorityTransaction
from entresol.primitives.transactions.priority import PRIORITY_TYPES
from entresol.primitives.transactions.zk import DEFAULT_GAS_PER_PUBDATA, ZK_TYPE
from entresol.primitives.values import Address, Data, Hash32, Quantity, Quantity64
from entresol.rpc.jsonrpc.model import ByteArray, JsonModel, says
from entresol.rpc.types.number import HexOrInteger, HexOrInteger64, UnprefixedData


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
            raise TransactionRuleBroken("too many factory dependencies", count, MAX_FACTORY_DEPS)
        return tuple(
            (_dependency_hash(index, code), bytes(code))
            for index, code in enumerate(self.factory_deps or ())
        )


def _dependency_hash(index: int, code: bytes) -> Hash32:
    try:
        return eravm_hash(code)
    except InvalidBytecode as error:
        raise UnserializableCall(f"factory dependency #{index} is invalid: {error}") from error


# Without gc, because one request may have very many: they cannot be part of a cycle, and tracking them all would
# slow down every request.


class AccessItem(JsonModel, frozen=True, kw_only=True, gc=False):
    """An entry of an access list: an account and some of its slots."""

    address: Annotated[Address, says("The account.")]
    storage_keys: Annotated[list[Hash32] | None, says("The slots of the account.")] = None

    def access(self) -> Access:
        """Return the domain value."""
        return Access(self.address, tuple(self.storage_keys or ()))


class AuthorizationItem(JsonModel, frozen=True, kw_only=True):
    """A signed authorization to set the code of an account (EIP-7702)."""

    chain_id: Annotated[Quantity, says("The chain for which it holds; 0 for every chain.")]
    address: Annotated[Address, says("Whose code the signer takes.")]
    nonce: Annotated[Quantity64, says("The nonce of the signer, for which it holds.")]
    y_parity: Annotated[
        Quantity64, says("The part of the signature from which the signer is found.")
    ]
    r: Annotated[Quantity, says("A part of the signature.")]
    s: Annotated[Quantity, says("A part of the signature.")]

    def authorization(self) -> Authorization:
        """Return the domain value."""
        return Authorization(
            int(self.chain_id), self.address, int(self.nonce), int(self.y_parity), self.r, self.s
        )


class CallObject(JsonModel, frozen=True, kw_only=True):
    """A transaction to simulate; keys of other dialects are ignored."""

    from_: Annotated[Address | None, says("The sender.")] = None
    to: Annotated[
        Address | None, says("Who is called or paid; missing or null to create a contract.")
    ] = None
    gas: Annotated[HexOrInteger64 | None, says("The gas limit.")] = None
    gas_price: Annotated[HexOrInteger | None, says("The price of a unit of gas.")] = None
    max_fee_per_gas: Annotated[
        HexOrInteger | None, says("The most that it pays for a unit of gas.")
    ] = None
    max_priority_fee_per_gas: Annotated[
        HexOrInteger | None, says("The most that it pays above the base fee.")
    ] = None
    value: Annotated[HexOrInteger | None, says("The ether that it sends, in wei.")] = None
    data: Annotated[
        UnprefixedData | None, says("The call data, or the code that creates a contract.")
    ] = None
    input: Annotated[
        UnprefixedData | None, says("The call data, or the code that creates a contract.")
    ] = None
    nonce: Annotated[
        HexOrInteger64 | None, says("The number of transactions that the account sent before it.")
    ] = None
    chain_id: Annotated[HexOrInteger64 | None, says("The chain id.")] = None
    access_list: Annotated[
        list[AccessItem] | None, says("The accounts and slots that it announces.")
    ] = None
    authorization_list: Annotated[
        list[AuthorizationItem] | None,
        says("Signed authorizations by which accounts delegate to code."),
    ] = None
    type: Annotated[HexOrInteger64 | None, says("The type of the transaction.")] = None
    blob_versioned_hashes: Annotated[
        list[Hash32] | None, says("The hashes that name its blobs.")
    ] = None
    max_fee_per_blob_gas: Annotated[
        HexOrInteger | None, says("The most that it pays for a unit of blob gas.")
    ] = None
    eip712_meta: Annotated[
        Eip712Meta | None, says("What only transactions of the ZK Stack have.")
    ] = msgspec.field(name="eip712Meta", default=None)

    def request(self) -> CallRequest:
        """Return the domain value; a gas price takes precedence over fee caps, as clients mean it."""
        if self.to is None and self.type == ZK_TYPE:
            raise UnserializableCall("toAddressIsNull")
        has_price = self.gas_price is not None
        return CallRequest(
            sender=self.from_ or Address.zero(),
            to=self.to,
            gas=self.gas,
            gas_price=self.gas_price,
            max_fee_per_gas=None if has_price else self.max_fee_per_gas,
            max_priority_fee_per_gas=None if has_price else self.max_priority_fee_per_gas,
            value=self.value or 0,
            data=bytes(self._payload()),
            nonce=self.nonce,
            chain_id=self.chain_id,
            access_list=None
            if self.access_list is None
            else tuple(item.access() for item in self.access_list),
            authorizations=None
            if self.authorization_list is None
            else tuple(item.authorization() for item in self.authorization_list),
            blob_hashes=None
            if self.blob_versioned_hashes is None
            else tuple(self.blob_versioned_hashes),
            max_fee_per_blob_gas=self.max_fee_per_blob_gas,
            zk=self._zk_call(),
        )

    def _zk_call(self) -> ZkCall | None:
        if self.eip712_meta is not None:
            return self.eip712_meta.call()
        return ZkCall() if self.type == ZK_TYPE else None

    @property
    def is_priority(self) -> bool:
        """Whether the type is that of a priority transaction, in Era or in ZKsync OS."""
        return self.type in PRIORITY_TYPES

    def priority_transaction(self, gas_price: int) -> PriorityTransaction:
        """Return the priority transaction that L1 would request for the call."""
        request = self.request()
        if request.to is None:
            raise UnserializableCall("toAddressIsNull")
        dependencies = () if self.eip712_meta is None else self.eip712_meta.dependencies()
        return PriorityTransaction(
            sender=request.sender,
            to=request.to,
            gas_limit=0,
            gas_per_pubdata_limit=REQUIRED_GAS_PER_PUBDATA,
            max_fee_per_gas=gas_price,
            nonce=0,
            value=request.value,
            refund_recipient=Address.zero(),
            data=request.data,
            factory_dep_hashes=tuple(name for name, _ in dependencies),
            factory_deps=tuple(code for _, code in dependencies),
        )

    @property
    def data_size(self) -> int:
        """The length of the call data and the factory dependencies, which are hashed."""
        dependencies = 0 if self.eip712_meta is None else self.eip712_meta.size
        return len(self.data or b"") + len(self.input or b"") + dependencies

    def _payload(self) -> Data:
        if self.data is not None and self.input is not None and self.data != self.input:
            raise MalformedValue("data and input are both given and differ")
        return self.input or self.data or Data(b"")


class TransactionObject(CallObject, frozen=True, kw_only=True):
    """A transaction that the node is to sign or send; it fills in what is left out.

    One with blobs has them here, with a proof for each blob, or in `cellProofs` for each of its cells.
    """

    blobs: Annotated[list[Data] | None, says("The blobs themselves.")] = None
    commitments: Annotated[list[Data] | None, says("The KZG commitments of the blobs.")] = None
    proofs: Annotated[list[Data] | None, says("The KZG proofs of the blobs.")] = None
    cell_proofs: Annotated[
        list[Data] | None, says("The proofs of the blobs' cells, since Osaka.")
    ] = None

    @property
    def has_blobs(self) -> bool:
        """Whether it has a field that only a blob transaction has."""
        return (
            self.blobs is not None
            or self.blob_versioned_hashes is not None
            or self.max_fee_per_blob_gas is not None
        )
