"""However a chain grows and is reverted, the changes of a filter add up to the canonical chain."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from entresol.features.dev.reverts import Reverts
from entresol.primitives.values import Address, Hash32, Quantity
from entresol.rpc.pubsub.filters import Filters
from entresol.rpc.render.chain_json import located_log_json
from entresol.rpc.types.log_filter import LogFilter
from entresol.storage.log_index import LogQuery
from tests.support.chain.log_emitter import EMITTERS, EmittingChain, read
from tests.support.hex_data import word
from tests.support.run.examples import examples

_topics = st.frozensets(st.integers(0, 2).map(word), max_size=2)
_queries = st.builds(
    LogQuery,
    addresses=st.frozensets(st.sampled_from(EMITTERS), max_size=2),
    topics=st.lists(_topics, max_size=2).map(tuple),
)
_bounds = st.none() | st.integers(0, 8)
_filters = st.builds(LogFilter, query=_queries, from_block=_bounds, to_block=_bounds)


class FilterMachine(RuleBasedStateMachine):
    """Drives a chain with filters, and records for each filter what its client would know."""

    log_filters = Bundle("log_filters")
    block_filters = Bundle("block_filters")
    pending_filters = Bundle("pending_filters")

    def __init__(self) -> None:
        super().__init__()
        self.chain = EmittingChain.begin()
        self.reverts = Reverts(self.chain)
        self.log_cache = self.chain.log_cache()
        self.filters = Filters(self.chain, self.log_cache)
        self.installed: dict[int, LogFilter] = {}
        self.known: dict[int, list[dict[str, Any]]] = {}
        self.next_block: dict[int, int] = {}
        self.arrived: dict[int, list[Hash32]] = {}
        self.checkpoints: list[int] = []

    def teardown(self) -> None:
        self.chain.close()

    # The chain

    @rule(
        emitter=st.sampled_from(EMITTERS),
        topics=st.tuples(st.integers(0, 2), st.integers(0, 2)),
        by=st.integers(0, 2),
    )
    def emit(self, emitter: Address, topics: tuple[int, int], by: int) -> None:
        sent = self.chain.emit(emitter, topics, by=by)
        for arrived in self.arrived.values():
            if sent.hash not in arrived:
                arrived.append(sent.hash)

    @rule(limit=st.none() | st.integers(0, 2))
    def seal(self, limit: int | None) -> None:
        self.chain.builder.seal(limit=limit)

    @rule()
    def remember(self) -> None:
        self.checkpoints.append(self.reverts.checkpoint())

    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        if self.checkpoints:
            index = data.draw(st.integers(0, len(self.checkpoints) - 1))
            assert self.reverts.restore(self.checkpoints[index])
            del self.checkpoints[index:]
            self.went_back()

    @rule(back=st.integers(1, 3))
    def rewind(self, back: int) -> None:
        self.chain.history.rewind(max(self.chain.number - back, 0))
        self.checkpoints = [
            checkpoint for checkpoint in self.checkpoints if checkpoint in self.reverts.checkpoints
        ]
        self.went_back()

    def went_back(self) -> None:
        after = self.chain.number + 1
        self.next_block = {it: min(block, after) for it, block in self.next_block.items()}

    # The filters

    @rule(target=log_filters, wanted=_filters)
    def new_log_filter(self, wanted: LogFilter) -> Quantity:
        filter_id = self.filters.new_log_filter(wanted)
        self.installed[filter_id] = wanted
        self.known[filter_id] = self.canonical(wanted)
        return filter_id

    @rule(target=block_filters)
    def new_block_filter(self) -> Quantity:
        filter_id = self.filters.new_block_filter()
        self.next_block[filter_id] = self.chain.number + 1
        return filter_id

    @rule(target=pending_filters)
    def new_pending_filter(self) -> Quantity:
        filter_id = self.filters.new_pending_filter()
        self.arrived[filter_id] = []
        return filter_id

    @rule(filter_id=log_filters)
    def poll_logs(self, filter_id: Quantity) -> None:
        known = self.known[filter_id]
        fates = []
        for change in read(self.filters.changes(filter_id)):
            fates.append(change["removed"])
            if change["removed"]:
                known.remove({**change, "removed": False})
            else:
                assert change not in known
                known.append(change)
        assert fates == sorted(fates, reverse=True)
        assert known == self.canonical(self.installed[filter_id])
        assert self.filters.changes(filter_id) == []

    @rule(filter_id=block_filters)
    def poll_blocks(self, filter_id: Quantity) -> None:
        numbers = range(self.next_block[filter_id], self.chain.number + 1)
        expected = [self.chain.blocks.header(number).hash() for number in numbers]
        assert self.filters.changes(filter_id) == expected
        self.next_block[filter_id] = self.chain.number + 1

    @rule(filter_id=pending_filters)
    def poll_transactions(self, filter_id: Quantity) -> None:
        assert self.filters.changes(filter_id) == self.arrived[filter_id]
        self.arrived[filter_id] = []

    @rule(filter_id=consumes(log_filters) | consumes(block_filters) | consumes(pending_filters))
    def uninstall(self, filter_id: Quantity) -> None:
        assert self.filters.uninstall(filter_id)
        for model in (self.installed, self.known, self.next_block, self.arrived):
            model.pop(filter_id, None)

    @invariant()
    def every_filter_is_there(self) -> None:
        there = {**self.known, **self.next_block, **self.arrived}
        assert len(self.filters) == len(there)

    # The model

    def canonical(self, wanted: LogFilter) -> list[dict[str, Any]]:
        """Return the logs that a client should know, found without index, cursor or cache."""
        first = wanted.from_block if isinstance(wanted.from_block, int) else 0
        last = wanted.to_block if isinstance(wanted.to_block, int) else self.chain.number
        # By the rules of the ZK Stack, which are the default.
        query = wanted.query.without_open_end()
        return [
            json.loads(located_log_json(log, None))
            for log in self.chain.all_logs()
            if first <= log.block_number <= last and query.accepts(log.address, log.topics)
        ]


TestFilterMachine = FilterMachine.TestCase
TestFilterMachine.settings = settings(
    max_examples=examples(40), stateful_step_count=40, deadline=None
)
