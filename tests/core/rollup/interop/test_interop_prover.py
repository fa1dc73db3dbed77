"""Proofs for other L2s are those that their contract accepts."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Iterator
from contextlib import closing
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol.errors import LayerOneMismatch, NotPossible
from entresol.primitives import abi
from entresol.primitives.batches import SettlementStep, SettlementTransaction
from entresol.primitives.l2_to_l1_logs import ProvenLog
from entresol.primitives.values import Hash32
from entresol.rollup.batcher import Batcher
from entresol.rollup.batches import SealingPolicy
from entresol.rollup.interop.interop_prover import InteropProver
from entresol.rollup.interop.root_follower import RootFollower
from entresol.rollup.log_prover import LogProver
from entresol.rollup.message_tree import MessageTree
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.contracts.engine import Reverted
from tests.support.contracts.interop_chains import BOOTLOADER, InteropChain
from tests.support.coroutines import completed
from tests.support.ecosystem.roots_layer_one import (
    L1_CHAIN_ID,
    RootsLayerOne,
    added,
    appended,
    changed,
    left_out,
)
from tests.support.known import known
from tests.support.rollup.settling_chain import CHAIN_ID, SettlingChain
from tests.support.run.examples import examples

DONE = SettlementTransaction(Hash32(b"\5" * 32), 7, 1_234)
OTHER = 271
UNCOVERED = abi.encode_call(
    "InteropValueNotCovered(uint256,uint256,bytes32,uint256)", CHAIN_ID, 1, Hash32.zero(), 5
)


@cache
def other_chain() -> InteropChain:
    return InteropChain(chain_id=OTHER)


class Scenario:
    """A chain whose batches are executed and appended on request, and another L2 that checks proofs."""

    def __init__(self, *others: int) -> None:
        self.chain = SettlingChain.begin()
        self.batcher = Batcher(self.chain.blocks, self.chain.batches, SealingPolicy(max_age=1e9))
        self.l1 = RootsLayerOne(*others, CHAIN_ID)
        self.follower = RootFollower(
            self.chain, InlineSequencer(self.chain), self.l1.contract(), L1_CHAIN_ID
        )
        logs = LogProver(self.chain.blocks, self.chain.batches)
        self.prover = InteropProver(logs, self.chain.batches)
        self.sent: dict[int, list[Hash32]] = {}

    def settle(self, *messages: int) -> int:
        """Seal a batch that sends these, and record that L1 executed it."""
        transactions = [self.chain.send_message(message) for message in messages]
        self.chain.builder.seal()
        batch = known(completed(self.batcher.seal(0.0)))
        self.chain.batches.settle([batch.number], SettlementStep.EXECUTE, DONE)
        self.sent[batch.number] = transactions
        return batch.number

    def root_of(self, batch: int) -> bytes:
        found = known(self.chain.batches.get(batch))
        return found.message_root

    def follow(self) -> None:
        async def whole() -> None:
            while await self.follower.step():
                pass

        asyncio.run(whole())

    def accepts(
        self, proven: ProvenLog, *, batch: int | None = None, words: list[bytes] | None = None
    ) -> bool:
        """Return whether the other L2 accepts a proof, once it has imported the root of L1's block."""
        other, block, log = other_chain(), proven.proof.l1_block, proven.log
        assert block is not None
        root = self.l1.blocks[block].books.root()
        assert proven.proof.root == root
        engine = other.engine.fork()
        imported = [(L1_CHAIN_ID, block, 1_234, [root])]
        engine.send(BOOTLOADER, other.roots, "addInteropRootsInBatch", imported)
        value = (log.shard_id, log.is_service, log.tx_number, log.sender, log.key, log.value)
        found: bool = engine.read(
            other.verification,
            "proveL2LogInclusionShared",
            *(CHAIN_ID, proven.batch if batch is None else batch, proven.proof.id, value),
            words_of(proven) if words is None else words,
        )
        return found


def words_of(proven: ProvenLog) -> list[bytes]:
    joined = b"".join(proven.proof.words)
    return [joined[at : at + Hash32.size] for at in range(0, len(joined), Hash32.size)]


@pytest.fixture
def scenario() -> Iterator[Scenario]:
    made = Scenario(OTHER)
    yield made
    made.chain.close()


@settings(max_examples=examples(40))
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 30))
def test_every_proof_after_any_appends_is_accepted(seed: int, chains: int, appends: int) -> None:
    """Batches are appended in any order, several in a block, between those of other chains and new chains."""
    chance = random.Random(seed)
    others = list(range(OTHER, OTHER + chains))
    scenario = Scenario(*others)
    with closing(scenario.chain):
        own = [scenario.settle(*range(chance.randint(1, 3))) for _ in range(chance.randint(1, 9))]
        chance.shuffle(own)
        left = list(own)
        batches = dict.fromkeys(range(OTHER, OTHER + 40), 0)
        for _ in range(appends):
            actions = []
            for _ in range(chance.randrange(4)):
                if left and chance.random() < 0.4:
                    batch = left.pop()
                    actions.append(appended(CHAIN_ID, batch, scenario.root_of(batch)))
                elif chance.random() < 0.1:
                    others.append(others[-1] + 1)
                    actions.append(added(others[-1]))
                else:
                    chain_id = chance.choice(others)
                    batches[chain_id] += 1
                    actions.append(appended(chain_id, batches[chain_id]))
            scenario.l1.mine(*actions)
            if chance.random() < 0.5:
                scenario.follow()
        scenario.follow()
        for batch in own:
            proven = scenario.prover.prove_transaction_log(scenario.sent[batch][-1])
            assert (proven is None) == (batch in left)
            if proven is None:
                continue
            assert scenario.accepts(proven)
            assert not scenario.accepts(proven, batch=batch + 1)
            words = words_of(proven)
            at = chance.randrange(1, len(words))
            flipped = bytes([words[at][0] ^ chance.randint(1, 255)]) + words[at][1:]
            with contextlib.suppress(Reverted):
                assert not scenario.accepts(proven, words=[*words[:at], flipped, *words[at + 1 :]])


def test_why_l1_does_not_append_a_batch_is_told(scenario: Scenario) -> None:
    batch = scenario.settle(1)
    scenario.chain.batches.books.unbook(batch, "InteropValueNotCovered(270, 1, 0x01, 5)")
    with pytest.raises(NotPossible, match=r"of batch 1 .*InteropValueNotCovered\(270"):
        scenario.prover.prove_transaction_log(scenario.sent[batch][0])
    # Of which bundles that is so, is known only once their root is read.
    scenario.chain.batches.books.unbook(batch, "InteropValueNotCovered", is_partial=True)
    assert scenario.prover.prove_transaction_log(scenario.sent[batch][0]) is None


def test_bundles_that_l1_leaves_out_have_a_reason_and_all_others_a_proof(
    scenario: Scenario,
) -> None:
    batch = scenario.settle(1, 2, 3)
    first, second, third = scenario.sent[batch]
    logs = scenario.chain.batches.logs(batch)
    for missing in ({0: UNCOVERED, 1: UNCOVERED}, {1: UNCOVERED}):
        root = MessageTree.of_logs(logs, missing).root
        scenario.l1.mine(left_out(CHAIN_ID, batch, missing), appended(CHAIN_ID, batch, root))
        scenario.follow()
        with pytest.raises(NotPossible, match=r"of batch 1: InteropValueNotCovered\(270, 1, "):
            scenario.prover.prove_transaction_log(second)
        proven = known(scenario.prover.prove_transaction_log(third))
        assert scenario.accepts(proven)
    # Once it is covered, L1 appends the batch with all that it has.
    before = scenario.l1.number
    scenario.l1.mine(appended(CHAIN_ID, batch, scenario.root_of(batch)))
    scenario.follow()
    for transaction in (first, second, third):
        proven = known(scenario.prover.prove_transaction_log(transaction))
        assert scenario.accepts(proven)
    # A reorg of L1 may remove that, and what was appended before it stays.
    scenario.l1.reorg(before)
    scenario.l1.mine(appended(OTHER, 1))
    scenario.follow()
    assert scenario.prover.prove_transaction_log(first) is not None
    with pytest.raises(NotPossible, match="; as soon as that is not so any more,"):
        scenario.prover.prove_transaction_log(second)


def test_a_lie_about_what_is_left_out_does_not_last(scenario: Scenario) -> None:
    batch = scenario.settle(1, 2)
    root = MessageTree.of_logs(scenario.chain.batches.logs(batch), {1: b""}).root
    scenario.l1.mine(left_out(CHAIN_ID, batch, {1: UNCOVERED}), appended(CHAIN_ID, batch, root))
    for lie in (
        lambda logs: logs[1:],
        lambda logs: [changed(logs[0], topics=(*logs[0].topics[:3], Hash32.zero())), *logs[1:]],
    ):
        scenario.l1.lie = lie
        with pytest.raises(LayerOneMismatch, match="has appended the root"):
            scenario.follow()
    scenario.l1.lie = None
    scenario.follow()
    assert scenario.prover.prove_transaction_log(scenario.sent[batch][0]) is not None


def test_a_path_of_another_batch_with_the_number_proves_nothing(scenario: Scenario) -> None:
    batch = scenario.settle(1)
    scenario.l1.mine(appended(CHAIN_ID, batch, scenario.root_of(batch)))
    scenario.follow()
    path = known(scenario.chain.batches.roots.path(batch))
    cursor = known(scenario.chain.batches.roots.cursor())
    stale = path._replace(batch_root=Hash32(b"\7" * 32))
    scenario.chain.batches.roots.update(1, cursor, paths=[(batch, stale)])
    assert scenario.prover.prove_transaction_log(scenario.sent[batch][0]) is None


def test_a_chain_without_messages_to_others_says_so(scenario: Scenario) -> None:
    logs = LogProver(scenario.chain.blocks, scenario.chain.batches)
    prover = InteropProver(logs, scenario.chain.batches, is_available=lambda: False)
    with pytest.raises(NotPossible, match="no messages to other chains"):
        prover.prove_transaction_log(Hash32.zero())
