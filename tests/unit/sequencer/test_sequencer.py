"""Blocks that another process decides: what only its sequencer can do is rejected."""

from __future__ import annotations

import asyncio

import pytest

from entresol.errors import ProducerUnavailable
from entresol.primitives.values import Hash32
from entresol.sequencer.sequencer import SequencerElsewhere


def test_nothing_is_sealed_or_included() -> None:
    sequencer, reported = SequencerElsewhere(), list[Exception | None]()
    sequencer.include(Hash32.zero(), reported.append)
    sequencer.flush()
    assert [type(it) for it in reported] == [ProducerUnavailable]
    with pytest.raises(ProducerUnavailable):
        sequencer.wake()
    with pytest.raises(ProducerUnavailable):
        asyncio.run(sequencer.seal())
