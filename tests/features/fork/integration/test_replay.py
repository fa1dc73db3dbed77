"""`entresol replay` of transactions of a real anvil: no receipt differs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from entresol._native import address_of, public_key
from entresol.chain.rules import ChainRules
from entresol.cli.main import main
from tests.support.anvil import Anvil, fresh_anvil
from tests.support.chain.varied_chain import CODES, REVERTER, SENDERS, SIGNER, varied_chain
from tests.support.inprocess_node import inprocess_anvil

pytestmark = pytest.mark.peer


@pytest.fixture(scope="module")
def anvil() -> Iterator[Anvil]:
    with fresh_anvil() as running:
        yield running


@pytest.fixture(scope="module")
def block(anvil: Anvil) -> int:
    """Return a block with a transaction of every type and every ending."""
    for sender in SENDERS:
        anvil("anvil_setBalance", str(sender), hex(10**21))
    # Anvil refunds an authorization of an account that does not exist as if it did (EIP-7702).
    anvil("anvil_setBalance", "0x" + address_of(public_key(SIGNER)).hex(), "0x1")
    for address, code in CODES.items():
        anvil("anvil_setCode", str(address), "0x" + bytes.fromhex(code).hex())
    anvil("evm_setAutomine", False)
    with varied_chain(ChainRules.layer_1()) as chain:
        for raw in chain.raw[: len(chain.client.chain.blocks.record(2).transactions)]:
            anvil("eth_sendRawTransaction", "0x" + raw.hex())
    anvil("evm_mine")
    return int(anvil("eth_blockNumber"), 16)


def replay(anvil: Anvil, place: Path, *words: str) -> int:
    return main(["replay", *words, "--fork-url", anvil.url, "--fork-cache", str(place)])


def test_no_receipt_of_transactions_of_every_type_differs(
    anvil: Anvil, block: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = replay(anvil, tmp_path, "--block", str(block), "--json")
    found = json.loads(capsys.readouterr().out)
    different = [transaction for transaction in found["replayed"] if not transaction["same"]]
    assert (code, different) == (0, [])
    assert {transaction["type"] for transaction in found["replayed"]} == {0, 1, 2, 3, 4}


@pytest.mark.parametrize(("hardfork", "expected"), [("shanghai", [1, 0]), ("cancun", [1, 1])])
def test_a_block_is_replayed_by_the_rules_of_its_hardfork(
    hardfork: str, expected: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """PUSH0 is of Shanghai, and MCOPY of Cancun: before, calls of it fail and use all their gas."""
    with inprocess_anvil("anvil", "--hardfork", hardfork) as node:
        sender = node("eth_accounts")[0]
        for number, code in enumerate(("0x5f5ff3", "0x6000600060005e00"), 1):
            to = f"0x{number:040x}".replace("0x0", "0xc")
            node("anvil_setCode", to, code)
            # An edit is in the state of a block from the next one on.
            node("evm_mine")
            sent = node("eth_sendTransaction", {"from": sender, "to": to, "gas": "0x186a0"})
            assert int(node.receipt(sent)["status"], 16) == expected[number - 1]
            assert replay(node, tmp_path, sent) == 0
            assert "receipt: the same as the remote's" in capsys.readouterr().out


def hashes(anvil: Anvil, number: int) -> list[str]:
    """Return the transactions of a block, in their order."""
    found: list[str] = anvil("eth_getBlockByNumber", hex(number), False)["transactions"]
    return found


def failed(anvil: Anvil, number: int) -> str:
    """Return a transaction of a block that reverted with a reason."""
    for name in hashes(anvil, number):
        if anvil("eth_getTransactionByHash", name)["to"] == str(REVERTER):
            return name
    raise AssertionError(number)


def test_a_transaction_is_shown_with_its_calls_gas_events_and_the_reason_of_its_failure(
    anvil: Anvil, block: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert replay(anvil, tmp_path, failed(anvil, block)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"(block {block}, " in lines[0]
    assert "::" in lines[1]
    assert lines[2].endswith("← [Revert] no")
    assert "status: failed: no" in lines
    assert lines[-1] == "receipt: the same as the remote's"


def test_every_step_is_shown_if_that_is_asked_for(
    anvil: Anvil, block: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert replay(anvil, tmp_path, failed(anvil, block), "--struct-logs") == 0
    output = capsys.readouterr()
    assert json.loads(output.out)["structLogs"][-1]["op"] == "REVERT"
    assert "receipt: the same as the remote's" in output.err


def test_a_replayed_transaction_is_replayed_again_without_the_remote(
    anvil: Anvil, block: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = hashes(anvil, block)[-1]
    assert replay(anvil, tmp_path, wanted) == 0
    first = capsys.readouterr().out
    assert main(["replay", wanted, "--offline", "--fork-cache", str(tmp_path)]) == 0
    assert capsys.readouterr().out == first


@pytest.mark.parametrize(
    "words", [[], ["0x11"], ["0x" + "11" * 32, "--block", "1"], ["--block", "0"]]
)
def test_what_is_not_one_transaction_or_one_block_is_an_error_of_usage(
    anvil: Anvil, tmp_path: Path, words: list[str]
) -> None:
    assert replay(anvil, tmp_path, *words) == 2


def test_a_transaction_or_a_block_that_the_remote_does_not_have_is_named(
    anvil: Anvil, block: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert replay(anvil, tmp_path, "0x" + "11" * 32) == 1
    assert "1111" in capsys.readouterr().err
    assert replay(anvil, tmp_path, "--block", str(block + 1)) == 1
    assert f"block {block + 1}" in capsys.readouterr().err


def test_a_replay_needs_a_chain(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", "--block", "1"]) == 2
    assert "--fork-url" in capsys.readouterr().err
