"""Write pictures of every page of the explorer into a folder, and the chosen ones into docs/images: `make screenshots`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.support.clients.javascript import node_program
from tests.support.inprocess_node import inprocess_node

if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "screenshots").resolve()
    # A house, and a street of two.
    for flags in ((), ("--chains", "2")):
        with inprocess_node(*flags) as node:
            found = re.search(r"^Layer 1 .*?^HTTP +(\S+)", node.output, re.MULTILINE | re.DOTALL)
            assert found is not None
            script = Path(__file__).with_name("screenshots.mjs")
            environment = os.environ | {"NODE_URL": node.url, "L1_URL": found[1]}
            docs = Path(__file__).resolve().parents[2] / "docs" / "images"
            command = [node_program(), str(script), str(folder), str(docs)]
            subprocess.run(command, env=environment, check=True)
