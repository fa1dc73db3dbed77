"""Properties of what a chain publishes: any input against a plain model, and any order of commits and reverts."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol._native import keccak256
from tests.support.contracts.batch_operator import Operator
from tests.support.contracts.batches import Batch, commit_data
from tests.support.contracts.engine import NOW, Contract, Event, Reverted
from tests.support.contracts.l1_contracts import (
    ALICE,
    CHAIN_ID,
    DEPLOYER,
    OPERATOR,
    OTHER_CHAIN_ID,
    PRODUCTION_LIMITS,
    Deployed,
    deploy,
)
from tests.support.run.examples import examples

MAX_AGE, MAX_LEAD = PRODUCTION_LIMITS
MAX_DATA = 126_976
DA_COMMITMENT, DA_INPUT = 7, 13
SETTINGS_SLOT = (8).to_bytes(32)
"""Scheme, clock limits, chain id, and whether it is a production chain."""


def data_of(l1: Deployed, chain: Contract) -> list[Event]:
    """Return the events with data of the last transaction."""
    return [event for event in l1.engine.events(chain) if event.name == "BatchData"]


def padded(data: bytes) -> bytes:
    """Return the only encoding of an event with this data."""
    words = -(-len(data) // 32)
    return (32).to_bytes(32) + len(data).to_bytes(32) + data.ljust(32 * words, b"\0")


# --- The operator's input ---


def model(scheme: int, commitment: bytes, given: bytes) -> bytes | str | None:
    """Return what is published, None for nothing, or the error; written from the page, not from the contract."""
    if scheme == 1:
        if len(given) != 32:
            return "InvalidDAInputLength"
        if any(given):
            return "InvalidDAHeader"
        return None if commitment == given else "InvalidDACommitment"
    if not 130 <= len(given) <= 130 + MAX_DATA:
        return "InvalidDAInputLength"
    differences, claimed, blobs, blob = given[:32], given[32:64], given[64], given[65:97]
    if any(differences) or blobs != 1 or any(blob):
        return "InvalidDAHeader"
    if given[97] != 0:
        return "InvalidPubdataSource"
    data = given[98:-32]
    if keccak256(data) != claimed:
        return "InvalidPubdataHash"
    return data if commitment == keccak256(given[:97]) else "InvalidDACommitment"


@st.composite
def inputs(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """Draw a commitment and an input: a right one, with bytes changed, cut, added or repeated."""
    data = draw(st.binary(max_size=200))
    header = bytes(32) + keccak256(data) + b"\1" + bytes(32)
    given = bytearray(header + b"\0" + data + draw(st.sampled_from([bytes(32), b"\xff" * 32])))
    kind = draw(st.sampled_from(["right", "right", "changed", "cut", "longer", "shifted", "any"]))
    if kind == "changed":
        place = draw(st.integers(0, len(given) - 1))
        given[place] ^= draw(st.integers(1, 255))
    elif kind == "cut":
        del given[draw(st.integers(0, len(given) - 1)) :]
    elif kind == "longer":
        given += draw(st.binary(min_size=1, max_size=70))
    elif kind == "shifted":
        del given[: draw(st.integers(1, 33))]
    elif kind == "any":
        given = bytearray(draw(st.binary(max_size=300)))
    covered = bytes(given[:97]) if draw(st.booleans()) else header
    commitment = keccak256(covered)
    return draw(st.sampled_from([commitment, commitment, bytes(32)])), bytes(given)


@cache
def shared() -> tuple[Deployed, dict[int, Contract]]:
    """Return the contracts, and a chain for each scheme."""
    l1 = deploy()
    return l1, {3: l1.chain, 1: l1.add_chain(da=1)}


@settings(max_examples=examples(600))
@given(
    st.sampled_from([1, 3, 3, 3]),
    inputs() | st.tuples(st.just(bytes(32)), st.binary(max_size=40) | st.just(bytes(32))),
)
def test_any_input_is_judged_as_the_page_says_and_its_data_is_published_exactly(
    scheme: int, drawn: tuple[bytes, bytes]
) -> None:
    commitment, given_input = drawn
    untouched, chains = shared()
    chain = chains[scheme]
    chain_id = CHAIN_ID if scheme == 3 else OTHER_CHAIN_ID
    l1 = dataclasses.replace(untouched, engine=untouched.engine.fork())
    operator = Operator(l1, chain, [l1.genesis])
    fields = list(Batch(number=1, da_scheme=scheme, chain_id=chain_id).committed())
    fields[DA_COMMITMENT], fields[DA_INPUT] = commitment, given_input
    expected = model(scheme, commitment, given_input)
    data = commit_data(l1.genesis.stored(), [tuple(fields)])
    if isinstance(expected, str):
        with pytest.raises(Reverted, match=rf"^{expected}\("):
            operator.call("commit", 1, 1, data)
        return
    operator.call("commit", 1, 1, data)
    assert [it.data for it in data_of(l1, chain)] == (
        [] if expected is None else [padded(expected)]
    )


def test_the_input_that_is_overwritten_is_no_part_of_what_is_stored(l1: Deployed) -> None:
    """The event's length is written over the header; a batch that was committed so is proven and executed."""
    operator = Operator(l1, l1.chain, [l1.genesis])
    for size in (0, 1, 31, 32, 33, 5_000):
        operator.settle(pubdata=b"\xff" * size)
    assert operator.totals() == (6, 6, 6)


# --- Sequences ---


class Modelled:
    """A chain, and what it must say of itself."""

    def __init__(self, scheme: int, *, is_development: bool) -> None:
        self.l1 = deploy()
        self.chain = self.l1.add_chain(da=scheme, is_development=is_development)
        self.operator = Operator(self.l1, self.chain, [self.l1.genesis])
        self.scheme, self.is_development = scheme, is_development
        self.ends = [0]
        self.verified = self.executed = 0
        self.settings = self.l1.engine.overlay.slot(self.chain.address, SETTINGS_SLOT)
        self.limits: tuple[int, int] = self.l1.engine.read(self.chain, "getClockLimits")
        assert is_development or self.limits == PRODUCTION_LIMITS
        self.commits = 0

    def commit(self, begin: int, length: int) -> None:
        """Commit a batch that begins so many seconds from now; compare with what the rules say."""
        first, last = NOW + begin, NOW + begin + length
        self.commits += 1
        pubdata = b"commit %d" % self.commits
        batch = Batch(
            number=len(self.ends),
            state=keccak256(pubdata),
            first_timestamp=first,
            last_timestamp=last,
            pubdata=pubdata,
            da_scheme=self.scheme,
            chain_id=OTHER_CHAIN_ID,
        )
        problem = self.problem(first, last)
        if problem is not None:
            with pytest.raises(Reverted, match=rf"^{problem}\("):
                self.operator.commit(batch)
            return
        self.operator.commit(batch)
        published = [it.fields for it in data_of(self.l1, self.chain)]
        expected = [{"batchNumber": batch.number, "data": pubdata}] if self.scheme == 3 else []
        assert published == expected
        self.ends.append(last)

    def problem(self, first: int, last: int) -> str | None:
        """Return why a batch with these times is rejected; a production chain alone compares it with the last one."""
        age, lead = self.limits
        if first < NOW - age:
            return "TimestampTooOld"
        if last > NOW + lead:
            return "L2TimestampTooBig"
        falls = not self.is_development and first < self.ends[-1]
        return "TimestampBeforeLastBatch" if falls else None

    def prove(self, count: int) -> None:
        """Prove some batches."""
        batches = self.operator.batches[self.verified + 1 :][:count]
        if batches:
            self.operator.prove(*batches)
            self.verified += len(batches)

    def execute(self, count: int) -> None:
        """Execute some batches."""
        batches = self.operator.batches[self.executed + 1 : self.verified + 1][:count]
        if batches:
            self.operator.execute(*batches)
            self.executed += len(batches)

    def revert(self, count: int) -> None:
        """Revert the last batches, unless that is not allowed."""
        last = len(self.ends) - 1 - count
        if count == 0 or last < self.executed:
            if last >= 0:
                with pytest.raises(Reverted, match=r"^(RevertedBatch|CantRevertExecuted)"):
                    self.operator.revert(last)
            return
        self.operator.revert(last)
        del self.ends[last + 1 :]
        self.verified = min(self.verified, last)

    def check(self) -> None:
        """Compare all that the contract says."""
        read = self.l1.engine.read
        assert self.operator.totals() == (len(self.ends) - 1, self.verified, self.executed)
        known = [0] * len(self.ends) if self.is_development else self.ends
        found = [
            read(self.chain, "getLastBlockTimestamp", number)
            for number in range(len(self.ends) + 2)
        ]
        assert found == [*known, 0, 0]
        assert self.l1.engine.overlay.slot(self.chain.address, SETTINGS_SLOT) == self.settings
        assert read(self.chain, "isDevelopment") is self.is_development


ACTIONS = st.one_of(
    st.tuples(
        st.just("commit"),
        st.integers(-30, 30) | st.sampled_from([-MAX_AGE - 1, -MAX_AGE, MAX_LEAD, MAX_LEAD + 1]),
        st.integers(0, 5),
    ),
    st.tuples(st.sampled_from(["prove", "execute"]), st.integers(1, 3)),
    st.tuples(st.just("revert"), st.integers(0, 5)),
)


@settings(max_examples=examples(80), deadline=None)
@given(st.sampled_from([1, 3]), st.booleans(), st.lists(ACTIONS, max_size=25))
def test_any_order_of_steps_and_reverts_keeps_times_data_and_settings(
    scheme: int,
    is_development: bool,
    actions: list[tuple[Any, ...]],
) -> None:
    chain = Modelled(scheme, is_development=is_development)
    for name, *arguments in actions:
        getattr(chain, name)(*arguments)
    chain.check()


# --- Nested calls ---


def test_commits_and_reverts_of_one_transaction_are_published_in_their_order(l1: Deployed) -> None:
    script = l1.engine.deploy("ScriptedContract", sender=DEPLOYER)
    l1.engine.send(DEPLOYER, l1.timelock, "addValidator", l1.chain.address, script.address)
    first, second = (Batch(number=1, pubdata=it) for it in (b"first", b"second"))
    chain, timelock = l1.chain.address, l1.timelock

    def commit(batch: Batch) -> bytes:
        data = batch.commit_data(l1.genesis)
        return timelock.encode("commitBatchesSharedBridge", chain, 1, 1, data)

    calls = [commit(first), timelock.encode("revertBatchesSharedBridge", chain, 0), commit(second)]
    scripted = [(timelock.address, 0, call, False) for call in calls]
    l1.engine.send(DEPLOYER, script, "script", b"\1\2\3\4", scripted, 0, b"", False)
    l1.engine.send_data(ALICE, script.address, b"\1\2\3\4")
    found = [(event.name, event.fields.get("data")) for event in l1.engine.events(l1.chain)]
    assert [it for it in found if it[0] in ("BatchData", "BlocksRevert")] == [
        ("BatchData", b"first"),
        ("BlocksRevert", None),
        ("BatchData", b"second"),
    ]
    operator = Operator(l1, l1.chain, [l1.genesis, second])
    operator.prove(second)
    assert operator.totals() == (1, 1, 0)


def test_data_of_a_commit_that_fails_is_not_published(l1: Deployed) -> None:
    script = l1.engine.deploy("ScriptedContract", sender=DEPLOYER)
    l1.engine.send(DEPLOYER, l1.timelock, "addValidator", l1.chain.address, script.address)
    batch = Batch(number=1)
    call = l1.timelock.encode(
        "commitBatchesSharedBridge", l1.chain.address, 1, 1, batch.commit_data(l1.genesis)
    )
    # The second commit of the same batch fails, and the caller goes on.
    scripted = [(l1.timelock.address, 0, call, may_fail) for may_fail in (False, True)]
    l1.engine.send(DEPLOYER, script, "script", b"\1\2\3\4", scripted, 0, b"", False)
    l1.engine.send_data(ALICE, script.address, b"\1\2\3\4")
    assert len(data_of(l1, l1.chain)) == 1


# --- Who else might ---


@pytest.mark.parametrize(
    "sender", [ALICE, OPERATOR, DEPLOYER], ids=["stranger", "operator", "admin"]
)
def test_nobody_publishes_data_of_a_batch_but_by_a_commit_of_a_validator(
    l1: Deployed, sender: Any
) -> None:
    data = Batch(number=1).commit_data(l1.genesis)
    for target in (l1.chain, l1.facets[1]):
        with pytest.raises(Reverted, match=r"^(Unauthorized|OnlyThroughChain)"):
            l1.engine.send(
                sender,
                Contract(target.address, l1.chain.artifact),
                "commitBatchesSharedBridge",
                *(l1.chain.address, 1, 1, data),
            )


def test_the_largest_commit_fits_into_a_transaction_that_nodes_of_l1_take(l1: Deployed) -> None:
    data = Batch(number=1, pubdata=bytes(MAX_DATA)).commit_data(l1.genesis)
    call = l1.timelock.encode("commitBatchesSharedBridge", l1.chain.address, 1, 1, data)
    around = 300
    """More than fields and signature of a transaction take."""
    assert len(call) + around <= 131_072
