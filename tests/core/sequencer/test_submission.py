from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import msgspec
import pytest

from entresol.chain.chain import Chain
from entresol.chain.mempool import PoolConfig
from entresol.errors import InsufficientFunds, InvalidTransaction, NonceTooLow, PoolRejection
from entresol.offload import POLICY, started
from entresol.primitives.transactions import Transaction, sign
from entresol.primitives.values import Address, Hash32
from entresol.sequencer.decode_queue import INLINE_DECODED
from entresol.sequencer.local import LocalSequencer
from entresol.sequencer.sequencer import InlineSequencer
from entresol.sequencer.submission import Submission
from tests.support.chain.dev_chain import (
    ALICE,
    ETHER,
    FEE,
    GENESIS,
    RULES,
    SECRETS,
    fee_market,
    transaction,
)
from tests.support.polling import PATIENCE_SECONDS

POOR = bytes([9]) * 32


async def outcomes(chain: Chain, *raws: bytes) -> list[object]:
    """Submit raw transactions in one turn of the event loop; return the hash or the error of each."""
    sequencer = LocalSequencer(chain)
    submission = Submission(chain, sequencer)
    results = [submission.submit(raw) for raw in raws]
    async with asyncio.timeout(PATIENCE_SECONDS):
        found: list[object] = list(await asyncio.gather(*results, return_exceptions=True))
    await sequencer.stop()
    return found


def transfer(nonce: int, secret: bytes, to: Address, wei: int = 1, fee: int = FEE) -> Transaction:
    return sign(
        fee_market(nonce, to, value=wei, fee=fee),
        secret,
    )


def poor() -> Address:
    return transfer(0, POOR, Address(bytes(20))).sender


@pytest.mark.parametrize("count", [1, 2, INLINE_DECODED + 1, 100])
def test_raw_transactions_of_one_turn_are_decoded_together_and_share_a_block(
    chain: Chain, count: int
) -> None:
    sent = [transaction(nonce, by=by) for nonce in range(-(-count // 2)) for by in (0, 1)][:count]
    assert asyncio.run(outcomes(chain, *(it.raw for it in sent))) == [it.hash for it in sent]
    assert chain.number == 1
    assert [raw for raw, _ in chain.blocks.record(1).transactions] == [it.raw for it in sent]


@pytest.mark.parametrize("count", [1, 2])
def test_a_turn_that_has_taken_its_time_loses_nothing(
    chain: Chain, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = msgspec.structs.replace(POLICY, batch_seconds=-1.0)
    monkeypatch.setattr("entresol.sequencer.submission.POLICY", policy)
    sent = [transaction(nonce) for nonce in range(count)]
    assert asyncio.run(outcomes(chain, *(it.raw for it in sent))) == [it.hash for it in sent]


def test_a_malformed_one_has_its_own_error(chain: Chain) -> None:
    good, unsigned = transaction(0), transaction(1).raw[:-32] + bytes(32)
    found = asyncio.run(outcomes(chain, b"", good.raw, unsigned, b"\x05", transaction(1).raw))
    assert [isinstance(it, InvalidTransaction) for it in found] == [True, False, True, True, False]
    assert chain.number == 1


def test_one_that_an_earlier_one_pays_for_is_valid(chain: Chain) -> None:
    funding = transfer(0, SECRETS[0], poor(), ETHER)
    spending = transfer(0, POOR, poor())
    assert asyncio.run(outcomes(chain, funding.raw, spending.raw)) == [funding.hash, spending.hash]
    assert chain.number == 2


def test_one_that_nothing_pays_for_is_rejected(chain: Chain) -> None:
    found = asyncio.run(outcomes(chain, transaction(0).raw, transfer(0, POOR, poor()).raw))
    assert found[0] == transaction(0).hash
    assert isinstance(found[1], InsufficientFunds)


def test_a_second_one_with_the_same_nonce_comes_too_late_whatever_it_offers(chain: Chain) -> None:
    first, second = transaction(0), transaction(0, tip=FEE)
    found = asyncio.run(outcomes(chain, first.raw, second.raw, transaction(1).raw))
    assert [found[0], found[2]] == [first.hash, transaction(1).hash]
    assert isinstance(found[1], NonceTooLow)
    assert chain.blocks.locate_transaction(first.hash) is not None


def test_one_behind_a_gap_is_answered_at_once(chain: Chain) -> None:
    assert asyncio.run(outcomes(chain, transaction(3).raw)) == [transaction(3).hash]
    assert chain.number == 0


def test_without_automine_the_pool_answers(chain: Chain) -> None:
    chain.schedule.seal_on_request()
    sent = [transaction(nonce) for nonce in range(20)]
    assert asyncio.run(outcomes(chain, *(it.raw for it in sent))) == [it.hash for it in sent]
    assert (chain.number, len(chain.pool)) == (0, 20)


def test_a_small_pool_takes_as_many_as_arrive() -> None:
    chain = Chain.open(None, RULES, GENESIS, pool=PoolConfig(limit=8, sender_limit=3))
    sent = [transaction(nonce) for nonce in range(8)]
    assert asyncio.run(outcomes(chain, *(it.raw for it in sent))) == [it.hash for it in sent]
    assert not len(chain.pool)
    chain.close()


def test_more_than_the_pool_holds_are_not_queued() -> None:
    async def live(chain: Chain) -> None:
        submission = Submission(chain, InlineSequencer(chain))
        sent = [submission.submit(transaction(nonce).raw) for nonce in range(4)]
        with pytest.raises(PoolRejection, match="txpool is full"):
            submission.submit(transaction(4).raw)
        await asyncio.gather(*sent)
        # There is room again.
        await submission.submit(transaction(4).raw)

    chain = Chain.open(None, RULES, GENESIS, pool=PoolConfig(limit=4))
    asyncio.run(live(chain))
    chain.close()


async def test_a_client_that_goes_does_not_affect_others(chain: Chain) -> None:
    sequencer = LocalSequencer(chain)
    submission = Submission(chain, sequencer)
    gone = asyncio.ensure_future(submission.submit(transaction(0).raw))
    other = submission.submit(transaction(1).raw)
    gone.cancel()
    assert await asyncio.wait_for(other, PATIENCE_SECONDS) == transaction(1).hash
    await sequencer.stop()
    assert len(chain.blocks.record(1).transactions) == 2


class Sending:
    """Sends over a node's automine, and counts the transactions of each block."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._sequencer = LocalSequencer(chain)
        self._submission = Submission(chain, self._sequencer)

    def send(self, nonce: int) -> asyncio.Future[Hash32]:
        deferred = self._submission.submit(transaction(nonce).raw)
        self._submission.flush()
        return asyncio.ensure_future(deferred)

    def send_signed(self, nonce: int, *, is_alone: bool = True) -> Hash32 | Awaitable[Hash32]:
        """Send a transaction that the node has signed, as a request that is not a batch or one of a batch."""
        return started(self._send(nonce), self._submission.flush if is_alone else None)

    async def _send(self, nonce: int) -> Hash32:
        signed = transaction(nonce)
        async with self._submission.turn(signed.sender):
            response = await self._submission.send(signed)
        return await response

    async def stop(self) -> list[int]:
        await self._sequencer.stop()
        numbers = range(1, self._chain.number + 1)
        return [len(self._chain.blocks.record(number).transactions) for number in numbers]


@pytest.mark.parametrize("is_signed", [False, True], ids=["raw", "signed by the node"])
async def test_a_transaction_that_comes_alone_is_sealed_at_once(
    chain: Chain, *, is_signed: bool
) -> None:
    sending = Sending(chain)
    for nonce in range(2):
        if is_signed:
            assert sending.send_signed(nonce) == transaction(nonce).hash
        else:
            assert sending.send(nonce).done()
        assert chain.number == nonce + 1
        await asyncio.sleep(0)
    assert await sending.stop() == [1, 1]


@pytest.mark.parametrize(("is_alone", "blocks"), [(True, [1, 3]), (False, [4])])
async def test_signed_transactions_of_one_turn_share_a_block_but_the_first_that_hurries(
    chain: Chain, is_alone: bool, blocks: list[int]
) -> None:
    sending = Sending(chain)
    sent = [sending.send_signed(nonce, is_alone=is_alone) for nonce in range(4)]
    await asyncio.gather(*(it for it in sent if isinstance(it, Awaitable)))
    assert await sending.stop() == blocks


async def test_after_a_turn_with_several_signed_ones_the_next_turn_collects(chain: Chain) -> None:
    sending = Sending(chain)
    sent = [sending.send_signed(nonce, is_alone=False) for nonce in range(2)]
    await asyncio.gather(*(it for it in sent if isinstance(it, Awaitable)))
    later = [sending.send_signed(nonce) for nonce in range(2, 5)]
    await asyncio.gather(*(it for it in later if isinstance(it, Awaitable)))
    assert await sending.stop() == [2, 3]


async def test_what_comes_after_the_first_in_a_turn_shares_a_block(chain: Chain) -> None:
    sending = Sending(chain)
    sent = [sending.send(nonce) for nonce in range(4)]
    assert [it.done() for it in sent] == [True, False, False, False]
    await asyncio.gather(*sent)
    assert await sending.stop() == [1, 3]


async def test_after_a_turn_with_several_the_next_turn_is_awaited_too(chain: Chain) -> None:
    sending = Sending(chain)
    await asyncio.gather(*(sending.send(nonce) for nonce in range(3)))
    await asyncio.gather(*(sending.send(nonce) for nonce in range(3, 6)))
    # One alone, and then there is no reason to wait any more.
    await sending.send(6)
    assert sending.send(7).done()
    assert await sending.stop() == [1, 2, 3, 1, 1]


async def test_a_client_that_goes_while_it_waits_for_its_turn_blocks_nobody(chain: Chain) -> None:
    async def send(submission: Submission, nonce: int) -> Hash32:
        async with submission.turn(ALICE):
            response = await submission.send(transaction(nonce))
        return await response

    sequencer = LocalSequencer(chain)
    submission = Submission(chain, sequencer)
    async with submission.turn(ALICE), asyncio.timeout(PATIENCE_SECONDS):
        gone, other = (asyncio.create_task(send(submission, 0)) for _ in range(2))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        assert not other.done()
    sent = await asyncio.wait_for(other, PATIENCE_SECONDS)
    await sequencer.stop()
    assert sent == transaction(0).hash


async def test_what_arrives_raw_waits_for_the_turn_of_its_sender_alone(chain: Chain) -> None:
    sequencer = LocalSequencer(chain)
    submission = Submission(chain, sequencer)
    async with submission.turn(ALICE):
        behind = submission.submit(transaction(1).raw)
        other = submission.submit(transaction(0, by=1).raw)
        assert await asyncio.wait_for(other, PATIENCE_SECONDS) == transaction(0, by=1).hash
        response = await submission.send(transaction(0))
    sent = await asyncio.wait_for(asyncio.gather(response, behind), PATIENCE_SECONDS)
    assert list(sent) == [transaction(0).hash, transaction(1).hash]
    await sequencer.stop()
    assert sum(len(chain.blocks.record(n).transactions) for n in range(1, chain.number + 1)) == 3


def test_what_waits_for_turns_counts_against_the_pool() -> None:
    async def live(chain: Chain) -> None:
        submission = Submission(chain, InlineSequencer(chain))
        async with submission.turn(ALICE):
            held = [submission.submit(transaction(nonce).raw) for nonce in range(1, 5)]
            for _ in range(5):
                await asyncio.sleep(0)
            with pytest.raises(PoolRejection, match="txpool is full"):
                submission.submit(transaction(5).raw)
            first = await submission.send(transaction(0))
        async with asyncio.timeout(PATIENCE_SECONDS):
            await asyncio.gather(first, *held)

    chain = Chain.open(None, RULES, GENESIS, pool=PoolConfig(limit=4))
    asyncio.run(live(chain))
    assert not len(chain.pool)
    chain.close()
