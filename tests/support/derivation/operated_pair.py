"""The node of an operator in a process of its own, with clients of both layers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tests.support.inprocess_node import inprocess_node
from tests.support.rollup.pair import Pair


@contextlib.contextmanager
def operating(info: Path, *flags: str) -> Iterator[Pair]:
    info.unlink(missing_ok=True)
    with inprocess_node("--config-out", str(info), *flags, info=info) as node:
        pair = Pair.connect(info)
        try:
            yield pair
            node.stop()
        finally:
            pair.close()
