"""The command `gas-report`: the gas that contracts have used in blocks of a node, or of a data directory."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.request import ProxyHandler, Request, build_opener

import msgspec

from entresol.errors import EntresolError, InvalidConfig, MethodFailed
from entresol.features.debugger.gas_report_table import gas_lines, gas_table
from entresol.features.debugger.sources.profile.amounts import Amounts
from entresol.features.debugger.sources.profile.counts import FileCounts, PlaceCounts
from entresol.features.debugger.sources.profile.report import ContractGas, FunctionGas, GasReport
from entresol.features.debugger.sources.source_file import SourceFile
from entresol.l1.urls import is_http_url
from entresol.primitives.values import Quantity
from entresol.storage.database.directory import FORMAT_FILE
from entresol.terminal.exit_codes import SUCCEEDED
from entresol.terminal.formats import printable

if TYPE_CHECKING:
    from entresol.inprocess.devnet import Devnet

METHOD: Final = "entresol_getGasReport"
DEFAULT_URL: Final = "http://127.0.0.1:3050"
TIMEOUT: Final = 60.0

RequestMethod = Callable[..., Any]
"""Calls a method with its parameters, and returns the result."""


class ReportedChain(NamedTuple):
    """The report of a chain."""

    name: str
    report: GasReport
    files: list[FileCounts]


def run_gas_report(flags: Mapping[str, Any]) -> int:
    """Print the report of what the flags name, and return the exit code."""
    first, last = _blocks(flags["blocks"])
    with _chains(flags) as chains:
        reported = [
            ReportedChain(name, *_fetched(request, first, last, flags["lines"]))
            for name, request in chains.items()
        ]
    if flags["json"]:
        sys.stdout.write(msgspec.json.encode([_json(chain) for chain in reported]).decode() + "\n")
        return SUCCEEDED
    for number, chain in enumerate(reported):
        if len(reported) > 1:
            print(f"{chr(10) if number else ''}{chain.name}\n")
        _print(chain, flags)
    return SUCCEEDED


def _print(chain: ReportedChain, flags: Mapping[str, Any]) -> None:
    if flags["lines"] is None:
        lines = gas_table(chain.report, flags["sort"])
    elif chain.files:
        lines = (line for file in chain.files for line in gas_lines(file))
    else:
        lines = iter((f"nothing ran of a source whose name ends with {flags['lines']}",))
    print("\n".join(lines))


@contextmanager
def _chains(flags: Mapping[str, Any]) -> Iterator[dict[str, RequestMethod]]:
    if flags["data_dir"] is None:
        if flags["sources"]:
            raise InvalidConfig("--sources", "the node has its own: start it with --sources")
        yield {"L2": _Node(flags["l2_url"] or DEFAULT_URL)}
        return
    if flags["l2_url"] is not None:
        raise InvalidConfig("--l2-url", "give it or --data-dir, not both")
    with _opened(flags) as net:
        yield {str(layer.chain_id): layer.request for layer in net.l2s}


def _opened(flags: Mapping[str, Any]) -> Devnet:
    """Return a node on a data directory, which seals and settles nothing."""
    directory = Path(flags["data_dir"])
    if not any(directory.glob(f"**/{FORMAT_FILE}")):
        raise InvalidConfig("--data-dir", f"there is no chain in {directory}")
    from entresol.inprocess.devnet import Devnet, devnet_config  # noqa: PLC0415 - a node at a URL needs none

    given = {
        name: flags[name]
        for name in ("data_dir", "sources", "chain_id", "chains")
        if flags.get(name)
    }
    settings = {**given, "settle": False, "mining": False}
    return Devnet(devnet_config(settings, os.environ, flags["config"]))


class _RpcError(msgspec.Struct):
    """The error in a node's response to a request that fails."""

    code: int
    message: str
    data: Any = None


class _Node:
    """A node in another process."""

    def __init__(self, url: str) -> None:
        if not is_http_url(url):
            raise InvalidConfig("--l2-url", f"not a URL with http:// or https://: {url!r}")
        self._url = url
        # A proxy for the internet is none for a node, which is nearly always on the same machine.
        self._open = build_opener(ProxyHandler({})).open

    def __call__(self, method: str, *params: Any) -> Any:
        body = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        request = Request(self._url, body, {"Content-Type": "application/json"})  # noqa: S310 - of a user
        try:
            with self._open(request, timeout=TIMEOUT) as response:
                decoded = msgspec.json.decode(response.read())
        except (OSError, HTTPException, msgspec.DecodeError) as error:
            raise self._no_node(error) from error
        if not isinstance(decoded, dict) or not {"result", "error"} & decoded.keys():
            raise self._no_node("what it sends is not JSON-RPC")
        if "error" not in decoded:
            return decoded["result"]
        try:
            found = msgspec.convert(decoded["error"], _RpcError)
        except msgspec.ValidationError as error:
            raise self._no_node(f"its error is none of JSON-RPC: {error}") from error
        raise MethodFailed(method, found.code, printable(found.message), found.data)

    def _no_node(self, problem: object) -> InvalidConfig:
        return InvalidConfig("--l2-url", f"no node responds at {self._url}: {problem}")


def _blocks(text: str | None) -> tuple[str, str]:
    """Return the first and the last block of `FROM..TO`, as the method wants them."""
    first, dots, last = (text or "..").partition("..")
    if not dots:
        last = first
    return _block(first or "earliest"), _block(last or "latest")


def _block(text: str) -> str:
    if text in ("earliest", "latest", "safe", "finalized"):
        return text
    try:
        return str(Quantity(int(text, 0)))
    except (ValueError, EntresolError):
        problem = f"FROM..TO with numbers or tags, such as 10..20 or 100..latest, got {text!r}"
        raise InvalidConfig("--blocks", problem) from None


def _fetched(
    request: RequestMethod, first: str, last: str, file: str | None
) -> tuple[GasReport, list[FileCounts]]:
    report, files = GasReport(), dict[tuple[str, str], FileCounts]()
    start: str | None = first
    # Blocks that come meanwhile would make it endless.
    last = str(request("eth_blockNumber")) if last == "latest" else last
    while start is not None:
        page = _checked(request(METHOD, start, last, *([] if file is None else [file])), start)
        report.merge(_report(page))
        for source in page["sources"]:
            key = source["file"], source["text"]
            known = files.setdefault(key, FileCounts(SourceFile(key[0], key[1].encode())))
            for line in source["lines"]:
                counts = known.lines.setdefault(line["line"], PlaceCounts())
                counts.executions += line["executions"]
                counts.gas += line["gas"]
                counts.call_gas += line["callGas"]
        start = page["next"]
    return report, list(files.values())


def _checked(page: Any, start: str) -> Mapping[str, Any]:
    """Return a page if it is one, and if the next one comes after it."""
    from entresol.features.debugger.models.gas_report import GasReportPage  # noqa: PLC0415 - other commands need none

    try:
        found = msgspec.convert(page, GasReportPage, dec_hook=lambda kind, value: kind.parse(value))
    except (msgspec.ValidationError, EntresolError, TypeError, ValueError) as error:
        raise InvalidConfig(
            "--l2-url", f"what the node sends is not a gas report: {error}"
        ) from error
    if found.next is not None and start.startswith("0x") and found.next <= int(start, 16):
        raise InvalidConfig("--l2-url", "the pages of the node's gas report have no end")
    checked: Mapping[str, Any] = page
    return checked


def _report(page: Mapping[str, Any]) -> GasReport:
    contracts = [
        ContractGas(
            contract["name"],
            contract["file"],
            contract["addresses"],
            contract["size"],
            _function(contract["deployments"]),
            [_function(function) for function in contract["functions"]],
        )
        for contract in page["contracts"]
    ]
    return GasReport(contracts, page["executions"], page["leftOut"])


def _function(it: Mapping[str, Any]) -> FunctionGas:
    amounts = (_amounts(it[name]) for name in ("succeeded", "failed"))
    return FunctionGas(it["name"], it["caller"], *amounts)


def _amounts(it: Mapping[str, Any]) -> Amounts:
    distinct = dict(map(tuple, it["amounts"]))
    return Amounts(it["count"], it["total"], it["min"], it["max"], distinct, it["width"])


def _json(chain: ReportedChain) -> dict[str, Any]:
    return {
        "chain": chain.name,
        "contracts": [
            {
                "name": contract.name,
                "file": contract.file,
                "addresses": contract.addresses,
                "size": contract.size,
                "deployments": _figures(contract.deployments),
                "functions": [
                    {"name": function.name, "caller": function.caller, **_figures(function)}
                    for function in contract.functions
                ],
            }
            for contract in chain.report.contracts
        ],
        "executions": chain.report.executions,
        "leftOut": chain.report.left_out,
        "sources": [
            {
                "file": file.source.name,
                "lines": [
                    {
                        "line": line,
                        "executions": counts.executions,
                        "gas": counts.gas,
                        "gasWithCalls": counts.gas_with_calls,
                    }
                    for line, counts in sorted(file.lines.items())
                ],
            }
            for file in chain.files
        ],
    }


def _figures(function: FunctionGas) -> dict[str, int]:
    shown = function.shown
    return {
        "calls": function.calls,
        "failed": function.failed.count,
        "min": shown.least,
        "avg": shown.average,
        "median": shown.median,
        "max": shown.most,
        "total": function.total,
    }
