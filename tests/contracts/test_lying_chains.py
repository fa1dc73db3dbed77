"""What a chain that lies has sent is booked by L1, and let in by its destination, only in the one encoding of a bundle."""

from __future__ import annotations

import copy
import dataclasses
from functools import cache

from eth_abi import abi
from eth_abi.exceptions import DecodingError
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.contracts.bundles import BUNDLE, INTEROP_CENTER, Call, PlainBundle
from tests.support.contracts.engine import ETHER, Reverted
from tests.support.contracts.interop_chains import InteropChain, LayerOne, Sent, anywhere
from tests.support.contracts.l1_contracts import (
    ALICE,
    BOB,
    CHAIN_ID,
    ETH_TOKEN,
    OTHER_CHAIN_ID,
    Deployed,
    asset_id,
    deploy,
)
from tests.support.contracts.requests import deposit_ether
from tests.support.rollup.messages import message_log
from tests.support.run.examples import examples

ETHER_ID = asset_id(ETH_TOKEN)
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


def is_booked(encoded: bytes) -> bool:
    shared, _ = world()
    l1 = dataclasses.replace(shared, engine=shared.engine.fork(), last_batches={})
    log = message_log(0, INTEROP_CENTER, b"\1" + encoded)
    batch = (CHAIN_ID, l1.settle(log), log.pack(), [b"\1" + encoded])
    try:
        l1.engine.send(BOB, l1.message_root, "settle", *batch)
    except Reverted:
        return False
    return not l1.left_out()


def is_let_in(encoded: bytes) -> bool:
    _, shared = world()
    there = copy.copy(shared)
    there.engine = shared.engine.fork()
    sent = Sent(b"", encoded, CHAIN_ID)
    l1 = LayerOne(InteropChain(CHAIN_ID), there)
    l1.add(sent)
    there.import_root(l1.root)
    try:
        there.engine.send(BOB, there.handler, "verifyBundle", encoded, l1.proof(sent))
    except Reverted:
        return False
    return True


@settings(max_examples=examples(150), deadline=None)
@given(lies())
def test_l1_and_the_destination_read_a_bundle_as_one_thing_or_not_at_all(encoded: bytes) -> None:
    value = value_of(encoded)
    assert is_let_in(encoded) is (value is not None)
    assert is_booked(encoded) is (value is not None and value <= ETHER)
