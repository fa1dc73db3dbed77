"""Proofs of stored logs, by transaction and by message."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol.primitives.batches import SettlementStep, SettlementTransaction
from entresol.primitives.l2_to_l1_logs import BOOTLOADER, L1_MESSENGER, ProvenLog
from entresol.primitives.values import Address, Hash32
from entresol.rollup.batcher import Batcher
from entresol.rollup.batches import SealingPolicy
from entresol.rollup.log_prover import LogProver
from tests.support.chain.block_production import sender
from tests.support.chain.steering import revert
from tests.support.contracts.merkle_trees import root_of_proof
from tests.support.coroutines import completed
from tests.support.hex_data import word
from tests.support.known import known
from tests.support.rollup.settling_chain import USER, SettlingChain
from tests.support.run.examples import examples

DONE = SettlementTransaction(Hash32(b"\5" * 32), 7, 1_234)
SENDER = sender(USER)


class Scenario:
    """A chain whose batches are executed on request."""

    def __init__(self, path: Path | None = None) -> None:
        self.chain = SettlingChain.begin(path)
        self.batcher = Batcher(self.chain.blocks, self.chain.batches, SealingPolicy(max_age=1e9))
        self.prover = LogProver(self.chain.blocks, self.chain.batches)

    def settle(self) -> int:
        """Seal a batch and record that L1 executed it."""
        batch = known(completed(self.batcher.seal(0.0)))
        self.chain.batches.settle([batch.number], SettlementStep.EXECUTE, DONE)
        return batch.number

    def assert_valid(self, proven: ProvenLog | None, batch: int) -> ProvenLog:
        assert proven is not None
        stored = known(self.chain.batches.get(batch))
        root = root_of_proof(proven.log.leaf(), proven.proof.id, proven.proof.words)
        assert root == stored.message_root == proven.proof.root
        assert proven.batch == batch
        return proven


@pytest.fixture
def scenario() -> Iterator[Scenario]:
    made = Scenario()
    yield made
    made.chain.close()


def test_each_log_of_a_transaction_is_proven_by_its_position(scenario: Scenario) -> None:
    scenario.chain.seal_messages(1)
    sent = scenario.chain.send_message(2, times=2)
    scenario.chain.builder.seal()
    batch = scenario.settle()
    for index, leaf in ((0, 1), (1, 2)):
        proven = scenario.assert_valid(scenario.prover.prove_transaction_log(sent, index), batch)
        assert (proven.proof.id, proven.log.value) == (leaf, word(2))
    assert scenario.prover.prove_transaction_log(sent, 2) is None
    assert scenario.prover.prove_transaction_log(sent, -1) is None
    assert scenario.prover.prove_transaction_log(Hash32.zero()) is None


def test_the_status_of_a_deposit_is_proven_by_its_transaction(scenario: Scenario) -> None:
    deposited = scenario.chain.deposit()
    scenario.chain.builder.seal()
    batch = scenario.settle()
    proven = scenario.assert_valid(scenario.prover.prove_transaction_log(deposited), batch)
    assert (proven.log.sender, proven.log.key, proven.log.value) == (BOOTLOADER, deposited, word(1))


def test_there_is_no_proof_before_the_batch_is_sealed_and_executed(scenario: Scenario) -> None:
    sent = scenario.chain.send_message(1)
    scenario.chain.builder.seal()
    assert scenario.prover.prove_transaction_log(sent) is None
    assert scenario.prover.prove_message(1, SENDER, word(1)) is None
    assert completed(scenario.batcher.seal(0.0)) is not None
    assert scenario.prover.prove_transaction_log(sent) is None
    assert scenario.prover.prove_message(1, SENDER, word(1)) is None
    scenario.chain.batches.settle([1], SettlementStep.EXECUTE, DONE)
    assert scenario.prover.prove_transaction_log(sent) == scenario.prover.prove_message(
        1, SENDER, word(1)
    )
    assert scenario.prover.prove_transaction_log(sent) is not None


def test_without_a_log_index_the_first_such_message_of_the_batch_is_proven(
    scenario: Scenario,
) -> None:
    scenario.chain.seal_messages(9, 5)
    scenario.chain.seal_messages(5)
    batch = scenario.settle()
    for block in (1, 2):
        proven = scenario.prover.prove_message(block, SENDER, word(5))
        assert scenario.assert_valid(proven, batch).proof.id == 1


def test_the_log_index_distinguishes_identical_messages(scenario: Scenario) -> None:
    scenario.chain.seal_messages(5)
    scenario.chain.deposit()
    scenario.chain.send_message(5, times=2)
    scenario.chain.transfer()
    scenario.chain.send_message(6)
    scenario.chain.send_message(5)
    scenario.chain.builder.seal()
    batch = scenario.settle()
    # Leaf 1 is the status of the deposit, which has no event.
    for log_index, leaf in ((0, 2), (1, 3), (3, 5)):
        proven = scenario.prover.prove_message(2, SENDER, word(5), log_index)
        assert scenario.assert_valid(proven, batch).proof.id == leaf
    assert scenario.prover.prove_message(2, SENDER, word(5), 2) is None
    assert scenario.prover.prove_message(2, SENDER, word(5), 4) is None
    assert scenario.prover.prove_message(1, SENDER, word(5), 1) is None


def test_a_message_that_was_not_sent_has_no_proof(scenario: Scenario) -> None:
    scenario.chain.seal_messages(5)
    scenario.settle()
    assert scenario.prover.prove_message(1, SENDER, word(6)) is None
    assert scenario.prover.prove_message(1, L1_MESSENGER, word(5)) is None
    assert scenario.prover.prove_message(7, SENDER, word(5)) is None
    assert scenario.prover.prove_message(0, SENDER, word(5)) is None


def test_bytes_across_two_logs_are_no_message(scenario: Scenario) -> None:
    # The sender of the forged message would be the bytes where key and value meet.
    scenario.chain.seal_messages(int.from_bytes(L1_MESSENGER), 0)
    scenario.settle()
    assert scenario.prover.prove_message(1, Address.zero(), Hash32.zero()) is None


def test_a_batch_after_a_revert_is_proven_by_its_own_tree(scenario: Scenario) -> None:
    checkpoint = scenario.chain.history.mark()
    scenario.chain.seal_messages(1)
    scenario.settle()
    old = scenario.assert_valid(scenario.prover.prove_message(1, SENDER, word(1)), 1)
    revert(scenario.chain, checkpoint)
    assert scenario.prover.prove_message(1, SENDER, word(1)) is None
    scenario.chain.seal_messages(2, 1)
    scenario.settle()
    new = scenario.assert_valid(scenario.prover.prove_message(1, SENDER, word(1)), 1)
    assert new.proof.root != old.proof.root


@given(st.lists(st.lists(st.integers(0, 3), max_size=5), min_size=1, max_size=5))
@settings(max_examples=examples(15))
def test_every_log_of_random_batches_is_proven(blocks: list[list[int]]) -> None:
    scenario = Scenario()
    with closing(scenario.chain):
        sent = []
        for messages in blocks:
            sent.append((scenario.chain.deposit(), 0))
            for message in messages:
                transaction = scenario.chain.send_message(message, times=2)
                sent += [(transaction, 0), (transaction, 1)]
            scenario.chain.builder.seal()
        batch = scenario.settle()
        ids = {
            scenario.assert_valid(scenario.prover.prove_transaction_log(it, index), batch).proof.id
            for it, index in sent
        }
        assert ids == set(range(len(sent)))
