"""`entresol replay` of a chain that py-evm executed: no receipt differs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from entresol.cli.main import main
from tests.support.fork.py_evm_node import running_py_evm
from tests.support.run.examples import tries_many

BLOCKS = 63 if tries_many() else 6
"""Of 16 transactions: in all a thousand, at night."""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:SELFDESTRUCT opcode present:DeprecationWarning")
def test_no_receipt_of_a_chain_that_py_evm_made_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    count = 0
    with running_py_evm(BLOCKS) as node:
        for number in range(1, node.last + 1):
            words = ["--block", str(number), "--fork-url", node.url, "--fork-cache", str(tmp_path)]
            code = main(["replay", *words, "--json"])
            found = json.loads(capsys.readouterr().out)
            assert (code, [it for it in found["replayed"] if not it["same"]]) == (0, [])
            count += found["transactions"]
        assert count == node.sent
