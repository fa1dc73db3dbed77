"""Proofs and witnesses of a fork's own blocks: its tries have what it changed, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from entresol.errors.fork import NotCovered
from entresol.offload import Offload
from entresol.primitives.bytecode import EMPTY_CODE_HASH
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.execution.evm_env import State
    from entresol.rpc.services.block_resolver import BlockResolver
    from entresol.rpc.services.past.router import Function

WITNESS: Final = "debug_executionWitness"
PROOF: Final = "eth_getProof"
ACCOUNT: Final = "eth_getAccount"
BATCH_PROOF: Final = "zks_getProof"
FRAMES: Final = "trace_filter"


class OverlayChecks:
    """Lets a method prove what the fork's tries have, and rejects by name what they have otherwise than the state.

    Remembers: nothing. Assumes: that a method that raises `StateMissing` is called again. Fails: with `NotCovered`.
    """

    def __init__(self, chain: Chain, resolver: BlockResolver) -> None:
        self._chain = chain
        self._resolver = resolver

    def by_method(self) -> dict[str, Callable[[Function, Sequence[Any]], Any]]:
        """Return the checks by the names of methods."""
        return {
            PROOF: self.proof,
            BATCH_PROOF: self.batch_proof,
            ACCOUNT: self.account,
            WITNESS: self.witness,
            FRAMES: self.frames,
        }

    def proof(self, function: Function, arguments: Sequence[Any]) -> Any:
        """Return the proof of an account and slots after a block."""
        address, _, block = arguments
        return self._checked(PROOF, self._resolver.state(block), address, function(*arguments))

    def batch_proof(self, function: Function, arguments: Sequence[Any]) -> Any:
        """Return the proof of an account and slots after a batch."""
        address, _, number = arguments
        result, batch = function(*arguments), self._chain.batches.get(int(number))
        if result is None or batch is None:
            return result
        state = self._chain.state_after(batch.last_block)
        return self._checked(BATCH_PROOF, state, address, result)

    def account(self, function: Function, arguments: Sequence[Any]) -> Any:
        """Return an account with its storage root, which is that of the slots that the fork changed."""
        address, block = arguments
        state, number = self._resolver.state(block), self._resolver.sealed(block)
        found = state.account(address)
        if found is not None and found.code_hash != EMPTY_CODE_HASH:
            root = self._chain.blocks.header(number).state_root
            _check_account(ACCOUNT, state, self._chain.state_trie.prove(root, address))
        return function(*arguments)

    def witness(self, function: Function, arguments: Sequence[Any]) -> Any:
        """Reject a witness, which needs the nodes of the whole state."""
        # A block that is not there, or was not executed, has its own error.
        self._resolver.inspected(arguments[0])
        if self._resolver.number(arguments[0]) == self._chain.ledger.first:
            return function(*arguments)
        raise NotCovered(
            WITNESS, "a witness has nodes of the remote's state trie, which is not here"
        )

    def frames(self, function: Function, arguments: Sequence[Any]) -> Any:
        """Return the frames of blocks of the fork; reject a range that begins below it."""
        wanted, first = arguments[0].from_block, self._chain.ledger.first
        if wanted is not None and wanted.number is not None and wanted.number < first:
            raise NotCovered(FRAMES, f"it searches the fork's own blocks, from {first} on")
        return function(*arguments)

    @staticmethod
    def _checked(method: str, state: State, address: Address, result: Any) -> Any:
        def check(proof: Any) -> Any:
            _check_account(method, state, proof)
            for slot in proof.storage_proof:
                actual = int.from_bytes(state.slot(address, bytes(slot.key)))
                if _number(slot.value) != actual:
                    raise NotCovered(
                        method,
                        f"slot {Hash32(slot.key)} of {address} is as the remote has it, and the "
                        "fork's trie has only what the fork changed",
                    )
            return proof

        if isinstance(result, Offload):
            work = result.work
            return Offload(lambda: check(work()))
        return check(result)


def _check_account(method: str, state: State, proof: Any) -> None:
    """Reject the proof of an account that the state has otherwise than the trie."""
    found = state.account(proof.address)
    actual: tuple[int, int, bytes] = (0, 0, EMPTY_CODE_HASH)
    if found is not None:
        actual = (found.nonce, found.balance, found.code_hash)
    if (proof.nonce, proof.balance, bytes(proof.code_hash)) != actual:
        raise NotCovered(
            method,
            f"{proof.address} is as the remote has it, and the fork's trie has only what the fork changed; "
            "ask for a block below the anchor",
        )


def _number(value: Any) -> int:
    return int.from_bytes(value) if isinstance(value, bytes) else int(value)
