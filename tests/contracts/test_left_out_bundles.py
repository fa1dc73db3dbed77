"""Bundles that nobody has paid, and what is nearly a bundle: whatever is settled when, the books add up."""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from typing import Any

import pytest
from eth_abi import abi
from eth_abi.exceptions import DecodingError
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol.primitives.values import Address, Hash32
from tests.support.contracts.bundles import (
    BUNDLE,
    FINALIZE,
    INTEROP_CENTER,
    Call,
    PlainBundle,
    asset_call,
    described,
    mint_of,
)
from tests.support.contracts.engine import ETHER, Reverted
from tests.support.contracts.interop_chains import InteropChain, LayerOne, Sent, anywhere
from tests.support.contracts.l1_contracts import (
    ALICE,
    BOB,
    CHAIN_ID,
    ETH_TOKEN,
    L2_ASSET_ROUTER,
    OTHER_CHAIN_ID,
    Deployed,
    asset_id,
    deploy,
)
from tests.support.contracts.merkle_trees import NO_LOG, message_log, root_of
from tests.support.contracts.requests import deposit_ether, deposit_token
from tests.support.run.examples import examples

IDS = (CHAIN_ID, OTHER_CHAIN_ID)
ETHER_ID = asset_id(ETH_TOKEN)


@dataclass
class Batch:
    """An executed batch, and which of its bundles L1 has not booked."""

    source: int
    number: int
    bundles: list[PlainBundle]
    missing: list[int]
    is_appended: bool = False


class World:
    """Two chains on an L1 with its real contracts, beside plain books of both assets."""

    def __init__(self) -> None:
        self.l1 = deploy()
        self.crown = self.l1.token()
        self.contracts = {CHAIN_ID: self.l1.chain, OTHER_CHAIN_ID: self.l1.add_chain()}
        self.l1.engine.send(BOB, self.l1.vault, "ensureTokenIsRegistered", self.crown.address)
        self.crown_id = asset_id(self.crown.address)
        self.held = {
            (chain_id, asset): 0 for chain_id in IDS for asset in (ETHER_ID, self.crown_id)
        }
        self.batches: list[Batch] = []
        self._salts = count()

    def deposit(self, chain_id: int, ether: int, crowns: int) -> None:
        paid = ETHER + ether
        if crowns:
            deposit_token(self.l1, self.crown, crowns, chain_id=chain_id, mint_value=paid)
        else:
            deposit_ether(self.l1, paid, chain_id)
        self.held[chain_id, ETHER_ID] += paid
        self.held[chain_id, self.crown_id] += crowns

    def execute(self, source: int, carried: list[tuple[int, int]]) -> None:
        bundles = [self._bundle(source, *it) for it in carried]
        logs = [bundle.log() for bundle in bundles]
        number = self.l1.settle(*logs, chain=self.contracts[source])
        self.batches.append(Batch(source, number, bundles, list(range(len(bundles)))))

    def settle(self, batch: Batch) -> None:
        """Let anyone settle a batch, and compare what that books with the plain books."""
        missing = [it for it in batch.missing if not self._book(batch.bundles[it])]
        logs = [bundle.log() for bundle in batch.bundles]
        packed = b"".join(log.pack() for log in logs)
        call = (batch.source, batch.number, packed, [bundle.message() for bundle in batch.bundles])
        if batch.is_appended and missing == batch.missing:
            expected = "InteropValueNotCovered" if missing else "BatchAlreadySettled"
            with pytest.raises(Reverted, match=expected):
                self.l1.engine.send(BOB, self.l1.message_root, "settle", *call)
            return
        self.l1.engine.send(BOB, self.l1.message_root, "settle", *call)
        assert list(self.l1.left_out()) == missing
        root = root_of([NO_LOG if index in missing else it for index, it in enumerate(logs)])
        events = self.l1.engine.events(self.l1.message_root)
        (appended,) = (event for event in events if event.name == "AppendedChainBatchRoot")
        assert bytes(appended.fields["chainBatchRoot"]) == root
        batch.missing, batch.is_appended = missing, True

    def check(self) -> None:
        """Compare the books of L1 with the plain ones, and their sums with what the vault has."""
        engine, vault = self.l1.engine, self.l1.vault
        for (chain_id, asset), amount in self.held.items():
            assert engine.read(vault, "chainBalance", chain_id, asset) == amount
        for asset, owned in (
            (ETHER_ID, engine.balance(vault.address)),
            (self.crown_id, engine.read(self.crown, "balanceOf", vault.address)),
        ):
            assert owned == sum(self.held[chain_id, asset] for chain_id in IDS)
        for batch in self.batches:
            place = batch.source, batch.number
            is_settled = engine.read(self.l1.message_root, "isSettled", *place)
            assert is_settled is (batch.is_appended and not batch.missing)

    def _bundle(self, source: int, ether: int, crowns: int) -> PlainBundle:
        calls = [Call(to=BOB, sender=ALICE, value=ether)]
        if crowns:
            mint = mint_of(self.crown.address, crowns)
            calls.append(asset_call(self.crown_id, mint, source))
        (destination,) = (chain_id for chain_id in IDS if chain_id != source)
        made = PlainBundle(calls=calls, base_token=ETHER_ID, source=source, destination=destination)
        return replace(made, salt=next(self._salts).to_bytes(32))

    def _book(self, bundle: PlainBundle) -> bool:
        amounts = {ETHER_ID: bundle.calls[0].value, self.crown_id: 0}
        for call in bundle.calls[1:]:
            _, asset, mint = abi.decode(["uint256", "bytes32", "bytes"], call.data[4:])
            amounts[Hash32(asset)] = abi.decode(
                ["address", "address", "address", "uint256", "bytes"], mint
            )[3]
        if any(self.held[bundle.source, it] < amount for it, amount in amounts.items()):
            return False
        for asset, amount in amounts.items():
            self.held[bundle.source, asset] -= amount
            self.held[bundle.destination, asset] += amount
        return True


CHAINS = st.sampled_from(IDS)
AMOUNTS = st.tuples(
    st.sampled_from([0, 1, ETHER // 3, ETHER, 2 * ETHER]), st.sampled_from([0, 0, 1, 5, 40])
)
STEPS = st.one_of(
    st.tuples(st.just("deposit"), CHAINS, AMOUNTS),
    st.tuples(st.just("execute"), CHAINS, st.lists(AMOUNTS, min_size=1, max_size=5)),
    st.tuples(st.just("settle"), st.integers(0, 9), st.none()),
    st.tuples(st.just("settle"), st.integers(0, 9), st.none()),
)


@settings(max_examples=examples(30))
@given(st.lists(STEPS, min_size=6, max_size=18))
def test_whatever_is_covered_when_each_bundle_is_booked_once_or_not_at_all(
    steps: list[tuple[str, Any, Any]],
) -> None:
    world = World()
    for kind, where, what in steps:
        if kind == "deposit":
            world.deposit(where, *what)
        elif kind == "execute":
            world.execute(where, what)
        elif world.batches:
            world.settle(world.batches[where % len(world.batches)])
    world.check()
    # Once everybody has paid, nothing is left.
    for chain_id in IDS:
        world.deposit(chain_id, 100 * ETHER, 10_000)
    for batch in world.batches:
        if batch.missing or not batch.is_appended:
            world.settle(batch)
    assert not any(batch.missing for batch in world.batches)
    world.check()


CALLS = [Call(to=BOB, sender=ALICE, value=3), Call(to=BOB, sender=ALICE, data=b"x" * 33)]
NUMBERS = st.sampled_from(
    [0, 1, 2, 31, 32, 64, CHAIN_ID, OTHER_CHAIN_ID, ETHER, 2**128, 2**160, 2**248, 2**256 - 1]
)


@st.composite
def lies(draw: st.DrawFn) -> bytes:
    """Draw a bundle, mostly with some of its words or bytes changed, or with another end."""
    bundle = PlainBundle(
        calls=draw(st.lists(st.sampled_from(CALLS), max_size=3)),
        base_token=ETHER_ID,
        attributes=draw(st.sampled_from([(b"", anywhere(ALICE), False), (b"", b"", True)])),
    )
    encoded = bytearray(bundle.encode())
    for way in draw(st.lists(st.sampled_from(["word", "bit", "cut", "longer"]), max_size=2)):
        place = draw(st.integers(0, len(encoded) - 1))
        if way == "word":
            encoded[place & ~31 : (place & ~31) + 32] = draw(NUMBERS).to_bytes(32)
        elif way == "bit":
            encoded[place] ^= 1 << draw(st.integers(0, 7))
        elif way == "cut":
            del encoded[max(place, 32) :]
        else:
            encoded += bytes(32)
    return bytes(encoded)


def value_of(encoded: bytes) -> int | None:
    """Read a bundle of the first chain to the second plainly: return its value, None if it is not one."""
    try:
        (bundle,) = abi.decode([BUNDLE], encoded)
    except (DecodingError, OverflowError, UnicodeError, ValueError):
        return None
    version, source, destination, base_token, _, calls, _ = bundle
    is_one = (
        abi.encode([BUNDLE], [bundle]) == encoded
        and (version, source, destination) == (b"\1", CHAIN_ID, OTHER_CHAIN_ID)
        and base_token == ETHER_ID
        and all(call[:2] == (b"\1", False) for call in calls)
    )
    return sum(call[4] for call in calls) if is_one else None


@cache
def world() -> tuple[Deployed, InteropChain]:
    """Return L1 with two chains, the first of which has an ether, and the second of them."""
    l1 = deploy()
    l1.add_chain()
    deposit_ether(l1, ETHER)
    return l1, InteropChain(OTHER_CHAIN_ID)


def settled(encoded: bytes) -> Deployed:
    """Let L1 settle a batch with this message as a bundle."""
    shared, _ = world()
    l1 = dataclasses.replace(shared, engine=shared.engine.fork(), last_batches={})
    log = message_log(0, INTEROP_CENTER, b"\1" + encoded)
    batch = (CHAIN_ID, l1.settle(log), log.pack(), [b"\1" + encoded])
    l1.engine.send(BOB, l1.message_root, "settle", *batch)
    return l1


def let_in(function: str, encoded: bytes) -> InteropChain:
    _, shared = world()
    there = copy.copy(shared)
    there.engine = shared.engine.fork()
    sent = Sent(b"", encoded, CHAIN_ID)
    l1 = LayerOne(InteropChain(CHAIN_ID), there)
    l1.add(sent)
    there.import_root(l1.root)
    there.engine.send(BOB, there.handler, function, encoded, l1.proof(sent))
    return there


def is_booked(encoded: bytes) -> bool:
    try:
        return not settled(encoded).left_out()
    except Reverted:
        return False


def is_let_in(encoded: bytes) -> bool:
    try:
        let_in("verifyBundle", encoded)
    except Reverted:
        return False
    return True


@settings(max_examples=examples(150), deadline=None)
@given(lies())
def test_l1_and_the_destination_read_a_bundle_as_one_thing_or_not_at_all(encoded: bytes) -> None:
    value = value_of(encoded)
    assert is_let_in(encoded) is (value is not None)
    assert is_booked(encoded) is (value is not None and value <= ETHER)


def test_an_asset_that_is_encoded_oddly_is_read_alike_by_l1_and_the_destination() -> None:
    token = Address(b"\x77" * 20)
    asset = asset_id(token, CHAIN_ID)
    decoy, mint = (mint_of(token, amount, described(CHAIN_ID)) for amount in (900, 5))
    unread = len(decoy).to_bytes(32) + decoy
    data = (
        FINALIZE + CHAIN_ID.to_bytes(32) + asset + (96 + len(unread)).to_bytes(32)
        + unread + len(mint).to_bytes(32) + mint + b"\xff" * 7
    )  # fmt: skip
    call = Call(to=L2_ASSET_ROUTER, sender=L2_ASSET_ROUTER, data=data)
    encoded = PlainBundle(calls=[call], base_token=ETHER_ID).encode()
    l1 = settled(encoded)
    assert l1.engine.read(l1.vault, "chainBalance", OTHER_CHAIN_ID, asset) == 5
    assert let_in("executeBundle", encoded).token_balance(asset, BOB) == 5
