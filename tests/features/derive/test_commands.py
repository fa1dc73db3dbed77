"""What `entresol derive` prints, and how it ends."""

from __future__ import annotations

import io

import pytest

from entresol.cli.main import main
from entresol.errors import DerivationAlarm
from entresol.features.derive import commands as derive
from entresol.features.derive.commands import ProgressLine, summary
from entresol.features.derive.derivation import DerivationProgress
from entresol.features.derive.deriving import DerivedChain
from entresol.primitives.values import Hash32
from entresol.terminal.exit_codes import ALARM, USAGE_ERROR

HUB = "0x" + "11" * 20


def progress(batch: int) -> DerivationProgress:
    return DerivationProgress(batch=batch, block=3 * batch, committed=100)


def printed(*shown: tuple[float, DerivationProgress]) -> list[str]:
    output, times = io.StringIO(), [time for time, _ in shown]
    line = ProgressLine(output, lambda: times.pop(0))
    for _, it in shown:
        line.show(it)
    return output.getvalue().splitlines()


def test_progress_has_a_rate_and_the_time_left() -> None:
    assert printed((0.0, progress(0)), (2.0, progress(20))) == [
        "batch 20 of 100, block 60: 10.0 batches and 30 blocks a second, 8 s left"
    ]


def test_a_line_is_printed_once_a_second_and_at_the_end() -> None:
    lines = printed(
        *((0.1 * it, progress(it)) for it in range(25)), (2.5, progress(100)), (2.6, progress(100))
    )
    assert [line.partition(",")[0] for line in lines] == [
        "batch 10 of 100",
        "batch 20 of 100",
        "batch 100 of 100",
    ]


def test_the_summary_names_what_a_node_will_execute_again() -> None:
    found = DerivedChain(
        chain_id=270,
        batch=7,
        block=1_234,
        block_hash=Hash32(b"\x01" * 32),
        derived=7,
        reverted=2,
        deposits=3,
    )
    first, second, third = summary(found)
    assert first.startswith("chain 270: batch 7, block 1,234 0x0101")
    assert "2 batches were removed" in second
    assert "3 deposits on L1 are in no batch" in third


def test_an_alarm_has_an_exit_code_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def alarmed(*_arguments: object, **_more: object) -> DerivedChain:
        raise DerivationAlarm(5, "state_root", "0x01", "0x02")

    monkeypatch.setattr(derive, "derive_chain", alarmed)
    assert main(["derive", "--l1-url", "http://127.0.0.1:1", "--data-dir", "chain"]) == ALARM
    error = capsys.readouterr().err
    assert (
        "chain ends with the batch before it. batch 5, state_root: 0x01 on L1, 0x02 here" in error
    )


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        ((), "--data-dir: derive needs a directory"),
        (("--data-dir", "DIR"), "--bridgehub: derive needs the address"),
        (("--data-dir", "DIR", "--bridgehub", "0x12"), "--bridgehub: "),
        (("--data-dir", "DIR", "--bridgehub", HUB), "--l1-url: derive needs the URL"),
        (("--data-dir", "DIR", "--bridgehub", HUB, "--l1-url", "ftp://x"), "--l1-url: "),
        (("--data-dir", "DIR", "--l1-from-block", "-1"), "--l1-from-block: "),
    ],
)
def test_what_is_missing_is_named(
    flags: tuple[str, ...], problem: str, tmp_path: object, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [f"{tmp_path}/new" if flag == "DIR" else flag for flag in flags]
    assert main(["derive", *words]) == USAGE_ERROR
    assert f"error: {problem}" in capsys.readouterr().err


def test_blocks_of_a_batch_that_takes_long_are_progress() -> None:
    blocks = (DerivationProgress(batch=4, block=it, committed=5) for it in (10, 10, 30, 30))
    lines = printed(*zip((0.0, 0.5, 2.0, 4.0), blocks, strict=True))
    assert lines == ["batch 4 of 5, block 30: 10 blocks a second"]
