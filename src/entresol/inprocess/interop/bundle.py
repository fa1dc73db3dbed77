"""A bundle on its way to another L2 of a devnet: what stage it is in, and what can be done with it there."""

from __future__ import annotations

import time
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from hexbytes import HexBytes
from web3.exceptions import ContractLogicError, Web3RPCError

from entresol.contracts.abi_registry import project_abis
from entresol.errors import BundleNotReady, BundleReverted
from entresol.inprocess.bridge_client import PATIENCE_SECONDS, POLL_SECONDS
from entresol.primitives.interop_bundles import INTEROP_CENTER, InteropBundle
from entresol.terminal.call_tree import describe_error

if TYPE_CHECKING:
    from collections.abc import Iterable

    from web3.types import TxReceipt

    from entresol.inprocess.settling_client import SettlingClient


def sent(bridge: SettlingClient, call: Any, transaction: dict[str, Any]) -> TxReceipt:
    """Send a call to a contract of the L2 of a bridge, and return its receipt; raises `BundleReverted`."""
    try:
        receipt = bridge.receipt_of(bridge.l2, call.transact(transaction))
    except ContractLogicError as error:
        raise reverted(call.fn_name, error) from error
    if not receipt["status"]:
        transaction_hash = receipt["transactionHash"].to_0x_hex()
        reason = f"the estimate succeeded, and the transaction {transaction_hash} has failed"
        raise BundleReverted(call.fn_name, reason)
    return receipt


def reverted(function: str, error: ContractLogicError) -> BundleReverted:
    """Return the error with its name and arguments, if one of the contracts of this project has it."""
    is_data = isinstance(error.data, str) and error.data.startswith("0x")
    data = bytes(HexBytes(str(error.data))) if is_data else b""
    reason = describe_error(project_abis(), data) or str(error.message)
    return BundleReverted(function, reason.removeprefix("execution reverted: "), data)


_INVALID_PARAMS: Final = -32602


class BundleStatus(IntEnum):
    """The status of a bundle at the destination."""

    UNRECEIVED = 0
    VERIFIED = 1
    EXECUTED = 2
    UNBUNDLED = 3


class CallStatus(IntEnum):
    """The status of a call of a bundle at the destination, or the one it is to get; 0 leaves it as it is."""

    UNPROCESSED = 0
    EXECUTED = 1
    CANCELLED = 2


class BundleStage(StrEnum):
    """How far a bundle is on its way to where it can be executed."""

    SENT = "sent, and in no batch"
    IN_BATCH = "in a batch that L1 has not executed"
    EXECUTED_ON_L1 = "in a batch that L1 has executed, and its books are not settled"
    NOT_COVERED = "in a batch whose books L1 cannot settle"
    SETTLED = "settled on L1, and its root has not arrived on the destination"
    ARRIVED = "ready to be executed"


class BundleProof(NamedTuple):
    """The proof to the destination that a bundle was sent."""

    chain_id: int
    batch: int
    leaf: int
    transaction_index: int
    """The position of the transaction in its block, as its receipt has it."""
    path: tuple[HexBytes, ...]
    l1_block: int
    """The block of L1 whose root the path leads to."""
    root: HexBytes


class SentBundle:
    """A bundle that was sent from one L2 to another; the methods wait as those of the bridge do.

    Remembers: its proof, once there is one. Fails: with `BundleNotReady`, which names the stage, and `BundleReverted`,
    which names the custom error.
    """

    def __init__(
        self,
        bundle: InteropBundle,
        index: int,
        receipt: TxReceipt,
        source: SettlingClient,
        destination: SettlingClient,
    ) -> None:
        self.bundle = bundle
        """Its calls, its chains, and who may execute and cancel them."""
        self.hash = HexBytes(bundle.hash())
        self.receipt = receipt
        """The receipt of the transaction that sent it."""
        self.source = source
        self.destination = destination
        self._index = index
        self._proof: BundleProof | None = None

    def __repr__(self) -> str:
        return f"<bundle {self.hash.to_0x_hex()} from chain {self.bundle.source} to {self.bundle.destination}>"

    # Where it is

    @property
    def status(self) -> BundleStatus:
        """The status at the destination."""
        return BundleStatus(
            self.destination.interop_handler.functions.bundleStatus(self.hash).call()
        )

    @property
    def call_statuses(self) -> tuple[CallStatus, ...]:
        """The status of each of its calls at the destination."""
        read = self.destination.interop_handler.functions.callStatus
        return tuple(
            CallStatus(read(self.hash, number).call()) for number in range(len(self.bundle.calls))
        )

    @property
    def stage(self) -> BundleStage:
        """How far it is on its way."""
        return self._progress()[0]

    @property
    def proof(self) -> BundleProof | None:
        """The proof to the destination that it was sent; None until L1 has settled its books."""
        if self._proof is None:
            self._proof = self._read_proof()
        return self._proof

    # What can be done

    def wait(self, timeout: float = PATIENCE_SECONDS) -> Self:
        """Return once the destination can execute it; after so many seconds, raise `BundleNotReady`."""
        self.source.request_settlement(self.receipt["blockNumber"])
        deadline = time.monotonic() + timeout
        while True:
            stage, reason = self._progress()
            if stage is BundleStage.ARRIVED:
                return self
            if stage is BundleStage.NOT_COVERED or time.monotonic() > deadline:
                raise BundleNotReady(self.hash.to_0x_hex(), stage.value, reason)
            time.sleep(POLL_SECONDS)

    def execute(self, sender: str | None = None) -> TxReceipt:
        """Execute all of its calls, and return the receipt there; one that reverts leaves none of them executed."""
        return self._act("executeBundle", sender)

    def verify(self, sender: str | None = None) -> TxReceipt:
        """Show to the destination that it was sent, so that its calls can be executed or cancelled one by one."""
        return self._act("verifyBundle", sender)

    def unbundle(self, statuses: Iterable[int], sender: str | None = None) -> TxReceipt:
        """Execute, cancel or leave each call, of a bundle that is verified; what a cancelled call has is lost.

        The sender has to be the unbundler, who is the account that sent the bundle if none was named.
        """
        wanted = [int(status) for status in statuses]
        arguments = (self.bundle.source, self.bundle.encode(), wanted)
        call = self.destination.interop_handler.functions.unbundleBundle(*arguments)
        return sent(self.destination, call, {"from": sender or self.receipt["from"]})

    def _act(self, function: str, sender: str | None) -> TxReceipt:
        self.wait()
        proof = self.proof
        assert proof is not None
        message = (proof.transaction_index, str(INTEROP_CENTER), self.bundle.message())
        claim = (proof.chain_id, proof.batch, proof.leaf, message, list(proof.path))
        call = self.destination.interop_handler.functions[function](self.bundle.encode(), claim)
        return sent(self.destination, call, {"from": sender or self.receipt["from"]})

    # How far it is

    def _progress(self) -> tuple[BundleStage, str | None]:
        try:
            proof = self.proof
        except Web3RPCError as error:
            response = error.rpc_response or {}
            failure: Any = response.get("error", {})
            if failure.get("code") == _INVALID_PARAMS:
                raise
            return BundleStage.NOT_COVERED, str(failure.get("message", error))
        if proof is None:
            return self._progress_on_l1()
        storage = self.destination.interop_roots.functions
        arrived = storage.interopRoots(self.destination.l1_chain_id, proof.l1_block).call()
        return BundleStage.ARRIVED if any(arrived) else BundleStage.SETTLED, None

    def _progress_on_l1(self) -> tuple[BundleStage, str | None]:
        block = self.receipt["blockNumber"]
        books = self.source.books_of(block)
        if books is None:
            return BundleStage.SENT, None
        if books["status"] == "rejected":
            return BundleStage.NOT_COVERED, books["problem"]
        executed = self.source.l2.eth.get_block("finalized")["number"] >= block
        return BundleStage.EXECUTED_ON_L1 if executed else BundleStage.IN_BATCH, None

    def _read_proof(self) -> BundleProof | None:
        transaction = self.receipt["transactionHash"].to_0x_hex()
        found = self.source.rpc("zks_getL2ToL1LogProof", transaction, self._index, "messageRoot")
        if found is None:
            return None
        return BundleProof(
            chain_id=self.bundle.source,
            batch=found["batchNumber"],
            leaf=found["id"],
            transaction_index=self.receipt["transactionIndex"],
            path=tuple(HexBytes(word) for word in found["proof"]),
            l1_block=_number(found["gatewayBlockNumber"]),
            root=HexBytes(found["root"]),
        )


def _number(value: Any) -> int:
    return int(value, 16) if isinstance(value, str) else int(value)
