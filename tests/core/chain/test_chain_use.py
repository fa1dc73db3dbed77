"""Whoever removes blocks of a chain can wait for what uses them."""

from __future__ import annotations

import pytest

from entresol.chain.chain_use import ChainUse
from entresol.errors import ChainReplaced, StoreFailed
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import open_chain, transaction
from tests.support.chain.steering import revert


def test_the_end_of_the_last_use_is_reported_once() -> None:
    use, calls = ChainUse(), []
    use.begin()
    use.begin()
    use.when_idle(lambda: calls.append(use.is_idle))
    use.end()
    assert not calls
    use.end()
    use.begin()
    use.end()
    assert calls == [True]


def test_a_chain_that_nobody_uses_is_idle_at_once() -> None:
    use, calls = ChainUse(), []
    use.when_idle(lambda: calls.append("idle"))
    assert calls == ["idle"]


def test_work_during_which_blocks_are_removed_fails_whatever_its_result() -> None:
    use = ChainUse()
    with pytest.raises(ChainReplaced), use.held():
        use.on_removed()
    with pytest.raises(ChainReplaced), use.guard(use.removals):
        fail_after_removal(use)
    assert use.is_idle


def fail_after_removal(use: ChainUse) -> None:
    """Fail as a reader does that finds some of another chain."""
    use.on_removed()
    raise StoreFailed("code is missing")


def test_work_on_a_chain_that_stays_fails_with_its_own_error() -> None:
    use = ChainUse()
    with pytest.raises(StoreFailed), use.held():
        raise StoreFailed("code is missing")
    assert use.is_idle


def test_reverts_and_replacements_are_noted_and_new_blocks_are_not() -> None:
    chain = open_chain()
    checkpoint = chain.history.mark()
    InlineSequencer(chain).submit(transaction(0).raw)
    assert chain.use.removals == 0
    revert(chain, checkpoint)
    assert chain.use.removals == 1
    chain.close()
