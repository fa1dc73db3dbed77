"""Nothing but what was sent is proven or executed: proofs and bundles that are nearly right.

`make test-long` tries 90,000 of them, and `make test` a fiftieth, with the same seeds every time.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from eth_abi import abi
from eth_abi.exceptions import DecodingError

from entresol.primitives.values import Address, Hash32
from tests.support.contracts.bundles import BUNDLE, Call, PlainBundle
from tests.support.contracts.engine import L1_CHAIN_ID, Reverted
from tests.support.contracts.interop_chains import (
    HANDLER,
    VERIFICATION,
    InteropChain,
    LayerOne,
    Sent,
    anywhere,
    starter,
)
from tests.support.contracts.interop_mutations import EXECUTE, VERIFY, Claim, Mutations
from tests.support.contracts.l1_contracts import ALICE, BOB, CHAIN_ID, OTHER_CHAIN_ID
from tests.support.run.examples import tries_many

CAROL = Address(b"\xca" * 20)
THIRD_CHAIN_ID = 272
DIVISOR = 1 if tries_many() else 50
TREE = 100
"""How many bundles of a chain that lies are in one batch."""


class Sources:
    """Two chains that have sent bundles to a third one, which has imported two roots with them."""

    def __init__(self) -> None:
        self.there = InteropChain(OTHER_CHAIN_ID)
        chains = InteropChain(CHAIN_ID), InteropChain(THIRD_CHAIN_ID)
        l1 = LayerOne(chains[0], self.there, chains[1])
        self.sent: list[Sent] = []
        batches: list[tuple[Sent, int, int]] = []
        for chain in chains:
            chain.knows(self.there)
            for batch, size in enumerate((2, 1, 3), start=1):
                sent = [
                    chain.send(
                        starter(CAROL, b"", value=number + 1), starter(BOB), value=number + 1
                    )
                    for number in range(size)
                ]
                l1.add(*sent)
                batches += [(it, batch, index) for index, it in enumerate(sent)]
        self.claims: list[tuple[Claim, bytes]] = []
        for block in (1, 2):
            self.there.import_root(l1.root, block)
            for sent_, batch, index in batches:
                proof = l1.proof(sent_, batch, index, block)
                self.claims.append((Claim.of(proof), sent_.bundle))
            # The second root has a batch more, and other paths.
            l1.add(chains[1].send(starter(CAROL)))

    @property
    def valid(self) -> frozenset[Claim]:
        """All claims that are true."""
        return frozenset(claim for claim, _ in self.claims)

    def proven(self, claim: Claim) -> bool:
        """Say whether the destination knows the message."""
        try:
            output = self.there.engine.send_data(BOB, VERIFICATION, claim.proving())
        except Reverted:
            return False
        return bool(int.from_bytes(output))

    def accepted(self, selector: bytes, claim: Claim, bundle: bytes) -> bool:
        """Say whether the destination executes or verifies a bundle."""
        return takes(self.there, selector, claim, bundle)


def takes(chain: InteropChain, selector: bytes, claim: Claim, bundle: bytes) -> bool:
    """Say whether a chain executes or verifies a bundle."""
    try:
        chain.engine.send_data(BOB, HANDLER, claim.with_bundle(selector, bundle))
    except Reverted:
        return False
    return True


@cache
def _sources() -> Sources:
    return Sources()


def cases(many: int) -> int:
    """Return how many cases this run tries."""
    return many // DIVISOR


def test_what_was_sent_is_proven_and_executed() -> None:
    sources = Sources()
    executed: set[bytes] = set()
    for claim, bundle in sources.claims:
        assert sources.proven(claim)
        # Each bundle is proven by two roots, and executed once.
        assert sources.accepted(EXECUTE, claim, bundle) is (bundle not in executed)
        executed.add(bundle)
    assert len(executed) == len(sources.claims) / 2


def test_no_proof_that_is_nearly_right_proves_a_message() -> None:
    sources, mutations = _sources(), Mutations(seed=1)
    claims, valid = [it for it, _ in sources.claims], sources.valid
    for number in range(cases(40_000)):
        claim = mutations.claim(mutations.random.choice(claims), claims)
        assert sources.proven(claim) is (claim in valid), (number, claim)


@pytest.mark.parametrize("selector", [EXECUTE, VERIFY], ids=["execute", "verify"])
def test_no_proof_that_is_nearly_right_lets_a_bundle_in(selector: bytes) -> None:
    sources, mutations = _sources(), Mutations(seed=2)
    claims, valid = [it for it, _ in sources.claims], sources.valid
    for number in range(cases(10_000)):
        claim, bundle = mutations.random.choice(sources.claims)
        other = mutations.claim(claim, claims)
        # The same bundle by another root that proves it is no mistake.
        if other not in valid or other.data != claim.data:
            assert not sources.accepted(selector, other, bundle), (number, other)


@pytest.mark.parametrize("selector", [EXECUTE, VERIFY], ids=["execute", "verify"])
def test_no_bundle_that_is_nearly_right_is_let_in_by_a_proof(selector: bytes) -> None:
    sources, mutations = _sources(), Mutations(seed=3)
    for number in range(cases(5_000)):
        claim, bundle = mutations.random.choice(sources.claims)
        other = mutations.data(bundle)
        if mutations.random.randrange(2):
            claim = replace(claim, data=b"\1" + other)
        assert not sources.accepted(selector, claim, other), (number, other.hex())


# --- A chain that lies: what it has sent is on L1, however it is encoded ---


def read(encoded: bytes) -> tuple[Any, ...] | None:
    """Return the bundle in its one encoding, for this chain and of that source; None if it is none."""
    try:
        (bundle,) = abi.decode([BUNDLE], encoded)
    except (DecodingError, OverflowError, UnicodeError, ValueError):
        return None
    if abi.encode([BUNDLE], [bundle]) != encoded:
        return None
    version, source, destination, base_token, _, calls, _ = bundle
    is_ours = (version, source, destination) == (b"\1", CHAIN_ID, OTHER_CHAIN_ID)
    if not is_ours or base_token != InteropChain().base_asset:
        return None
    if any(call[0] != b"\1" or call[1] for call in calls):
        return None
    return tuple(bundle)


def fields(mutations: Mutations, bundle: PlainBundle) -> PlainBundle:
    """Return a bundle with other fields, each of its type."""
    random = mutations.random
    calls = [
        replace(
            call,
            version=random.choice([b"\1"] * 9 + [b"\0", b"\2"]),
            shadow_account=not random.randrange(20),
            value=random.choice([0, 1, call.value]),
        )
        for call in bundle.calls
    ]
    random.shuffle(calls)
    return replace(
        bundle,
        calls=calls,
        version=random.choice([b"\1"] * 9 + [b"\0", b"\2", b"\xff"]),
        source=random.choice([CHAIN_ID] * 9 + [OTHER_CHAIN_ID, THIRD_CHAIN_ID, L1_CHAIN_ID]),
        destination=random.choice([OTHER_CHAIN_ID] * 9 + [CHAIN_ID, L1_CHAIN_ID, 0]),
        base_token=random.choice([bundle.base_token] * 9 + [Hash32.zero()]),
        salt=random.randbytes(32),
    )


def lies(mutations: Mutations, count: int) -> list[bytes]:
    """Return bundles that are nearly right, each once."""
    calls = [
        Call(to=CAROL, sender=ALICE, value=3),
        Call(to=BOB, sender=ALICE, data=b"x" * 33),
        Call(to=CAROL, sender=BOB),
    ]
    base_token = InteropChain().base_asset
    originals = [
        PlainBundle(calls=calls[:size], base_token=base_token, attributes=attributes)
        for size in (0, 1, 2, 3)
        for attributes in ((b"", anywhere(ALICE), False), (anywhere(BOB), b"", True))
    ]
    found: dict[bytes, None] = {}
    while len(found) < count:
        original = mutations.random.choice(originals)
        way = mutations.random.randrange(4)
        encoded = (fields(mutations, original) if way < 2 else original).encode()
        found[encoded if way == 0 else mutations.data(encoded)] = None
    return list(found)


@pytest.mark.parametrize("selector", [EXECUTE, VERIFY], ids=["execute", "verify"])
def test_a_chain_takes_of_one_that_lies_what_is_a_bundle_for_it(selector: bytes) -> None:
    mutations = Mutations(seed=4)
    found = lies(mutations, cases(10_000))
    source = InteropChain(CHAIN_ID)
    taken = 0
    for start in range(0, len(found), TREE):
        there = InteropChain(OTHER_CHAIN_ID)
        sent = [Sent(b"", it, CHAIN_ID) for it in found[start : start + TREE]]
        l1 = LayerOne(source, there)
        l1.add(*sent)
        there.import_root(l1.root)
        for index, it in enumerate(sent):
            expected = read(it.bundle)
            accepted = takes(there, selector, Claim.of(l1.proof(it, index=index)), it.bundle)
            # A call may fail, and then the bundle is not executed.
            wanted = expected is not None and (selector == VERIFY or accepted)
            assert accepted is wanted, (start + index, it.bundle.hex())
            taken += accepted
    assert taken, "changed salts, values and data are other bundles"
