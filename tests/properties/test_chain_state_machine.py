"""Any sequence of transactions, blocks and reverts keeps the invariants of a chain."""

from __future__ import annotations

from collections import Counter
from functools import cache

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.genesis.genesis import Genesis
from entresol.chain.rules import ChainRules
from entresol.errors import InvalidTransaction, PoolRejection
from entresol.features.dev.reverts import Reverts
from entresol.primitives.transactions import PriorityTransaction, Transaction
from entresol.primitives.values import Address, Hash32
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import (
    ALICE,
    BOB,
    CAROL,
    ETHER,
    FEE,
    NOBODY,
    deposit,
    transaction,
)
from tests.support.run.examples import examples

SENDERS = (ALICE, BOB, CAROL)
EVERYBODY = (*SENDERS, NOBODY, ChainRules.layer_2().beneficiary)
EDITED = Address(b"\xed" * 20)
FUNDS = 3 * ETHER
GENESIS = Genesis.development(270, SENDERS, FUNDS)

# Signing dominates, and the same few transactions come again and again.
signed = cache(transaction)


class ChainMachine(RuleBasedStateMachine):
    """Drives a chain and remembers what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.chain = Chain.open(None, ChainRules.layer_2(), GENESIS, clock=Clock(lambda: 1_000.0))
        self.reverts = Reverts(self.chain)
        self.chain.schedule.seal_on_request()
        self.given: dict[Hash32, Transaction] = {}
        self.deposits = 0
        self.checkpoints: list[tuple[int, int]] = []

    def teardown(self) -> None:
        self.chain.close()

    @initialize(auto=st.booleans())
    def choose_mining(self, auto: bool) -> None:
        if auto:
            self.chain.schedule.seal_at_once()

    @rule(
        by=st.integers(0, 2),
        ahead=st.integers(-1, 3),
        wei=st.sampled_from([0, 1, ETHER, 2 * ETHER]),
        tip=st.sampled_from([0, 1, 5, 100]),
    )
    def submit(self, by: int, ahead: int, wei: int, tip: int) -> None:
        nonce = self.chain.pool.next_nonce(SENDERS[by]) + ahead
        if nonce < 0:
            return
        sent = signed(nonce, by=by, wei=wei, tip=tip)
        try:
            InlineSequencer(self.chain).submit(sent.raw)
        except (InvalidTransaction, PoolRejection):
            return
        self.given[sent.hash] = sent

    @rule(wei=st.sampled_from([0, 1, ETHER]), gas_limit=st.sampled_from([20_000, 100_000]))
    def enqueue(self, wei: int, gas_limit: int) -> None:
        payload = deposit(self.deposits, wei=wei, gas_limit=gas_limit)
        self.chain.enqueue(payload)
        self.deposits += 1

    @rule(limit=st.none() | st.integers(0, 2))
    def seal(self, limit: int | None) -> None:
        self.chain.builder.seal(limit=limit)

    @rule()
    def remember(self) -> None:
        self.checkpoints.append((self.reverts.checkpoint(), self.deposits))

    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        if not self.checkpoints:
            return
        index = data.draw(st.integers(0, len(self.checkpoints) - 1))
        checkpoint, deposits = self.checkpoints[index]
        del self.checkpoints[index:]
        assert self.reverts.restore(checkpoint)
        self.deposits = deposits

    @rule(back=st.integers(1, 3))
    def rewind(self, back: int) -> None:
        target = max(self.chain.number - back, 0)
        self.chain.history.rewind(target)
        self.checkpoints = [
            checkpoint
            for checkpoint in self.checkpoints
            if checkpoint[0] in self.reverts.checkpoints
        ]

    @rule(wei=st.integers(0, 2))
    def edit(self, wei: int) -> None:
        self.chain.edit(EDITED, lambda overlay: overlay.set_balance(EDITED, wei))

    @rule(seconds=st.integers(0, 1))
    def let_time_pass(self, seconds: int) -> None:
        self.chain.clock.increase(seconds)

    @invariant()
    def the_pending_block_is_what_would_be_built_now(self) -> None:
        cached = self.chain.builder.pending_block()
        timestamp = self.chain.next_block.timestamp()
        filled = self.chain.filler.fill(timestamp, *self.chain.edits.stored())
        built = filled.finish(self.chain.ledger.trie)
        assert cached.header == built.header

    @invariant()
    def nothing_is_included_twice_and_nonces_have_no_gaps(self) -> None:
        seen: Counter[bytes] = Counter()
        nonces = dict.fromkeys(SENDERS, 0)
        for sent in self.included():
            seen[sent.hash] += 1
            if not isinstance(sent.payload, PriorityTransaction):
                assert sent.payload.nonce == nonces[sent.sender]
                nonces[sent.sender] += 1
        assert all(count == 1 for count in seen.values())
        for sender, nonce in nonces.items():
            account = self.chain.ledger.latest.account(sender)
            assert account is not None
            assert account.nonce == nonce

    @invariant()
    def every_deposit_is_included_or_waits(self) -> None:
        included = [it for it in self.included() if isinstance(it.payload, PriorityTransaction)]
        numbers = [deposit.payload.nonce for deposit in [*included, *self.chain.filler.priority]]
        assert numbers == list(range(self.deposits))

    @invariant()
    def money_is_neither_made_nor_lost(self) -> None:
        minted = burned = 0
        for record in self.chain.blocks.records():
            for index, outcome in enumerate(record.results):
                payload = record.transaction(index).payload
                if isinstance(payload, PriorityTransaction):
                    minted += payload.to_mint
                else:
                    burned += outcome.gas_used * FEE
        held = 0
        for address in EVERYBODY:
            account = self.chain.ledger.latest.account(address)
            held += 0 if account is None else account.balance
        assert held == len(SENDERS) * FUNDS + minted - burned

    @invariant()
    def what_waits_is_not_in_a_block(self) -> None:
        included = {it.hash for it in self.included()}
        assert not any(transaction.hash in included for transaction in self.chain.pool)

    def included(self) -> list[Transaction]:
        return [
            record.transaction(index)
            for record in self.chain.blocks.records()
            for index in range(len(record.transactions))
        ]


TestChainMachine = ChainMachine.TestCase
TestChainMachine.settings = settings(
    max_examples=examples(40), stateful_step_count=25, deadline=None
)
