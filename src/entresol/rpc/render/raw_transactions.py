"""Raw transactions of `zks_getRawBlockTransactions`: every field, by the names of zksync-era."""

from __future__ import annotations

from typing import Annotated, Final

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
from entresol.rpc.jsonrpc.model import ByteArray, JsonModel, says
from entresol.rpc.render.chain_json import priority_fee

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

    gas_limit: Annotated[Quantity, says("The gas limit.")]
    max_fee_per_gas: Annotated[Quantity, says("The most that it pays for a unit of gas.")]
    max_priority_fee_per_gas: Annotated[Quantity, says("The most that it pays above the base fee.")]
    gas_per_pubdata_limit: Annotated[Quantity, says("How much gas a byte of pubdata may cost.")]


class RawInput(msgspec.Struct, frozen=True, kw_only=True):
    """The signed transaction as it was sent."""

    hash: Annotated[Hash32, says("The hash of the transaction.")]
    data: Annotated[ByteArray, says("The transaction as it was sent.")]


class RawPaymaster(JsonModel, frozen=True, kw_only=True):
    """The paymaster, or the zero address."""

    paymaster: Annotated[Address, says("The contract that pays in place of the sender.")]
    paymaster_input: Annotated[ByteArray, says("What the paymaster receives.")]


class L2CommonData(JsonModel, frozen=True, kw_only=True):
    """The fields of an L2 transaction besides its call."""

    nonce: Annotated[int, says("The number of transactions that the account sent before it.")]
    fee: Annotated[Fee, says("What it pays at most.")]
    initiator_address: Annotated[Address, says("The sender.")]
    signature: Annotated[ByteArray, says("The signature.")]
    transaction_type: Annotated[str, says("The type of the transaction, by name.")]
    input: Annotated[RawInput | None, says("The transaction as it was sent.")]
    paymaster_params: Annotated[RawPaymaster, says("Who pays for the sender.")]


class L1CommonData(JsonModel, frozen=True, kw_only=True):
    """The fields of a priority transaction besides its call."""

    sender: Annotated[Address, says("The sender on L2: of a contract on L1, an alias.")]
    serial_id: Annotated[int, says("The number of the request among all requests of L1.")]
    layer2_tip_fee: Annotated[Quantity, says("0: the operator receives no tip.")]
    full_fee: Annotated[Quantity, says("0: only gas is paid.")]
    max_fee_per_gas: Annotated[Quantity, says("The most that it pays for a unit of gas.")]
    gas_limit: Annotated[Quantity, says("The gas limit.")]
    gas_per_pubdata_limit: Annotated[Quantity, says("How much gas a byte of pubdata may cost.")]
    op_processing_type: Annotated[
        str, says("How the request is processed: always in the same way.")
    ] = "Common"
    priority_queue_type: Annotated[str, says("The queue of the request: there is one.")] = "Deque"
    canonical_tx_hash: Annotated[Hash32, says("The hash of the transaction on L2.")]
    to_mint: Annotated[Quantity, says("How much of the base token is created on L2, in its units.")]
    refund_recipient: Annotated[Address, says("Who receives on L2 what is not used.")]
    deadline_block: Annotated[int, says("0: a request does not expire.")] = 0
    eth_hash: Annotated[Hash32, says("0: the transaction on L1 is not recorded.")]
    eth_block: Annotated[int, says("0: the block of L1 is not recorded.")] = 0


class CommonData(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One of the two, under a key that names its layer."""

    L1: Annotated[L1CommonData | None, says("If L1 requested it.")] = None
    L2: Annotated[L2CommonData | None, says("If it was sent to L2.")] = None


class RawExecute(JsonModel, frozen=True, kw_only=True):
    """The call that a transaction makes."""

    contract_address: Annotated[Address | None, says("Who is called; null to create a contract.")]
    calldata: Annotated[Data, says("The call data.")]
    value: Annotated[Quantity, says("The ether that it sends, in wei.")]
    factory_deps: Annotated[list[ByteArray], says("The code that it brings along.")]


class RawTransaction(msgspec.Struct, frozen=True, kw_only=True):
    """A transaction with all its fields; zksync-era uses snake case here."""

    common_data: Annotated[CommonData, says("Who sent it, and what is paid for it.")]
    execute: Annotated[RawExecute, says("What it does.")]
    received_timestamp_ms: Annotated[int, says("Its block's time, in milliseconds since 1970.")]
    raw_bytes: Annotated[Data | None, says("As it was sent; null if L1 requested it.")]


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
