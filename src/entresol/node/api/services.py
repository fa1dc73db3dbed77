"""The services that the RPC methods of a chain share."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from entresol.chain.events import BlocksReverted, Event, TransactionPending
from entresol.execution.calls import Unfunded
from entresol.node.api.adapters import call_limits, log_limits, trace_limits
from entresol.node.api.chain_threads import ChainThreads
from entresol.node.api.dialect import Dialect
from entresol.offload import POLICY
from entresol.rpc.pubsub.criteria_memory import CriteriaMemory
from entresol.rpc.pubsub.filters import Filters
from entresol.rpc.pubsub.subscriptions import NotificationRenderer, Subscriptions
from entresol.rpc.services.block_resolver import BlockResolver
from entresol.rpc.services.call_runner import CallRunner
from entresol.rpc.services.fill_transaction import TransactionFiller
from entresol.rpc.services.native_reads import new_call_errors, new_fee_history, new_state_reads
from entresol.rpc.services.open_past import OpenPast
from entresol.rpc.services.pending_builder import PendingBuilder
from entresol.rpc.services.rendered_chain import BatchInclusion, PendingTransactions, RenderedChain
from entresol.rpc.services.trace_runner import TraceRunner
from entresol.rpc.threads.client_threads import ClientThreads
from entresol.sequencer.account_validations import AccountValidations
from entresol.sequencer.submission import Submission

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.features.workers.publisher import ShippedEvents
    from entresol.node.chain_plan import OpenChain


class ApiServices:
    """The services by which the namespaces of one chain read, run and send transactions.

    Remembers: caches, filters and subscriptions, within the limits of the configuration. Assumes: one event loop.
    Fails: as each service does.
    """

    def __init__(self, opened: OpenChain, *, wake: Callable[[], None] | None = None) -> None:
        """Make them; `wake` is called in place of notifying subscribers."""
        plan = opened.plan
        is_layer_two = plan.layer == 2
        self.chain = chain = opened.chain
        self.open_past = None if plan.fork is None else OpenPast()
        self.sequencer = sequencer = opened.sequencer
        self.config = plan.config.api
        dialect_of = Dialect.layer_two if is_layer_two else Dialect.layer_one
        self.dialect = plan.dialect or dialect_of(self.config)
        self.limits = plan.config.limits
        self.keyring = plan.keyring
        threads = ThreadPoolExecutor(POLICY.threads, thread_name_prefix="node")
        self.executor = ChainThreads(threads, chain.use, is_fork=chain.ledger.remote is not None)
        """The threads of what is sent and sealed, whose work is short, or has a budget of its own."""
        self.threads = ClientThreads(POLICY.threads, use=chain.use)
        self.dumps = ClientThreads(1, use=chain.use, name="dump")
        self.pending = PendingTransactions(chain.pool, chain.filler.priority)
        self.pending_builder = PendingBuilder(chain, self.executor)
        self.rendered = self._new_rendered(is_layer_two=is_layer_two)
        self.fees = new_fee_history(chain)
        # Before filters and subscriptions listen: they read what is cached.
        chain.events.listen(self.rendered.on_event, BlocksReverted, TransactionPending)
        chain.events.listen(self._on_reverted, BlocksReverted)
        self.resolver = BlockResolver(chain, self.pending_builder.executor, self.open_past)
        self.traces = TraceRunner(
            chain.ledger, self.resolver, trace_limits(self.limits), self.open_past
        )
        self.runner = CallRunner(
            call_limits(self.limits, chain.pool.rules.published_limit_bytes),
            # The reads are made with it, below.
            is_budget_spent=lambda: self.reads.take_budget_spent(),  # noqa: PLW0108
        )
        self.filler = TransactionFiller(
            chain, self.resolver, self.runner, self.threads, sends_failing=plan.is_open
        )
        self.call_errors = new_call_errors(fails_calls=self.dialect.fails_calls)
        self.unfunded = Unfunded(
            transfers=plan.is_open and not is_layer_two, estimates=self.dialect.is_hardhat
        )
        self.reads = new_state_reads(
            chain, self.resolver, self.runner, self.filler, self.call_errors, self.unfunded
        )
        self.validations = AccountValidations(chain, self.executor)
        self.submission = Submission(
            chain,
            sequencer,
            self.executor,
            validations=self.validations,
            hardhat_errors=self.dialect.is_hardhat,
        )
        self.log_limits = log_limits(self.limits, is_layer_two=is_layer_two)
        self.criteria = CriteriaMemory(self.limits.filter_limit_bytes)
        self.filters = self._new_filters()
        self._is_scheduled = False
        self.subscriptions = self._new_subscriptions(
            wake or self._schedule_notifications, plan.notified
        )

    def close(self) -> None:
        """Unsubscribe from the chain, and stop the threads."""
        self.subscriptions.close()
        self.filters.close()
        self.chain.events.remove(self.rendered.on_event)
        self.chain.events.remove(self._on_reverted)
        # What they read is closed next.
        self.executor.shutdown(wait=True, cancel_futures=True)
        for threads in (self.threads, self.dumps):
            threads.close()

    async def end_calls(self) -> None:
        """Cancel the long calls of clients, and return once they have ended: what they read is closed next."""
        for threads in (self.threads, self.dumps):
            threads.close()
            await asyncio.to_thread(threads.close, wait=True)

    def _schedule_notifications(self) -> None:
        """Notify subscribers once the current callback ends, of all events until then together."""
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._notify)

    def _notify(self) -> None:
        self._is_scheduled = False
        if not self.subscriptions.publish_for(POLICY.batch_seconds):
            self._schedule_notifications()

    def _on_reverted(self, event: Event) -> None:
        assert isinstance(event, BlocksReverted)
        self.fees.remove_above(event.head)

    def _new_rendered(self, *, is_layer_two: bool) -> RenderedChain:
        chain = self.chain
        return RenderedChain(
            chain.rules.chain_id,
            chain.blocks,
            self.pending,
            self.pending_builder.block,
            batches=BatchInclusion(chain.batches) if is_layer_two else None,
            blobs=chain.ledger.blob_fees.prices,
        )

    def _new_filters(self) -> Filters:
        return Filters(
            self.chain, self.rendered.log_cache, limits=self.log_limits, memory=self.criteria
        )

    def _new_subscriptions(
        self, wake: Callable[[], None], notified: ShippedEvents | None
    ) -> Subscriptions:
        return Subscriptions(
            self.chain.events if notified is None else notified.events,
            self.chain.blocks if notified is None else notified,
            NotificationRenderer(self.rendered),
            wake=wake,
            limits=self.log_limits,
            memory=self.criteria,
        )
