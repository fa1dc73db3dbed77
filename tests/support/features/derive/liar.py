"""An operator that lies about a batch, and what becomes of its lies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec
import pytest

from entresol.features.derive.errors import DerivationAlarm
from entresol.features.derive.l1_events import BatchClaim
from entresol.primitives.published.body import PublishedBatch, decode_body
from entresol.primitives.published.compression import decompress
from entresol.rollup.batches import stored_info_of
from entresol.rollup.commitments import calldata_commitment
from tests.support.features.derive.operated_chain import (
    DerivedChain,
    OperatedChain,
    assert_same_blocks,
    republished,
    seen,
    with_block,
)
from tests.support.known import known
from tests.support.rollup.published_traffic import Traffic

Change: TypeAlias = Callable[[PublishedBatch], PublishedBatch]


class Liar:
    """An operator with a batch that is derived, and one about which it lies."""

    def __init__(self, seed: int, **rules: Any) -> None:
        self.operator = OperatedChain(**rules)
        traffic = Traffic(self.operator, seed)
        traffic.begin()
        for _ in range(4):
            traffic.block()
        self.operator.seal_batch()
        for _ in range(12):
            traffic.block()
        self.truth = self.operator.seal_batch()
        self.derived = DerivedChain(self.operator)
        self.derived.derive(self.operator.claim(1))
        self.batch = decode_body(decompress(self.truth.data))

    def close(self) -> None:
        self.derived.derive(self.truth)
        assert_same_blocks(self.derived.chain, self.operator.chain)
        self.derived.close()
        self.operator.close()

    def alarm(self, claim: BatchClaim) -> DerivationAlarm:
        """Return the alarm about a claim, which changes nothing."""
        before = seen(self.derived.chain)
        with pytest.raises(DerivationAlarm) as caught:
            self.derived.derive(claim)
        assert seen(self.derived.chain) == before
        assert caught.value.batch == claim.number
        assert str(caught.value).startswith(f"batch {claim.number}, {caught.value.field}: ")
        return caught.value

    def lie(self, **fields: Any) -> DerivationAlarm:
        return self.alarm(msgspec.structs.replace(self.truth, **fields))

    def publish(self, change: Change) -> DerivationAlarm:
        """Return the alarm about other data, to which L1 has the right commitment."""
        return self.alarm(self.committed(republished(self.truth, change)))

    def committed(self, claim: BatchClaim) -> BatchClaim:
        """Return a claim whose commitment is that of its data, and says the truth beside that."""
        batch = known(self.operator.chain.batches.get(claim.number))
        data = bytes(calldata_commitment(claim.data))
        told = msgspec.structs.replace(batch, data_commitment=data)
        commitment = stored_info_of(told, self.operator.chain.rules.chain_id).commitment
        return msgspec.structs.replace(claim, commitment=commitment)

    def at(self, holds: Callable[[Any], object]) -> int:
        return next(index for index, it in enumerate(self.batch.blocks) if holds(it))

    def change(self, index: int, **fields: Any) -> DerivationAlarm:
        return self.publish(lambda batch: with_block(batch, index, **fields))
