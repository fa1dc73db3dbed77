"""How far the metrics of a node say that batches are settled."""

from __future__ import annotations

import re

from tests.support.rpc_client import get


def settled_in_metrics(url: str) -> list[int]:
    """Return the last batch that is sealed, committed, proven and executed."""
    metrics = get(f"{url}/metrics").decode()
    steps = ("sealed", "committed", "proven", "executed")
    found = (
        re.search(rf"^entresol_settlement_{step}_batch (\d+)$", metrics, re.MULTILINE)
        for step in steps
    )
    return [int(entry[1]) for entry in found if entry is not None]
