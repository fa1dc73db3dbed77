"""`entresol replay` of transactions of a real anvil: no receipt differs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from entresol.cli.main import main
from tests.support.anvil import Anvil, fresh_anvil
from tests.support.chain.varied_chain import REVERTER
from tests.support.fork.varied_transactions import VariedAnvil

pytestmark = pytest.mark.peer

BLOCKS = 10


@pytest.fixture(scope="module")
def anvil() -> Iterator[Anvil]:
    with fresh_anvil() as running:
        yield running


@pytest.fixture(scope="module")
def varied(anvil: Anvil) -> VariedAnvil:
    varied = VariedAnvil(anvil)
    varied.mine(BLOCKS)
    return varied


def replay(anvil: Anvil, place: Path, *words: str) -> int:
    return main(["replay", *words, "--fork-url", anvil.url, "--fork-cache", str(place)])


def test_no_receipt_of_some_hundred_transactions_of_every_type_differs(
    anvil: Anvil, varied: VariedAnvil, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    types: set[int] = set()
    count = 0
    for number in range(varied.first, varied.last + 1):
        code = replay(anvil, tmp_path, "--block", str(number), "--json")
        found = json.loads(capsys.readouterr().out)
        different = [transaction for transaction in found["replayed"] if not transaction["same"]]
        assert (code, different) == (0, [])
        types |= {transaction["type"] for transaction in found["replayed"]}
        count += found["transactions"]
    assert types == {0, 1, 2, 3, 4}
    assert count == varied.sent >= 150


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
    anvil: Anvil, varied: VariedAnvil, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert replay(anvil, tmp_path, failed(anvil, varied.last)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"(block {varied.last}, " in lines[0]
    assert "::" in lines[1]
    assert lines[2].endswith("← [Revert] no")
    assert "status: failed: no" in lines
    assert lines[-1] == "receipt: the same as the remote's"


def test_every_step_is_shown_if_that_is_asked_for(
    anvil: Anvil, varied: VariedAnvil, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert replay(anvil, tmp_path, failed(anvil, varied.last), "--struct-logs") == 0
    output = capsys.readouterr()
    assert json.loads(output.out)["structLogs"][-1]["op"] == "REVERT"
    assert "receipt: the same as the remote's" in output.err


def test_a_replayed_transaction_is_replayed_again_without_the_remote(
    anvil: Anvil, varied: VariedAnvil, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = hashes(anvil, varied.last)[-1]
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
    anvil: Anvil, varied: VariedAnvil, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert replay(anvil, tmp_path, "0x" + "11" * 32) == 1
    assert "1111" in capsys.readouterr().err
    assert replay(anvil, tmp_path, "--block", str(varied.last + 1)) == 1
    assert f"block {varied.last + 1}" in capsys.readouterr().err


def test_a_replay_needs_a_chain(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", "--block", "1"]) == 2
    assert "--fork-url" in capsys.readouterr().err
