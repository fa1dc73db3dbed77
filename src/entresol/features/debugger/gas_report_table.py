"""Gas reports as tables, and sources with the gas of their lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol.terminal.formats import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from entresol.features.debugger.sources.profile.counts import FileCounts
    from entresol.features.debugger.sources.profile.report import (
        ContractGas,
        FunctionGas,
        GasReport,
    )

MAX_NAME: Final = 48
MAX_SOURCE_LINE: Final = 200
MAX_UNKNOWN: Final = 20
"""Contracts without a source that are shown, if there are none with one."""

MAX_FUNCTIONS: Final = 200
"""Functions of a contract that are shown."""

HEADER: Final = ("calls", "min", "avg", "median", "max", "failed")

NO_CALLS: Final = "no contract was called"
NO_SOURCES: Final = "no contract has a source: --sources, or the setting sources, names Foundry's out or Hardhat's artifacts"
_ORDERS: Final[dict[str, Callable[[FunctionGas], int]]] = {
    "calls": lambda it: -it.calls,
    "avg": lambda it: -it.shown.average,
    "max": lambda it: -it.shown.most,
    "total": lambda it: -it.total,
}


def gas_table(report: GasReport, sort: str = "name") -> Iterator[str]:
    """Yield the lines of a report: each contract with its deployments and a row for each function."""
    known = [contract for contract in report.contracts if contract.file is not None]
    shown = _sorted(known or report.contracts, sort)
    hidden = len(report.contracts) - len(shown)
    if not known and len(shown) > MAX_UNKNOWN:
        hidden, shown = hidden + len(shown) - MAX_UNKNOWN, shown[:MAX_UNKNOWN]
    rows = {
        contract.key: [_row(function) for function in _functions(contract, sort)]
        for contract in shown
    }
    widths = _widths([row for found in rows.values() for row in found])
    for number, contract in enumerate(shown):
        if number:
            yield ""
        yield from _contract(contract, rows[contract.key], widths)
    if not shown:
        yield NO_CALLS
    if shown and not known:
        yield from ("", NO_SOURCES)
    if hidden:
        yield from ("", f"{hidden:,} more contracts have no source")
    if report.left_out:
        yield ""
        yield f"{report.left_out:,} executions took too long or had too many contracts: not everything of them is counted"


def gas_lines(file: FileCounts) -> Iterator[str]:
    """Yield the lines of a source, each with how often it ran, its gas, and its gas with that of calls."""
    yield printable(file.source.name)
    yield f"{'runs':>9} {'gas':>12} {'with calls':>12}"
    text = (file.source.text or b"").decode(errors="replace")
    for number, line in enumerate(text.split("\n"), 1):
        shown = printable(line.rstrip("\r").expandtabs(4), MAX_SOURCE_LINE)
        counts = file.lines.get(number)
        if counts is None:
            yield f"{'':>35} │ {shown}".rstrip()
            continue
        calls = f"{counts.gas_with_calls:,}" if counts.call_gas else ""
        yield f"{counts.executions:>9,} {counts.gas:>12,} {calls:>12} │ {shown}".rstrip()


def _contract(
    contract: ContractGas, rows: Sequence[Sequence[str]], widths: Sequence[int]
) -> Iterator[str]:
    file = "" if contract.file is None else f" ({printable(contract.file)})"
    yield f"{printable(contract.name, MAX_NAME)}{file}"
    deployed = contract.deployments.shown
    if deployed.count:
        times = "deployed once" if deployed.count == 1 else f"deployed {deployed.count:,} times"
        gas = f"{deployed.least:,}"
        if deployed.most != deployed.least:
            gas += f" to {deployed.most:,}"
        size = f", {contract.size:,} bytes" if contract.size else ""
        failed = contract.deployments.failed.count
        failures = f", {failed:,} failed" if failed else ""
        yield f"  {times}: {gas} gas{size}{failures}"
    if rows:
        yield _aligned(("function", *HEADER), widths)
        yield from (_aligned(row, widths) for row in rows)
    hidden = len(contract.functions) - len(rows)
    if hidden:
        yield f"  … {hidden:,} more functions"


def _functions(contract: ContractGas, sort: str) -> list[FunctionGas]:
    order = _ORDERS.get(sort)
    found = contract.functions if order is None else sorted(contract.functions, key=order)
    return found[:MAX_FUNCTIONS]


def _sorted(contracts: Sequence[ContractGas], sort: str) -> list[ContractGas]:
    if sort == "calls":
        return sorted(contracts, key=lambda it: -it.calls)
    order = _ORDERS.get(sort)
    if order is None:
        return list(contracts)
    if sort == "total":
        return sorted(contracts, key=lambda it: -it.total)
    return sorted(contracts, key=lambda it: min(map(order, it.functions), default=0))


def _row(function: FunctionGas) -> tuple[str, ...]:
    name, amounts = printable(function.name, MAX_NAME), function.shown
    if function.caller is not None:
        name = f"{name} (by {printable(function.caller, MAX_NAME)})"
    numbers = (
        *(function.calls, amounts.least, amounts.average, amounts.median),
        *(amounts.most, function.failed.count),
    )
    # Most functions have not failed, and a zero in each row would hide those that have.
    return (
        name,
        *(f"{number:,}" for number in numbers[:-1]),
        f"{numbers[-1]:,}" if numbers[-1] else "",
    )


def _widths(rows: Iterable[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(("function", *HEADER), *rows, strict=True)]


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    name, *numbers = row
    cells = (number.rjust(width) for number, width in zip(numbers, widths[1:], strict=True))
    return f"  {name:<{widths[0]}}  {'  '.join(cells)}".rstrip()
