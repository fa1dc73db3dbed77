"""Fill in a transaction's missing fields: type, fees, gas and nonce."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from entresol._native import BlobSidecar
from entresol.errors import (
    ExecutionFailed,
    GasAllowanceExceeded,
    MalformedTransaction,
    MalformedValue,
    TransactionRuleBroken,
    UnserializableCall,
)
from entresol.execution.calls import estimate_gas
from entresol.offload import Offload
from entresol.primitives.transactions import (
    AccessListTransaction,
    BlobTransaction,
    FeeMarketTransaction,
    LegacyTransaction,
    SetCodeTransaction,
    ZkTransaction,
)
from entresol.primitives.values import Address, Hash32
from entresol.rpc.types.call_request import Eip712Meta
from entresol.rpc.types.number import HexOrInteger
from entresol.state_missing import retried

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.execution.calls import CallRequest
    from entresol.execution.evm_env import EvmEnv
    from entresol.primitives.transactions import SignedPayload
    from entresol.rpc.services.block_resolver import BlockResolver
    from entresol.rpc.services.call_runner import CallRunner
    from entresol.rpc.threads.client_threads import Threads
    from entresol.rpc.types.call_request import TransactionObject


CELLS_PER_BLOB: Final = 128


def read_sidecar(given: TransactionObject, max_blobs: int) -> BlobSidecar:
    """Return the sidecar; raise `InvalidSidecar` if a proof does not hold, which takes milliseconds to find out."""
    proofs = given.proofs if given.cell_proofs is None else given.cell_proofs
    if given.blobs is None or given.commitments is None or proofs is None:
        raise TransactionRuleBroken("no sidecar")
    if given.proofs is not None and given.cell_proofs is not None:
        raise MalformedValue("both proofs and cellProofs specified")
    if len(given.blobs) > max_blobs:
        raise TransactionRuleBroken("too many blobs", len(given.blobs), max_blobs)
    if len(proofs) > CELLS_PER_BLOB * len(given.blobs) or len(given.commitments) > len(proofs):
        raise MalformedTransaction(
            f"there are {len(given.blobs)} blobs, {len(given.commitments)} commitments and {len(proofs)} proofs"
        )
    # Some clients send cell proofs under the older name.
    has_cell_proofs = given.cell_proofs is not None or len(proofs) != len(given.blobs)
    sidecar = BlobSidecar(
        blobs=given.blobs,
        commitments=given.commitments,
        proofs=proofs,
        has_cell_proofs=has_cell_proofs,
    )
    hashes = given.blob_versioned_hashes
    sidecar.verify(sidecar.hashes if hashes is None else hashes)
    return sidecar


class FilledTransaction(NamedTuple):
    """A complete unsigned transaction, with the sidecar of its blobs if it has any."""

    payload: SignedPayload
    sidecar: BlobSidecar | None


class Filling(NamedTuple):
    """The type and price that a transaction without them is filled in with."""

    evm_env: EvmEnv
    """Where the gas is estimated."""
    nonce: int
    max_fee_per_gas: int
    max_priority_fee_per_gas: int


class TransactionFiller:
    """Fills in transactions for one chain.

    With `sends_failing`, a transaction that would fail with any gas is sent with that of a block, as anvil does.
    """

    def __init__(
        self,
        chain: Chain,
        resolver: BlockResolver,
        runner: CallRunner,
        threads: Threads,
        *,
        sends_failing: bool = False,
    ) -> None:
        self._chain = chain
        self._sends_failing = sends_failing
        self._resolver = resolver
        self._runner = runner
        self._threads = threads

    async def fill(
        self,
        given: TransactionObject,
        sender: Address,
        *,
        is_sent: bool = False,
        is_for_client: bool = False,
    ) -> FilledTransaction:
        """Return the complete unsigned transaction; reject one that contradicts itself or the chain.

        If it `is_sent`, the caller must add it to the pool before the event loop goes on, or another may take the
        nonce. If it `is_for_client`, a contract account may sign it, and then counts by its own nonce.
        """
        kind = _kind(given, self._chain.pool.rules.accepted_types)
        # First, because it takes a thread and some milliseconds: prices and nonce may change meanwhile.
        sidecar = await self._sidecar(given) if kind == BlobTransaction.type else None
        self._check_size(given)
        chain_id = self._chain.rules.chain_id
        if given.chain_id not in (None, chain_id):
            raise TransactionRuleBroken("chain id", chain_id, int(given.chain_id))
        request = given.request()
        data = request.data
        if given.to is None and not data:
            raise MalformedTransaction("contract creation without any data provided")
        fields: dict[str, Any] = {"to": given.to, "value": int(given.value or 0), "data": data}
        fields |= {"chain_id": chain_id, **self._price(kind, given), **_lists(kind, request)}
        if kind == ZkTransaction.type:
            fields |= {"sender": sender, **_zk_fields(given.eip712_meta or Eip712Meta())}
        if sidecar is not None:
            given = self._with_blob_fields(given, sidecar)
            request = given.request()
            fields["max_fee_per_blob_gas"] = int(given.max_fee_per_blob_gas or 0)
            fields["blob_hashes"] = tuple(given.blob_versioned_hashes or ())
        request = msgspec.structs.replace(request, sender=sender)
        fields["gas_limit"] = await self._gas_limit(request, is_sent=is_sent)
        # The node itself signs with a key or impersonates: neither counts by the nonce of a contract account.
        next_nonce = await retried(
            lambda: self._chain.pool.next_nonce(sender, is_impersonated=not is_for_client)
        )
        nonce = next_nonce if given.nonce is None else int(given.nonce)
        payload: SignedPayload = _KINDS[kind](nonce=nonce, **fields)
        return FilledTransaction(payload, sidecar)

    def filling(self, sender: bytes) -> Filling:
        """Return what a plain transaction of a client is filled in with; it fails if the pending block takes long."""
        evm_env = self._resolver.pending_env()
        nonce = self._chain.pool.next_nonce(Address(sender))
        base_fee, tip = self._chain.next_base_fee(), self._chain.rules.suggested_tip
        return Filling(evm_env, nonce, _fee_cap(base_fee, tip), tip)

    async def _sidecar(self, given: TransactionObject) -> BlobSidecar:
        max_blobs = self._chain.pool.rules.max_blobs
        return await self._threads.run(partial(read_sidecar, given, max_blobs))

    def _with_blob_fields(
        self, given: TransactionObject, sidecar: BlobSidecar
    ) -> TransactionObject:
        cap = given.max_fee_per_blob_gas
        # The price of the next block, as in anvil.
        price = self._chain.next_blob_base_fee() if cap is None else cap
        return msgspec.structs.replace(
            given,
            max_fee_per_blob_gas=HexOrInteger(price),
            blob_versioned_hashes=[Hash32(versioned) for versioned in sidecar.hashes],
        )

    def _check_size(self, given: TransactionObject) -> None:
        """Reject data that no pool accepts and lists that nobody can pay for, before they are filled in."""
        self._runner.check_lists(given)
        size = len(given.data or given.input or b"")
        limit = self._chain.pool.rules.size_limit(given.to)
        if size > limit:
            raise TransactionRuleBroken("too large", size, limit)

    def _price(self, kind: int, given: TransactionObject) -> dict[str, int]:
        base_fee, tip = self._chain.next_base_fee(), self._chain.rules.suggested_tip
        price = given.gas_price
        if kind in _PRICED:
            return {"gas_price": base_fee + tip if price is None else int(price)}
        if price is not None:
            return {"max_fee_per_gas": int(price), "max_priority_fee_per_gas": int(price)}
        cap = given.max_fee_per_gas
        if given.max_priority_fee_per_gas is not None:
            tip = int(given.max_priority_fee_per_gas)
        elif cap is not None:
            tip = min(tip, int(cap))
        fee_cap = _fee_cap(base_fee, tip) if cap is None else int(cap)
        if kind == ZkTransaction.type and given.max_priority_fee_per_gas is None:
            # What clients send, and expect where there is none. It is never charged.
            tip = fee_cap
        return {"max_fee_per_gas": fee_cap, "max_priority_fee_per_gas": tip}

    async def _gas_limit(self, request: CallRequest, *, is_sent: bool) -> int:
        if request.gas is not None:
            return int(request.gas)
        rules = self._chain.pool.rules
        most = min(rules.gas_limit, rules.transaction_gas_limit or rules.gas_limit)
        try:
            return await self._gas(request)
        except ExecutionFailed as error:
            # What a limit of the node or the sender's balance does not allow is not for the block to try.
            is_limited = isinstance(error, GasAllowanceExceeded) and error.allowance < most
            if is_limited or not (is_sent and self._sends_failing):
                raise
        return most

    async def _gas(self, request: CallRequest) -> int:
        evm_env = await retried(self._resolver.pending_env)
        gas = self._runner.run(lambda limits: estimate_gas(evm_env, request, limits).gas)
        if not isinstance(gas, Offload):
            return gas
        return await self._threads.run(gas.work)


_KINDS: dict[int, type[Any]] = {
    kind.type: kind
    for kind in (
        LegacyTransaction, AccessListTransaction, FeeMarketTransaction, BlobTransaction,
        SetCodeTransaction, ZkTransaction,
    )
}  # fmt: skip
_PRICED = frozenset({LegacyTransaction.type, AccessListTransaction.type})
_NUMBER_BYTES = 8
"""How large the gas of type 0x71 may be."""
_WITHOUT_CREATION = frozenset({BlobTransaction.type, SetCodeTransaction.type})
_WITHOUT_ACCESS_LIST = frozenset({LegacyTransaction.type, ZkTransaction.type})


def _fee_cap(base_fee: int, tip: int) -> int:
    # Twice the base fee, as in geth: enough for some blocks even if they are full.
    return 2 * base_fee + tip


def _kind(given: TransactionObject, accepted: frozenset[int]) -> int:
    """Return the requested type, or the simplest one that has all given fields."""
    has_caps = given.max_fee_per_gas is not None or given.max_priority_fee_per_gas is not None
    if has_caps and given.gas_price is not None:
        raise MalformedValue("both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified")
    kind = _simplest(given, has_caps=has_caps) if given.type is None else int(given.type)
    if kind not in _KINDS or kind not in accepted:
        raise TransactionRuleBroken("type", kind)
    if kind == ZkTransaction.type and given.to is None:
        raise UnserializableCall("toAddressIsNull")
    if kind in _WITHOUT_CREATION and given.to is None:
        raise MalformedTransaction(f"a transaction of type {kind:#x} cannot create a contract")
    surplus = {
        "maxFeePerGas or maxPriorityFeePerGas": has_caps and kind in _PRICED,
        "accessList": given.access_list and kind in _WITHOUT_ACCESS_LIST,
        "authorizationList": given.authorization_list and kind != SetCodeTransaction.type,
        "blobs": given.has_blobs and kind != BlobTransaction.type,
        "eip712Meta": given.eip712_meta is not None and kind != ZkTransaction.type,
    }
    for name, is_surplus in surplus.items():
        if is_surplus:
            raise MalformedTransaction(f"a transaction of type {kind:#x} has no {name}")
    return kind


def _simplest(given: TransactionObject, *, has_caps: bool) -> int:
    if given.eip712_meta is not None:
        return ZkTransaction.type
    if given.authorization_list is not None:
        return SetCodeTransaction.type
    if given.has_blobs:
        return BlobTransaction.type
    if has_caps or given.gas_price is None:
        return FeeMarketTransaction.type
    return LegacyTransaction.type if given.access_list is None else AccessListTransaction.type


def _lists(kind: int, request: CallRequest) -> dict[str, object]:
    lists: dict[str, object] = {}
    if kind not in _WITHOUT_ACCESS_LIST:
        lists["access_list"] = request.access_list or ()
    if kind == SetCodeTransaction.type:
        lists["authorizations"] = request.authorizations or ()
    return lists


def _zk_fields(meta: Eip712Meta) -> dict[str, object]:
    if meta.custom_signature:
        raise MalformedTransaction(
            "the node signs the transaction itself", field="eip712Meta.customSignature"
        )
    # Before the estimate, which could not say which number it is.
    size = (meta.gas_per_pubdata_limit.bit_length() + 7) // 8
    if size > _NUMBER_BYTES:
        problem = f"integer is at most {_NUMBER_BYTES} bytes, got {size}"
        raise MalformedTransaction(problem, field="gasPerPubdata")
    return {
        "gas_per_pubdata_limit": meta.gas_per_pubdata_limit,
        "factory_deps": tuple(code for _, code in meta.dependencies()),
        "paymaster": meta.paymaster(),
    }
