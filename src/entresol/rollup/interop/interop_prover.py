"""Proofs of L2-to-L1 logs for other L2s: from a log to the root over all chains, which those have imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

from entresol.errors import NotPossible
from entresol.l1.contracts import reason_of
from entresol.primitives.l2_to_l1_logs import TREE_DEPTH, LogProof, ProvenLog
from entresol.rollup.interop.root_follower import imports_roots

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.chain.chain import Chain
    from entresol.primitives.values import Hash32
    from entresol.rollup.log_prover import LogProver
    from entresol.storage.batch_table import BatchTable

_HASH: Final = 32
_LOG_PATH: Final = TREE_DEPTH + 1


class InteropProver:
    """Proves logs of the batches whose roots L1 has appended to those of all chains.

    Fails: with `NotPossible` if L1 cannot append a batch, or has left out the log itself, and on a chain without
    messages to other chains.
    """

    def __init__(
        self,
        prover: LogProver,
        batches: BatchTable,
        *,
        is_available: Callable[[], bool] = lambda: True,
    ) -> None:
        """Take what proves logs up to the root of their batch; a state file may bring other contracts at any time."""
        self._prover = prover
        self._batches = batches
        self._is_available = is_available

    @classmethod
    def of(cls, chain: Chain, prover: LogProver) -> Self:
        """Return what proves logs of a chain, if it has the contract of roots."""
        return cls(prover, chain.batches, is_available=lambda: imports_roots(chain))

    def prove_transaction_log(
        self, transaction_hash: Hash32, index: int = 0, *, quick: bool = False
    ) -> ProvenLog | None:
        """Prove the log at `index` among those of a transaction; None until L1 has appended its batch.

        With `quick`, raise `TreeNotBuilt` if that takes long.
        """
        if not self._is_available():
            raise NotPossible(
                "this chain has no messages to other chains, as its genesis has no contract of roots at 0x10008"
            )
        proven = self._prover.prove_transaction_log(transaction_hash, index, quick=quick)
        if proven is None:
            return None
        path = self._batches.roots.path(proven.batch)
        if path is not None and path.left_out:
            leaf = proven.proof.id
            if leaf in path.left_out:
                raise NotPossible(
                    f"L1 leaves this bundle out of batch {proven.batch}: {reason_of(path.left_out[leaf])}; as "
                    "soon as that is not so any more, anyone can have "
                    f"it booked, by MessageRoot.settle, and this node tries it by itself"
                )
            # The leaves of those are empty in what L1 has.
            proof = self._prover.prove_leaf(proven.batch, leaf, left_out=path.left_out)
            proven = ProvenLog(proven.batch, proven.packed, proof)
        # After a revert of both layers another batch may have the number.
        if path is None or path.batch_root != proven.proof.root:
            books = self._batches.books
            problem = books.problem_of(proven.batch)
            # Which bundles are left out, the path will say.
            if problem is not None and not books.is_partial(proven.batch):
                raise NotPossible(
                    f"L1 does not pass on the messages of batch {proven.batch} to other chains: {problem}"
                )
            return None
        metadata = bytes([1, _LOG_PATH, path.path_length, 0]).ljust(_HASH, b"\0")
        siblings = proven.proof.words[1:]
        proof = LogProof(
            id=proven.proof.id,
            root=path.root,
            words=(metadata, *siblings, path.words),
            l1_block=path.l1_block,
        )
        return ProvenLog(proven.batch, proven.packed, proof)
