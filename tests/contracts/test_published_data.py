"""What a chain publishes on L1, in any order of commits and reverts: data of batches, their times, and its genesis."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from entresol import contracts
from entresol._native import keccak256
from tests.support.contracts.batches import Batch, commit_data, stored
from tests.support.contracts.engine import NOW, Contract, Event, Reverted, reverted
from tests.support.contracts.l1_contracts import (
    ALICE,
    CHAIN_ID,
    DEPLOYER,
    ETH_TOKEN,
    FEE_PARAMS,
    OTHER_CHAIN_ID,
    PRODUCTION_LIMITS,
    Deployed,
    asset_id,
    chain_settings,
    deploy,
)
from tests.support.contracts.requests import Operator
from tests.support.run.examples import examples

MAX_DATA = 126_976
MAX_PART = 100_000
MAX_RUNTIME = 24_000


@pytest.fixture
def operator(l1: Deployed) -> Operator:
    return Operator(l1, l1.chain, [l1.genesis])


def genesis_hash(l1: Deployed) -> bytes:
    return keccak256(stored(l1.genesis.stored()))


def data_of(l1: Deployed, chain: Contract) -> list[Event]:
    return [event for event in l1.engine.events(chain) if event.name == "BatchData"]


def rejected(error: str) -> Any:
    return pytest.raises(Reverted, match=rf"^{error}\(")


@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 100, MAX_DATA])
def test_a_commit_publishes_exactly_the_bytes_of_the_batch(operator: Operator, size: int) -> None:
    pubdata = bytes(1 + place % 255 for place in range(size))
    operator.commit(pubdata=pubdata)
    (event,) = data_of(operator.l1, operator.chain)
    assert event.fields == {"batchNumber": 1, "data": pubdata}
    words = -(-size // 32)
    assert event.data == (32).to_bytes(32) + size.to_bytes(32) + pubdata.ljust(words * 32, b"\0")


@pytest.mark.parametrize("scheme", [0, 2, 4, 255])
def test_no_chain_has_a_scheme_that_nothing_can_be_committed_with(
    l1: Deployed, scheme: int
) -> None:
    with reverted("UnknownDAScheme", scheme):
        l1.new_chain(da=scheme)


def test_a_genesis_is_published_after_a_commit_too(l1: Deployed, operator: Operator) -> None:
    """A reorg may put the commit before it: if it could not be published then, it never could."""
    operator.settle()
    l1.engine.send(DEPLOYER, l1.chain, "publishGenesis", 0, 1, b"genesis")
    (event,) = l1.engine.events(l1.chain)
    assert event.fields == {"part": 0, "parts": 1, "data": b"genesis"}


def test_no_genesis_is_published_before_the_chain_is_registered(l1: Deployed) -> None:
    """Readers begin with the block of the registration, and would not find it."""
    chain = l1.new_chain()
    with rejected("NotRegistered"):
        l1.engine.send(DEPLOYER, chain, "publishGenesis", 0, 1, b"genesis")
    l1.engine.send(
        DEPLOYER, l1.bridgehub, "registerChain",
        OTHER_CHAIN_ID, l1.manager.address, chain.address, asset_id(ETH_TOKEN), genesis_hash(l1),
    )  # fmt: skip
    l1.engine.send(DEPLOYER, chain, "publishGenesis", 0, 1, b"genesis")
    assert [event.name for event in l1.engine.events(chain)] == ["GenesisData"]


@pytest.mark.parametrize(
    ("part", "parts", "size"),
    [(0, 0, 1), (1, 1, 1), (2, 1, 1), (0, 17, 1), (16, 17, 1), (0, 1, MAX_PART + 1)],
)
def test_a_part_that_no_genesis_has_is_rejected(
    l1: Deployed, part: int, parts: int, size: int
) -> None:
    with reverted("InvalidGenesisPart", part, parts, size):
        l1.engine.send(DEPLOYER, l1.chain, "publishGenesis", part, parts, bytes(size))


@pytest.mark.parametrize("name", contracts.names())
def test_a_contract_leaves_room_below_the_limit_of_code(name: str) -> None:
    assert len(contracts.artifact(name).runtime) <= MAX_RUNTIME


MAX_AGE, MAX_LEAD = PRODUCTION_LIMITS
DA_COMMITMENT, DA_INPUT = 7, 13
SETTINGS_SLOT = (8).to_bytes(32)
"""Scheme, clock limits, chain id, and whether it is a production chain."""


def padded(data: bytes) -> bytes:
    """Return the only encoding of an event with this data."""
    words = -(-len(data) // 32)
    return (32).to_bytes(32) + len(data).to_bytes(32) + data.ljust(32 * words, b"\0")


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


HEADER = bytes(32) + keccak256(b"data") + b"\1" + bytes(32)
COMMITTED, RIGHT = keccak256(HEADER), HEADER + b"\0data" + bytes(32)


@settings(max_examples=examples(600))
@example(3, (bytes(32), RIGHT))
@example(3, (COMMITTED, RIGHT[:97] + b"\1" + RIGHT[98:]))
@example(3, (COMMITTED, RIGHT[:98] + b"tada" + RIGHT[102:]))
@example(3, (COMMITTED, RIGHT[:129]))
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
        batches = self.operator.batches[self.verified + 1 :][:count]
        if batches:
            self.operator.prove(*batches)
            self.verified += len(batches)

    def execute(self, count: int) -> None:
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
    scheme: int, is_development: bool, actions: list[tuple[Any, ...]]
) -> None:
    chain = Modelled(scheme, is_development=is_development)
    for name, *arguments in actions:
        getattr(chain, name)(*arguments)
    chain.check()


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


def test_the_largest_commit_fits_into_a_transaction_that_nodes_of_l1_take(l1: Deployed) -> None:
    data = Batch(number=1, pubdata=bytes(MAX_DATA)).commit_data(l1.genesis)
    call = l1.timelock.encode("commitBatchesSharedBridge", l1.chain.address, 1, 1, data)
    around = 300
    """More than fields and signature of a transaction take."""
    assert len(call) + around <= 131_072


class Production(Operator):
    """The operator of a production chain."""

    def commit(self, batch: Batch | None = None, **fields: Any) -> Batch:
        return super().commit(batch, chain_id=OTHER_CHAIN_ID, **fields)


@pytest.fixture
def production(l1: Deployed) -> Production:
    return Production(l1, l1.add_chain(is_development=False), [l1.genesis])


def new_chain(l1: Deployed, **settings: Any) -> Contract:
    addresses = (l1.bridgehub, l1.manager, l1.timelock, l1.verifier, *l1.facets)
    made = chain_settings(*(address.address for address in addresses), **settings)
    return l1.engine.deploy("ZKChain", made, sender=DEPLOYER)


def times(first: int, last: int) -> dict[str, Any]:
    return {"first_timestamp": first, "last_timestamp": last}


def test_nothing_changes_whether_a_chain_is_for_development(production: Production) -> None:
    engine, chain = production.l1.engine, production.chain
    production.settle()
    production.commit(**times(NOW, NOW))
    production.revert(1)
    for function, *arguments in (
        ("changeFeeParams", FEE_PARAMS),
        ("setTokenMultiplier", 2, 1),
        ("setPriorityTxMaxGasLimit", 1),
        ("setValidator", ALICE, True),
        ("setPendingAdmin", ALICE),
    ):
        engine.send(DEPLOYER, chain, function, *arguments)
    engine.send(ALICE, chain, "acceptAdmin")
    assert engine.read(chain, "isDevelopment") is False
    assert engine.read(chain, "getClockLimits") == PRODUCTION_LIMITS
    named = [entry["name"].lower() for entry in chain.artifact.abi if entry["type"] == "function"]
    assert [it for it in named if "development" in it] == ["isdevelopment"]


@pytest.mark.parametrize(
    "limits", [(MAX_AGE + 1, MAX_LEAD), (MAX_AGE, MAX_LEAD + 1), (2**40, 2**40)]
)
def test_a_production_chain_has_no_wider_clock_limits(
    l1: Deployed, limits: tuple[int, int]
) -> None:
    with reverted("ClockLimitsTooWide", *limits):
        new_chain(l1, is_development=False, clock_limits=limits)
    new_chain(l1, is_development=True, clock_limits=limits)
