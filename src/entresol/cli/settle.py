"""The command `settle`: what an operator does on L1 by hand."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from entresol.cli.exit_codes import SUCCEEDED
from entresol.errors import InvalidConfig
from entresol.node.settlement.chain_revert import RevertedChain, revert_chain

if TYPE_CHECKING:
    from entresol.node.config.schema import NodeConfig


def run_settle(config: NodeConfig, last: int | None) -> int:
    """Revert the batches after `last` on L1, print which, and return the exit code."""
    if last is None or last < 0:
        raise InvalidConfig("--to", "revert needs the last batch that is left, from 0 on")
    logging.basicConfig(format="%(levelname)s: %(message)s", level=logging.WARNING)
    for line in summary(asyncio.run(revert_chain(config, last))):
        print(line)
    return SUCCEEDED


def summary(reverted: RevertedChain) -> list[str]:
    """Return what was reverted, as lines."""
    found, before = reverted.batches, reverted.batches.before
    batches = _range(found.first, before.committed)
    proven = (
        f", of which {_range(found.first, before.verified)} had a proof"
        if before.verified > found.last
        else ""
    )
    return [
        f"chain {reverted.chain_id}: {batches} reverted{proven}, by {found.transaction} in L1 block {found.block}",
        f"L1 has batch {found.last:,} as the last one; a node that has later ones commits its own again",
    ]


def _range(first: int, last: int) -> str:
    return f"batch {first:,}" if first == last else f"batches {first:,} to {last:,}"
