"""Gas reports: contracts, their functions, and the lines of sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from entresol.primitives.values import Quantity
from entresol.rpc.jsonrpc.model import ResultModel, says

if TYPE_CHECKING:
    from collections.abc import Iterable

    from entresol.features.debugger.sources.profile.amounts import Amounts
    from entresol.features.debugger.sources.profile.counts import FileCounts
    from entresol.features.debugger.sources.profile.report import (
        ContractGas,
        FunctionGas,
        GasReport,
    )


class GasAmounts(ResultModel, frozen=True, kw_only=True):
    """Amounts of gas."""

    count: Annotated[int, says("How many.")]
    total: Annotated[int, says("Their sum.")]
    min: Annotated[int, says("The least.")]
    average: Annotated[int, says("The average, rounded.")]
    median: Annotated[int, says("The median; if `width` is not 1, nearly.")]
    max: Annotated[int, says("The most.")]
    amounts: Annotated[
        list[tuple[int, int]], says("Each with how often it was, for medians of several pages.")
    ]
    width: Annotated[int, says("How many amounts one of the list stands for, from it on.")]


class FunctionGasResult(ResultModel, frozen=True, kw_only=True):
    """The calls of a function."""

    name: Annotated[
        str,
        says("Its name, with types if it is overloaded; its selector if the source is not known."),
    ]
    caller: Annotated[
        str | None,
        says(
            "Null for transactions; `contracts` for their calls; the contract in whose account it ran."
        ),
    ]
    succeeded: Annotated[GasAmounts, says("The calls that succeeded.")]
    failed: Annotated[GasAmounts, says("The calls that did not.")]


class ContractGasResult(ResultModel, frozen=True, kw_only=True):
    """A contract, its deployments and its functions."""

    name: Annotated[str, says("Its name; its first address if the source is not known.")]
    file: Annotated[str | None, says("The source that defines it.")]
    addresses: Annotated[list[str], says("Up to eight accounts that have its code.")]
    size: Annotated[int, says("The bytes of its largest code that was deployed.")]
    deployments: Annotated[FunctionGasResult, says("Its creations.")]
    functions: Annotated[list[FunctionGasResult], says("Its functions that were called.")]


class SourceLineGas(ResultModel, frozen=True, kw_only=True):
    """The gas that a line has used."""

    line: Annotated[int, says("The line, from one.")]
    executions: Annotated[int, says("How often it ran.")]
    gas: Annotated[int, says("Its gas, without that of the calls of contracts that it makes.")]
    call_gas: Annotated[int, says("The gas of these calls.")]


class SourceGas(ResultModel, frozen=True, kw_only=True):
    """The gas that the lines of a source have used."""

    file: Annotated[str, says("The source.")]
    text: Annotated[str, says("Its text.")]
    lines: Annotated[list[SourceLineGas], says("The lines of which something ran.")]


class GasReportPage(ResultModel, frozen=True, kw_only=True):
    """The gas that contracts have used in some blocks."""

    contracts: Annotated[list[ContractGasResult], says("The contracts, by name.")]
    executions: Annotated[int, says("How many transactions were counted.")]
    left_out: Annotated[
        int,
        says("How many were not, or not all of them: they take too long, or have too much code."),
    ]
    sources: Annotated[
        list[SourceGas], says("The sources whose names end with `file`, if it is given.")
    ]
    next: Annotated[
        Quantity | None, says("The block from which on nothing was counted yet; null at the end.")
    ]


def gas_report_page(
    report: GasReport, files: Iterable[FileCounts], next_block: int | None
) -> GasReportPage:
    """Return the result of a page."""
    return GasReportPage(
        contracts=[_contract(contract) for contract in report.contracts],
        executions=report.executions,
        left_out=report.left_out,
        sources=[_source(file) for file in files],
        next=None if next_block is None else Quantity(next_block),
    )


def _contract(it: ContractGas) -> ContractGasResult:
    return ContractGasResult(
        name=it.name,
        file=it.file,
        addresses=it.addresses,
        size=it.size,
        deployments=_function(it.deployments),
        functions=[_function(function) for function in it.functions],
    )


def _function(it: FunctionGas) -> FunctionGasResult:
    return FunctionGasResult(
        name=it.name, caller=it.caller, succeeded=_amounts(it.succeeded), failed=_amounts(it.failed)
    )


def _amounts(it: Amounts) -> GasAmounts:
    return GasAmounts(
        count=it.count,
        total=it.total,
        min=it.least,
        average=it.average,
        median=it.median,
        max=it.most,
        amounts=sorted(it.distinct.items()),
        width=it.width,
    )


def _source(it: FileCounts) -> SourceGas:
    return SourceGas(
        file=it.source.name,
        text=(it.source.text or b"").decode(errors="replace"),
        lines=[
            SourceLineGas(line=line, executions=c.executions, gas=c.gas, call_gas=c.call_gas)
            for line, c in sorted(it.lines.items())
        ],
    )
