"""A chain that is not for development: what only developers want of blocks is rejected before it is in one."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.edits import BlockSettings
from entresol.errors import NotPossible, TransactionRuleBroken
from entresol.primitives.transactions import impersonate
from entresol.primitives.values import Hash32
from tests.support.chain.dev_chain import ALICE, GENESIS, NOBODY, RULES, transaction


@pytest.fixture
def chain() -> Iterator[Chain]:
    rules = msgspec.structs.replace(RULES, is_development=False, publishes=True)
    chain = Chain.open(None, rules, GENESIS, clock=Clock(lambda: 1_000.0))
    chain.schedule.seal_on_request()
    yield chain
    chain.close()


def test_it_rejects_an_edit(chain: Chain) -> None:
    with pytest.raises(NotPossible, match="an edit of the state, which only blocks of a dev"):
        chain.edit(NOBODY, lambda state: state.set_balance(NOBODY, 7))
    chain.builder.seal()
    assert not chain.blocks.record(1).edits


@pytest.mark.parametrize("settings", [{"base_fee": 7}, {"prevrandao": Hash32.zero()}])
def test_it_rejects_what_a_rule_decides(chain: Chain, settings: dict[str, object]) -> None:
    with pytest.raises(NotPossible, match="a base fee or a PREVRANDAO that is set"):
        chain.configure(BlockSettings(**settings))  # type: ignore[arg-type]


def test_its_blocks_drop_what_nobody_has_signed(chain: Chain) -> None:
    unsigned = impersonate(transaction(0).payload, ALICE)  # type: ignore[arg-type]
    chain.add(unsigned)
    chain.builder.seal()
    assert not chain.blocks.record(1).transactions
    rejection = chain.rejections.of(unsigned.hash)
    assert isinstance(rejection, TransactionRuleBroken)
    assert rejection.kind == "unsigned"
