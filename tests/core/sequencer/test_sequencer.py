"""Blocks that another process decides: what only its sequencer can do is rejected."""

from __future__ import annotations

import asyncio

import pytest

from entresol.chain.chain import Chain
from entresol.errors import ProducerUnavailable, RemoteUnreachable, StoreFailed, StoreFull
from entresol.primitives.values import Address, Hash32
from entresol.sequencer.sequencer import InlineSequencer, SequencerElsewhere
from tests.support.chain.dev_chain import GENESIS, RULES, transaction
from tests.support.fork.running_fork import open_fork, remote_of


def test_nothing_is_sealed_or_included() -> None:
    sequencer, reported = SequencerElsewhere(), list[Exception | None]()
    sequencer.include(Hash32.zero(), reported.append)
    sequencer.flush()
    assert [type(it) for it in reported] == [ProducerUnavailable]
    with pytest.raises(ProducerUnavailable):
        sequencer.wake()
    with pytest.raises(ProducerUnavailable):
        asyncio.run(sequencer.seal())


def test_a_transaction_is_in_a_block_when_the_call_returns(chain: Chain) -> None:
    sent = InlineSequencer(chain).submit(transaction(0).raw)
    assert chain.blocks.locate_transaction(sent) is not None


def test_without_automine_it_stays_in_the_pool_until_a_block_is_requested(chain: Chain) -> None:
    sequencer = InlineSequencer(chain)
    chain.schedule.seal_on_request()
    sequencer.submit(transaction(0).raw)
    sequencer.wake()
    assert (chain.number, len(chain.pool)) == (0, 1)
    assert asyncio.run(sequencer.seal()).number == 1
    assert len(chain.pool) == 0


def test_a_transaction_that_cannot_be_written_leaves_the_pool(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **_named: object) -> None:
        raise StoreFull(chain.blocks.path)

    monkeypatch.setattr(chain.ledger, "append", fail)
    reported: list[Exception | None] = []
    chain.add(transaction(0))
    InlineSequencer(chain).include(transaction(0).hash, reported.append)
    assert isinstance(reported[0], StoreFailed)
    assert len(chain.pool) == 0


def test_a_library_waits_for_the_remote_of_a_fork() -> None:
    """And raises what it fails with for the transaction that needs it, which leaves the pool."""
    unreachable = RemoteUnreachable("http://127.0.0.1:1", "eth_getProof", "refused")
    with remote_of(GENESIS) as remote:
        chain = open_fork(remote, RULES)
        sequencer = InlineSequencer(chain)
        sequencer.submit(transaction(0).raw)
        assert chain.head.gas_used == 21_000
        remote.failures["account", b"\x55" * 20] = unreachable
        with pytest.raises(RemoteUnreachable):
            sequencer.submit(transaction(1, to=Address(b"\x55" * 20)).raw)
        assert not chain.pool
        sequencer.submit(transaction(1).raw)
        assert chain.number == 1_002
        chain.close()
