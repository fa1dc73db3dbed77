from __future__ import annotations

import subprocess
import sys

from tests.support.polling import PATIENCE_SECONDS

SCRIPT = """
import sys
import entresol.node.open_node, entresol.features.fork.remote_chain, entresol.features.fork.cache.fork_cache
print(*sorted({"aiohttp", "entresol.features.dev.control", "entresol.node.build_node"} & set(sys.modules)))
"""


def test_a_fork_asks_its_remote_before_the_rest_of_the_node_is_imported() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=True,
    )
    assert done.stdout.split() == []
