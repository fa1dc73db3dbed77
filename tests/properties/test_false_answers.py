"""One false answer of L1 at a time, of any method: nothing false is ever in a block, nor stays in what is recorded.

A chain takes deposits, settles, is booked, imports the roots of another chain, lists open withdrawals and follows prices,
through the client of a remote L1. `make false-answers` does so for an hour.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import shutil
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from entresol.chain.fees import FeeModel
from entresol.chain.genesis.genesis import Genesis
from entresol.errors import EntresolError
from entresol.l1.contracts import (
    BATCH_COMMITTED,
    BATCH_EXECUTED,
    BATCHES_VERIFIED,
    Bridgehub,
    ZkChain,
)
from entresol.l1.discovery import find_contracts, find_deployment_block
from entresol.l1.embedded import EmbeddedLayerOne
from entresol.l1.fee_limits import FeeLimits
from entresol.l1.layer_one import L1Log, LayerOne
from entresol.l1.operator import Operator, OperatorKeys
from entresol.primitives import abi
from entresol.primitives.base_token import ETHER_TOKEN, L2_BASE_TOKEN, EtherPrice, asset_id
from entresol.primitives.batches import SettlementStep, SettlementTransaction
from entresol.primitives.interop_bundles import INTEROP_CENTER, BundleCall, InteropBundle
from entresol.primitives.values import Address, Hash32
from entresol.rollup.batcher import Batcher
from entresol.rollup.batches import SealingPolicy
from entresol.rollup.interop.root_follower import RootFollower
from entresol.rollup.interop.root_reader import MessageRootContract
from entresol.rollup.interop.root_trees import MessageTrees
from entresol.rollup.l1_prices import EtherPriceWatcher, GasPriceWatcher
from entresol.rollup.open_transfers import OpenTransfers
from entresol.rollup.settlement.bookkeeper import BATCH_APPENDED
from entresol.rollup.settlement.settler import SettlementConfig, Settler
from entresol.sequencer.sequencer import InlineSequencer
from tests.robustness.false_answers import FalseAnswerRemote
from tests.support.chain.block_production import ETHER, sender
from tests.support.chain.dev_chain import IMPORTING
from tests.support.coroutines import completed
from tests.support.evm.bundle_senders import ALLOC
from tests.support.known import known
from tests.support.rollup.layer_ones import ACCOUNTS
from tests.support.rollup.layer_ones import CHAIN_ID as L1_CHAIN_ID
from tests.support.rollup.settlement_scenario import DeployedContracts, Scenario, run, send
from tests.support.rollup.settling_chain import CHAIN_ID, RECEIVER, USER, SettlingChain

SECONDS = float(os.environ.get("ENTRESOL_FALSE_ANSWERS_SECONDS", "600"))
"""How long `make test-long` lies; `make false-answers` sets an hour."""
ROUNDS = 25
ROUNDS_OF_A_SEED = 150
RESTARTED = 0.1
ATTEMPTS = 4
MOST_ATTEMPTS = 100
"""Within which all is done once L1 is honest."""
OTHER = 271
NEIGHBOUR = ACCOUNTS[4]
"""Who settles the other chain."""
ETHER_ASSET = asset_id(L1_CHAIN_ID, ETHER_TOKEN.l1_address)
PREDEPLOYS = {**IMPORTING.alloc, **ALLOC}
# Sends messages, as the center does.
PREDEPLOYS[L2_BASE_TOKEN] = ALLOC[INTEROP_CENTER]
PREDEPLOYS |= {address: IMPORTING.alloc[address] for address in IMPORTING.alloc if address in ALLOC}
GENESIS = Genesis.development(CHAIN_ID, [sender(USER)], 10**6 * ETHER, PREDEPLOYS)


class Neighbour:
    """Another chain, which settles on the true L1, so that there are roots to import."""

    def __init__(self, scenario: Scenario, l1: LayerOne, contract: Address) -> None:
        self.chain = SettlingChain.begin(None, GENESIS, chain_id=OTHER)
        self.batcher = Batcher(self.chain.blocks, self.chain.batches, SealingPolicy(max_age=1e9))
        keys = OperatorKeys.of(NEIGHBOUR.secret)
        self.settler = Settler(
            self.chain,
            ZkChain(l1, contract),
            {Operator(l1, key.secret): key.steps for key in keys.keys},
            scenario.contracts.timelock,
            message_root=scenario.contracts.addresses.message_root,
        )

    async def append_root(self, salt: int) -> None:
        """Settle a batch with a bundle, so that L1 has another root."""
        seal_bundle(self.chain, self.batcher, CHAIN_ID, salt)
        number = self.batcher.last.number
        async with asyncio.timeout(60):
            while self.chain.batches.books.get(number) is None:
                await self.settler.step(float(salt))


def seal_bundle(chain: SettlingChain, batcher: Batcher, to: int, salt: int) -> Hash32:
    """Seal a batch with a bundle and a withdrawal, and return the transaction of the latter."""
    call = BundleCall(RECEIVER, sender(USER), 0, b"\1")
    bundle = InteropBundle(
        chain.rules.chain_id, to, ETHER_ASSET, Hash32(salt.to_bytes(32)), (call,)
    )
    chain.call_contract(INTEROP_CENTER, abi.encode("(bytes)", (bundle.message(),)))
    withdrawal = chain.call_contract(L2_BASE_TOKEN, abi.encode("(bytes)", (b"\1",)))
    chain.builder.seal()
    assert completed(batcher.seal(0.0)) is not None
    return withdrawal


class World:
    """A chain that follows an L1 which lies now and then, and the truth to compare it with."""

    neighbour: Neighbour
    message_root: MessageRootContract

    def __init__(
        self, scenario: Scenario, remote: FalseAnswerRemote, choice: random.Random
    ) -> None:
        self.scenario, self.remote, self.choice = scenario, remote, choice
        self.answers = remote.answers
        self.l1 = EmbeddedLayerOne(remote.chain, remote.sequencer)
        self.contract = ZkChain(self.l1, scenario.contracts.chain.address)
        self.now = 0.0
        self._deposits: list[bytes] = []
        self._withdrawals: set[Hash32] = set()
        """None of which is claimed."""
        self._gas_prices = {FeeModel().l1_gas_price}
        self._ether_prices = {EtherPrice()}
        self._checked = 0
        self.first_block = 0
        """From which on all contracts are there."""

    async def begin(self) -> None:
        contracts = self.scenario.contracts
        self.first_block = (await self.l1.head()).number
        hub, timelock = contracts.addresses.bridgehub, contracts.timelock
        other = await Bridgehub(self.l1, hub).zk_chain(OTHER)
        call = abi.encode_call("addValidator(address,address)", other, NEIGHBOUR.address)
        assert (await send(self.l1, contracts.owner, timelock, call)).succeeded
        assert contracts.addresses.message_root is not None
        self.message_root = MessageRootContract(self.l1, contracts.addresses.message_root, hub, 0)
        self.neighbour = Neighbour(self.scenario, self.l1, other)
        self.serve()

    def serve(self) -> None:
        """Begin to follow L1, as after a start."""
        scenario = self.scenario
        chain, l1 = scenario.chain, scenario.l1
        contract = MessageRootContract(
            l1, self.message_root.address, scenario.contracts.addresses.bridgehub, 0
        )
        self.follower = RootFollower(chain, InlineSequencer(chain), contract, L1_CHAIN_ID)
        self.fees, self.token_fees = FeeModel(), FeeModel(ether_price=EtherPrice())
        self.gas_price = GasPriceWatcher(l1, self.fees, FeeLimits())
        self.ether_price = EtherPriceWatcher(scenario.contracts.chain, self.token_fees)
        self.transfers = OpenTransfers(chain, l1, scenario.contracts.addresses.nullifier)

    # What happens

    async def round(self, number: int) -> None:
        """Let something happen, answer falsely once while it is followed, and then only truly."""
        if self.choice.random() < RESTARTED:
            self.scenario.restart()
            self.serve()
        await self.work(number)
        self.answers.falsify_any_kind(self.choice.randrange(3))
        for _ in range(ATTEMPTS):
            await self.attempt()
            await self.check_blocks()
        self.answers.tell_truth()
        for _ in range(MOST_ATTEMPTS):
            if await self.is_done():
                break
            self.now += 100.0
            await self.attempt()
            await self.check_blocks()
        assert await self.is_done(), "L1 is honest, and not all is done"
        await self.check_records()

    async def work(self, number: int) -> None:
        choice, scenario = self.choice, self.scenario
        contracts = scenario.contracts
        honest = DeployedContracts(self.contract, CHAIN_ID, contracts.addresses, contracts.owner)
        for _ in range(choice.randrange(4)):
            await honest.deposit(RECEIVER, choice.randrange(ETHER))
        if choice.random() < 0.3:
            price = choice.randrange(1, 100)
            call = abi.encode_call("setTokenMultiplier(uint128,uint128)", price, 1)
            assert (await send(self.l1, contracts.owner, self.contract.address, call)).succeeded
        if choice.random() < 0.5:
            await self.neighbour.append_root(number + 1)
        if choice.random() < 0.8:
            self._withdrawals.add(seal_bundle(scenario.chain, scenario.batcher, OTHER, number + 1))

    async def attempt(self) -> None:
        """Let every service try a step; only errors that it expects may come of it."""
        self.now += 1.0
        steps: tuple[Callable[[], Awaitable[object]], ...] = (
            self.scenario.watcher.step,
            self.follower.step,
            self.gas_price.step,
            self.ether_price.step,
            self.transfers.page,
            *[lambda: self.scenario.settler.step(self.now)] * 3,
            self.discover,
        )
        for step in steps:
            with contextlib.suppress(EntresolError):
                await step()
            chain = self.scenario.chain
            if chain.filler.priority or len(chain.filler.roots):
                chain.builder.seal()

    async def discover(self) -> None:
        if self.choice.random() < 0.9:
            return
        addresses = self.scenario.contracts.addresses
        found = await find_contracts(self.scenario.l1, addresses.bridgehub, CHAIN_ID)
        first = await find_deployment_block(self.scenario.l1, addresses.chain)
        assert found == addresses, self.answers.told
        assert first <= self.first_block, self.answers.told

    async def is_done(self) -> bool:
        scenario = self.scenario
        last = scenario.batcher.last.number
        return (
            (await self.contract.totals()).executed == last
            and scenario.watcher.next_id == await self.contract.total_priority_transactions()
            and not scenario.chain.filler.priority
            and self.follower.block == (await self.l1.head()).number
            and not len(scenario.chain.filler.roots)
            and scenario.chain.finality.finalized == scenario.batcher.last.last_block
            and all(scenario.batches.books.get(number + 1) for number in range(last))
        )

    # The truth

    async def check_blocks(self) -> None:
        chain, told = self.scenario.chain, self.answers.told
        await self.read_truth()
        for number in range(chain.blocks.next_priority_id()):
            location = known(chain.blocks.locate_priority(number))
            record = chain.blocks.record(location.block_number)
            assert record.transaction(location.transaction_index).hash == self._deposits[number], (
                told
            )
        imported = self.follower.importer.imported
        roots = chain.batches.roots.read(0, 2**62, 10**6)
        for root in roots:
            if any(imported.get(root.block_number)):
                truth, timestamp = await self.message_root.historical_root(root.block_number)
                assert (root.root, root.timestamp) == (truth, timestamp), told
                assert imported.get(root.block_number) == truth, told
        totals = await self.contract.totals()
        executed = known(chain.batches.get(totals.executed))
        committed = known(chain.batches.get(totals.committed))
        assert chain.finality.finalized <= executed.last_block, told
        assert chain.finality.safe <= committed.last_block, told
        assert self.fees.l1_gas_price in self._gas_prices, told
        assert self.token_fees.ether_price in self._ether_prices, told

    async def read_truth(self) -> None:
        head, tip = (await self.l1.head()).number, (await self.l1.fees()).tip
        found = await self.contract.deposits(self._checked + 1, head)
        self._deposits += [it.payload.hash() for it in found]
        for number in range(max(self.first_block, self._checked + 1), head + 1):
            block = known(await self.l1.block(number))
            self._gas_prices.add(block.base_fee + tip)
            self._ether_prices.add(await self.contract.ether_price(number))
        self._checked = head

    async def check_records(self) -> None:
        chain, told, head = self.scenario.chain, self.answers.told, await self.l1.head()
        listed = {log.transaction for log in chain.open_logs.read(b"", 10**6)}
        assert listed >= self._withdrawals, told
        last = self.scenario.batcher.last.number
        address = self.contract.address
        for number in range(max(1, last - 5), last + 1):
            word = Hash32(number.to_bytes(32))
            commit = await self.l1.logs(address, [BATCH_COMMITTED, word], 0, head.number)
            proofs = await self.l1.logs(address, [BATCHES_VERIFIED], 0, head.number)
            proof = [proof for proof in proofs if proof.topics[1] < word <= proof.topics[2]]
            execution = await self.l1.logs(address, [BATCH_EXECUTED, word], 0, head.number)
            for step, events in zip(SettlementStep, (commit, proof, execution), strict=True):
                truth = await self.transaction_of(events[-1])
                assert chain.batches.settled(number, step) == truth, (step, number, told)
            topics = [BATCH_APPENDED, Hash32(CHAIN_ID.to_bytes(32)), word]
            [books] = await self.l1.logs(self.message_root.address, topics, 0, head.number)
            booked = known(chain.batches.books.get(number))
            assert booked.is_at_place_of(await self.transaction_of(books)), told
        for cursor in (chain.batches.deposit_cursor(), chain.batches.roots.cursor()):
            if cursor is None:
                continue
            block = known(await self.l1.block(cursor.block))
            assert block.hash == cursor.block_hash, told
        roots = known(chain.batches.roots.cursor())
        trees = MessageTrees.decode(roots.trees)
        assert trees.root() == await self.message_root.root_at(roots.block), told

    async def transaction_of(self, event: L1Log) -> SettlementTransaction:
        receipt = known(await self.l1.receipt(event.transaction_hash))
        block = known(await self.l1.block(event.block_number))
        return SettlementTransaction(
            receipt.transaction_hash, block.number, block.timestamp, receipt.gas_used
        )


def play(path: Path, seed: int, rounds: int, deadline: float = float("inf")) -> None:
    choice = random.Random(seed)
    remote = FalseAnswerRemote(choice)

    async def whole(scenario: Scenario) -> None:
        world = World(scenario, remote, choice)
        await world.begin()
        try:
            for number in range(rounds):
                if time.monotonic() > deadline:
                    break
                try:
                    await world.round(number)
                except BaseException as failure:
                    failure.add_note(f"seed {seed}, round {number}: {remote.answers.told}")
                    raise
        finally:
            world.neighbour.chain.close()

    try:
        run(
            *(remote, whole),
            path=path / "chain",
            config=SettlementConfig(retry_seconds=1.0),
            genesis=GENESIS,
            chains_beside=(OTHER,),
        )
    finally:
        remote.close()
    sys.stderr.write(f"{sum(remote.answers.counted.values())} false answers\n")
    # Otherwise this proves nothing.
    assert remote.answers.counted


@pytest.mark.slow
def test_nothing_that_l1_said_once_is_in_a_block(tmp_path: Path) -> None:
    play(tmp_path, int(os.environ.get("ENTRESOL_SEED", "0")), ROUNDS)


@pytest.mark.slow
def test_nothing_that_l1_said_once_is_in_a_block_for_any_length_of_time(tmp_path: Path) -> None:
    deadline, seed = time.monotonic() + SECONDS, int(os.environ.get("ENTRESOL_SEED", "1"))
    while time.monotonic() < deadline:
        sys.stderr.write(f"seed {seed}: ")
        folder = tmp_path / str(seed)
        folder.mkdir()
        play(folder, seed, ROUNDS_OF_A_SEED, deadline)
        shutil.rmtree(folder)
        seed += 1
