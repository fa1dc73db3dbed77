"""A block can be executed again with nothing but its witness."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol._native import Account, Snapshot, keccak256
from entresol.execution.replay import re_execute
from entresol.execution.witness import ExecutionWitness, witness_of
from entresol.primitives.headers import Header
from entresol.primitives.transactions import sign
from entresol.primitives.values import Address, Hash32
from entresol.sequencer.sequencer import InlineSequencer
from entresol.state.state_trie import StateTrie
from tests.support.chain.dev_chain import NOBODY, fee_market
from tests.support.chain.sample_chain import CHAIN_ID, FEE, SECRETS, SampleChain, sample_chain

# Stores the hash of the block before the last in slot 1, and clears slot 0.
READER = bytes.fromhex("600143034060015560005f55")


class Stateless:
    """The state in a witness, which has no other source."""

    def __init__(self, witness: ExecutionWitness) -> None:
        self.nodes = {keccak256(it): it for it in witness.state}
        self.codes = {keccak256(code): code for code in witness.codes}
        self.headers = [Header.decode(header) for header in witness.headers]
        self.trie = StateTrie(self)
        self.root = self.headers[-1].state_root

    def node(self, node_hash: bytes) -> bytes | None:
        return self.nodes.get(node_hash)

    def account(self, address: bytes) -> Account | None:
        leaf = self.trie.native.account(self.root, address)
        if leaf is None:
            return None
        nonce, balance, _, code_hash = leaf
        return Account(nonce, balance, code_hash)

    def slot(self, address: bytes, slot: bytes) -> bytes:
        (proven,) = self.trie.prove(self.root, Address(address), [Hash32(slot)]).slots
        return proven.value.to_bytes(32)

    def code(self, code_hash: bytes) -> bytes:
        return self.codes[code_hash]

    def block_hash(self, number: int) -> bytes:
        return next(header.hash() for header in self.headers if header.number == number)


@pytest.fixture
def chain() -> Iterator[SampleChain]:
    with sample_chain() as sample:
        yield sample


def test_a_block_with_every_type_of_transaction_executes_with_its_witness(
    chain: SampleChain,
) -> None:
    executes_without_a_store(chain, 2)


def test_a_block_that_reads_hashes_and_deletes_slots_executes_with_its_witness(
    chain: SampleChain,
) -> None:
    ours = chain.chain
    storage = {slot.to_bytes(32): b"\1" * 32 for slot in range(5)}
    ours.edit(NOBODY, lambda it: it.replace_storage(NOBODY, storage))
    ours.edit(NOBODY, lambda it: it.set_code(NOBODY, READER))
    ours.builder.seal()
    InlineSequencer(ours).submit(_call(1))
    ours.builder.seal()
    executes_without_a_store(chain, ours.number)
    assert ours.latest.slot(NOBODY, bytes(32)) == bytes(32)


def test_edits_before_the_first_transaction_are_part_of_the_block(chain: SampleChain) -> None:
    ours = chain.chain
    ours.edit(NOBODY, lambda it: it.set_balance(NOBODY, 5))
    ours.builder.seal()
    executes_without_a_store(chain, ours.number)


def _call(nonce: int) -> bytes:
    payload = fee_market(nonce, NOBODY, chain_id=CHAIN_ID, gas=200_000, fee=FEE)
    return sign(payload, SECRETS[0]).raw


def executes_without_a_store(sample: SampleChain, number: int) -> None:
    """Execute a block on the state of its witness, which gives the same header."""
    ledger = sample.chain.ledger
    record = ledger.record(number)
    rules = ledger.rules.evm_rules()
    state = Stateless(witness_of(record, ledger.store, rules))
    executed = re_execute(
        record, state.headers[-1], rules=rules, snapshot=Snapshot(state), trie=state.trie
    )
    assert executed.header == record.header()
