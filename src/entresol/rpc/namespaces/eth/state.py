"""Accounts, code, storage and proofs as of a block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Raw

from entresol._native import (
    Snapshot,
    account_info_json,
    account_json,
    balance_json,
    code_json,
    nonce_json,
    slot_json,
)
from entresol.chain.finality import BlockTag
from entresol.errors import InvalidParams, MalformedValue, UnknownBlock
from entresol.offload import POLICY, Offload
from entresol.primitives.values import Address, Data, Hash32, Quantity
from entresol.rpc.jsonrpc.gil_turns import cooperatively
from entresol.rpc.jsonrpc.method import Past, ServedBy, method
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.services.call_runner import check_slots
from entresol.rpc.types.block_id import LATEST, BlockId
from entresol.rpc.types.number import HexOrInteger

if TYPE_CHECKING:
    from entresol.chain.mempool.pool_index import PoolView
    from entresol.execution.evm_env import State
    from entresol.rpc.services.block_resolver import BlockResolver
    from entresol.state.state_trie import StateTrie
    from entresol.storage.store_view import StoreView


class StorageResult(JsonModel, frozen=True, kw_only=True):
    """A slot's value and its Merkle proof."""

    key: Annotated[Hash32, says("The key of the slot.")]
    value: Annotated[Quantity, says("The value of the slot.")]
    proof: Annotated[list[Data], says("The nodes of the storage trie from the root to the slot.")]


class AccountResult(JsonModel, frozen=True, kw_only=True):
    """An account and its Merkle proof, and slots with theirs."""

    address: Annotated[Address, says("The account.")]
    account_proof: Annotated[list[Data], says("The trie's nodes from the root to the account.")]
    balance: Annotated[Quantity, says("The balance in wei.")]
    code_hash: Annotated[Hash32, says("The keccak of its code.")]
    nonce: Annotated[Quantity, says("How many transactions it sent, or contracts it created.")]
    storage_hash: Annotated[Hash32, says("The root of its storage trie.")]
    storage_proof: Annotated[list[StorageResult], says("The requested slots with proofs.")]


class AccountInfo(JsonModel, frozen=True, kw_only=True):
    """An account with its code."""

    balance: Annotated[Quantity, says("The balance in wei.")]
    nonce: Annotated[Quantity, says("How many transactions it sent, or contracts it created.")]
    code: Annotated[Data, says("The code of the account.")]


class AccountState(JsonModel, frozen=True, kw_only=True):
    """An account as in the state trie."""

    balance: Annotated[Quantity, says("The balance in wei.")]
    nonce: Annotated[Quantity, says("How many transactions it sent, or contracts it created.")]
    code_hash: Annotated[Hash32, says("The keccak of its code.")]
    storage_root: Annotated[Hash32, says("The root of its storage trie.")]


class EthState:
    """`eth_` methods about the state."""

    prefix = "eth"

    def __init__(
        self, resolver: BlockResolver, blocks: StoreView, trie: StateTrie, pool: PoolView
    ) -> None:
        self._resolver = resolver
        self._blocks = blocks
        self._trie = trie
        self._pool = pool

    @method(UnknownBlock, served_by=ServedBy.BLOCK, past=Past.STATE)
    def get_balance(self, address: Address, block: BlockId = LATEST) -> Annotated[Raw, Quantity]:
        """Return the balance of an account in wei."""
        return Raw(balance_json(self._resolver.state(block), address))

    @method(UnknownBlock, served_by=ServedBy.BLOCK, past=Past.STATE)
    def get_code(self, address: Address, block: BlockId = LATEST) -> Annotated[Raw, Data]:
        """Return the code at an address."""
        return Raw(code_json(self._resolver.state(block), address))

    @method(UnknownBlock, served_by=ServedBy.BLOCK, past=Past.STATE)
    def get_storage_at(
        self, address: Address, slot: HexOrInteger, block: BlockId = LATEST
    ) -> Annotated[Raw, Hash32]:
        """Return the value of a storage slot."""
        return Raw(slot_json(self._resolver.state(block), address, slot))

    @method(UnknownBlock, served_by=ServedBy.BLOCK, past=Past.STATE)
    def get_transaction_count(
        self, address: Address, block: BlockId = LATEST
    ) -> Quantity | Annotated[Raw, Quantity]:
        """Return the number of transactions sent from an account; `pending` counts pending ones.

        That of a contract account is in the nonce holder, and does not count the contracts that it creates.
        """
        if block.tag is BlockTag.PENDING:
            return Quantity(self._pool.next_nonce(address))
        return Raw(nonce_json(self._resolver.state(block), address))

    @method(UnknownBlock, served_by=ServedBy.BLOCK, past=Past.EXECUTE)
    def get_account_info(
        self, address: Address, block: BlockId = LATEST
    ) -> Annotated[Raw, AccountInfo]:
        """Return balance, nonce and code of an account."""
        return Raw(account_info_json(self._resolver.state(block), address))

    @method(UnknownBlock, served_by=ServedBy.BLOCK, past=Past.STATE)
    def get_account(
        self, address: Address, block: BlockId = LATEST
    ) -> Annotated[Raw, AccountState] | Offload[Annotated[Raw, AccountState]] | None:
        """Return balance, nonce, code hash and storage root of an account, or null if there is none.

        The storage root of a fork's contract covers the slots that the fork has changed.
        """
        state, header_root = self._state_and_root(block)

        def work() -> Raw:
            trie, root = self._trie.holding(header_root, state)
            return Raw(account_json(state, address, trie.native, root))

        return work() if isinstance(state, Snapshot) else Offload(work)

    @method(UnknownBlock, InvalidParams, served_by=ServedBy.BLOCK, past=Past.EXECUTE)
    def get_storage_values(
        self, requests: dict[Address, list[Quantity]], block: BlockId = LATEST
    ) -> dict[str, list[Hash32]] | Offload[dict[str, list[Hash32]]]:
        """Return the values of several storage slots of several accounts."""
        count = sum(map(len, requests.values()))
        if count == 0:
            raise MalformedValue("empty request")
        check_slots(count)
        state = self._resolver.state(block)

        def work() -> dict[str, list[Hash32]]:
            return {
                str(address): [Hash32(state.slot(address, slot.to_bytes(32))) for slot in slots]
                for address, slots in cooperatively(requests.items())
            }

        return work() if count <= POLICY.slots else Offload(work)

    @method(UnknownBlock, InvalidParams, served_by=ServedBy.BLOCK, past=Past.STATE)
    def get_proof(
        self, address: Address, storage_keys: list[Quantity], block: BlockId = LATEST
    ) -> AccountResult | Offload[AccountResult]:
        """Return an account and some of its slots with Merkle proofs against the block's state root.

        Edits since the last block are in the proofs of `latest`, as in its balances, so their root is that of no block
        yet; those of `pending` are of the pending block. On a fork the root covers what the fork has changed: a block
        above the anchor has proofs of that alone.
        """
        check_slots(len(storage_keys))
        state, root = self._state_and_root(block)

        def work() -> AccountResult:
            return self._proof(root, state, address, storage_keys)

        is_small = len(storage_keys) <= POLICY.proof_slots and isinstance(state, Snapshot)
        return work() if is_small else Offload(work)

    def _state_and_root(self, block: BlockId) -> tuple[State, Hash32]:
        """Return a state that a thread may read, and the root of the sealed block that it is of."""
        state = self._resolver.state(block)
        root = self._blocks.header(self._resolver.sealed(block)).state_root
        return state if isinstance(state, Snapshot) else state.fork(), root

    def _proof(
        self, header_root: Hash32, state: State, address: Address, keys: list[Quantity]
    ) -> AccountResult:
        slots = [Hash32(key.to_bytes(32)) for key in cooperatively(keys)]
        trie, root = self._trie.holding(header_root, state)
        proof = trie.prove(root, address, slots)
        return AccountResult(
            address=address,
            account_proof=[Data(node) for node in proof.proof],
            balance=Quantity(proof.balance),
            code_hash=proof.code_hash,
            nonce=Quantity(proof.nonce),
            storage_hash=proof.storage_root,
            storage_proof=[
                StorageResult(
                    key=slot.slot,
                    value=Quantity(slot.value),
                    proof=[Data(node) for node in slot.proof],
                )
                for slot in cooperatively(proof.slots)
            ],
        )
