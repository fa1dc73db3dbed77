"""Merkle proofs of L2-to-L1 logs and messages, and of accounts after a batch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Final, Literal, Protocol, TypeAlias

from msgspec import UNSET, Raw, UnsetType

from entresol.errors import InvalidParams, NotPossible
from entresol.offload import POLICY, Offload
from entresol.primitives.l2_to_l1_logs import TreeNotBuilt
from entresol.primitives.values import Address, Data, Hash32, Quantity
from entresol.rpc.jsonrpc.gil_turns import cooperatively
from entresol.rpc.jsonrpc.method import Past, ServedBy, method
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.services.call_runner import check_slots
from entresol.rpc.types.block_id import BlockHeight, TransactionHash
from entresol.rpc.types.number import Number

if TYPE_CHECKING:
    from entresol.primitives.l2_to_l1_logs import ProvenLog
    from entresol.state.state_trie import AccountProof, StateTrie
    from entresol.storage.batch_table import BatchTable
    from entresol.storage.store_view import StoreView


ProofTarget: TypeAlias = Literal["l1BatchRoot", "messageRoot"]

_FOR_OTHER_CHAINS: Final = "messageRoot"


class TransactionLogProver(Protocol):
    """Proves the logs of transactions."""

    def prove_transaction_log(
        self, transaction_hash: Hash32, index: int = 0, *, quick: bool = False
    ) -> ProvenLog | None:
        """Prove a log of a transaction; with `quick`, raise `TreeNotBuilt` if that takes long."""


class Prover(TransactionLogProver, Protocol):
    """Finds logs in batches that L1 has executed, and proves them."""

    def prove_message(
        self,
        block: int,
        sender: Address,
        message_hash: Hash32,
        log_index: int | None = None,
        *,
        quick: bool = False,
    ) -> ProvenLog | None:
        """Prove a message of `sender` in the batch of `block`; with `quick`, raise `TreeNotBuilt` if that takes long."""


class L2ToL1LogProof(JsonModel, frozen=True, kw_only=True):
    """The proof of an L2-to-L1 log, as the contracts of L1 or those of another L2 verify it."""

    id: Annotated[int, says("The index of the log among those of the batch.")]
    proof: Annotated[
        list[Hash32], says("What `proveL2LogInclusion` and the like of the contracts on L1 take.")
    ]
    root: Annotated[Hash32, says("The root of the tree of the batch's logs.")]
    batch_number: Annotated[int, says("The batch whose root L1 has.")]
    gateway_block_number: Annotated[
        int | UnsetType,
        says(
            "The block of L1 whose root over all chains the proof leads to; only in proofs for another L2."
        ),
    ] = UNSET


class BatchStorageProof(JsonModel, frozen=True, kw_only=True):
    """A slot after a batch and its proof; in a Patricia trie it has no index."""

    key: Annotated[Hash32, says("The key of the slot.")]
    value: Annotated[Hash32, says("The value of the slot.")]
    index: Annotated[int, says("0: a Patricia trie has no indexes.")] = 0
    proof: Annotated[list[Data], says("The nodes of the storage trie from the root to the slot.")]


class BatchAccountProof(JsonModel, frozen=True, kw_only=True):
    """An account after a batch, with proofs of it and of its slots."""

    address: Annotated[Address, says("The account.")]
    state_root: Annotated[Hash32, says("The root of the state after the batch.")]
    account_proof: Annotated[list[Data], says("The trie's nodes from the root to the account.")]
    nonce: Annotated[Quantity, says("How many transactions it sent, or contracts it created.")]
    balance: Annotated[Quantity, says("The balance in wei.")]
    code_hash: Annotated[Hash32, says("The keccak of its code.")]
    storage_hash: Annotated[Hash32, says("The root of its storage trie.")]
    storage_proof: Annotated[list[BatchStorageProof], says("The requested slots with proofs.")]


class ZksProofs:
    """`zks_` methods about proofs."""

    prefix = "zks"

    def __init__(
        self,
        blocks: StoreView,
        batches: BatchTable,
        trie: StateTrie,
        prover: Prover,
        interop_prover: TransactionLogProver,
    ) -> None:
        self._blocks = blocks
        self._batches = batches
        self._trie = trie
        self._prover = prover
        self._interop_prover = interop_prover
        # The prover remembers trees, and is used by one thread at a time.
        self._lock = Lock()

    @method(name="zks_getL2ToL1MsgProof", getter=True, served_by=ServedBy.REPLICA, past=Past.LOCAL)
    def get_l2_to_l1_msg_proof(
        self,
        block: BlockHeight,
        sender: Address,
        msg: Hash32,
        l2_log_position: Number | None = None,
    ) -> Annotated[Raw, L2ToL1LogProof] | Offload[Raw | None] | None:
        """Return the proof of a message that `sender` sent in the batch of `block`.

        `msg` is the keccak of the message. Without a position it is the first such message of the batch;
        the position is the index in the block of the event `L1MessageSent`, and distinguishes equal
        messages. The result is null until the batch is executed on L1.
        """
        return self._prove(partial(self._prover.prove_message, block, sender, msg, l2_log_position))

    @method(
        NotPossible,
        name="zks_getL2ToL1LogProof",
        getter=True,
        served_by=ServedBy.REPLICA,
        past=Past.LOCAL,
    )
    def get_l2_to_l1_log_proof(
        self,
        tx_hash: TransactionHash,
        index: Number | None = None,
        target: ProofTarget | None = None,
    ) -> Annotated[Raw, L2ToL1LogProof] | Offload[Raw | None] | None:
        """Return the proof of a transaction's L2-to-L1 log, the first unless `index` is given.

        `index` counts the `l2ToL1Logs` of the receipt. The result is null until the batch is executed on L1. With the
        target `messageRoot` the proof is for another L2, which has imported the root over all chains of the L1 block
        `gatewayBlockNumber`, and the result is null until L1 has added the batch to that.
        """
        prover = self._interop_prover if target == _FOR_OTHER_CHAINS else self._prover
        return self._prove(partial(prover.prove_transaction_log, tx_hash, index or 0))

    @method(InvalidParams, served_by=ServedBy.REPLICA)
    def get_proof(
        self, address: Address, keys: list[Hash32], l1_batch_number: Number
    ) -> BatchAccountProof | Offload[BatchAccountProof] | None:
        """Return an account and some of its slots after a batch, with Merkle proofs.

        The tree is the Ethereum state trie whose root is the `stateRoot` of the batch's last block, so
        the proofs are lists of RLP nodes and not the hashes of a binary tree. On a fork it covers what the fork has
        changed, and there are proofs of that alone.
        """
        check_slots(len(keys))
        batch = self._batches.get(l1_batch_number)
        if batch is None:
            return None
        root = self._blocks.header(batch.last_block).state_root

        def work() -> BatchAccountProof:
            return _account_proof(self._trie.prove(root, address, keys), address, root)

        return work() if len(keys) <= POLICY.proof_slots else Offload(work)

    def _prove(self, prove: Callable[..., ProvenLog | None]) -> Raw | Offload[Raw | None] | None:
        """Prove a log: on a thread if the tree has to be built first, which takes up to 16,383 hashes."""

        def work() -> Raw | None:
            with self._lock:
                return _log_proof(prove())

        # The thread that has it builds a tree.
        if not self._lock.acquire(blocking=False):
            return Offload(work)
        try:
            return _log_proof(prove(quick=True))
        except TreeNotBuilt:
            return Offload(work)
        finally:
            self._lock.release()


def _log_proof(proven: ProvenLog | None) -> Raw | None:
    if proven is None:
        return None
    proof = proven.proof
    # One conversion of all words, each of 32 bytes, takes a third of one for each.
    words = b"".join(proof.words).hex(",", 32).replace(",", '","0x')
    added = "" if proof.l1_block is None else f',"gatewayBlockNumber":{proof.l1_block}'
    return Raw(
        f'{{"id":{proof.id},"proof":["0x{words}"],"root":"0x{proof.root.hex()}",'
        f'"batchNumber":{proven.batch}{added}}}'.encode()
    )


def _account_proof(proof: AccountProof, address: Address, root: Hash32) -> BatchAccountProof:
    return BatchAccountProof(
        address=address,
        state_root=root,
        account_proof=[Data(node) for node in proof.proof],
        nonce=Quantity(proof.nonce),
        balance=Quantity(proof.balance),
        code_hash=proof.code_hash,
        storage_hash=proof.storage_root,
        storage_proof=[
            BatchStorageProof(
                key=slot.slot,
                value=Hash32(slot.value.to_bytes(32)),
                proof=[Data(node) for node in slot.proof],
            )
            for slot in cooperatively(proof.slots)
        ],
    )
