"""Books of executed batches, with the real contracts: what is booked, what is not, and what L1 does meanwhile."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from unittest.mock import AsyncMock, patch

import msgspec
import pytest

from entresol.chain.genesis.genesis import Genesis
from entresol.errors import LayerOneFailed, LayerOneMismatch, LayerOneRejected
from entresol.l1.deployment import SettlementContracts
from entresol.l1.fee_limits import FeeLimits
from entresol.l1.layer_one import MAX_REORG_DEPTH
from entresol.l1.operator import Operator
from entresol.primitives import abi
from entresol.primitives.base_token import ETHER_TOKEN, asset_id
from entresol.primitives.batches import SettlementStep
from entresol.primitives.interop_bundles import INTEROP_CENTER, BundleCall, InteropBundle
from entresol.primitives.transactions import decode, sign
from entresol.primitives.values import Address, Hash32
from entresol.rollup.settlement.bookkeeper import BooksContract
from entresol.rollup.settlement.settler import SettlementConfig
from tests.support.chain.block_production import ETHER, sender
from tests.support.coroutines import completed
from tests.support.evm.bundle_senders import ALLOC
from tests.support.known import known
from tests.support.played import played
from tests.support.rollup.layer_ones import CHAIN_ID as L1_CHAIN_ID
from tests.support.rollup.layer_ones import layer_one
from tests.support.rollup.settlement_scenario import OPERATOR, Scenario, run, send
from tests.support.rollup.settling_chain import CHAIN_ID, USER

OTHER = 271
STEPS = 10
ETHER_ASSET = asset_id(L1_CHAIN_ID, ETHER_TOKEN.l1_address)
BOB = Address(b"\xb0" * 20)
GENESIS = Genesis.development(CHAIN_ID, [sender(USER)], 10**6 * ETHER, ALLOC)
Play = Callable[[Scenario], Awaitable[None]]


def play_with_two(
    play: Play, *, path: Path | None = None, config: SettlementConfig | None = None
) -> None:
    with layer_one("embedded") as steered:
        run(steered, play, path=path, config=config, genesis=GENESIS, chains_beside=(OTHER,))


def play_with_two_on_disk(play: Play, tmp_path: Path) -> None:
    play_with_two(play, path=tmp_path)


def bundle(value: int = 0, *, salt: int = 1, destination: int = OTHER) -> InteropBundle:
    return InteropBundle(
        source=CHAIN_ID,
        destination=destination,
        base_token=ETHER_ASSET,
        salt=Hash32(salt.to_bytes(32)),
        calls=(BundleCall(BOB, sender(USER), value, b"\1\2\3"),),
    )


def seal_bundles(scenario: Scenario, *bundles: InteropBundle) -> int:
    """Seal a batch of one block with these bundles, and return its number."""
    for it in bundles:
        scenario.chain.call_contract(INTEROP_CENTER, abi.encode("(bytes)", (it.message(),)))
    scenario.chain.builder.seal()
    batch = known(completed(scenario.batcher.seal(0.0)))
    return batch.number


def contract_of(scenario: Scenario) -> BooksContract:
    address = known(scenario.contracts.addresses.message_root)
    return BooksContract(scenario.l1, address, CHAIN_ID)


async def is_settled(scenario: Scenario, batch: int) -> bool:
    return await contract_of(scenario).is_settled(batch, (await scenario.l1.head()).hash)


async def settle(scenario: Scenario, now: float = 0.0) -> None:
    """Settle and book until nothing is left to do."""
    async with asyncio.timeout(60):
        while await scenario.settler.step(now) or scenario.is_pending:
            pass


async def execute(scenario: Scenario) -> None:
    """Settle until all batches are executed, and book none."""
    wanted = scenario.batcher.last.number
    with patch.object(scenario.settler.books, "advance", AsyncMock(return_value=False)):
        async with asyncio.timeout(30):
            while scenario.batches.last_settled(SettlementStep.EXECUTE) < wanted:
                await scenario.settler.step(0.0)
                await asyncio.sleep(0)


async def send_next_books(scenario: Scenario) -> None:
    """Step until a transaction with books is pending."""
    async with asyncio.timeout(10):
        while not scenario.settler.books.is_sending:
            await scenario.settler.step(0.0)
            await asyncio.sleep(0)


def problem_of(scenario: Scenario, batch: int) -> str | None:
    return scenario.settler.books.problem_of(batch)


def settle_call(scenario: Scenario, batch: int, *bundles: InteropBundle) -> bytes:
    logs = scenario.batches.logs(batch)
    return contract_of(scenario).settle_call(batch, logs, [bundle.message() for bundle in bundles])


async def chain_balance(contracts: SettlementContracts, scenario: Scenario, chain_id: int) -> int:
    call = abi.encode_call("chainBalance(uint256,bytes32)", chain_id, ETHER_ASSET)
    return int.from_bytes(await scenario.l1.call(contracts.native_token_vault, call))


@played(play_with_two)
async def test_an_executed_batch_is_booked_with_what_its_bundles_carry(scenario: Scenario) -> None:
    await scenario.contracts.deposit(BOB, ETHER)
    number = seal_bundles(scenario, bundle(5), bundle(7, salt=2), bundle(salt=3))
    await settle(scenario)
    assert await is_settled(scenario, number)
    assert await chain_balance(scenario.contracts.addresses, scenario, OTHER) == 12
    by = known(scenario.batches.books.get(number))
    receipt = known(await scenario.l1.receipt(by.transaction))
    assert (receipt.block_number, receipt.succeeded) == (by.block, True)
    assert problem_of(scenario, number) is None
    assert (scenario.settler.books.last, scenario.settler.books.rejected) == (number, 0)


@played(play_with_two)
async def test_only_batches_with_messages_are_booked(scenario: Scenario) -> None:
    await scenario.contracts.deposit(BOB, ETHER)
    await scenario.watcher.step()
    scenario.chain.builder.seal()
    completed(scenario.batcher.seal(0.0))
    scenario.chain.transfer()
    scenario.chain.builder.seal()
    completed(scenario.batcher.seal(0.0))
    assert seal_bundles(scenario, bundle()) == 3
    await settle(scenario)
    assert [await is_settled(scenario, number) for number in (1, 2, 3)] == [False, False, True]


def test_a_single_chain_books_nothing_and_sends_nothing_more() -> None:
    async def play(scenario: Scenario) -> None:
        number = seal_bundles(scenario, bundle())
        before = await scenario.l1.nonce(OPERATOR.address)
        await settle(scenario)
        assert await scenario.l1.nonce(OPERATOR.address) == before + 3
        assert not await is_settled(scenario, number)
        assert problem_of(scenario, number) is None

    with layer_one("embedded") as steered:
        run(steered, play, genesis=GENESIS)


@played(play_with_two)
async def test_a_batch_that_is_not_covered_holds_up_no_other_and_is_booked_once_it_is(
    scenario: Scenario, caplog: pytest.LogCaptureFixture
) -> None:
    poor = seal_bundles(scenario, bundle(5))
    fine = seal_bundles(scenario, bundle(salt=2))
    with caplog.at_level(logging.WARNING):
        await settle(scenario)
        await settle(scenario, 100.0)
    assert [await is_settled(scenario, it) for it in (poor, fine)] == [False, True]
    problem = known(problem_of(scenario, poor))
    assert problem.startswith("InteropValueNotCovered(270, 1, ")
    assert problem.endswith(", 5)")
    assert sum("InteropValueNotCovered" in record.message for record in caplog.records) == 1
    assert scenario.settler.stopped is None
    assert scenario.settler.problem is None
    # Without any pause: L1 has a new block.
    await scenario.contracts.deposit(BOB, ETHER)
    await settle(scenario, 100.0)
    assert await is_settled(scenario, poor)
    assert problem_of(scenario, poor) is None


@played(play_with_two)
async def test_a_bundle_that_is_not_covered_holds_up_no_other_of_its_batch(
    scenario: Scenario,
) -> None:
    await scenario.contracts.deposit(BOB, ETHER)
    number = seal_bundles(scenario, bundle(7), bundle(2 * ETHER, salt=2), bundle(5, salt=3))
    await settle(scenario)
    assert await chain_balance(scenario.contracts.addresses, scenario, OTHER) == 12
    assert (problem_of(scenario, number) or "").startswith("InteropValueNotCovered(270, 1, ")
    assert scenario.batches.books.get(number) is None
    await scenario.contracts.deposit(BOB, 2 * ETHER)
    await settle(scenario, 100.0)
    assert await chain_balance(scenario.contracts.addresses, scenario, OTHER) == 12 + 2 * ETHER
    assert problem_of(scenario, number) is None
    assert await is_settled(scenario, number)


@played(play_with_two)
async def test_a_batch_whose_transaction_l1_does_not_take_holds_up_no_other(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    rejected = seal_bundles(scenario, bundle())
    fine = seal_bundles(scenario, bundle(salt=2))
    await execute(scenario)
    call, take = settle_call(scenario, rejected, bundle()), scenario.l1.send

    async def send_small(raw: bytes) -> None:
        if decode(raw).payload.data == call:
            raise LayerOneRejected("eth_sendRawTransaction", -32000, "oversized data")
        await take(raw)

    monkeypatch.setattr(scenario.l1, "send", send_small)
    await settle(scenario)
    assert [await is_settled(scenario, it) for it in (rejected, fine)] == [False, True]
    assert "oversized data" in (problem_of(scenario, rejected) or "")
    monkeypatch.undo()
    await settle(scenario, 100.0)
    assert await is_settled(scenario, rejected)


@played(play_with_two)
async def test_books_that_another_account_settled_are_recorded(scenario: Scenario) -> None:
    sent = bundle()
    number = seal_bundles(scenario, sent)
    await execute(scenario)
    address = contract_of(scenario).address
    call = settle_call(scenario, number, sent)
    receipt = await send(scenario.l1, scenario.contracts.owner, address, call)
    assert receipt.succeeded
    before = await scenario.l1.nonce(OPERATOR.address)
    await settle(scenario)
    by = known(scenario.batches.books.get(number))
    assert by.transaction == receipt.transaction_hash
    assert await scenario.l1.nonce(OPERATOR.address) == before


@played(play_with_two)
async def test_a_reorg_that_removes_the_block_at_which_l1_is_asked_is_no_problem_of_the_books(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    steered = scenario.layer_one
    number = seal_bundles(scenario, bundle())
    await execute(scenario)
    checkpoint = steered.checkpoint()
    steered.mine()
    ask = BooksContract.is_settled

    async def ask_after_a_reorg(contract: BooksContract, batch: int, block: Hash32) -> bool:
        monkeypatch.undo()
        steered.restore(checkpoint)
        return await ask(contract, batch, block)

    monkeypatch.setattr(BooksContract, "is_settled", ask_after_a_reorg)
    await settle(scenario)
    await settle(scenario, 100.0)
    assert await is_settled(scenario, number)
    assert "cannot book batches: L1 rejected" in caplog.text
    assert "does not book" not in caplog.text


@pytest.mark.parametrize("mined", [0, 2 * MAX_REORG_DEPTH])
@played(play_with_two)
async def test_books_that_a_reorg_removes_just_after_they_are_recorded_are_settled_again(
    scenario: Scenario, mined: int
) -> None:
    steered = scenario.layer_one
    number = seal_bundles(scenario, bundle())
    while await scenario.totals() != (1, 1, 1):
        await scenario.settler.step(0.0)
    # The records are right at this block, which stays.
    await scenario.settler.step(0.0)
    assert scenario.batches.books.get(number) is None
    checkpoint = steered.checkpoint()
    for _ in range(STEPS):
        if scenario.batches.books.get(number) is None:
            await scenario.settler.step(0.0)
    assert await is_settled(scenario, number)
    steered.restore(checkpoint)
    # L1 may have made many others before the settler looks.
    steered.mine(mined)
    assert not await is_settled(scenario, number)
    for _ in range(STEPS):
        await scenario.settler.step(0.0)
    assert await is_settled(scenario, number)


@played(play_with_two)
async def test_books_without_their_gas_are_not_written_again_by_a_check_after_a_start(
    scenario: Scenario,
) -> None:
    number = seal_bundles(scenario, bundle())
    await settle(scenario)
    booked = known(scenario.batches.books.get(number))
    assert booked.gas_used is None
    settler = scenario.new_settler()
    await settler.step(0.0)
    version = scenario.batches.version
    for _step in range(STEPS):
        await scenario.new_settler().step(0.0)
    assert (scenario.batches.version, scenario.batches.books.get(number)) == (version, booked)


@played(play_with_two)
async def test_a_transaction_that_comes_too_late_is_no_problem(scenario: Scenario) -> None:
    steered = scenario.layer_one
    sent = bundle()
    number = seal_bundles(scenario, sent)
    await execute(scenario)
    steered.mine_on_request()
    # The other account offers more, so that its transaction comes first.
    other = Operator(scenario.l1, scenario.contracts.owner.secret, FeeLimits(multiplier=50.0))
    call = settle_call(scenario, number, sent)
    theirs = await other.sign_call(contract_of(scenario).address, call)
    payload = msgspec.structs.replace(
        theirs.payload,
        max_fee_per_gas=9 * theirs.payload.max_fee_per_gas,
        max_priority_fee_per_gas=9 * theirs.payload.max_fee_per_gas,
    )
    await send_next_books(scenario)
    faster = sign(payload, scenario.contracts.owner.secret)
    await scenario.l1.send(faster.raw)
    steered.mine()
    await settle(scenario)
    by = known(scenario.batches.books.get(number))
    assert by.transaction == faster.hash
    assert problem_of(scenario, number) is None


@played(play_with_two)
async def test_a_transaction_that_l1_drops_is_sent_again(scenario: Scenario) -> None:
    steered = scenario.layer_one
    number = seal_bundles(scenario, bundle())
    await execute(scenario)
    steered.mine_on_request()
    await send_next_books(scenario)
    transactions = scenario.settler._sender(SettlementStep.EXECUTE).transactions
    assert transactions.calling is not None
    steered.drop(transactions.calling)
    steered.mine(2)
    await scenario.settler.step(1.0)
    steered.mine()
    await settle(scenario, 2.0)
    assert await is_settled(scenario, number)
    assert scenario.batches.books.get(number) is not None


@played(play_with_two)
async def test_steps_and_books_take_turns(scenario: Scenario) -> None:
    for salt in range(1, 5):
        seal_bundles(scenario, bundle(salt=salt))
    await execute(scenario)
    done: list[tuple[int, int]] = []
    later = 4
    while len(scenario.batches.books.above(0)) < 4 or later < 8:
        if later < 8:
            later = seal_bundles(scenario, bundle(salt=later + 1))
        await scenario.settler.step(0.0)
        totals = await scenario.totals()
        done.append((len(scenario.batches.books.above(0)), sum(totals)))
    # Neither waits for all of the other.
    assert any(booked and booked < 4 and steps > 12 for booked, steps in done)
    await settle(scenario)
    assert len(scenario.batches.books.above(0)) == 8


@played(play_with_two_on_disk)
async def test_a_problem_is_known_after_a_restart_and_tried_again(scenario: Scenario) -> None:
    number = seal_bundles(scenario, bundle(5))
    await settle(scenario)
    scenario.restart()
    assert "InteropValueNotCovered" in (problem_of(scenario, number) or "")
    await scenario.contracts.deposit(BOB, ETHER)
    await settle(scenario)
    assert await is_settled(scenario, number)


@played(play_with_two, config=SettlementConfig(is_on_request=True))
async def test_books_are_settled_on_request(scenario: Scenario) -> None:
    number = seal_bundles(scenario, bundle())
    with pytest.raises(LayerOneFailed, match="batch 1 is not executed"):
        await scenario.settler.book(number)

    for step in SettlementStep:
        await scenario.settler.settle(step, number)
    assert not await is_settled(scenario, number)
    done = await scenario.settler.book(number)
    assert await is_settled(scenario, number)
    assert await scenario.settler.book(number) == done


@played(play_with_two)
async def test_books_on_request_say_why_they_cannot_be_settled(scenario: Scenario) -> None:
    number = seal_bundles(scenario, bundle(5))
    await settle(scenario)
    with pytest.raises(LayerOneMismatch, match="batch 1 is not booked: InteropValueNotCovered"):
        await scenario.settler.book(number)


@played(play_with_two)
async def test_a_batch_with_more_logs_than_l1_books_is_not_sent(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("entresol.rollup.settlement.bookkeeper.MAX_BOOKED_LOGS", 1)

    number = seal_bundles(scenario, bundle(), bundle(salt=2))
    await settle(scenario)
    assert problem_of(scenario, number) == "it has 2 messages to L1, and L1 books 1 at most"
    assert not await is_settled(scenario, number)
