"""`entresol replay` of a chain that py-evm executed: no receipt differs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from eth.vm.forks.cancun import CancunVM
from eth.vm.forks.london import LondonVM
from eth.vm.forks.paris import ParisVM
from eth.vm.forks.shanghai import ShanghaiVM

from entresol.cli.main import main
from entresol.primitives.transactions import LegacyTransaction, sign
from entresol.primitives.values import Address
from tests.support.chain.varied_chain import SECRETS
from tests.support.fork.py_evm_node import PyEvmNode, running_py_evm, served
from tests.support.fork.varied_transactions import CHAIN_ID
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
            assert (
                code,
                [transaction for transaction in found["replayed"] if not transaction["same"]],
            ) == (0, [])
            count += found["transactions"]
        assert count == node.sent


@pytest.mark.filterwarnings("ignore:SELFDESTRUCT opcode present:DeprecationWarning")
def test_each_block_is_replayed_by_the_rules_of_its_own_hardfork(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # PUSH0 is of Shanghai, and MCOPY of Cancun: before, calls of them fail and use all their gas.
    codes = {Address(bytes([0xC0]) * 20): "5f5ff3", Address(bytes([0xC1]) * 20): "6000600060005e00"}
    vms = {0: LondonVM, 2: ParisVM, 3: ShanghaiVM, 5: CancunVM}
    node, statuses = PyEvmNode(vms, codes), []
    for number in range(6):
        node.mine_block(
            sign(call_of(2 * number + at, to), SECRETS[0]).raw for at, to in enumerate(codes)
        )
    with served(node):
        for number in range(1, node.last + 1):
            words = ["--block", str(number), "--fork-url", node.url, "--fork-cache", str(tmp_path)]
            code = main(["replay", *words, "--json"])
            found = json.loads(capsys.readouterr().out)
            assert (
                code,
                [transaction for transaction in found["replayed"] if not transaction["same"]],
            ) == (0, [])
            block = node.do_eth_getBlockByNumber(hex(number), False)
            receipts = node.do_eth_getBlockReceipts(block["hash"])
            statuses.append([int(receipt["status"], 16) for receipt in receipts])
    assert statuses == [[0, 0], [0, 0], [1, 0], [1, 0], [1, 1], [1, 1]]


def call_of(nonce: int, to: Address) -> LegacyTransaction:
    """Return a call of a contract."""
    return LegacyTransaction(
        chain_id=CHAIN_ID,
        nonce=nonce,
        gas_price=10**11,
        gas_limit=100_000,
        to=to,
        value=0,
        data=b"",
    )
