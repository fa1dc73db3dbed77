"""Roots and proofs of the state, against py-trie and against the verifier."""

from __future__ import annotations

import pytest
import rlp
from hypothesis import given, settings
from hypothesis import strategies as st
from trie.hexary import HexaryTrie

from entresol._native import EMPTY_ROOT, Account, Overlay, Snapshot, keccak256, verify_proof
from entresol.errors import TrieError
from entresol.primitives.bytecode import EMPTY_CODE_HASH
from entresol.primitives.values import Hash32
from entresol.state.state_trie import AccountProof, StateTrie
from tests.support.chain.records import address
from tests.support.evm.in_memory_state import InMemoryState
from tests.support.hex_data import word
from tests.support.run.examples import examples

Accounts = dict[bytes, Account]
Slots = dict[tuple[bytes, bytes], bytes]


class Nodes:
    """A store that has trie nodes and nothing else."""

    def __init__(self) -> None:
        self.nodes: dict[bytes, bytes] = {}

    def node(self, node_hash: bytes) -> bytes | None:
        return self.nodes.get(node_hash)


class Chain:
    """A state in dictionaries with its tries, changed block by block."""

    def __init__(self) -> None:
        self.world = InMemoryState()
        self.nodes = Nodes()
        self.trie = StateTrie(self.nodes)
        self.root = Hash32(EMPTY_ROOT)

    def begin(self) -> Overlay:
        return Overlay(Snapshot(self.world))

    def seal(self, overlay: Overlay) -> Hash32:
        changes = overlay.changes()
        self.root, nodes = self.trie.update(self.root, changes)
        self.nodes.nodes.update(nodes)
        self.world.write(changes)
        return self.root


def reference_root(accounts: Accounts, slots: Slots) -> bytes:
    """Compute the state root from nothing with py-trie."""
    state = HexaryTrie({})
    for who, account in accounts.items():
        storage = HexaryTrie({})
        for (owner, slot), value in slots.items():
            if owner == who and any(value):
                storage[keccak256(slot)] = rlp.encode(value.lstrip(b"\0"))
        state[keccak256(who)] = rlp.encode(
            [account.nonce, account.balance, storage.root_hash, account.code_hash]
        )
    return bytes(state.root_hash)


WHO = st.integers(0, 7).map(address)
STEPS = st.one_of(
    st.tuples(st.just("balance"), WHO, st.integers(0, 2**256 - 1)),
    st.tuples(st.just("nonce"), WHO, st.integers(1, 2**64 - 1)),
    st.tuples(st.just("code"), WHO, st.binary(max_size=4)),
    st.tuples(st.just("slot"), WHO, st.tuples(st.integers(0, 5), st.integers(0, 3))),
    st.tuples(st.just("slot"), WHO, st.tuples(st.integers(0, 5), st.integers(0, 2**256 - 1))),
    st.tuples(st.just("remove"), WHO, st.none()),
    st.tuples(st.just("clear"), WHO, st.none()),
)


def take(overlay: Overlay, step: tuple[str, bytes, object]) -> None:
    match step:
        case ("balance", who, int(balance)):
            overlay.set_balance(who, balance)
        case ("nonce", who, int(nonce)):
            overlay.set_nonce(who, nonce)
        case ("code", who, bytes(code)):
            overlay.set_code(who, code)
        case ("slot", who, (int(slot), int(value))):
            # A slot without an account is a state that no execution leaves.
            if overlay.account(who) is None:
                overlay.set_nonce(who, 1)
            overlay.set_slot(who, word(slot), word(value))
        case ("remove", who, _):
            overlay.set_account(who, None)
        case ("clear", who, _):
            if overlay.account(who) is not None:
                overlay.replace_storage(who, {word(1): word(1)})


@settings(max_examples=examples(50))
@given(st.lists(st.lists(STEPS, max_size=12), min_size=1, max_size=5))
def test_the_root_is_that_of_the_whole_state(blocks: list[list[tuple[str, bytes, object]]]) -> None:
    chain = Chain()
    for steps in blocks:
        overlay = chain.begin()
        for step in steps:
            take(overlay, step)
        root = chain.seal(overlay)
        assert root == reference_root(chain.world.accounts, chain.world.slots)


@pytest.fixture
def chain() -> Chain:
    """Return a state of 50 accounts, one of them with 30 slots, and an older root."""
    chain = Chain()
    overlay = chain.begin()
    for name in range(50):
        overlay.set_balance(address(name), name * 10**18 + 1)
    for slot in range(30):
        overlay.set_slot(address(7), word(slot), word(slot**20))
    overlay.set_code(address(7), b"\x60\x00")
    chain.seal(overlay)
    return chain


def check(root: Hash32, proof: AccountProof, *, exists: bool) -> None:
    """Verify an account's proof and those of its slots."""
    fields = [proof.nonce, proof.balance, proof.storage_root, proof.code_hash]
    leaf = rlp.encode(fields) if exists else None
    verify_proof(root, keccak256(proof.address), leaf, proof.proof)
    for slot in proof.slots:
        value = rlp.encode(slot.value) if slot.value else None
        verify_proof(proof.storage_root, keccak256(slot.slot), value, slot.proof)


def test_an_account_and_its_slots_are_proved(chain: Chain) -> None:
    slots = [Hash32(word(slot)) for slot in (0, 1, 29, 30, 2**200)]
    proof = chain.trie.prove(chain.root, address(7), slots)
    assert (proof.nonce, proof.balance) == (0, 7 * 10**18 + 1)
    assert proof.code_hash == keccak256(b"\x60\x00")
    assert [slot.value for slot in proof.slots] == [0, 1, 29**20, 0, 0]
    check(chain.root, proof, exists=True)


@pytest.mark.parametrize("name", range(50, 53))
def test_an_absent_account_is_proved_absent(chain: Chain, name: int) -> None:
    proof = chain.trie.prove(chain.root, address(name), [Hash32(word(1))])
    assert (proof.nonce, proof.balance) == (0, 0)
    assert (proof.storage_root, proof.code_hash) == (EMPTY_ROOT, EMPTY_CODE_HASH)
    assert [(slot.value, slot.proof) for slot in proof.slots] == [(0, ())]
    check(chain.root, proof, exists=False)


def test_an_older_root_stays_provable(chain: Chain) -> None:
    older = chain.root
    overlay = chain.begin()
    overlay.set_account(address(7), None)
    chain.seal(overlay)
    check(older, chain.trie.prove(older, address(7), [Hash32(word(2))]), exists=True)
    check(chain.root, chain.trie.prove(chain.root, address(7)), exists=False)


def test_an_unknown_root_is_missing(chain: Chain) -> None:
    with pytest.raises(TrieError, match="is missing"):
        chain.trie.prove(Hash32(word(1)), address(7))
