"""Whatever a batch says, it is derived or an alarm, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol.chain.rules import FORKS
from entresol.errors import DerivationAlarm
from entresol.features.derive.l1_events import BatchClaim
from entresol.primitives.published.body import (
    BatchHeader,
    PublishedBatch,
    PublishedBlock,
    encode_body,
)
from entresol.primitives.published.compression import compress
from entresol.primitives.published.rules import BlockRules
from entresol.primitives.transactions import impersonate
from entresol.primitives.values import Hash32
from tests.support.chain.dev_chain import deposit, fee_market
from tests.support.features.derive.operated_chain import DerivedChain, OperatedChain, seen
from tests.support.published.values import (
    DEVELOPMENT_RULES,
    addresses,
    counts,
    edits,
    gas_limits,
    hashes,
    numbers,
    prices,
    raws,
    roots,
)
from tests.support.rollup.published_traffic import STRANGER
from tests.support.run.examples import examples

RULES = st.builds(
    BlockRules,
    chain_id=st.just(270),
    is_development=st.just(True),
    fork=st.sampled_from(FORKS),
    code_size_limit=st.none() | numbers,
    caps_gas=st.booleans(),
    gas_limit=gas_limits,
    beneficiary=addresses,
    minimal_l2_gas_price=numbers,
    compute_overhead_part=numbers,
    pubdata_overhead_part=numbers,
    batch_overhead_l1_gas=numbers,
    max_gas_per_batch=counts,
    max_pubdata_per_batch=counts,
)
SENT = impersonate(
    fee_market(0, STRANGER, fee=0),
    STRANGER,
).raw  # fmt: skip


@st.composite
def blocks(draw: st.DrawFn) -> PublishedBlock:
    """Draw a block that can have some of everything, and mostly has little."""
    rare = st.sampled_from((False, False, False, True))
    return PublishedBlock(
        timestamp_step=draw(st.one_of(st.integers(0, 3), numbers)),
        rules=draw(RULES) if draw(rare) else None,
        gas_limit=draw(gas_limits) if draw(rare) else None,
        beneficiary=draw(addresses) if draw(rare) else None,
        base_fee=draw(numbers) if draw(rare) else None,
        prevrandao=draw(hashes) if draw(rare) else None,
        prices=draw(prices),
        edits=draw(edits()) if draw(rare) else None,
        roots=tuple(draw(st.lists(roots, max_size=3))) if draw(rare) else (),
        deposits=draw(st.integers(0, 2)),
        transactions=tuple(draw(st.lists(raws | st.just(SENT), max_size=2))) if draw(rare) else (),
    )


@pytest.fixture(scope="module")
def derived() -> Iterator[DerivedChain]:
    operator = OperatedChain()
    for number in range(8):
        operator.deposit(deposit(number, gas_limit=2 ** (16 + 6 * number)))
    found = DerivedChain(operator)
    yield found
    found.close()
    operator.close()


@settings(max_examples=examples(1_000))
@given(first=blocks(), others=st.lists(blocks(), max_size=3), state_root=hashes)
def test_any_batch_is_an_alarm_that_changes_nothing(
    derived: DerivedChain, first: PublishedBlock, others: list[PublishedBlock], state_root: Hash32
) -> None:
    chain = derived.chain
    batch = PublishedBatch(
        header=BatchHeader(
            number=1,
            first_block=1,
            parent_hash=chain.ledger.head_hash,
            rules_hash=DEVELOPMENT_RULES.hash(),
        ),
        blocks=_once([first, *others]),
        last_hash=Hash32.zero(),
    )
    claim = BatchClaim(
        number=1,
        state_root=state_root,
        commitment=Hash32.zero(),
        first_block=1,
        last_block=len(batch.blocks),
        data=compress(encode_body(batch)),
    )
    before = seen(chain)
    with pytest.raises(DerivationAlarm):
        derived.derive(claim)
    assert seen(chain) == before


def _once(found: list[PublishedBlock]) -> tuple[PublishedBlock, ...]:
    """Return blocks without prices and rules that are those of the block before."""
    kept, last = [], None
    rules = DEVELOPMENT_RULES
    for block in found:
        changed = None if block.rules == rules else block.rules
        priced = None if block.prices == last else block.prices
        kept.append(msgspec.structs.replace(block, prices=priced, rules=changed))
        last, rules = block.prices or last, block.rules or rules
    return tuple(kept)
