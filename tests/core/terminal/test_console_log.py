from __future__ import annotations

import pytest

from entresol.execution.console import ConsoleCalls
from entresol.terminal.console_log import console_lines, formatted_call
from tests.support.evm.console import PRINTED, Printed, console_call


@pytest.mark.parametrize("printed", PRINTED, ids=lambda it: f"{it.signature} {it.values[:1]}")
def test_a_call_prints_what_anvil_prints(printed: Printed) -> None:
    assert formatted_call(printed.data) == printed.text


@pytest.mark.parametrize(
    ("selector", "signature"),
    [
        ("51973ec9", "log()"),
        ("2d5b6cb9", "log(int256)"),
        ("41304fac", "log(string)"),
        ("2c2ecbc2", "log(address)"),
        ("b60e72cc", "log(string,uint256)"),
        ("f5b1bba9", "log(uint)"),
    ],
)
def test_selectors_are_those_of_the_libraries(selector: str, signature: str) -> None:
    values = {"string": "x", "address": bytes(20)}
    kinds = [kind for kind in signature[4:-1].split(",") if kind]
    data = console_call(signature, *(values.get(kind, 1) for kind in kinds))
    assert data[:4].hex() == selector
    assert formatted_call(data) is not None


TABLE = """\
┌─────────┬────────┐
│ (index) │ Values │
├─────────┼────────┤
│ 0       │ 5      │
│ 1       │ 6      │
└─────────┴────────┘"""
NAMED_TABLE = """\
┌─────────────┬────────┐
│ (index)     │ Values │
├─────────────┼────────┤
│ a long name │ true   │
│ b           │ false  │
└─────────────┴────────┘"""


def test_a_table_is_drawn_as_anvil_draws_it() -> None:
    assert formatted_call(console_call("table(uint256[])", (5, 6))) == TABLE
    named = console_call("table(string[],bool[])", ("a long name", "b"), (True, False))
    assert formatted_call(named) == NAMED_TABLE


@pytest.mark.parametrize(
    "data", [b"", b"\x01", b"\x12\x34\x56\x78", console_call("log(string)", "x")[:40]]
)
def test_a_call_that_cannot_be_decoded_prints_nothing(data: bytes) -> None:
    assert console_lines(ConsoleCalls((data,))) == []


def test_line_breaks_split_lines() -> None:
    calls = ConsoleCalls((console_call("log(string)", "a\r\nb"), console_call("log()")))
    assert console_lines(calls) == ["a", "b", ""]


def test_calls_that_were_not_recorded_are_counted() -> None:
    assert console_lines(ConsoleCalls((), 1_234)) == ["… (1,234 more calls are not shown)"]
