"""What L1 has in its books, what chains have, and what is on its way add up after any bundles."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from eth_abi import abi
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol.primitives.values import Address, Hash32
from tests.support.contracts.bundles import Call, PlainBundle, mint_of
from tests.support.contracts.engine import ETHER, Contract, Reverted, find
from tests.support.contracts.interop_chains import (
    HELD,
    HOLDER,
    InteropChain,
    LayerOne,
    Sent,
    deposit,
    starter,
)
from tests.support.contracts.l1_contracts import (
    ALICE,
    BOB,
    CHAIN_ID,
    ETH_TOKEN,
    L2_ASSET_ROUTER,
    OTHER_CHAIN_ID,
    asset_id,
    burn_data,
    deploy,
)
from tests.support.contracts.requests import deposit_ether, deposit_token, request
from tests.support.run.examples import examples

THIRD_CHAIN_ID = 272
IDS = (CHAIN_ID, OTHER_CHAIN_ID, THIRD_CHAIN_ID)
ETHER_ID = asset_id(ETH_TOKEN)
EXECUTE, CANCEL = 1, 2
ASSETS = ("ether", "zoo", "crown", "own")


@dataclass(frozen=True)
class OnItsWay:
    """A bundle that L1 has booked, and that its destination has not executed."""

    sent: Sent
    proof: tuple[object, ...]
    destination: int
    asset: Hash32
    amount: int


class World:
    """Three chains, the last of which is paid in a token, on an L1 with its real contracts."""

    def __init__(self) -> None:
        self.l1 = deploy()
        zoo, crown = self.l1.token(), self.l1.token()
        self.crown = crown.address
        for token in (zoo, crown):
            self.l1.engine.send(BOB, self.l1.vault, "ensureTokenIsRegistered", token.address)
        self.contracts = {
            CHAIN_ID: self.l1.chain,
            OTHER_CHAIN_ID: self.l1.add_chain(),
            THIRD_CHAIN_ID: self.l1.add_chain(THIRD_CHAIN_ID, zoo.address),
        }
        self.chains = {
            chain_id: InteropChain(
                chain_id, zoo.address if chain_id == THIRD_CHAIN_ID else ETH_TOKEN
            )
            for chain_id in IDS
        }
        for a in self.chains.values():
            for b in self.chains.values():
                if a is not b:
                    a.knows(b)
        first = self.chains[CHAIN_ID]
        self.own = first.engine.deploy("TestERC20", "Own", "OWN", 18, sender=ALICE)
        first.engine.send(ALICE, self.own, "mint", ALICE, 1000)
        first.engine.send(ALICE, self.own, "approve", first.vault.address, 1000)
        self.assets = {
            "ether": ETHER_ID,
            "zoo": asset_id(zoo.address),
            "crown": asset_id(crown.address),
            "own": asset_id(self.own.address, CHAIN_ID),
        }
        self._deposit_all(zoo, crown)
        self.roots = LayerOne(*self.chains.values())
        self.first = {
            chain_id: self.booked(chain_id, self.chains[chain_id].base_asset) for chain_id in IDS
        }
        self.pending: list[OnItsWay] = []
        self.cancelled: Counter[tuple[int, Hash32]] = Counter()
        self._blocks = 0

    def _deposit_all(self, zoo: Contract, crown: Contract) -> None:
        for chain_id in (CHAIN_ID, OTHER_CHAIN_ID):
            deposit_ether(self.l1, ETHER, chain_id)
        self.l1.engine.send(ALICE, zoo, "approve", self.l1.router.address, ETHER)
        request(self.l1, chain_id=THIRD_CHAIN_ID, value=0)
        for token in (zoo, crown):
            deposit_token(self.l1, token, 1000)
            deposit(self.chains[CHAIN_ID], 1000, token.address)

    def send(self, source: int, destination: int, name: str, amount: int) -> None:
        """Send an asset, if Alice has so much of it, and let L1 book it."""
        asset, chain = self.assets[name], self.chains[source]
        is_own = asset == chain.base_asset
        if asset == self.chains[destination].base_asset:
            call, value = starter(ALICE, value=amount), amount if is_own else 0
        else:
            token = self.own.address if name == "own" else Address.zero()
            data = b"\1" + abi.encode(
                ["bytes32", "bytes"], [asset, burn_data(amount, ALICE, token)]
            )
            value = amount if is_own else 0
            call = starter(L2_ASSET_ROUTER, data, indirect=value)
        try:
            sent = chain.send(call, to=destination, value=value)
        except Reverted:
            return
        self.book(sent, destination, asset, amount)

    def book(self, sent: Sent, destination: int, asset: Hash32, amount: int) -> None:
        """Let L1 book a bundle, and its destination import the root."""
        source = sent.source
        number = self.l1.settle(sent.log, chain=self.contracts[source])
        settle = (source, number, sent.log.pack(), [b"\1" + sent.bundle])
        self.l1.engine.send(BOB, self.l1.message_root, "settle", *settle)
        self.roots.add(sent)
        root = self.roots.root
        assert bytes(self.l1.engine.read(self.l1.message_root, "getAggregatedRoot")) == root
        self._blocks += 1
        self.chains[destination].import_root(root, self._blocks)
        proof = self.roots.proof(sent, number, block=self._blocks)
        self.pending.append(OnItsWay(sent, proof, destination, asset, amount))

    def finish(self, index: int, way: int) -> None:
        """Execute a bundle whole, or execute or cancel its call."""
        if not self.pending:
            return
        it = self.pending.pop(index % len(self.pending))
        chain = self.chains[it.destination]
        if way == 0:
            chain.execute(it.sent, it.proof)
            return
        chain.engine.send(BOB, chain.handler, "verifyBundle", it.sent.bundle, it.proof)
        chain.engine.send(
            ALICE, chain.handler, "unbundleBundle", it.sent.source, it.sent.bundle, [way]
        )
        if way == CANCEL:
            self.cancelled[it.destination, it.asset] += it.amount

    def booked(self, chain_id: int, asset: Hash32) -> int:
        return int(self.l1.engine.read(self.l1.vault, "chainBalance", chain_id, asset))

    def on_its_way(self, chain_id: int, asset: Hash32) -> int:
        """Return what has left for a chain, and will arrive or never does."""
        waiting = (
            it.amount for it in self.pending if (it.destination, it.asset) == (chain_id, asset)
        )
        return sum(waiting) + self.cancelled[chain_id, asset]

    def supply(self, chain_id: int, asset: Hash32) -> int:
        """Return how much of an asset a chain has; of its base token, since the start."""
        chain = self.chains[chain_id]
        if asset == chain.base_asset:
            fees = int(chain.engine.read(chain.center, "burntFees"))
            return self.first[chain_id] - (chain.engine.balance(HOLDER) - HELD - fees)
        token = Address.parse(chain.engine.read(chain.vault, "tokenAddress", asset))
        if not chain.engine.overlay.account(token):
            return 0
        return int(chain.engine.read(Contract(token, find("TestERC20")), "totalSupply"))

    def check(self) -> None:
        """Compare the books with the chains."""
        for name, asset in self.assets.items():
            for chain_id in IDS:
                expected = self.supply(chain_id, asset) + self.on_its_way(chain_id, asset)
                if name == "own" and chain_id == CHAIN_ID:
                    expected = 0
                assert self.booked(chain_id, asset) == expected, (name, chain_id)
        chain, own = self.chains[CHAIN_ID], self.assets["own"]
        locked = int(chain.engine.read(self.own, "balanceOf", chain.vault.address))
        elsewhere = sum(self.booked(chain_id, own) for chain_id in IDS[1:])
        assert locked == elsewhere + self.on_its_way(CHAIN_ID, own)


SENDS = st.tuples(
    st.just("send"),
    st.sampled_from([(a, b) for a in IDS for b in IDS if a != b]),
    st.sampled_from(ASSETS),
    st.integers(1, 600),
)
ENDS = st.tuples(
    st.just("finish"), st.integers(0, 20), st.sampled_from([0, 0, EXECUTE, CANCEL]), st.none()
)


@settings(max_examples=examples(12))
@given(st.lists(st.one_of(SENDS, ENDS), min_size=4, max_size=16))
def test_books_supplies_and_what_is_on_its_way_add_up(steps: list[tuple[Any, ...]]) -> None:
    world = World()
    for kind, a, b, c in steps:
        if kind == "send":
            source, destination = a
            world.send(source, destination, b, c)
        else:
            world.finish(a, b)
    world.check()


def test_every_asset_crosses_between_all_chains_and_returns() -> None:
    world = World()
    # A chain that has not got a token yet sends none.
    ways = [(a, b) for a in IDS for b in IDS if a != b]
    for name in ASSETS:
        for amount, way in ((40, ways), (7, reversed(ways))):
            for a, b in way:
                world.send(a, b, name, amount)
                world.finish(0, 0)
                world.check()
    assert not world.pending
    assert sum(len(batch) for batch in world.roots.batches.values()) == 33


def test_an_asset_that_is_encoded_oddly_is_read_alike_by_l1_and_the_destination() -> None:
    world = World()
    asset = world.assets["crown"]
    decoy, mint = (mint_of(world.crown, amount) for amount in (900, 5))
    unread = len(decoy).to_bytes(32) + decoy
    data = (
        bytes.fromhex("9c884fd1") + CHAIN_ID.to_bytes(32) + asset + (96 + len(unread)).to_bytes(32)
        + unread + len(mint).to_bytes(32) + mint + b"\xff" * 7
    )  # fmt: skip
    call = Call(to=L2_ASSET_ROUTER, sender=L2_ASSET_ROUTER, data=data)
    bundle = PlainBundle(calls=[call], base_token=ETHER_ID).encode()

    world.book(Sent(b"", bundle, CHAIN_ID), OTHER_CHAIN_ID, asset, 5)
    world.finish(0, 0)

    assert world.booked(OTHER_CHAIN_ID, asset) == world.supply(OTHER_CHAIN_ID, asset) == 5
