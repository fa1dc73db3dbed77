"""A chain as its users see it: transactions in, blocks out."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.edits import BlockSettings
from entresol.chain.logs import find_logs
from entresol.errors import NotPossible, StoreFull, TransactionRuleBroken
from entresol.primitives.transactions import impersonate
from entresol.primitives.values import Hash32
from entresol.sequencer.sequencer import InlineSequencer
from entresol.storage.log_index import LogQuery
from tests.support.chain.dev_chain import (
    ALICE,
    GENESIS,
    LOGGER,
    NOBODY,
    RULES,
    balance,
    open_chain,
    transaction,
)


def test_a_transaction_whose_block_cannot_be_written_is_not_in_the_pool(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_executed: object, **_options: object) -> None:
        raise StoreFull(chain.blocks.path)

    with monkeypatch.context() as patched:
        patched.setattr(chain.ledger, "append", fail)
        with pytest.raises(StoreFull):
            InlineSequencer(chain).submit(transaction(0, wei=5).raw)
    assert (chain.number, len(chain.pool)) == (0, 0)
    InlineSequencer(chain).submit(transaction(0, wei=5).raw)
    assert (chain.number, balance(chain, NOBODY)) == (1, 5)


def test_logs_are_found_by_address_and_topic(chain: Chain) -> None:
    for nonce, data in enumerate((b"one", b"two", b"three")):
        InlineSequencer(chain).submit(transaction(nonce, to=LOGGER, wei=0, data=data).raw)
    InlineSequencer(chain).submit(transaction(0, by=1, to=LOGGER, wei=0, data=b"bob's").raw)
    topic = Hash32(bytes(12) + ALICE)
    query = LogQuery(addresses=frozenset({LOGGER}), topics=(frozenset({topic}),))
    found = list(find_logs(chain.blocks, query, 0, chain.number))
    assert [(log.data, log.block_number) for log in found] == [
        (b"one", 1),
        (b"two", 2),
        (b"three", 3),
    ]
    newest = next(find_logs(chain.blocks, query, 0, chain.number, newest_first=True))
    assert newest.data == b"three"
    assert newest.transaction_hash == transaction(2, to=LOGGER, wei=0, data=b"three").hash


def test_a_chain_follows_another_by_its_records(chain: Chain) -> None:
    for nonce in range(4):
        InlineSequencer(chain).submit(transaction(nonce).raw)
    follower = open_chain()
    follower.schedule.seal_on_request()
    InlineSequencer(follower).submit(transaction(0).raw)
    for record in list(chain.blocks.records())[1:]:
        follower.import_block(record)
    assert follower.head == chain.head
    assert follower.pool.get(transaction(0).hash) is None
    follower.close()


@pytest.fixture
def production() -> Iterator[Chain]:
    rules = msgspec.structs.replace(RULES, is_development=False, publishes=True)
    production = Chain.open(None, rules, GENESIS, clock=Clock(lambda: 1_000.0))
    production.schedule.seal_on_request()
    yield production
    production.close()


def test_it_rejects_an_edit(production: Chain) -> None:
    with pytest.raises(NotPossible, match="an edit of the state, which only blocks of a dev"):
        production.edit(NOBODY, lambda state: state.set_balance(NOBODY, 7))
    production.builder.seal()
    assert not production.blocks.record(1).edits


@pytest.mark.parametrize("settings", [{"base_fee": 7}, {"prevrandao": Hash32.zero()}])
def test_it_rejects_what_a_rule_decides(production: Chain, settings: dict[str, object]) -> None:
    with pytest.raises(NotPossible, match="a base fee or a PREVRANDAO that is set"):
        production.configure(BlockSettings(**settings))  # type: ignore[arg-type]


def test_its_blocks_drop_what_nobody_has_signed(production: Chain) -> None:
    unsigned = impersonate(transaction(0).payload, ALICE)  # type: ignore[arg-type]
    production.add(unsigned)
    production.builder.seal()
    assert not production.blocks.record(1).transactions
    rejection = production.rejections.of(unsigned.hash)
    assert isinstance(rejection, TransactionRuleBroken)
    assert rejection.kind == "unsigned"
