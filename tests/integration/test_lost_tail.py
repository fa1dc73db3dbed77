"""A data directory that lost its end: the node does not extend what is left of a chain that L1 knows better."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.node_process import running_node, starting_node
from tests.support.polling import eventually
from tests.support.rollup.pair import Pair

pytestmark = pytest.mark.slow


def test_a_chain_without_batches_that_l1_has_is_not_served(tmp_path: Path) -> None:
    info, flags = tmp_path / "info.json", ("--data-dir", str(tmp_path / "chain"))
    with running_node(*flags, "--config-out", str(info), info=info) as node:
        pair = Pair.connect(info)
        (log,) = (tmp_path / "chain").glob("*/*.log")
        start = log.stat().st_size
        for _ in range(3):
            pair.l2.receipt(pair.withdraw(5))
            pair.settled()
        batches = int(pair.l2("zks_L1BatchNumber"), 16)
        pair.close()
        # Not stopped: that would empty the write-ahead log.
        node.process.kill()
        node.process.wait()
    with log.open("r+b") as stream:
        stream.truncate((start + log.stat().st_size) // 2)
    with starting_node(*flags) as again:
        ended = eventually(lambda: again.process.poll() or "Listening" in again.printed())
        assert ended is not True, again.printed()
        error = again.printed().splitlines()[-1]
    assert f"has {batches} batches of chain 270, but {tmp_path / 'chain'} has " in error
    assert f"Restore a copy with batch {batches}, or start a new chain" in error
