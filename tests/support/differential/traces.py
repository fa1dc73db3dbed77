"""Traces of the same transaction by both sides."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from entresol._native import Overlay, Tracer, execute
from tests.support.differential.comparison import RULES, Mined, Peers
from tests.support.differential.transactions import Signed
from tests.support.hex_data import unhex

Options = dict[str, Any]
Trace = Any


@dataclass(frozen=True)
class Traced:
    """A transaction of a block, in the state that the earlier ones left."""

    both: Peers
    mined: Mined
    index: int
    state: Overlay

    @property
    def signed(self) -> Signed:
        return self.mined.transactions[self.index]

    @property
    def gas_before(self) -> int:
        """The gas that the earlier transactions of the block used."""
        return sum(outcome.gas_used for outcome in self.mined.results[: self.index])

    @property
    def logs_before(self) -> int:
        """The number of logs of the earlier transactions of the block."""
        return sum(len(outcome.logs) for outcome in self.mined.results[: self.index])

    def ours(self, options: Options) -> Trace:
        tracer = Tracer(
            json.dumps(_engine_options(options)).encode(),
            transaction_hash=self.signed.hash,
            transaction_index=self.index,
            block_hash=unhex(self.mined.block["hash"]),
            first_log=self.logs_before,
        )
        env = self.mined.env
        outcome = execute(self.state, RULES, env, self.signed.message, tracer=tracer)
        assert outcome.trace is not None
        return json.loads(outcome.trace)

    def theirs(self, options: Options) -> Trace:
        transaction_hash = "0x" + self.signed.hash.hex()
        if options.get("tracer") in {"flatCallTracer", "localizedTracer"}:
            # Anvil's debug method returns {} for this tracer, which is its trace method's format.
            return self.both.anvil("trace_transaction", transaction_hash)
        if options.get("tracer") == "replayTracer":
            number, types = self.mined.block["number"], options["tracerConfig"]
            replayed = self.both.anvil("trace_replayBlockTransactions", number, types)[self.index]
            assert replayed.pop("transactionHash") == transaction_hash
            return replayed
        return self.both.anvil("debug_traceTransaction", transaction_hash, options)


def _engine_options(options: Options) -> Options:
    """Return the options as the engine takes them: what `trace_` methods use has no name for clients."""
    if options.get("tracer") not in {"localizedTracer", "replayTracer"}:
        return options
    return {"ownTracer" if key == "tracer" else key: value for key, value in options.items()}


def traced(both: Peers) -> Iterator[Traced]:
    """Run every mined block again, and stop before each transaction."""
    for mined in both.mined:
        state = mined.begin()
        for index, outcome in enumerate(mined.results):
            yield Traced(both, mined, index, state)
            state.apply(outcome)


def intrinsic_gas(signed: Signed) -> int:
    """Return what a transaction pays before its first instruction, by the rules of Osaka."""
    draft = signed.draft
    creation = 32_000 + 2 * ((len(draft.data) + 31) // 32) if draft.to is None else 0
    data = sum(16 if byte else 4 for byte in draft.data)
    access = sum(2_400 + 1_900 * len(slots) for _, slots in draft.access_list)
    return 21_000 + creation + data + access + 25_000 * len(draft.authorizations)
