"""The index of transfers that are not completed: what is in it, and what leaves it when."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from entresol.chain.genesis.genesis import Genesis, GenesisAccount
from entresol.chain.ledger import rebuild
from entresol.errors import LayerOneUnreachable
from entresol.l1.layer_one import L1Block
from entresol.primitives.base_token import L2_ASSET_ROUTER, L2_BASE_TOKEN
from entresol.primitives.batches import SettlementStep, SettlementTransaction
from entresol.primitives.l2_to_l1_logs import L1_MESSENGER
from entresol.primitives.values import Address, Hash32
from entresol.rollup.batcher import Batcher
from entresol.rollup.batches import SealingPolicy
from entresol.rollup.open_transfers import OpenTransfers, Transfer
from entresol.storage.store import Store
from tests.support.chain.block_production import ETHER, GWEI, sender
from tests.support.chain.dev_chain import priority_transaction
from tests.support.chain.steering import revert
from tests.support.coroutines import completed
from tests.support.known import known
from tests.support.rollup.settling_chain import CHAIN_ID, GENESIS, USER, SettlingChain

NULLIFIER = Address(b"\x77" * 20)
REVERTER = Address(b"\x66" * 20)
# Sends what it is called with on to the messenger.
_SENDS = bytes.fromhex("365f5f37 5f5f365f5f6180085af100")

BRIDGING = Genesis.development(
    CHAIN_ID,
    [sender(USER)],
    10**6 * ETHER,
    {
        L1_MESSENGER: GenesisAccount(code=GENESIS.alloc[L1_MESSENGER].code, nonce=1),
        L2_BASE_TOKEN: GenesisAccount(code=_SENDS, nonce=1),
        L2_ASSET_ROUTER: GenesisAccount(code=_SENDS, nonce=1),
        REVERTER: GenesisAccount(code=bytes.fromhex("5f5ffd"), nonce=1),
    },
)


class FakeLayerOne:
    """An L1 that knows which withdrawals are claimed, and which deposits can be claimed back."""

    name = "an L1"

    def __init__(self) -> None:
        self.number = 1
        self.fork = 0
        self.claimed: set[tuple[int, int]] = set()
        self.refundable: set[bytes] = set()
        self.calls = 0
        self.is_away = False
        self.is_claimed: Callable[[bytes | tuple[int, int]], bool] = self._is_claimed

    def _is_claimed(self, place: bytes | tuple[int, int]) -> bool:
        """Return whether a withdrawal is claimed, or a failed deposit, which is named by its hash."""
        return place not in self.refundable if isinstance(place, bytes) else place in self.claimed

    async def head(self) -> L1Block:
        return self._block(self.number)

    async def block(self, number: int) -> L1Block | None:
        return self._block(number) if number <= self.number else None

    async def call(self, to: Address, data: bytes, *, block: int) -> bytes:
        assert (to, block) == (NULLIFIER, self.number)
        if self.is_away:
            raise LayerOneUnreachable("an L1", "it is away")
        self.calls += 1
        words = [data[at : at + 32] for at in range(4, len(data), 32)]
        assert int.from_bytes(words[0]) == CHAIN_ID
        if len(words) == 2:
            return bytes(32) if self.is_claimed(words[1]) else words[1]
        place = (int.from_bytes(words[1]), int.from_bytes(words[2]))
        return int(self.is_claimed(place)).to_bytes(32)

    def _block(self, number: int) -> L1Block:
        block_hash = Hash32(bytes([self.fork]) + number.to_bytes(31))
        return L1Block(
            number=number, hash=block_hash, parent_hash=block_hash, timestamp=0, base_fee=1
        )


class Bridge:
    """A chain, its batches, and the index of what is open on it."""

    def __init__(self, path: Path | None = None) -> None:
        self.chain = SettlingChain.begin(path, BRIDGING)
        self.l1 = FakeLayerOne()
        self.index = OpenTransfers(self.chain, self.l1, NULLIFIER)  # type: ignore[arg-type]
        self.batcher = Batcher(
            self.chain.blocks, self.chain.batches, SealingPolicy(max_age=10.0**9)
        )

    def withdraw(self, *, via: Address = L2_BASE_TOKEN) -> Hash32:
        name = self.chain.call_contract(via, (7).to_bytes(32) + (1).to_bytes(32))
        self.chain.builder.seal()
        return name

    def fail_deposit(self) -> Hash32:
        name = self.chain.enqueue(
            priority_transaction(
                self.chain.blocks.next_priority_id(),
                sender=b"\xde" * 20,
                to=REVERTER,
                gas_limit=300_000,
                fee=GWEI,
            )
        )
        self.chain.builder.seal()
        return name

    def execute(self) -> int:
        """Seal a batch of all blocks, and note that L1 has executed it."""
        batch = known(completed(self.batcher.seal(0.0)))
        for step in SettlementStep:
            by = SettlementTransaction(Hash32(b"\1" * 32), 1, 1_700_000_000)
            self.chain.batches.settle([batch.number], step, by)
        return batch.number

    def open(self, limit: int = 100) -> list[Transfer]:
        found, after = [], b""
        while True:
            page = asyncio.run(self.index.page(after, limit))
            found += page.transfers
            if page.following is None:
                return found
            after = page.following

    def summary(self) -> list[tuple[str, str]]:
        return [(transfer.kind, transfer.status) for transfer in self.open()]


@pytest.fixture
def bridge() -> Any:
    found = Bridge()
    yield found
    found.chain.close()


@pytest.mark.parametrize("via", [L2_BASE_TOKEN, L2_ASSET_ROUTER])
def test_a_withdrawal_is_open_until_it_is_claimed_on_l1(bridge: Bridge, via: Address) -> None:
    name = bridge.withdraw(via=via)
    (found,) = bridge.open()
    assert (found.kind, found.status, found.transaction) == ("withdrawal", "pending", name)
    assert (found.index, found.block, found.batch) == (0, 1, None)
    batch = bridge.execute()
    (found,) = bridge.open()
    assert (found.status, found.batch) == ("claimable", batch)
    bridge.l1.claimed.add((batch, 0))
    bridge.l1.number += 1
    assert bridge.open() == []


def test_a_message_is_open_until_it_can_be_proven(bridge: Bridge) -> None:
    bridge.chain.seal_messages(1, 2)
    assert bridge.summary() == [("message", "pending")] * 2
    bridge.execute()
    assert bridge.open() == []


def test_a_failed_deposit_is_open_while_l1_holds_its_tokens(bridge: Bridge) -> None:
    bridge.chain.deposit()
    bridge.chain.builder.seal()
    failed, ether = bridge.fail_deposit(), bridge.fail_deposit()
    bridge.l1.refundable.add(failed)
    assert [(transfer.kind, transfer.transaction) for transfer in bridge.open()] == [
        ("failedDeposit", failed)
    ]
    bridge.execute()
    assert bridge.summary() == [("failedDeposit", "claimable")]
    bridge.l1.refundable.clear()
    bridge.l1.number += 1
    assert bridge.open() == []
    assert ether != failed


def test_a_deposit_that_no_block_has_is_open(bridge: Bridge) -> None:
    names = [bridge.chain.deposit() for _ in range(3)]
    assert [(transfer.kind, transfer.transaction) for transfer in bridge.open(limit=1)] == [
        ("deposit", name) for name in names
    ]
    bridge.chain.builder.seal()
    assert bridge.open() == []


def test_pages_follow_one_another_without_gaps_and_skip_what_is_claimed(bridge: Bridge) -> None:
    names = [bridge.withdraw() for _ in range(20)]
    batch = bridge.execute()
    bridge.l1.claimed |= {(batch, leaf) for leaf in range(20) if leaf not in {3, 17}}
    assert [transfer.transaction for transfer in bridge.open(limit=2)] == [names[3], names[17]]


def test_what_l1_has_claimed_is_asked_once_and_what_is_open_once_a_block(bridge: Bridge) -> None:
    for _ in range(3):
        bridge.withdraw()
    batch = bridge.execute()
    bridge.l1.claimed |= {(batch, 0), (batch, 1)}
    bridge.open()
    # What is claimed is closed by two responses.
    assert bridge.l1.calls == 5
    bridge.open()
    assert bridge.l1.calls == 5
    bridge.l1.number += 1
    bridge.open()
    assert bridge.l1.calls == 6


@pytest.mark.parametrize("kind", ["withdrawal", "failedDeposit"])
def test_nothing_is_closed_because_l1_says_so_once(bridge: Bridge, kind: str) -> None:
    name = bridge.withdraw() if kind == "withdrawal" else bridge.fail_deposit()
    batch = bridge.execute()
    is_claimed = bridge.l1.is_claimed

    def lie(place: bytes | tuple[int, int]) -> bool:
        bridge.l1.is_claimed = is_claimed
        return not is_claimed(place)

    bridge.l1.refundable.add(name)
    bridge.l1.is_claimed = lie
    assert [transfer.transaction for transfer in bridge.open()] == [name]
    bridge.l1.refundable.clear()
    bridge.l1.claimed.add((batch, 0))
    bridge.l1.number += 1
    assert bridge.open() == []


def test_a_claim_that_a_reorg_of_l1_removes_opens_the_withdrawal_again(bridge: Bridge) -> None:
    name = bridge.withdraw()
    batch = bridge.execute()
    bridge.l1.claimed.add((batch, 0))
    assert bridge.open() == []
    bridge.l1.claimed.clear()
    bridge.l1.fork = 1
    assert [transfer.transaction for transfer in bridge.open()] == [name]


def test_a_revert_of_the_chain_removes_what_its_blocks_had(bridge: Bridge) -> None:
    kept = bridge.withdraw()
    checkpoint = bridge.chain.history.mark()
    bridge.withdraw()
    revert(bridge.chain, checkpoint)
    assert [transfer.transaction for transfer in bridge.open()] == [kept]
    bridge.chain.builder.seal()
    assert [transfer.transaction for transfer in bridge.open()] == [kept]


def test_the_index_is_there_after_a_restart_and_after_a_rebuild(tmp_path: Path) -> None:
    bridge = Bridge(tmp_path)
    name, claimed = bridge.withdraw(), bridge.withdraw()
    batch = bridge.execute()
    bridge.l1.claimed.add((batch, 1))
    assert [transfer.transaction for transfer in bridge.open()] == [name]
    bridge.chain.close()
    again = Bridge(tmp_path)
    again.l1.claimed.add((batch, 1))
    assert [transfer.transaction for transfer in again.open()] == [name]
    assert again.l1.calls == 1
    again.chain.close()
    store = Store.open(tmp_path, durable=False, rebuilding=True)
    rebuild(store)
    store.close()
    rebuilt = Bridge(tmp_path)
    rebuilt.l1.claimed.add((batch, 1))
    assert [transfer.transaction for transfer in rebuilt.open()] == [name]
    assert rebuilt.l1.calls == 3
    rebuilt.chain.close()
    assert claimed != name


def test_nothing_is_closed_while_l1_is_away(bridge: Bridge) -> None:
    bridge.withdraw()
    bridge.execute()
    bridge.l1.is_away = True
    with pytest.raises(LayerOneUnreachable):
        bridge.open()
    bridge.l1.is_away = False
    assert bridge.summary() == [("withdrawal", "claimable")]
