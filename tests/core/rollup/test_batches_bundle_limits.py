"""Every batch with bundles can be booked by one transaction of L1: which blocks and batches are made for that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol.chain.genesis.genesis import Genesis
from entresol.errors import BlockFullOfMessages, InvalidTransaction
from entresol.execution.limits import check_messages
from entresol.primitives.interop_bundles import (
    MAX_BOOKED_BYTES,
    MAX_BOOKED_LOGS,
    MessageLoad,
    bundles_in,
    has_bundles,
)
from entresol.primitives.l2_to_l1_logs import PACKED_SIZE
from entresol.primitives.values import Hash32
from entresol.rollup.batcher import Batcher
from entresol.rollup.batches import SealingPolicy
from tests.support.chain.block_production import ETHER, sender
from tests.support.coroutines import completed
from tests.support.evm.bundle_senders import ALLOC, FLOODER, flood
from tests.support.known import known
from tests.support.rollup.settling_chain import CHAIN_ID, USER, SettlingChain, deposit
from tests.support.run.examples import examples

GAS = 12_000_000
NEVER = SealingPolicy(max_age=1e9)
MANY = MAX_BOOKED_LOGS + 1


def begun() -> SettlingChain:
    genesis = Genesis.development(CHAIN_ID, [sender(USER)], 10**6 * ETHER, ALLOC)
    return SettlingChain.begin(genesis=genesis)


@pytest.fixture
def chain() -> Iterator[SettlingChain]:
    opened = begun()
    yield opened
    opened.close()


def send(chain: SettlingChain, messages: int, bundle: int = 0) -> Hash32:
    return chain.call_contract(FLOODER, flood(messages, bundle), GAS)


def send_from_l1(chain: SettlingChain, messages: int, bundle: int = 0) -> Hash32:
    number = chain.blocks.next_priority_id() + len(chain.filler.priority)
    return chain.enqueue(deposit(number, data=flood(messages, bundle), to=FLOODER, gas=GAS))


def blocks_of(chain: SettlingChain, *hashes: Hash32) -> list[int]:
    """Seal blocks until every transaction is in one, and return which."""
    while any(
        chain.blocks.locate_transaction(transaction_hash) is None for transaction_hash in hashes
    ):
        before = chain.blocks.head_number
        chain.builder.seal()
        assert chain.blocks.head_number != before
        record = known(chain.blocks.get_record(chain.blocks.head_number or 0))
        assert record.transactions, "a block without any does not bring them closer"
    found = [chain.blocks.locate_transaction(transaction_hash) for transaction_hash in hashes]
    return [it.block_number for it in found if it is not None]


def sealed_loads(chain: SettlingChain, policy: SealingPolicy = NEVER) -> list[MessageLoad]:
    """Seal batches over all blocks, and return what their messages take."""
    batcher = Batcher(chain.blocks, chain.batches, policy)
    completed(batcher.seal(0.0))
    loads = []
    for number in range(1, batcher.last.number + 1):
        batch = known(chain.batches.get(number))
        load = MessageLoad()
        for block in range(batch.first_block, batch.last_block + 1):
            record = known(chain.blocks.get_record(block))
            load = load.plus(MessageLoad.of_record(record))
        assert load.logs == batch.logs
        assert (load.bundles > 0) == has_bundles(chain.batches.logs(number))
        loads.append(load)
    return loads


def test_the_bundles_of_a_block_are_read_with_their_messages(chain: SettlingChain) -> None:
    (block,) = blocks_of(chain, send(chain, 2, 777))
    record = known(chain.blocks.get_record(block))
    assert list(bundles_in(record.results[0].logs)) == [bytes(777)]
    assert MessageLoad.of_record(record) == (3, 1, 777 + 96)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((0, 70_000), (0, 70_000)),
        ((MANY, 0), (0, 64)),
        ((0, 64), (MANY, 0)),
        ((900, 64), (200, 64)),
    ],
    ids=["long bundles", "a bundle after messages", "messages after a bundle", "both"],
)
@pytest.mark.parametrize("sent", [send, send_from_l1])
def test_what_cannot_be_booked_together_waits_for_the_next_block_and_batch(
    chain: SettlingChain,
    sent: Callable[[SettlingChain, int, int], Hash32],
    first: tuple[int, int],
    second: tuple[int, int],
) -> None:
    one, other = sent(chain, *first), sent(chain, *second)
    assert blocks_of(chain, one, other) == [1, 2]
    loads = sealed_loads(chain)
    assert len(loads) == 2
    assert all(load.is_bookable for load in loads)


def test_messages_without_bundles_share_a_block_and_a_batch_as_before(chain: SettlingChain) -> None:
    assert blocks_of(chain, send(chain, MANY), send(chain, MANY)) == [1, 1]
    assert sealed_loads(chain) == [(2 * MANY, 0, 0)]


def test_a_transaction_with_bundles_that_no_block_can_hold_is_rejected(
    chain: SettlingChain,
) -> None:
    too_many, fine = send(chain, MAX_BOOKED_LOGS, 64), send(chain, 0, 64)
    chain.builder.seal()
    assert chain.blocks.locate_transaction(too_many) is None
    assert chain.pool.get(too_many) is None
    with pytest.raises(InvalidTransaction, match="1025 messages to L1"):
        raise chain.rejections.of(too_many) or AssertionError
    assert chain.blocks.locate_transaction(fine) is None, "its nonce is too high now"


def test_a_request_of_l1_with_bundles_that_no_block_can_hold_fails(chain: SettlingChain) -> None:
    # With the log of its result it has one more than can be booked.
    request, following = send_from_l1(chain, MAX_BOOKED_LOGS - 1, 64), send_from_l1(chain, 0, 64)
    assert blocks_of(chain, request, following) == [1, 1]
    record = known(chain.blocks.get_record(1))
    assert [result.succeeded for result in record.results] == [False, True]
    assert sealed_loads(chain) == [(3, 1, 64 + 96)]


def test_the_largest_load_is_one_that_nodes_of_l1_take() -> None:
    bundle = MAX_BOOKED_BYTES - MAX_BOOKED_LOGS * PACKED_SIZE
    assert MessageLoad(MAX_BOOKED_LOGS, 1, bundle).is_bookable
    assert not MessageLoad(MAX_BOOKED_LOGS + 1, 1, 0).is_bookable
    assert not MessageLoad(MAX_BOOKED_LOGS, 1, bundle + 1).is_bookable
    assert MessageLoad(16_384, 0, 0).is_bookable


@settings(max_examples=examples(10), deadline=None)
@given(
    st.lists(
        st.tuples(
            st.booleans(),
            st.sampled_from([0, 1, 300, 1_000, 1_023, 1_024, 1_500]),
            st.sampled_from([0, 0, 32, 20_000, 60_000, 100_000, 119_000, 130_000]),
            st.booleans(),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_no_sequence_of_transactions_makes_a_batch_that_cannot_be_booked(
    sent: list[tuple[bool, int, int, bool]],
) -> None:
    with closing(begun()) as chain:
        for from_l1, messages, bundle, seals in sent:
            (send_from_l1 if from_l1 else send)(chain, messages, bundle)
            if seals:
                chain.builder.seal()
        while chain.filler.has_work:
            chain.builder.seal()
        assert all(sealed_load.is_bookable for sealed_load in sealed_loads(chain))


def test_a_block_that_is_full_of_bundles_says_so() -> None:
    included = MessageLoad(MAX_BOOKED_LOGS, 1, 0)
    with pytest.raises(BlockFullOfMessages, match=f"bundles .* and {MANY} messages to L1, "):
        check_messages(MessageLoad(1, 0, 0), included)
