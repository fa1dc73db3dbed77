"""The mempool against a model with a list that computes everything anew."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from entresol import errors
from entresol.chain.mempool import Mempool, Order, PoolCheckpoint, PoolConfig
from entresol.chain.mempool.senders import memory_of
from entresol.primitives.transactions import Transaction
from entresol.primitives.values import Address
from tests.support.chain.mempool_accounts import RULES, Accounts, transfer
from tests.support.run.examples import examples

SENDERS = [Address(bytes([n] * 20)) for n in range(1, 4)]
LIMIT, LIMIT_BYTES, SENDER_LIMIT, QUEUE_LIMIT = 8, 14_000, 5, 3
BALANCE = 21_000 * 1_000 * 5

senders = st.sampled_from(SENDERS)


@dataclass
class Offer:
    """A transaction to be made; `ahead` counts from the sender's next nonce."""

    sender: Address
    ahead: int
    tip: int
    fee_cap: int
    value: int
    size: int


tips = st.sampled_from([0, 1, 2, 50, 55, 56, 100])
fee_caps = st.sampled_from([100, 110, 150, 165, 200, 1_000, 1_100])
offers = st.builds(
    Offer,
    sender=senders,
    ahead=st.sampled_from([-1, 0, 0, 0, 0, 1, 1, 1, 2, 3]),
    tip=tips,
    fee_cap=fee_caps,
    value=st.sampled_from([0, 0, 0, BALANCE // 4]),
    size=st.sampled_from([80, 110, 110, 2_000]),
)
base_fees = st.sampled_from([100, 100, 100, 0, 120, 160])


@dataclass
class Model:
    """Transactions in the order of arrival, and the accounts they depend on."""

    order: Order
    accepts_below_base_fee: bool
    base_fee: int = 100
    accounts: Accounts = field(default_factory=Accounts)
    pooled: list[Transaction] = field(default_factory=list)

    def lane(self, sender: Address) -> list[Transaction]:
        mine = [transaction for transaction in self.pooled if transaction.sender == sender]
        return sorted(mine, key=lambda transaction: transaction.payload.nonce)

    def pending(self, sender: Address) -> list[Transaction]:
        start = self.accounts.account(sender).nonce
        lane = enumerate(self.lane(sender), start)
        return [transaction for nonce, transaction in lane if transaction.payload.nonce == nonce]

    def next_nonce(self, sender: Address) -> int:
        return self.accounts.account(sender).nonce + len(self.pending(sender))

    def tip(self, transaction: Transaction) -> int:
        return min(transaction.payload.tip, transaction.payload.fee_cap - self.base_fee)

    def best(self) -> list[Transaction]:
        """Take the best of the senders' next transactions until there is none."""
        pending = {sender: self._paying(sender) for sender in SENDERS}
        chosen = []
        while heads := [queue[0] for queue in pending.values() if queue]:
            chosen.append(min(heads, key=self._turn))
            pending[chosen[-1].sender].pop(0)
        return chosen

    def _turn(self, transaction: Transaction) -> tuple[int, int]:
        tip = 0 if self.order == "fifo" else self.tip(transaction)
        return -tip, self.pooled.index(transaction)

    def _paying(self, sender: Address) -> list[Transaction]:
        paying = []
        for transaction in self.pending(sender):
            if transaction.payload.fee_cap < self.base_fee:
                break
            paying.append(transaction)
        return paying

    def rejection(self, new: Transaction) -> type[Exception] | str | None:
        """Say how the account and the transaction to be replaced reject `new`."""
        account = self.accounts.account(new.sender)
        old = self.at(new)
        others = [other for other in self.lane(new.sender) if other is not old]
        if new.payload.nonce < account.nonce:
            return errors.NonceTooLow
        if new.payload.fee_cap < self.base_fee and not self.accepts_below_base_fee:
            return errors.TransactionRuleBroken
        if sum(map(cost, [*others, new])) > account.balance:
            return errors.InsufficientFunds
        if old is not None and not outbids(new, old):
            return "replacement transaction underpriced"
        return None

    def at(self, new: Transaction) -> Transaction | None:
        same = [t for t in self.lane(new.sender) if t.payload.nonce == new.payload.nonce]
        return same[0] if same else None

    def add(self, new: Transaction) -> type[Exception] | str | set[bytes]:
        """Add a transaction; return the transactions it replaced, or its rejection."""
        if new in self.pooled:
            return errors.AlreadyKnown
        if (rejection := self.rejection(new)) is not None:
            return rejection
        old, lane = self.at(new), self.lane(new.sender)
        is_queued = new.payload.nonce > self.next_nonce(new.sender)
        queued = len(lane) - len(self.pending(new.sender))
        leaving = []
        if old is None and (len(lane) >= SENDER_LIMIT or (is_queued and queued >= QUEUE_LIMIT)):
            if lane[-1].payload.nonce < new.payload.nonce:
                return "account limit exceeded"
            leaving = [lane[-1]]
        while exceeds([t for t in self.pooled if t not in leaving and t is not old], new):
            worst = self.worst([t for t in self.pooled if t not in leaving])
            if worst is None or not self.may_leave(worst, new, is_queued=is_queued):
                return "txpool is full"
            leaving.append(worst)
        self.pooled = [t for t in self.pooled if t not in leaving and t is not old] + [new]
        return {t.hash for t in leaving}

    def worst(self, l1_sync: list[Transaction]) -> Transaction | None:
        last = {t.sender: t for t in sorted(l1_sync, key=lambda t: t.payload.nonce)}
        return min(
            last.values(), key=lambda t: (*self.worth(t), -self.pooled.index(t)), default=None
        )

    def worth(self, transaction: Transaction) -> tuple[bool, int]:
        return transaction in self.pending(transaction.sender), self.tip(transaction)

    def may_leave(self, worst: Transaction, new: Transaction, *, is_queued: bool) -> bool:
        is_needed = worst.sender == new.sender and worst.payload.nonce <= new.payload.nonce
        return not is_needed and self.worth(worst) < (not is_queued, self.tip(new))

    def recheck(self) -> None:
        """Drop what the accounts as they are now do not allow."""

        def stays(transaction: Transaction) -> bool:
            account = self.accounts.account(transaction.sender)
            payload = transaction.payload
            return payload.nonce >= account.nonce and cost(transaction) <= account.balance

        self.pooled = list(filter(stays, self.pooled))


def cost(transaction: Transaction) -> int:
    payload = transaction.payload
    return payload.gas_limit * payload.fee_cap + payload.value


def outbids(new: Transaction, old: Transaction) -> bool:
    offers = (new.payload.fee_cap, new.payload.tip)
    old_fees = (old.payload.fee_cap, old.payload.tip)
    return new.payload.fee_cap > old.payload.fee_cap and all(
        offer >= required * 11 // 10 and (offer > required or required == 0)
        for offer, required in zip(offers, old_fees, strict=True)
    )


def exceeds(pooled: list[Transaction], new: Transaction) -> bool:
    held = [*pooled, new]
    return len(held) > LIMIT or sum(map(memory_of, held)) > LIMIT_BYTES


@dataclass
class Block:
    """What a block included, and the accounts before it."""

    included: list[Transaction]
    accounts: Accounts


class PoolMachine(RuleBasedStateMachine):
    """Adds, blocks, reverts and snapshots in any order."""

    @initialize(order=st.sampled_from(["fees", "fifo"]), queues_below_base_fee=st.booleans())
    def start(self, order: Order, queues_below_base_fee: bool) -> None:
        accounts = Accounts(balances=dict.fromkeys(SENDERS, BALANCE))
        self.model = Model(order, queues_below_base_fee, accounts=accounts)
        self.pool = Mempool(
            msgspec.structs.replace(RULES, accepts_below_base_fee=queues_below_base_fee),
            accounts.state,
            base_fee=self.model.base_fee,
            config=PoolConfig(
                order=order,
                limit=LIMIT,
                limit_bytes=LIMIT_BYTES,
                sender_limit=SENDER_LIMIT,
                queue_limit=QUEUE_LIMIT,
            ),
        )
        self.chain: list[Block] = []
        self.saved: tuple[PoolCheckpoint, Model, list[Block]] | None = None

    @rule(offers=st.lists(offers, min_size=1, max_size=6))
    def add(self, offers: list[Offer]) -> None:
        for offer in offers:
            nonce = max(0, self.model.next_nonce(offer.sender) + offer.ahead)
            self.check_add(
                transfer(
                    offer.sender,
                    nonce,
                    tip=min(offer.tip, offer.fee_cap),
                    fee_cap=offer.fee_cap,
                    value=offer.value,
                    size=offer.size,
                )
            )

    @precondition(lambda self: len(self.pool) > 0)
    @rule(data=st.data(), percent=st.sampled_from([5, 10, 30]))
    def replace(self, data: st.DataObject, percent: int) -> None:
        old = data.draw(st.sampled_from(list(self.pool)))
        fee_cap = old.payload.fee_cap * (100 + percent) // 100
        tip = min(fee_cap, old.payload.tip * (100 + percent) // 100)
        self.check_add(transfer(old.sender, old.payload.nonce, tip=tip, fee_cap=fee_cap))

    @precondition(lambda self: len(self.pool) > 0)
    @rule(data=st.data())
    def add_again(self, data: st.DataObject) -> None:
        self.check_add(data.draw(st.sampled_from(list(self.pool))))

    def check_add(self, new: Transaction) -> None:
        """Add to both, and compare what they say."""
        was_pending = self.pending()
        old = self.model.at(new)
        expected = self.model.add(new)
        if isinstance(expected, str):
            with pytest.raises(errors.PoolRejection, match=expected):
                self.pool.add(new)
            return
        if isinstance(expected, type):
            with pytest.raises(expected):
                self.pool.add(new)
            return
        added = self.pool.add(new)
        assert set(added.evicted) == expected
        assert added.hash == new.hash
        assert added.replaced == (None if old is None else old.hash)
        assert added.is_pending == (new.hash in self.pending())
        assert set(added.promoted) == self.pending() - was_pending

    def pending(self) -> set[bytes]:
        return {t.hash for sender in SENDERS for t in self.model.pending(sender)}

    @rule(
        count=st.integers(0, 8),
        fails=st.sets(st.integers(0, 7), max_size=2),
        removes=st.booleans(),
        base_fee=base_fees,
        names_touched=st.booleans(),
    )
    def produce(
        self, count: int, fails: set[int], removes: bool, base_fee: int, names_touched: bool
    ) -> None:
        included: list[Transaction] = []
        accounts = deepcopy(self.model.accounts)
        best = self.pool.best()
        for turn, transaction in enumerate(best):
            if turn >= count:
                break
            if turn not in fails and execute(transaction, accounts):
                included.append(transaction)
                continue
            best.skip_sender(transaction.sender)
            if removes:
                self.pool.remove(transaction.hash, "failed")
                self.model.pooled.remove(transaction)
        self.follow(included, accounts, base_fee, names_touched=names_touched)

    def follow(
        self, included: list[Transaction], accounts: Accounts, base_fee: int, *, names_touched: bool
    ) -> None:
        known = {transaction.hash for transaction in self.model.pooled}
        was_pending = self.pending()
        self.chain.append(Block(included, self.model.accounts))
        self.model.accounts, self.model.base_fee = accounts, base_fee
        self.model.recheck()
        hashes = [transaction.hash for transaction in included]
        touched = [transaction.sender for transaction in included] if names_touched else None
        refreshed = self.pool.on_block(hashes, accounts.state, base_fee, touched=touched)
        left = {transaction.hash for transaction in self.model.pooled}
        assert {dropped.hash for dropped in refreshed.dropped} == known - left - set(hashes)
        assert set(refreshed.promoted) == self.pending() - was_pending

    @rule(sender=senders, nonces=st.integers(0, 3), share=st.integers(0, 4), base_fee=base_fees)
    def change_account(self, sender: Address, nonces: int, share: int, base_fee: int) -> None:
        accounts = deepcopy(self.model.accounts)
        accounts.nonces[sender] = accounts.account(sender).nonce + nonces
        accounts.balances[sender] = BALANCE * share // 4
        self.follow([], accounts, base_fee, names_touched=False)

    @precondition(lambda self: self.chain)
    @rule(base_fee=base_fees, takes_back=st.booleans())
    def go_back(self, base_fee: int, takes_back: bool) -> None:
        block = self.chain.pop()
        reverted = block.included if takes_back else []
        was_pending = self.pending()
        self.model.accounts, self.model.base_fee = block.accounts, base_fee
        before = {transaction.hash for transaction in [*self.model.pooled, *reverted]}
        self.model.recheck()
        for transaction in reverted:
            self.model.add(transaction)
        refreshed = self.pool.reset(block.accounts.state, base_fee, reverted=reverted)
        left = {transaction.hash for transaction in self.model.pooled}
        assert {dropped.hash for dropped in refreshed.dropped} == before - left
        assert set(refreshed.promoted) >= self.pending() - was_pending

    @rule()
    def save(self) -> None:
        model = Model(**{**vars(self.model), "pooled": list(self.model.pooled)})
        self.saved = (self.pool.checkpoint(), model, list(self.chain))

    @precondition(lambda self: self.saved)
    @rule()
    def restore(self) -> None:
        assert self.saved is not None
        snapshot, model, chain = self.saved
        self.pool.adopt(self.pool.restored(snapshot, model.accounts.state, model.base_fee))
        self.model = Model(**{**vars(model), "pooled": list(model.pooled)})
        self.chain = list(chain)

    @precondition(lambda self: len(self.pool) > 0)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        chosen = data.draw(st.sampled_from(list(self.pool)))
        assert self.pool.remove(chosen.hash, "dropped by hand") is chosen
        self.model.pooled.remove(chosen)

    @rule(base_fee=base_fees)
    def change_base_fee(self, base_fee: int) -> None:
        self.pool.base_fee = self.model.base_fee = base_fee

    @invariant()
    def the_pool_is_the_model(self) -> None:
        assert list(self.pool) == self.model.pooled
        assert list(self.pool.best()) == self.model.best()
        assert self.pool.counts().pending == len(self.pending())
        for sender in SENDERS:
            pending = self.model.pending(sender)
            queued = [t for t in self.model.lane(sender) if t not in pending]
            assert list(self.pool.pending(sender).get(sender, {}).values()) == pending
            assert list(self.pool.queued(sender).get(sender, {}).values()) == queued
            assert self.pool.next_nonce(sender) == self.model.next_nonce(sender)

    @invariant()
    def limits_are_kept(self) -> None:
        assert not exceeds(list(self.pool)[1:], next(iter(self.pool))) if len(self.pool) else True
        assert all(len(self.model.lane(sender)) <= SENDER_LIMIT for sender in SENDERS)


def execute(transaction: Transaction, accounts: Accounts) -> bool:
    """Pay for a transaction and use its nonce, unless it cannot be afforded."""
    account = accounts.account(transaction.sender)
    nonce = transaction.payload.nonce
    assert nonce == account.nonce, "best() yields the nonces of a sender in order"
    if cost(transaction) > account.balance:
        return False
    accounts.nonces[transaction.sender] = nonce + 1
    accounts.balances[transaction.sender] = account.balance - cost(transaction)
    return True


PoolMachine.TestCase.settings = settings(max_examples=examples(100), stateful_step_count=40)
TestPoolMachine = PoolMachine.TestCase
