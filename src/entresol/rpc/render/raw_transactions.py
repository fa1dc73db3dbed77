"""Raw transactions of `zks_getRawBlockTransactions`: every field, by the names of zksync-era."""

from __future__ import annotations

from typing import Final

import msgspec

from entresol.primitives.transactions import (
    Payload,
    PriorityTransaction,
    SignedPayload,
    SystemTransaction,
    Transaction,
    ZkTransaction,
)
from entresol.primitives.transactions.system import SYSTEM_TYPE
from entresol.primitives.values import Address, Data, Hash32, Quantity
from entresol.rpc.jsonrpc.codec import ByteArray, JsonModel
from entresol.rpc.render.transactions import priority_fee

_TYPES: Final = {
    0: "LegacyTransaction",
    1: "EIP2930Transaction",
    2: "EIP1559Transaction",
    4: "EIP7702Transaction",
    0x71: "EIP712Transaction",
    SYSTEM_TYPE: "SystemTransaction",
}
DEFAULT_GAS_PER_PUBDATA: Final = 50_000


class Fee(msgspec.Struct, frozen=True, kw_only=True):
    """The fee fields of a transaction; zksync-era uses snake case here."""

    gas_limit: Quantity
    max_fee_per_gas: Quantity
    max_priority_fee_per_gas: Quantity
    gas_per_pubdata_limit: Quantity


class RawInput(msgspec.Struct, frozen=True, kw_only=True):
    """The signed transaction as it was sent."""

    hash: Hash32
    data: ByteArray


class RawPaymaster(JsonModel, frozen=True, kw_only=True):
    """The paymaster, or the zero address."""

    paymaster: Address
    paymaster_input: ByteArray


class L2CommonData(JsonModel, frozen=True, kw_only=True):
    """The fields of an L2 transaction besides its call."""

    nonce: int
    fee: Fee
    initiator_address: Address
    signature: ByteArray
    transaction_type: str
    input: RawInput | None
    paymaster_params: RawPaymaster


class L1CommonData(JsonModel, frozen=True, kw_only=True):
    """The fields of a priority transaction besides its call."""

    sender: Address
    serial_id: int
    layer2_tip_fee: Quantity
    full_fee: Quantity
    max_fee_per_gas: Quantity
    gas_limit: Quantity
    gas_per_pubdata_limit: Quantity
    op_processing_type: str = "Common"
    priority_queue_type: str = "Deque"
    canonical_tx_hash: Hash32
    to_mint: Quantity
    refund_recipient: Address
    deadline_block: int = 0
    eth_hash: Hash32
    eth_block: int = 0


class CommonData(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One of the two, under a key that names its layer."""

    L1: L1CommonData | None = None
    L2: L2CommonData | None = None


class RawExecute(JsonModel, frozen=True, kw_only=True):
    """The call that a transaction makes."""

    contract_address: Address | None
    calldata: Data
    value: Quantity
    factory_deps: list[ByteArray]


class RawTransaction(msgspec.Struct, frozen=True, kw_only=True):
    """A transaction with all its fields; zksync-era uses snake case here."""

    common_data: CommonData
    execute: RawExecute
    received_timestamp_ms: int
    raw_bytes: Data | None


def raw_transaction(transaction: Transaction, received_seconds: int) -> RawTransaction:
    """Return `transaction` with all its fields."""
    payload = transaction.payload
    if isinstance(payload, PriorityTransaction):
        common, raw = CommonData(L1=_from_l1(transaction, payload)), None
        dependencies = payload.factory_deps
    else:
        common, raw = CommonData(L2=_from_l2(transaction, payload)), Data(transaction.raw)
        dependencies = payload.factory_deps if isinstance(payload, ZkTransaction) else ()
    return RawTransaction(
        common_data=common,
        execute=RawExecute(
            contract_address=payload.to,
            calldata=Data(payload.data),
            value=Quantity(payload.value),
            factory_deps=[ByteArray(code) for code in dependencies],
        ),
        received_timestamp_ms=received_seconds * 1_000,
        raw_bytes=raw,
    )


def gas_per_pubdata(payload: Payload) -> int:
    """Return the gas per pubdata byte limit of a transaction; most types have none."""
    if isinstance(payload, PriorityTransaction | ZkTransaction):
        return payload.gas_per_pubdata_limit
    return DEFAULT_GAS_PER_PUBDATA


def _from_l2(transaction: Transaction, payload: SignedPayload | SystemTransaction) -> L2CommonData:
    return L2CommonData(
        nonce=payload.nonce,
        fee=Fee(
            gas_limit=Quantity(payload.gas_limit),
            max_fee_per_gas=Quantity(payload.fee_cap),
            max_priority_fee_per_gas=Quantity(priority_fee(payload)),
            gas_per_pubdata_limit=Quantity(gas_per_pubdata(payload)),
        ),
        initiator_address=transaction.sender,
        signature=ByteArray(_signature(payload)),
        transaction_type=_TYPES[payload.type],
        input=RawInput(hash=transaction.hash, data=ByteArray(transaction.raw)),
        paymaster_params=_paymaster(payload),
    )


def _from_l1(transaction: Transaction, payload: PriorityTransaction) -> L1CommonData:
    return L1CommonData(
        sender=payload.sender,
        serial_id=payload.nonce,
        layer2_tip_fee=Quantity(0),
        full_fee=Quantity(0),
        max_fee_per_gas=Quantity(payload.max_fee_per_gas),
        gas_limit=Quantity(payload.gas_limit),
        gas_per_pubdata_limit=Quantity(payload.gas_per_pubdata_limit),
        canonical_tx_hash=transaction.hash,
        to_mint=Quantity(payload.to_mint),
        refund_recipient=payload.refund_recipient,
        eth_hash=Hash32.zero(),
    )


def _signature(payload: SignedPayload | SystemTransaction) -> bytes:
    """Return `r ‖ s ‖ v` with `v` 27 or 28, or the custom signature of type 0x71; nobody signs what the node sends."""
    if isinstance(payload, SystemTransaction):
        return b""
    if isinstance(payload, ZkTransaction):
        return payload.signature
    return payload.r.to_bytes(32) + payload.s.to_bytes(32) + bytes([27 + payload.y_parity])


def _paymaster(payload: SignedPayload | SystemTransaction) -> RawPaymaster:
    paymaster = payload.paymaster if isinstance(payload, ZkTransaction) else None
    if paymaster is None:
        return RawPaymaster(paymaster=Address.zero(), paymaster_input=ByteArray(b""))
    return RawPaymaster(paymaster=paymaster.address, paymaster_input=ByteArray(paymaster.input))
