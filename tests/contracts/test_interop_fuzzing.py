"""No root comes without its books: batches that are nearly right, and what a chain that lies puts into them.

`make test-long` tries 15,000 of them, and `make test` a fiftieth, with the same seeds every time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from eth_abi import abi
from eth_abi.exceptions import DecodingError

from entresol.contracts import artifact
from entresol.contracts.slots import storage_of
from entresol.primitives.values import Address, Hash32
from tests.support.contracts.bundles import BUNDLE, INTEROP_CENTER, Call, PlainBundle
from tests.support.contracts.engine import ETHER, L1_CHAIN_ID, Reverted
from tests.support.contracts.interop_mutations import Mutations
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
    direct,
    two_bridges,
)
from tests.support.contracts.merkle_trees import root_of
from tests.support.rollup.messages import message_log
from tests.support.run.examples import tries_many

THIRD_CHAIN_ID = 272
IDS = (CHAIN_ID, OTHER_CHAIN_ID, THIRD_CHAIN_ID)
ETHER_ID = asset_id(ETH_TOKEN)
L2_TOKEN = Address(b"\x77" * 20)
OWN_ID = asset_id(L2_TOKEN, CHAIN_ID)
FINALIZE = bytes.fromhex("9c884fd1")
MINT = ["address", "address", "address", "uint256", "bytes"]
LARGEST = 2**128 - 1
LOG_SIZE = 88
DIVISOR = 1 if tries_many() else 50


class World:
    """Three chains, of which the first holds ether and a token, and L1 with its books."""

    def __init__(self) -> None:
        self.l1 = deploy()
        engine, hub = self.l1.engine, self.l1.bridgehub
        crown = self.l1.token()
        self.crown, self.crown_id = crown.address, asset_id(crown.address)
        self.l1.add_chain()
        self.l1.add_chain(THIRD_CHAIN_ID)
        asked = direct(mint_value=ETHER)
        engine.send(ALICE, hub, "requestL2TransactionDirect", asked, value=ETHER)
        engine.send(BOB, self.l1.vault, "ensureTokenIsRegistered", crown.address)
        engine.send(ALICE, crown, "approve", self.l1.vault.address, ETHER)
        burn = burn_data(ETHER, ALICE, crown.address)
        data = b"\1" + abi.encode(["bytes32", "bytes"], [self.crown_id, burn])
        asked = two_bridges(self.l1.router.address, data)
        engine.send(ALICE, hub, "requestL2TransactionTwoBridges", asked, value=ETHER)
        self._batches = 1000

    def settle(self, chain_id: int, number: int, logs: bytes, messages: Sequence[bytes]) -> bool:
        """Say whether L1 adds a batch."""
        batch = (chain_id, number, logs, list(messages))
        try:
            self.l1.engine.send(BOB, self.l1.message_root, "settle", *batch)
        except Reverted:
            return False
        return True

    def settle_lie(self, message: bytes) -> bool:
        """Let the first chain execute a batch with this message of its center; say whether L1 books it."""
        log = message_log(0, INTEROP_CENTER, message)
        self._batches += 1
        values: Any = {"_l2LogsRootHashes": {self._batches: root_of([log])}}
        for slot, value in storage_of(artifact("ZKChain"), values).items():
            self.l1.engine.overlay.set_slot(self.l1.chain.address, slot, value)
        is_added = self.settle(CHAIN_ID, self._batches, log.pack(), [message])
        return is_added and not self.l1.left_out()

    def booked(self, chain_id: int, asset: Hash32) -> int:
        """Return what L1 has in its books."""
        return int(self.l1.engine.read(self.l1.vault, "chainBalance", chain_id, asset))

    @property
    def root(self) -> bytes:
        """The root over all chains."""
        return bytes(self.l1.engine.read(self.l1.message_root, "getAggregatedRoot"))

    def bundle(self, *calls: Call) -> PlainBundle:
        """Return a bundle of the first chain to the second."""
        return PlainBundle(calls=calls, base_token=ETHER_ID)

    def transfer(self, asset: Hash32, token: Address, amount: int) -> Call:
        """Return the call of a router that carries a token."""
        mint = abi.encode(MINT, [ALICE, BOB, token, amount, b""])
        data = FINALIZE + abi.encode(["uint256", "bytes32", "bytes"], [CHAIN_ID, asset, mint])
        return Call(to=L2_ASSET_ROUTER, sender=L2_ASSET_ROUTER, data=data)

    def originals(self) -> list[PlainBundle]:
        """Return bundles with value, with a token of L1, and with one of the source."""
        ether = Call(to=BOB, sender=ALICE, value=5)
        crowns = self.transfer(self.crown_id, self.crown, 3)
        own = self.transfer(OWN_ID, L2_TOKEN, 7)
        return [self.bundle(*it) for it in ([ether], [crowns], [own], [ether, own, crowns], [])]


class Books:
    """The books of L1, kept by a plain reading of each bundle."""

    def __init__(self, world: World) -> None:
        self._origins = {ETHER_ID: L1_CHAIN_ID, world.crown_id: L1_CHAIN_ID}
        self._held = {
            (chain_id, asset): world.booked(chain_id, asset)
            for chain_id in IDS
            for asset in self._origins
        }

    def check(self, world: World) -> None:
        """Compare all books with those of L1."""
        for (chain_id, asset), amount in self._held.items():
            assert world.booked(chain_id, asset) == amount, (chain_id, asset)

    def take(self, message: bytes) -> bool:
        """Write down what a bundle carries, if it is one and is covered."""
        held, origins = dict(self._held), dict(self._origins)
        try:
            destination, calls = _bundle(message)
            for asset, token, amount in _assets(calls):
                if asset not in origins and asset != asset_id(token, CHAIN_ID):
                    return False
                if not amount:
                    return False
                origins.setdefault(asset, CHAIN_ID)
                _move(held, origins[asset], destination, asset, amount)
            _move(held, L1_CHAIN_ID, destination, ETHER_ID, sum(call[4] for call in calls))
        except (ValueError, DecodingError, OverflowError):
            return False
        self._held, self._origins = held, origins
        return True


def _bundle(message: bytes) -> tuple[int, Sequence[tuple[Any, ...]]]:
    (bundle,) = abi.decode([BUNDLE], message[1:])
    version, source, destination, base_token, _, calls, _ = bundle
    if message != b"\1" + abi.encode([BUNDLE], [bundle]):
        raise ValueError("another encoding")
    if version != b"\1" or source != CHAIN_ID or destination not in IDS[1:]:
        raise ValueError("not from here to another chain")
    if base_token != ETHER_ID or any(call[0] != b"\1" or call[1] for call in calls):
        raise ValueError("another base token or version")
    return destination, calls


def _assets(calls: Sequence[tuple[Any, ...]]) -> list[tuple[Hash32, Address, int]]:
    """Return what the router of the destination pays."""
    found = []
    for _, _, to, sender, _, data in calls:
        if to != str(L2_ASSET_ROUTER) or sender != to:
            continue
        arguments = data[4:]
        if data[:4] != FINALIZE or _number(arguments, 0) != CHAIN_ID:
            raise ValueError("no asset of this chain")
        asset, mint = _number(arguments, 32), _bytes(arguments, 64)
        accounts = [_number(mint, place) for place in (0, 32, 64)]
        amount, _ = _number(mint, 96), _bytes(mint, 128)
        if any(account >> 160 for account in accounts):
            raise ValueError("no address")
        found.append((Hash32(asset.to_bytes(32)), Address(accounts[2].to_bytes(20)), amount))
    return found


def _number(data: bytes, place: int) -> int:
    found = data[place : place + 32]
    if len(found) != 32:
        raise ValueError("ends early")
    return int.from_bytes(found)


def _bytes(data: bytes, place: int) -> bytes:
    """Return the bytes that an offset points to, which may be anywhere."""
    offset = _number(data, place)
    size = _number(data, offset)
    if offset + 32 + size > len(data):
        raise ValueError("ends early")
    return data[offset + 32 : offset + 32 + size]


def _move(
    held: dict[tuple[int, Hash32], int], origin: int, destination: int, asset: Hash32, amount: int
) -> None:
    """Move an asset in the books, in which a chain has none of its own."""
    if amount > LARGEST:
        raise ValueError("too much")
    if origin != CHAIN_ID:
        left = held.get((CHAIN_ID, asset), 0) - amount
        if left < 0:
            raise ValueError("not covered")
        held[CHAIN_ID, asset] = left
    if origin != destination:
        held[destination, asset] = held.get((destination, asset), 0) + amount


def test_no_batch_that_is_nearly_right_is_added() -> None:
    world, mutations = World(), Mutations(seed=5)
    random = mutations.random
    first, second = world.originals()[0], world.originals()[3]
    logs = [message_log(0, BOB, b"1"), first.log(1), message_log(2, BOB, b"2"), second.log(3)]
    number = world.l1.settle(*logs)
    packed = tuple(log.pack() for log in logs)
    messages: tuple[bytes, ...] = (first.message(), second.message())
    root, original = world.root, (CHAIN_ID, number, b"".join(packed), messages)
    for case in range(10_000 // DIVISOR):
        chain_id, batch, changed, sent = CHAIN_ID, number, packed, messages
        for _ in range(random.choice([1, 1, 2])):
            way = random.randrange(9)
            if way == 8:
                # The tree has as many empty leaves as it needs.
                changed = (*changed, *[bytes(LOG_SIZE)] * random.randrange(1, 4))
            elif way == 0:
                chain_id = random.choice([*IDS[1:], L1_CHAIN_ID, mutations.number(CHAIN_ID)])
            elif way == 1:
                batch = mutations.number(number)
            elif way < 5:
                changed = mutations.sequence(changed, mutations.data)
            else:
                sent = mutations.sequence(sent, mutations.data)
        other = (chain_id, batch, b"".join(changed), sent)
        if other != original:
            assert not world.settle(*other), (case, other)
    assert world.root == root
    assert world.settle(*original)


def test_a_chain_that_lies_moves_what_its_bundles_say_and_it_has() -> None:
    world, mutations = World(), Mutations(seed=6)
    books = Books(world)
    originals, added = world.originals(), 0
    for case in range(5_000 // DIVISOR):
        message = _lie(mutations, mutations.random.choice(originals))
        expected = books.take(message)
        assert world.settle_lie(message) is expected, (case, message.hex())
        added += expected
        if not case % 100:
            books.check(world)
    books.check(world)
    assert added, "changed salts, amounts and receivers are other bundles"


def _lie(mutations: Mutations, bundle: PlainBundle) -> bytes:
    """Return a message that is nearly a bundle that L1 can book."""
    random = mutations.random
    way = random.randrange(6)
    if way == 0:
        return mutations.data(bundle.message())
    calls = list(bundle.calls)
    if calls and way < 4:
        place = random.randrange(len(calls))
        call = calls[place]
        value = random.choice([call.value, 1, mutations.number(call.value)])
        data = mutations.data(call.data) if way < 3 else call.data
        calls[place] = replace(call, value=value, data=data)
    changed = replace(
        bundle,
        calls=calls,
        source=random.choice([CHAIN_ID] * 20 + [OTHER_CHAIN_ID, L1_CHAIN_ID]),
        destination=random.choice([*IDS[1:]] * 9 + [CHAIN_ID, L1_CHAIN_ID, 999]),
        base_token=random.choice([ETHER_ID] * 19 + [OWN_ID]),
    )
    return mutations.data(changed.message()) if way == 5 else changed.message()
