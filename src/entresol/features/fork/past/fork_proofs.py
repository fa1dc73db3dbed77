"""`eth_getProof` on a fork: of its anchor by the remote's proofs, and of its own blocks by what they change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from msgspec import Raw

from entresol._native import Overlay
from entresol.chain.finality import BlockTag
from entresol.errors import MalformedValue
from entresol.features.fork.errors import NotCovered, NotRecorded, RemoteRejected
from entresol.features.fork.past.remote import is_null
from entresol.features.fork.remote_values import ProvenAccount, check_proofs, proven_account
from entresol.features.fork.transport.rejections import is_invalid_params
from entresol.offload import Offload
from entresol.primitives.anchor import header_of_json
from entresol.primitives.bytecode import EMPTY_CODE_HASH
from entresol.primitives.values import Address, Hash32
from entresol.rpc.jsonrpc.codec import encode

if TYPE_CHECKING:
    from entresol._native import Account
    from entresol.chain.chain import Chain
    from entresol.execution.evm_env import State
    from entresol.features.fork.past.remote import PastChain
    from entresol.features.fork.past.router import Function
    from entresol.rpc.services.block_resolver import BlockResolver
    from entresol.rpc.types.block_id import BlockId


METHOD: Final = "eth_getProof"


class RemoteProof(NamedTuple):
    """The proof of an account as it came, and what it says; it is proven."""

    json: Raw
    account: ProvenAccount


class AnchorProofs:
    """Reads proofs of the remote, and checks them against the anchor's state root.

    Persists: proofs, in the cache of the remote. Assumes: the event loop. Fails: with `NotCovered`
    if the remote does not prove it, and with `RemoteFailed`.
    """

    def __init__(self, remote: PastChain) -> None:
        self._remote = remote

    async def proof(self, method: str, address: Address, slots: Sequence[bytes]) -> RemoteProof:
        """Return what the remote proves of an account and slots after the anchor, for a method that needs it."""
        try:
            json = await self._read([str(address), [f"0x{slot.hex()}" for slot in slots]])
        except RemoteRejected as error:
            raise _not_covered(method, address, f"the remote does not prove it: {error}") from error
        try:
            account = proven_account(msgspec.json.decode(json), slots)
        except (MalformedValue, msgspec.DecodeError, RecursionError) as error:
            raise _not_covered(method, address, f"the remote proves nothing: {error}") from error
        anchor = self._remote.anchor
        root = header_of_json(anchor.json).state_root
        problem = check_proofs(root, bytes(address), slots, account)
        if problem:
            text = (
                f"the remote's proof is not of the state root of block {anchor.number}: {problem}"
            )
            raise _not_covered(method, address, text)
        return RemoteProof(json, account)

    async def _read(self, params: list[object]) -> Raw:
        """Return a proof by the anchor's hash; by its number, if the remote takes nothing else."""
        anchor = self._remote.anchor
        named = {"blockHash": str(anchor.hash), "requireCanonical": False}
        try:
            return await self._remote.read(METHOD, [*params, named], is_final=_is_there)
        except RemoteRejected as error:
            if not is_invalid_params(error.code, error.message):
                raise
        except NotRecorded:
            # Recorded by the number, or not at all, which the error says then.
            pass
        return await self._remote.read(
            METHOD, [*params, hex(anchor.number)], is_final=_is_there, at=anchor.number
        )


def _is_there(result: Raw) -> bool:
    return not is_null(result)


def _not_covered(method: str, address: Address, problem: str) -> NotCovered:
    return NotCovered(method, f"{address} is as the remote has it, and {problem}")


WITNESS: Final = "debug_executionWitness"
PROOF: Final = "eth_getProof"
ACCOUNT: Final = "eth_getAccount"
BATCH_PROOF: Final = "zks_getProof"
FRAMES: Final = "trace_filter"


_ABSENT: Final = (0, 0, bytes(EMPTY_CODE_HASH))


class OverlayChecks:
    """Lets a method prove what the fork's tries have, and rejects by name what they have otherwise than the state.

    Assumes: that a method that raises `StateMissing` is called again. Fails: with `NotCovered`.
    """

    def __init__(self, chain: Chain, resolver: BlockResolver, proofs: AnchorProofs) -> None:
        self._chain = chain
        self._resolver = resolver
        self._proofs = proofs

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
        address, keys, block = arguments
        state, result = self._resolver.state(block), function(*arguments)
        if not self._is_remotes(address, block, state):
            return self._checked(PROOF, state, address, result)
        slots = [(slot, state.slot(address, slot)) for slot in (key.to_bytes(32) for key in keys)]
        return self._proven(state.account(address), slots, address)

    def batch_proof(self, function: Function, arguments: Sequence[Any]) -> Any:
        """Return the proof of an account and slots after a batch."""
        address, _, number = arguments
        result, batch = function(*arguments), self._chain.batches.get(int(number))
        if result is None or batch is None:
            return result
        state = self._chain.ledger.state_after(batch.last_block)
        return self._checked(BATCH_PROOF, state, address, result)

    def account(self, function: Function, arguments: Sequence[Any]) -> Any:
        """Return an account with its storage root, which is that of the slots that the fork changed."""
        address, block = arguments
        state, number = self._resolver.state(block), self._resolver.sealed(block)
        found = state.account(address)
        if found is not None and found.code_hash != EMPTY_CODE_HASH:
            if self._is_remotes(address, block, state):
                return self._account_there(found, address)
            header_root = self._chain.blocks.header(number).state_root
            result = function(*arguments)

            def check(account: Any) -> Any:
                trie, root = self._chain.state_trie.holding(header_root, state)
                _check_account(ACCOUNT, state, trie.prove(root, address))
                return account

            return _then(result, check)
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

    def _is_remotes(self, address: Address, block: BlockId, state: State) -> bool:
        """Say whether an account is as the remote has it, in the block that the fork stands on.

        Clients see that block with the remote's state root, by which only the remote's proofs can be checked.
        """
        first = self._chain.ledger.first
        if block.tag is BlockTag.PENDING or self._resolver.sealed(block) != first:
            return False
        if isinstance(state, Overlay) and _changes(state, address):
            return False
        root = self._chain.blocks.header(first).state_root
        return _values(self._chain.state_trie.prove(root, address)) == _ABSENT

    async def _proven(
        self, found: Account | None, slots: list[tuple[bytes, bytes]], address: Address
    ) -> Any:
        """Return the remote's proof; one that is not of what the state has is of no use."""
        proof = await self._proofs.proof(PROOF, address, [slot for slot, _ in slots])
        _check_same(PROOF, address, found, proof.account)
        for (slot, value), there in zip(slots, proof.account.slots, strict=True):
            if int.from_bytes(value) != int.from_bytes(there):
                raise NotCovered(
                    PROOF,
                    f"the remote proves slot {Hash32(slot)} of {address} otherwise than it was read",
                )
        return proof.json

    async def _account_there(self, found: Account, address: Address) -> Any:
        """Return an account with the storage root that the remote proves."""
        proven = (await self._proofs.proof(ACCOUNT, address, ())).account
        _check_same(ACCOUNT, address, found, proven)
        account = {
            "balance": hex(proven.balance),
            "codeHash": str(proven.code_hash),
            "nonce": hex(proven.nonce),
            "storageRoot": str(proven.storage_root),
        }
        return Raw(encode(account))

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

        return _then(result, check)


def _then(result: Any, check: Callable[[Any], Any]) -> Any:
    if isinstance(result, Offload):
        work = result.work
        return Offload(lambda: check(work()))
    return check(result)


def _changes(edited: Overlay, address: Address) -> bool:
    return any(change.address == address for change in edited.changes().accounts)


def _check_account(method: str, state: State, proof: Any) -> None:
    """Reject the proof of an account that the state has otherwise than the trie."""
    if _values(proof) != _values(state.account(proof.address)):
        raise NotCovered(
            method,
            f"{proof.address} is as the remote has it, and the fork's trie has only what the fork changed; "
            "ask for a block below the anchor",
        )


def _check_same(
    method: str, address: Address, found: Account | None, proven: ProvenAccount
) -> None:
    code_hash = bytes(proven.code_hash) if proven.has_code else EMPTY_CODE_HASH
    if _values(found) != (proven.nonce, proven.balance, code_hash):
        raise NotCovered(method, f"the remote proves {address} otherwise than it was read")


def _values(account: Any) -> tuple[int, int, bytes]:
    """Return what is compared of an account; an absent one is an empty one."""
    if account is None:
        return _ABSENT
    return account.nonce, account.balance, bytes(account.code_hash)


def _number(value: Any) -> int:
    return int.from_bytes(value) if isinstance(value, bytes) else int(value)
