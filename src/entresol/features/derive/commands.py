"""The command `derive`: a chain from L1, with progress, and an exit code of its own for an alarm."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TextIO

from entresol.counted import batches as counted_batches
from entresol.counted import counted
from entresol.errors import InvalidConfig
from entresol.features.derive.deriving import DerivedChain, NamedSnapshot, derive_chain
from entresol.features.derive.errors import DerivationAlarm
from entresol.terminal.exit_codes import ALARM, SUCCEEDED, print_error

if TYPE_CHECKING:
    from entresol.features.derive.derivation import DerivationProgress
    from entresol.node.config.schema import NodeConfig

PROGRESS_SECONDS: Final = 1.0


def run_derive(flags: Mapping[str, Any], config: NodeConfig) -> int:
    """Derive what the flags name, and return the exit code: 3 if a batch is not what L1 says."""
    first = flags["l1_from_block"]
    if first is not None and first < 0:
        raise InvalidConfig("--l1-from-block", "a block from 0 on")
    logging.basicConfig(format="%(levelname)s: %(message)s", level=logging.WARNING)
    progress = ProgressLine(sys.stderr)
    try:
        found = asyncio.run(
            derive_chain(
                config,
                from_block=first,
                edits_from=flags["edits_from"],
                snapshot=_snapshot(flags),
                report=progress.show,
            )
        )
    except DerivationAlarm as error:
        return print_error(
            error, ALARM, f"ALARM: {config.chain.data_dir} ends with the batch before it. "
        )
    for line in summary(found):
        print(line)
    print(f"The chain is in {config.chain.data_dir}; --data-dir {config.chain.data_dir} opens it.")
    return SUCCEEDED


def _snapshot(flags: Mapping[str, Any]) -> NamedSnapshot | None:
    batch, path = flags["accept_from"], flags["snapshot"]
    if batch is None and path is None:
        return None
    if batch is None or batch < 1:
        raise InvalidConfig("--accept-from", "--snapshot needs a batch, from 1 on")
    if path is None:
        raise InvalidConfig("--snapshot", "--accept-from needs the directory that has the batch")
    return NamedSnapshot(batch, path)


def summary(found: DerivedChain) -> list[str]:
    """Return what was derived, as lines."""
    head = f"batch {found.batch:,}, block {found.block:,} {found.block_hash}"
    lines = [
        f"chain {found.chain_id}: {head} is what L1 has; {counted_batches(found.derived)} derived"
    ]
    if found.reverted:
        verb, which = ("was", "it") if found.reverted == 1 else ("were", "them")
        lines.append(
            f"{counted_batches(found.reverted)} {verb} removed: L1 has reverted or replaced {which}"
        )
    if found.deposits:
        verb, which = ("is", "it") if found.deposits == 1 else ("are", "them")
        lines.append(
            f"{counted(found.deposits, 'deposit')} on L1 {verb} in no batch: a node that continues the chain executes "
            f"{which} again"
        )
    return lines + [f"WARNING: {warning}" for warning in found.accepted]


class ProgressLine:
    """Prints how far a derivation is, with its rate and the time left, once a second.

    Remembers: where it began, and when it printed last.
    """

    def __init__(self, output: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._output = output
        self._clock = clock
        self._began: tuple[float, DerivationProgress] | None = None
        self._shown = 0.0
        self._seen = -1

    def show(self, progress: DerivationProgress) -> None:
        """Print a line, unless one was printed a moment ago."""
        now = self._clock()
        if self._began is None:
            self._began, self._shown = (now, progress), now
            return
        is_last = progress.batch >= progress.committed
        if progress.block == self._seen or (now - self._shown < PROGRESS_SECONDS and not is_last):
            return
        self._shown, self._seen = now, progress.block
        print(self._line(now, progress), file=self._output, flush=True)

    def _line(self, now: float, progress: DerivationProgress) -> str:
        assert self._began is not None
        since, first = self._began
        batches, seconds = progress.batch - first.batch, now - since
        line = f"batch {progress.batch:,} of {progress.committed:,}, block {progress.block:,}"
        if seconds <= 0:
            return line
        blocks = (progress.block - first.block) / seconds
        if batches <= 0:
            return f"{line}: {blocks:,.0f} blocks a second"
        rate = batches / seconds
        left = (progress.committed - progress.batch) / rate
        return f"{line}: {rate:,.1f} batches and {blocks:,.0f} blocks a second, {_time(left)} left"


def _time(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
