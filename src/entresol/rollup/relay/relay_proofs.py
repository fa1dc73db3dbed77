"""Proofs of a chain's messages for the relay, beside those for clients."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Protocol

from entresol.primitives.l2_to_l1_logs import TreeNotBuilt

if TYPE_CHECKING:
    from entresol.primitives.l2_to_l1_logs import ProvenLog
    from entresol.primitives.values import Hash32

_WORD: Final = 32


class TransactionProver(Protocol):
    """Proves L2-to-L1 logs of transactions."""

    def prove_transaction_log(
        self, transaction_hash: Hash32, index: int = 0, *, quick: bool = False
    ) -> ProvenLog | None:
        """Prove a log of a transaction; with `quick`, raise `TreeNotBuilt` if that takes long."""


class RelayProofs:
    """Proves messages one at a time: at once if that is quick, and else on a thread.

    Assumes: nobody else uses its prover. Fails: as its prover does.
    """

    def __init__(self, prover: TransactionProver) -> None:
        self._prover = prover
        self._turn = asyncio.Lock()

    async def prove(self, transaction: Hash32, position: int) -> ProvenLog | None:
        """Return the proof of a message of a transaction; None if L1 is not that far."""
        prove = self._prover.prove_transaction_log
        async with self._turn:
            try:
                return prove(transaction, position, quick=True)
            except TreeNotBuilt:
                return await asyncio.to_thread(prove, transaction, position)


def words_of(proven: ProvenLog) -> list[bytes]:
    """Return the words of a proof."""
    joined = b"".join(proven.proof.words)
    return [joined[at : at + _WORD] for at in range(0, len(joined), _WORD)]
